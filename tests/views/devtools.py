"""A headless Chromium that a test can talk to, through the DevTools protocol."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import subprocess
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

from tornado.httpclient import HTTPRequest
from tornado.websocket import WebSocketClientConnection, websocket_connect

from tests.conftest import LIMIT
from tests.views.browser import FLAGS, chromium, own_folder

PATIENCE = 3 * LIMIT  # a browser has many processes, and a machine with much to do runs each of them late


class Gone(Exception):
    """The page that was asked has been left."""


class Tab:
    """A page.

    requests   addresses that it asked for     told   what its console said: errors, warnings, refusals of its policy
    """

    def __init__(self, socket: WebSocketClientConnection) -> None:
        self._socket = socket
        self._n = 0
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._session = ""
        self.requests: list[str] = []
        self.told: list[str] = []
        self._loaded = asyncio.Event()

    async def read(self) -> None:
        while (text := await self._socket.read_message()) is not None:
            message = json.loads(text)
            if "id" in message:
                self._answers.pop(message["id"]).set_result(message)
            else:
                self._event(message["method"], message.get("params", {}))

    def _event(self, method: str, params: dict[str, Any]) -> None:
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.told.append(json.dumps(params["exceptionDetails"])[:600])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.told.append(json.dumps(params["args"])[:600])
        elif method == "Log.entryAdded":
            self.told.append(params["entry"]["text"][:600])
        elif method == "Page.javascriptDialogOpening":
            self.told.append(f"dialog: {params.get('message')}")
        elif method == "Page.loadEventFired":
            self._loaded.set()

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        self._n += 1
        answer = self._answers[self._n] = asyncio.get_running_loop().create_future()
        sent = {"id": self._n, "method": method, "params": params}
        if self._session:
            sent["sessionId"] = self._session
        await self._socket.write_message(json.dumps(sent))
        found = await asyncio.wait_for(answer, PATIENCE)
        if "navigated" in found.get("error", {}).get("message", ""):
            raise Gone
        assert "error" not in found, (method, found["error"])
        result: dict[str, Any] = found["result"]
        return result

    async def begin(self) -> None:
        target = (await self.call("Target.createTarget", url="about:blank"))["targetId"]
        self._session = (await self.call("Target.attachToTarget", targetId=target, flatten=True))["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            await self.call(f"{domain}.enable")

    async def open(self, page: Path, fragment: str = "") -> None:
        """Load a page, and wait for its script to be done."""
        self._loaded.clear()
        await self.call("Page.navigate", url="about:blank")
        await asyncio.wait_for(self._loaded.wait(), PATIENCE)
        self.requests.clear()
        self._loaded.clear()
        await self.call("Page.navigate", url=page.as_uri() + fragment)
        await asyncio.wait_for(self._loaded.wait(), PATIENCE)
        await self.until("document.documentElement.dataset.ready === 'true'")

    async def run(self, code: str) -> Any:
        """The value of an expression; a promise is waited for."""
        done = await self.call("Runtime.evaluate", expression=code, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in done, json.dumps(done["exceptionDetails"])[:1500]
        return done["result"].get("value")

    async def until(self, code: str) -> Any:
        """Ask until the answer is true; a page that is just being left has none."""
        asked = f"(() => {{ try {{ return Boolean({code}); }} catch (e) {{ return false; }} }})()"
        end = asyncio.get_running_loop().time() + PATIENCE
        while True:
            try:
                if value := await self.run(asked):
                    return value
            except Gone:
                pass
            assert asyncio.get_running_loop().time() < end, f"not true in time: {code}"
            await asyncio.sleep(0.01)

    async def looks(
        self, width: int = 1280, height: int = 900, *, dark: bool = False, media: str = ""
    ) -> None:
        """Size of the window, and what the user's system asks for."""
        await self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                        mobile=width < 700)  # fmt: skip
        wish = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        await self.call("Emulation.setEmulatedMedia", media=media, features=[wish])

    async def picture(self, path: Path, whole: bool = False) -> None:
        shot = await self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(shot["data"]))

    async def paper(self) -> bytes:
        """The page as PDF."""
        made = await self.call("Page.printToPDF", printBackground=True)
        return base64.b64decode(made["data"])

    async def press(self, key: str) -> None:
        codes = {"Enter": 13, "Escape": 27, "ArrowDown": 40, "ArrowUp": 38, "Tab": 9, "/": 191}
        text = {"Enter": "\r", "/": "/"}.get(key, "")
        for kind in ("keyDown", "keyUp"):
            more = {"text": text} if text and kind == "keyDown" else {}
            await self.call(
                "Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=codes[key], **more
            )


@contextlib.asynccontextmanager
async def tab(profile: Path) -> AsyncIterator[Tab]:
    """A browser of its own with one page, gone afterwards."""
    with own_folder() as folder:
        async with _tab(profile, os.environ | {"TMPDIR": folder}) as made:
            yield made


@contextlib.asynccontextmanager
async def _tab(profile: Path, environment: dict[str, str]) -> AsyncIterator[Tab]:
    process = subprocess.Popen(
        [chromium(), *FLAGS, f"--user-data-dir={profile}", "--remote-debugging-port=0", "about:blank"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment,
    )  # fmt: skip
    try:
        said = profile / "DevToolsActivePort"
        async with asyncio.timeout(PATIENCE):
            while not said.exists() or len(said.read_text().splitlines()) < 2:
                assert process.poll() is None, "chromium ended"
                await asyncio.sleep(0.02)
        port, place = said.read_text().splitlines()[:2]
        browser = HTTPRequest(f"ws://127.0.0.1:{port}{place}", connect_timeout=PATIENCE)
        socket = await websocket_connect(browser, max_message_size=1 << 28)
        made = Tab(socket)
        reading = asyncio.create_task(made.read())
        try:
            await made.begin()
            yield made
        finally:
            reading.cancel()
            socket.close()
    finally:
        process.terminate()
        process.wait(PATIENCE)


def with_tab(profile: Path, work: Callable[[Tab], Coroutine[Any, Any, None]]) -> None:
    """Run a piece of a test with a page."""

    async def whole() -> None:
        async with tab(profile) as made:
            await work(made)

    asyncio.run(whole())
