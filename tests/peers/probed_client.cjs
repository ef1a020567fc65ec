// The official TypeScript client, for `probe client` and `replay serve`: lists the tools, calls the first (or those it
// is told), answers what it is asked, reads all resources there are, and prints what it got as JSON.
//
// node tests/peers/probed_client.cjs URL|'COMMAND ARGS…' [CALLS [all]]      CALLS: [{"name": …, "arguments": …}, …]
//
// It answers forms; with `all`, whatever a server may ask.
//
// Its packages are in $MRTRSCOPE_NPM/node_modules.
'use strict';
const { createRequire } = require('node:module');
const { join } = require('node:path');

const packages = createRequire(join(process.env.MRTRSCOPE_NPM, 'here.cjs'));
const { Client, StreamableHTTPClientTransport } = packages('@modelcontextprotocol/client');
const { StdioClientTransport } = packages('@modelcontextprotocol/client/stdio');
const SAMPLES = { boolean: true, integer: 4, number: 4, string: 'plum' };
const EVERYTHING = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };
const LIMIT = { timeout: 3000 };

function filled(schema) {
  const fields = Object.entries(schema.properties ?? {});
  return Object.fromEntries(fields.map(([name, field]) => [name, field.enum?.[0] ?? SAMPLES[field.type]]));
}

async function main([where, calls, all]) {
  const client = new Client(
    { name: 'probed', version: '1' },
    { capabilities: all ? EVERYTHING : { elicitation: { form: {} } }, versionNegotiation: { mode: 'auto' } },
  );
  client.setRequestHandler('elicitation/create', async ({ params }) => ({
    action: 'accept', ...(params.mode === 'url' ? {} : { content: filled(params.requestedSchema) }),
  }));
  if (all) {
    client.setRequestHandler('sampling/createMessage', async () => ({
      model: 'm-1', role: 'assistant', content: { type: 'text', text: 'Ada' },
    }));
    client.setRequestHandler('roots/list', async () => ({ roots: [{ uri: 'file:///home/ada' }] }));
  }
  const [command, ...args] = where.split(' ');
  const transport = where.startsWith('http')
    ? new StreamableHTTPClientTransport(new URL(where))
    : new StdioClientTransport({ command, args, env: process.env });
  await client.connect(transport);
  const got = { tools: [], texts: [], read: [] };
  got.tools = (await client.listTools()).tools.map((tool) => tool.name);
  for (const call of calls ? JSON.parse(calls) : [{ name: got.tools[0], arguments: {} }]) {
    got.texts.push((await client.callTool(call, LIMIT)).content[0].text);
  }
  if (client.getServerCapabilities().resources && !calls) {
    const { resources } = await client.listResources();
    for (const { uri } of [1, 2].flatMap(() => resources)) {
      got.read.push((await client.readResource({ uri })).contents[0].text);
    }
  }
  await client.close();
  console.log(JSON.stringify(got));
}

main(process.argv.slice(2)).catch((error) => {
  console.error(`${error.name ?? 'Error'}: ${error.message}`);
  process.exit(1);
});
