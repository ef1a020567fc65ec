// A server on the official TypeScript SDK that asks in every way the revision knows, on stdio or over HTTP.
//
// node tests/peers/asking_server.cjs [--http]
//
// With --http it says its port on stdout and ends with its stdin. Its packages are in $MRTRSCOPE_NPM/node_modules.
'use strict';
const { createServer } = require('node:http');
const { createRequire } = require('node:module');
const { join } = require('node:path');

const packages = createRequire(join(process.env.MRTRSCOPE_NPM, 'here.cjs'));
const { McpServer, createMcpHandler, createRequestStateCodec, inputRequired } = packages('@modelcontextprotocol/server');

const codec = createRequestStateCodec({ key: Buffer.alloc(32, 7), ttlSeconds: 600 });
const text = (words) => ({ content: [{ type: 'text', text: words }] });
const form = (name) => inputRequired.elicit({
  message: `${name}?`,
  requestedSchema: { type: 'object', properties: { [name]: { type: 'string' } }, required: [name] },
});
const answers = (ctx) => ctx.mcpReq.inputResponses ?? {};

function build() {
  const server = new McpServer({ name: 'asking', version: '1' }, { requestState: { verify: codec.verify } });
  // One question and no state.
  server.registerTool('one', { description: 'asks once' }, async (ctx) =>
    answers(ctx).size ? text('one') : inputRequired({ inputRequests: { size: form('size') } }));
  // Each round knows by its state what was answered before.
  server.registerTool('three', { description: 'asks three times' }, async (ctx) => {
    const { step } = ctx.mcpReq.requestState() ?? { step: 0 };
    if (step === 3) return text('three');
    return inputRequired({
      inputRequests: { [`q${step}`]: form('word') }, requestState: await codec.mint({ step: step + 1 }),
    });
  });
  // Four kinds of questions in one result.
  server.registerTool('all', { description: 'asks everything at once' }, async (ctx) => {
    const keys = Object.keys(answers(ctx));
    if (keys.length) return text(keys.sort().join(' '));
    return inputRequired({
      inputRequests: {
        form: form('size'),
        url: inputRequired.elicitUrl({ message: 'Sign in', url: 'https://example.com/sign-in' }),
        model: inputRequired.createMessage({
          messages: [{ role: 'user', content: { type: 'text', text: 'A name?' } }], maxTokens: 20,
        }),
        roots: inputRequired.listRoots(),
      },
      requestState: await codec.mint({ step: 'all' }),
    });
  });
  // Nothing to answer: come again.
  server.registerTool('again', { description: 'hands out a state alone' }, async (ctx) => {
    const { n } = ctx.mcpReq.requestState() ?? { n: 0 };
    return n === 1 ? text('again') : inputRequired({ requestState: await codec.mint({ n: n + 1 }) });
  });
  return server;
}

if (process.argv.includes('--http')) {
  const { toNodeHandler } = packages('@modelcontextprotocol/node');
  const http = createServer(toNodeHandler(createMcpHandler(build)));
  http.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${http.address().port}/mcp`));
  process.stdin.resume().on('end', () => process.exit());
} else {
  packages('@modelcontextprotocol/server/stdio').serveStdio(build);
}
