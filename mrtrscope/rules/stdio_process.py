"""basic/transports/stdio: cancelling, ending and starting a process."""

from __future__ import annotations

from collections.abc import Iterator

from mrtrscope.link.processes import LISTEN, Process
from mrtrscope.rules.context import Context, Finding, finding_id
from mrtrscope.rules.registry import (
    BOTH,
    CLIENT,
    MUST,
    MUST_NOT,
    NOTIFICATION,
    REMARKED,
    REQUEST,
    SERVER,
    SHOULD,
    SHOULD_NOT,
    SIGNAL,
    rule,
)
from mrtrscope.wire.events import EXIT, LANE_END, Message, Signal

PAGE = "2026-07-28/basic/transports/stdio"
SECOND = 1_000_000
GRACE = SECOND  # after a cancellation was written; what comes within it may have been under way
PROMPT = 5 * SECOND  # a server that takes longer to end after its stdin was closed is not prompt; ours
# What ends so soon after its wrapper was sent a signal ended of it, or was killed by the wrapper.
OF_IT = 6 * SECOND
HASTY = SECOND // 10  # a signal within so long after the end of stdin left no time to end
MINUTE = 60 * SECOND
MANY, FEW_CALLS = 10, 2  # processes in ten minutes that are many, calls that are few; ours

SIGHUP, SIGINT, SIGQUIT, SIGKILL, SIGTERM = 1, 2, 3, 9, 15
ENDING = (SIGHUP, SIGINT, SIGQUIT, SIGTERM)
SENDERS = {
    "client": " from the client",
    "terminal": " from a key of the terminal",
    "other": " from another process",
}


@rule("stdio/cancel-by-notification", level=MUST, fault=CLIENT, on=REMARKED, exercised=REQUEST, dirs=("c2s",),
      eras=BOTH, source=PAGE + "#cancellation")  # fmt: skip
def asked_again_without_cancelling(request: Message, ctx: Context) -> Iterator[Finding]:
    """The same call is sent again while the first one still waits and was not cancelled.

    Why it matters: a client that gave up must say so with notifications/cancelled, else the server works for nobody.
    Cannot tell: equal calls side by side are legal, so it is only noted.
    """
    remarks = ctx.exchange.remarks if ctx.exchange is not None else None
    if remarks is not None and "repeats" in remarks and request.kind == "request":
        yield ctx.finding(request, also=[remarks["repeats"]], saw=request.method, level="info")


@rule("stdio/no-messages-after-cancel", level=MUST_NOT, fault=SERVER, on=(REMARKED, NOTIFICATION), dirs=("s2c",),
      source=PAGE + "#cancellation")  # fmt: skip
def goes_on_after_a_cancellation(message: Message, ctx: Context) -> Iterator[Finding]:
    """The server sends a message for a request that was cancelled more than a second ago.

    Why it matters: the client has forgotten the request; what comes looks like a response to nothing.
    Cannot tell: when the server read the cancellation; what comes within a second may have been under way. A response
    is reported at should level, since another page only says it should not come; the closing result of a subscription
    is only noted.
    """
    exchange = ctx.exchange
    if exchange is None or exchange.cancel is None or exchange.cancel.dir != "c2s":
        return
    if message.kind == "notification" and message.method != "notifications/progress":
        return
    ctx.tested()
    if message.t - exchange.cancel.t <= GRACE:
        return
    late = f"{(message.t - exchange.cancel.t) / SECOND:.1f} s after the cancellation"
    if message.kind == "notification":
        yield ctx.finding(message, saw=late, expected="silence", also=[exchange.cancel])
    else:
        cause = finding_id("cancel/no-response-after-cancel", message.key)
        level = "info" if exchange.method == LISTEN else "should"
        yield ctx.finding(
            message, saw=late, expected="silence", also=[exchange.cancel], level=level, because=cause
        )


@rule(
    "stdio/server-exits-on-eof",
    level=SHOULD,
    fault=SERVER,
    on=SIGNAL,
    signals=(EXIT,),
    source=PAGE + "#shutdown",
)
def lives_on_without_stdin(event: Signal, ctx: Context) -> Iterator[Finding]:
    """The server did not end when its stdin was closed.

    Why it matters: hosts wait for it, then kill it; what it had not written yet is lost.
    Cannot tell: without the end of stdin and of the process in the recording, which only a wrapper sees.
    """
    process = ctx.channel.processes.get(event.peer.id)
    if process is None or process.eof is None:
        return
    ctx.tested()
    after = event.t - process.eof
    killed = process.signal in (SIGKILL, SIGTERM)
    if after > PROMPT or (killed and after >= SECOND):
        how = f"killed by signal {process.signal}" if killed else "ended"
        yield ctx.finding(
            event,
            saw=f"{how} {after / SECOND:.1f} s after stdin was closed",
            expected="a prompt end by itself",
        )


@rule("stdio/client-closes-stdin-first", level=SHOULD, fault=CLIENT, on=SIGNAL, signals=(EXIT,), eras=BOTH,
      source=PAGE + "#shutdown")  # fmt: skip
def killed_with_stdin_open(event: Signal, ctx: Context) -> Iterator[Finding]:
    """The server was killed before its stdin was closed, or at the same moment.

    Why it matters: it had no time to write what it holds and to end by itself.
    Cannot tell: who sent the signal, unless the recorder was sent one by the process that started it. All else is only
    noted: a key of the terminal, a supervisor and a shutdown signal whole groups, the client among them; a system that
    lacks memory kills too.
    """
    process = ctx.channel.processes.get(event.peer.id)
    if process is None or not process.known:
        return
    ctx.tested()
    number, t, by = process.signal, event.t, ""
    if process.sent in ENDING and event.t - process.sent_t <= OF_IT:
        number, t, by = process.sent, process.sent_t, process.by
    if number not in ENDING and number != SIGKILL:
        return
    if process.eof is None or t - process.eof < HASTY:
        yield ctx.finding(
            event,
            saw=f"signal {number}{SENDERS.get(by, '')}, stdin "
            + ("open" if process.eof is None or process.eof > t else "just closed"),
            expected="the end of stdin, then time to end",
            level=None if by == "client" else "info",
        )


@rule("stdio/resubscribe-after-restart", level=MUST, fault=CLIENT, on=REMARKED, dirs=("c2s",),
      source="2026-07-28/basic/patterns/subscriptions#graceful-closure")  # fmt: skip
def subscription_not_renewed(request: Message, ctx: Context) -> Iterator[Finding]:
    """A subscription was open when the process ended, and was not made again with the next one.

    Why it matters: the new process knows nothing of it; the client waits for notices that never come.
    Cannot tell: whether the client still wants it, so it is only noted, after a minute of other requests.
    """
    exchange = ctx.exchange
    if exchange is None or exchange.remarks is None or request.kind != "request":
        return
    lost = exchange.remarks.get("unsubscribed")
    if lost is not None:
        ctx.tested()
        yield ctx.finding(
            request,
            saw="no subscriptions/listen for a minute",
            expected="it is sent again",
            also=[lost],
            level="info",
        )


@rule("stdio/restart-after-crash", level=SHOULD, fault=CLIENT, on=SIGNAL, signals=(LANE_END,), dirs=("c2s",),
      source=PAGE + "#unexpected-termination")  # fmt: skip
def not_started_again(event: Signal, ctx: Context) -> Iterator[Finding]:
    """The server ended unexpectedly and its client did not start it again for a minute.

    Why it matters: its tools are gone for as long as the host runs.
    Cannot tell: a host that is about to end itself. Only noted.
    """
    process = ctx.channel.processes.get(event.peer.id)
    if process is None or process.exit is None or not _crashed(process):
        return
    ctx.tested()
    later = any(other.t > process.exit for other in ctx.channel.processes.values())
    if event.t - process.exit >= MINUTE and not later:
        yield ctx.finding(
            event,
            saw=f"{(event.t - process.exit) // SECOND} s without a server",
            expected="a new process",
            level="info",
        )


@rule("stdio/process-per-conversation", level=SHOULD_NOT, fault=CLIENT, on=SIGNAL, signals=(EXIT,),
      source="2026-07-28/basic/index#statelessness")  # fmt: skip
def process_for_every_call(event: Signal, ctx: Context) -> Iterator[Finding]:
    """The client starts a process for every call or two.

    Why it matters: starting costs more than most calls, and what a server keeps warm is lost each time.
    Cannot tell: tools for the command line that run once; so it is only noted, once a channel.
    """
    ctx.tested()
    recent = [p for p in ctx.channel.processes.values() if event.t - p.t <= 10 * MINUTE and p.known]
    short = [p for p in recent if p.exit is not None and p.code == 0 and p.calls <= FEW_CALLS]
    if len(short) > MANY and len(short) == len(recent) and ctx.first():
        yield ctx.finding(
            event,
            saw=f"{len(short)} processes in ten minutes",
            expected="one for all conversations",
            level="info",
        )


def _crashed(process: Process) -> bool:
    """It ended by itself and not in good order, with its stdin open."""
    return (
        process.eof is None
        and process.known
        and (bool(process.code) or process.signal not in (None, SIGTERM, SIGINT))
    )
