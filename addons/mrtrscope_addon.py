"""Records MCP traffic that passes through mitmproxy 12 into a capture folder, for `mrtrscope` to read.

    mitmdump -s mrtrscope_addon.py --set mrtrscope_capture=DIR --mode reverse:http://127.0.0.1:9000

Works the same in mitmproxy and mitmweb, and in every mode. Each hook is one guarded call into `mrtrscope.tap`, which
appends to a journal. Judging is the business of a child process (`mrtrscope analyse --follow`) that reads the journal
at a lower priority and ends with it; what it finds comes back as comments and marks on the flows that mitmproxy shows.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mitmproxy import contentviews, ctx, exceptions, http, tcp, version
from mitmproxy.proxy import layers
from mitmproxy.proxy.mode_specs import Socks5Mode

if __name__.startswith("__mitmproxy_script__"):  # -s puts no folder on the path that lasts
    _here = Path(__file__).resolve().parent
    try:
        import mrtrscope as _mrtrscope  # noqa: F401
    except ImportError:
        sys.path.append(str(_here.parent))  # a checkout that was not installed

from mrtrscope_flows import Analyser, FlowNotes
from mrtrscope_view import McpContentview

from mrtrscope.recorder import Journal
from mrtrscope.tap import HttpTap
from mrtrscope.tap_records import FlowIds, address
from mrtrscope.tap_stdio import StdioTap
from mrtrscope.told import Notices, why_not
from mrtrscope.where import default_capture, say, size

if TYPE_CHECKING:
    from mitmproxy.addonmanager import Loader
    from mitmproxy.connection import Client
    from mitmproxy.flow import Flow
    from mitmproxy.proxy.layer import NextLayer
    from mitmproxy.proxy.server_hooks import ServerConnectionHookData

logger = logging.getLogger(__name__)

EDITORS = ("modify_body", "modify_headers", "map_remote", "map_local")
"""Options of mitmproxy that may change a message after our hook has seen it."""


class Recording:
    """One journal and what writes into it."""

    def __init__(self, capture: str, mode: list[str], max_size: int | None) -> None:
        self.capture = capture
        self.journal = Journal.create(
            capture, "addon", mode[0] if mode else "mitmproxy",
            max_size=max_size, mode=", ".join(mode), mitmproxy=version.VERSION,
        )  # fmt: skip
        self.journal.told = Notices("mrtrscope", logger.error).recording
        numbers = itertools.count(1).__next__
        self.ids = FlowIds()
        self.http = HttpTap(self.journal, numbers, self.ids)
        self.stdio = StdioTap(self.journal, numbers, self.ids)

    def close(self) -> None:
        """End what is under way, and the journal."""
        self.http.close()
        self.stdio.close()
        self.journal.close()


class Refusals(logging.Handler):
    """Keeps what mitmproxy says of bytes that it takes for no HTTP: there is no hook for a head it cannot read."""

    def __init__(self, recording: Recording) -> None:
        super().__init__(logging.INFO)
        self._recording = recording

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the remark when it is one about unreadable bytes; called for every line that mitmproxy logs."""
        try:
            client = getattr(record, "client", None)
            said = record.getMessage()
            if client and (
                said.startswith(
                    (f"{client[0]}:{client[1]}: ", "Unexpected data from server", "Client closed conn")
                )
                or "without host header" in said
            ):
                where = f"{client[0]}:{client[1]}"
                self._recording.http.note({"ours": True, "client": where, "said": said[:1000]})
        except Exception:
            self._recording.http.failures += 1


class MrtrScope:
    """The addon. Its hooks come from mitmproxy's event loop, one at a time."""

    name = "mrtrscope"

    def __init__(self) -> None:
        self.recording: Recording | None = None
        self._failed = False
        self._may_edit = False
        self._refusals: Refusals | None = None
        self._analyser: Analyser | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    # life

    def load(self, loader: Loader) -> None:
        """Make our options and the content view known."""
        loader.add_option("mrtrscope_capture", str, "", "Folder to record MCP traffic into.")
        loader.add_option(
            "mrtrscope_analyse", bool, True, "Judge the traffic in a child process while it flows."
        )
        loader.add_option(
            "mrtrscope_max_size", str, "", "Stop recording, not traffic, at this size (200M, 2G)."
        )
        loader.add_option(
            "mrtrscope_stdio",
            bool,
            False,
            "Take every SOCKS5 connection for a stdio session of `mrtrscope wrap --via`.",
        )
        contentviews.add(McpContentview(lambda: self.recording.capture if self.recording else ""))

    def configure(self, updated: set[str]) -> None:
        """Check options, and see whether somebody may edit what passes."""
        if "mrtrscope_max_size" in updated and ctx.options.mrtrscope_max_size:
            try:
                size(ctx.options.mrtrscope_max_size)
            except ValueError as e:
                raise exceptions.OptionsError("mrtrscope_max_size: say a size such as 200M or 2G") from e
        if "mrtrscope_capture" in updated and self.recording:
            raise exceptions.OptionsError(
                "mrtrscope_capture cannot change while recording; start mitmproxy anew"
            )
        options = ctx.options
        active = getattr(options, "intercept_active", False) and bool(options.intercept)
        self._may_edit = active or len(options.scripts) > 1 or any(getattr(options, o, None) for o in EDITORS)
        if self.recording:
            self.recording.http.host_rewritten = not options.keep_host_header

    def running(self) -> None:
        """mitmproxy is up: begin, and start the analyser."""
        recording = self._start()
        if recording is None:
            return
        self._announce(recording)
        self._refusals = Refusals(recording)
        logging.getLogger("mitmproxy.proxy.server").addHandler(self._refusals)
        recording.ids.wanted = ctx.options.mrtrscope_analyse
        if recording.ids.wanted:
            self._analyser = Analyser(recording.capture)
            self._analyser.start()
            journal = Path(recording.journal.path).name
            self._later(FlowNotes(recording.capture, journal, recording.ids, self._analyser).follow())

    def _announce(self, recording: Recording) -> None:
        server = ctx.master.addons.get("proxyserver")
        where = ", ".join(dict.fromkeys(map(address, server.listen_addrs()))) if server else ""
        text = f"mrtrscope: recording to {recording.capture}" + (f"; listening at {where}" if where else "")
        if type(ctx.master).__name__ == "ConsoleMaster":
            logger.info(text)  # its screen is no place for stderr
        else:
            say(text)

    def done(self) -> None:
        """mitmproxy ends: close the journal, let the analyser read the rest of it."""
        for task in self._tasks:
            task.cancel()
        if self._refusals:
            logging.getLogger("mitmproxy.proxy.server").removeHandler(self._refusals)
        if self.recording:
            self.recording.close()
            self._sum_up(self.recording)
            self.recording, self._failed = None, True
        if self._analyser:
            self._analyser.stop()

    def _sum_up(self, recording: Recording) -> None:
        """What could not be kept, last of all."""
        journal = recording.journal
        if journal.lost_frames:
            say(
                f"mrtrscope: {journal.lost_frames:,} records with {journal.lost_bytes:,} bytes were passed on and could"
                f" not be kept: {why_not(recording.capture, journal.why)}; where they belong, {journal.path} has gaps"
            )

    def _start(self) -> Recording | None:
        """The recording, begun when it is asked for the first time; None when there cannot be one."""
        if self.recording is None and not self._failed:
            given = ctx.options.mrtrscope_capture
            capture = str(Path(given or default_capture()).absolute())
            limit = ctx.options.mrtrscope_max_size
            try:
                self.recording = Recording(capture, list(ctx.options.mode), size(limit) if limit else None)
            except OSError as e:
                self._failed = True
                logger.error(
                    f"mrtrscope cannot record into {capture}: {e.strerror or e}. "
                    "Traffic passes, nothing is kept: put that right or name another folder with "
                    "--set mrtrscope_capture=DIR, and start anew."
                )
                return None
            self.recording.http.host_rewritten = not ctx.options.keep_host_header
        return self.recording

    def _later(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # HTTP

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        if (recording := self.recording or self._start()) and flow.live:
            recording.http.requestheaders(flow)

    def request(self, flow: http.HTTPFlow) -> None:
        if self.recording:
            self.recording.http.request(flow)
            if self._may_edit:
                self._later(self._settle_request(flow))

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        if self.recording:
            self.recording.http.responseheaders(flow)

    def response(self, flow: http.HTTPFlow) -> None:
        if recording := self.recording:
            lane = recording.http.answer_lane(flow) if self._may_edit else ""
            body = flow.response.raw_content if lane and flow.response else None
            recording.http.response(flow)
            if body is not None:
                self._later(self._settle_response(flow, lane, body))

    def error(self, flow: http.HTTPFlow) -> None:
        if self.recording:
            self.recording.http.error(flow)

    def client_disconnected(self, client: Client) -> None:
        if self.recording:
            self.recording.http.client_disconnected(client)
            self.recording.stdio.client_disconnected(client)

    async def _settle_request(self, flow: http.HTTPFlow) -> None:
        await _passed_on(flow)
        if self.recording:
            self.recording.http.settle_request(flow)

    async def _settle_response(self, flow: http.HTTPFlow, lane: str, body: bytes) -> None:
        await _passed_on(flow)
        if self.recording:
            self.recording.http.settle_response(flow, lane, body)

    # stdio sessions of `mrtrscope wrap --via`

    def server_connect(self, data: ServerConnectionHookData) -> None:
        if isinstance(data.client.proxy_mode, Socks5Mode) and (recording := self.recording or self._start()):
            recording.stdio.resolve(data)

    def next_layer(self, nextlayer: NextLayer) -> None:
        """A stdio session is bytes, whatever they look like: some begin like HTTP or TLS."""
        context = nextlayer.context
        if isinstance(context.client.proxy_mode, Socks5Mode) and (
            recording := self.recording or self._start()
        ):
            recording.stdio.resolve(context)
            if self._is_stdio(context.client):
                nextlayer.layer = layers.TCPLayer(context)

    def tcp_start(self, flow: tcp.TCPFlow) -> None:
        if self._is_stdio(flow.client_conn) and (recording := self.recording or self._start()):
            recording.stdio.tcp_start(flow)

    def _is_stdio(self, client: Client) -> bool:
        """Whether `wrap --via` is at the other end: it said so, or we were told that nobody else comes here."""
        if not isinstance(client.proxy_mode, Socks5Mode):
            return False
        return bool(ctx.options.mrtrscope_stdio) or (
            self.recording is not None and self.recording.stdio.knows(client)
        )

    def tcp_message(self, flow: tcp.TCPFlow) -> None:
        if self.recording:
            self.recording.stdio.tcp_message(flow)
            if self._may_edit:
                self._later(self._settle_tcp(flow))

    def tcp_end(self, flow: tcp.TCPFlow) -> None:
        if self.recording:
            self.recording.stdio.tcp_end(flow)

    def tcp_error(self, flow: tcp.TCPFlow) -> None:
        if self.recording:
            self.recording.stdio.tcp_error(flow)

    async def _settle_tcp(self, flow: tcp.TCPFlow) -> None:
        await _passed_on(flow)
        if self.recording:
            self.recording.stdio.settle(flow)


async def _passed_on(flow: Flow) -> None:
    """Wait until the addons behind us, and the person at the screen, are done with what just came."""
    await asyncio.sleep(0)
    if flow.intercepted:
        await flow.wait_for_resume()


addons = [MrtrScope()]
