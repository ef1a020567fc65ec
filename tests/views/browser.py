"""A headless Chromium for tests: runs a page, and reads what its script left behind."""

from __future__ import annotations

import html
import json
import os
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from tests.conftest import need

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--disable-dev-shm-usage",
)  # fmt: skip


def chromium() -> str:
    return need("chromium", "pages and pictures are tried in it")


def own_folder() -> tempfile.TemporaryDirectory[str]:
    """For what it leaves behind; its name is short, as there are sockets in it."""
    return tempfile.TemporaryDirectory(prefix="browser-", ignore_cleanup_errors=True)


def run(page: Path, *flags: str, timeout: float = 240) -> str:
    """Open the page and return its DOM once its script has ended (it must finish within virtual time)."""
    with own_folder() as profile:
        done = subprocess.run(
            [chromium(), *FLAGS, f"--user-data-dir={profile}", *flags, "--dump-dom", page.as_uri()],
            capture_output=True, text=True, encoding="utf-8", timeout=timeout,
            env=os.environ | {"TMPDIR": profile},
        )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def result(dom: str) -> Any:
    """The JSON that the page's script wrote into `<pre id="result">`."""
    found = re.search(r'<pre id="result">(.*?)</pre>', dom, re.DOTALL)
    assert found, dom[-2000:]
    return json.loads(html.unescape(found[1]))
