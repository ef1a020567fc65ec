"""A wrapped server is called by its own name, and nothing else of its arguments is kept."""

from __future__ import annotations

import shlex

import pytest

from mrtrscope import wrap
from mrtrscope.called import called

NAMES = [
    ("my-server --token secret", "my-server"),
    ("/usr/bin/cat", "cat"),
    ("python3 server.py --port 1", "server"),
    ("/opt/py/bin/python3.12 -u -X dev tools/weather.py", "weather"),
    ("python -m my_server.cli --stdio", "my_server.cli"),
    ("python -I -m my_server.__main__", "my_server"),
    ("python3", "python3"),
    ("python3 -c 'print(1)'", "python3"),
    ("python3 weather/__main__.py", "weather"),
    ("node --require ./hook.js build/index.js", "index"),
    ("node weather/dist/index.js", "weather"),
    ("node -e 'process.exit()'", "node"),
    ("npx -y @modelcontextprotocol/server-everything", "server-everything"),
    ("npx --package=x@1 -- mcp-files@1.2.3 /home/kari", "mcp-files"),
    ("npm exec -- mcp-files", "mcp-files"),
    ("bunx mcp-files", "mcp-files"),
    ("uvx mcp-server-git --repository /home/kari/secret", "mcp-server-git"),
    ("uvx --from git+https://x.example/y mcp-y==1.0", "mcp-y"),
    ("uv run --with mcp server.py", "server"),
    ("uv --quiet run server.py", "uv"),
    ("uv run --directory /home/kari python -m weather", "weather"),
    ("uv tool run mcp-git", "mcp-git"),
    ("pipx run mcp-git", "mcp-git"),
    ("docker run -i --rm -e API_KEY=secret ghcr.io/github/github-mcp-server:latest", "github-mcp-server"),
    ("env API_KEY=secret PATH=/x node server.js", "server"),
    ("env -i", "env"),
    ("deno run -A server.ts", "server"),
    ("sh -c 'exec server --token secret'", "sh"),
    ("python 'a secret with spaces'", "python"),
    ("npx 'https://user:secret@x.example/a.tgz'", "npx"),
]


@pytest.mark.parametrize(("command", "name"), NAMES, ids=[command for command, _ in NAMES])
def test_a_server_is_called(command: str, name: str) -> None:
    assert called(shlex.split(command)) == name
    assert "secret" not in called(shlex.split(command))


def test_a_name_that_is_given_stands() -> None:
    assert wrap.parse(["--name", "files", "--", "python3", "server.py"]).name == "files"
    assert wrap.parse(["--", "python3", "server.py"]).name == ""
