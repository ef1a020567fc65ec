"""What a server did with an attempt, and the verdict on it. Pure.

What it did is told by comparing with the retry that was right: REFUSED, ASKED again, ACCEPTED (as the right one was),
OTHER (it went on, to another end), CRASHED (-32603), SILENT (no answer).
"""

from __future__ import annotations

from typing import Any

from mrtrscope.replay import attempt as table
from mrtrscope.replay.attempt import Attempt, Retry
from mrtrscope.replay.client import Reply
from mrtrscope.replay.compare import differences, questions_of

REFUSED, ASKED, ACCEPTED, OTHER, CRASHED, SILENT = (
    "refused", "asked again", "went on", "went on otherwise", "crashed", "silent",
)  # fmt: skip
KEPT, BROKEN, UNSURE, NOT_MADE = "kept", "broken", "cannot tell", "not made"
LONG = 86_400.0  # seconds after which a state that is still good is certainly not short-lived


class Baseline:
    """How the operation goes when nothing is wrong: what the server asks a fresh call, what it asks before the retry,
    and what it says to that."""

    def __init__(self, fresh: dict[str, Any], asked: dict[str, Any], right: dict[str, Any]) -> None:
        self.fresh = fresh
        self.asked = asked
        self.right = right

    def works(self, reply: Reply) -> bool:
        """Whether a retry in which nothing is wrong was taken, as the first such was, or to another end."""
        return self.outcome(reply) in (ACCEPTED, OTHER)

    def outcome(self, reply: Reply) -> str:
        message = reply.message
        if message is None:
            return REFUSED if reply.status is not None and 400 <= reply.status < 500 else SILENT
        error = message.get("error")
        if type(error) is dict:
            return CRASHED if error.get("code") == -32603 else REFUSED
        result = message.get("result")
        if type(result) is dict and result.get("isError") is True:
            return REFUSED
        if not differences(self.right, message):
            return ACCEPTED
        questions = questions_of(message)
        for asked in (self.asked, self.fresh):
            again = not differences(asked, message) or questions.keys() <= questions_of(asked).keys()
            if questions and again:
                return ASKED
        return OTHER


def judge(attempt: Attempt, outcome: str, reply: Reply, baseline: Baseline, retry: Retry) -> tuple[str, str]:
    """(verdict, why) for what a server did with an attempt."""
    want = attempt.want
    if want == table.BAD_REQUEST:
        code = (reply.message or {}).get("error", {}).get("code") if reply.message else None
        if reply.status == 400 and code == -32020:
            return KEPT, ""
        refused = outcome == REFUSED
        return (
            BROKEN,
            f"refused with HTTP {reply.status} and {code}" if refused else "the body was served all the same",
        )
    if want == table.NOT_ASK:
        if reply.message is None:
            return UNSURE, "no answer came"
        if questions_of(reply.message):
            return BROKEN, "asked though nothing was declared"
        later = attempt.on == table.RETRY and not questions_of(baseline.right)
        return KEPT, "there was nothing left to ask" if later and outcome != REFUSED else ""
    if attempt.name == "after-a-wait" and outcome == ACCEPTED:
        words = f"still good after {retry.wait:g} s"
        return (BROKEN if retry.wait >= LONG else UNSURE), words
    return VERDICTS[want].get(outcome, (UNSURE, "no answer came" if outcome == SILENT else ""))


VERDICTS: dict[str, dict[str, tuple[str, str]]] = {
    table.ACCEPT: {
        ACCEPTED: (KEPT, ""), REFUSED: (BROKEN, "refused"), CRASHED: (BROKEN, "crashed"),
        ASKED: (BROKEN, "asked again"), SILENT: (BROKEN, "no answer came"),
        OTHER: (UNSURE, "it went on, to another end"),
    },
    table.REFUSE: {
        REFUSED: (KEPT, ""), CRASHED: (KEPT, "refused as an internal error"),
        ASKED: (UNSURE, "not refused, but asked again: nothing was done with it"),
        ACCEPTED: (BROKEN, "it went on as if nothing were wrong"), OTHER: (BROKEN, "it went on, to another end"),
    },
    table.NOT_GO_ON: {
        REFUSED: (KEPT, ""), CRASHED: (KEPT, "refused as an internal error"), ASKED: (KEPT, "taken for a fresh call"),
        ACCEPTED: (BROKEN, "it went on as if nothing were wrong"), OTHER: (BROKEN, "it went on, to another end"),
    },
    table.ASK_AGAIN: {
        ASKED: (KEPT, ""), REFUSED: (BROKEN, "refused, where asking again was wanted"), CRASHED: (BROKEN, "crashed"),
        ACCEPTED: (UNSURE, "it went on without the answer, so perhaps it does not need it"),
        OTHER: (UNSURE, "it went on without the answer, to another end"), SILENT: (BROKEN, "no answer came"),
    },
    table.HANDLE: {
        OTHER: (KEPT, ""), REFUSED: (KEPT, ""), ASKED: (KEPT, "asked again"), CRASHED: (BROKEN, "crashed"),
        ACCEPTED: (BROKEN, "it went on as if the user had accepted"), SILENT: (BROKEN, "no answer came"),
    },
    table.NOT_TAKE: {
        REFUSED: (KEPT, ""), ASKED: (KEPT, ""), CRASHED: (KEPT, "refused as an internal error"),
        ACCEPTED: (BROKEN, "it went on as with a good answer"),
        OTHER: (UNSURE, "it went on, to another end, as after a refusal perhaps"), SILENT: (BROKEN, "no answer came"),
    },
    table.ONCE: {
        ACCEPTED: (KEPT, "taken for a new request, as it may be once the first is answered"),
        REFUSED: (KEPT, "refused, which is an answer"), CRASHED: (BROKEN, "crashed"),
        OTHER: (UNSURE, "it went on, to another end"), SILENT: (BROKEN, "no answer came"),
        ASKED: (BROKEN, "the first request was answered again, not this one"),
    },
    table.TELL: {
        REFUSED: (KEPT, ""), ACCEPTED: (UNSURE, "taken; whether it may be is the server's to know"),
        OTHER: (UNSURE, "taken, with another end"), ASKED: (UNSURE, "asked again"), CRASHED: (UNSURE, "crashed"),
    },
}  # fmt: skip


def did(reply: Reply) -> str:
    """What a server did, in a few words."""
    message = reply.message
    status = f"HTTP {reply.status}, " if reply.status not in (None, 200) else ""
    if message is None:
        return status + reply.error
    error = message.get("error")
    if type(error) is dict:
        return f"{status}error {error.get('code')} {str(error.get('message'))[:80]}"
    if questions := questions_of(message):
        return f"{status}asked {', '.join(sorted(questions))[:60]}"
    result = message.get("result")
    if type(result) is dict and result.get("isError") is True:
        return f"{status}error of the tool: {_text(result)}"
    return f"{status}completed: {_text(result)}" if type(result) is dict else f"{status}no result"


def _text(result: dict[str, Any]) -> str:
    content = result.get("content")
    first = content[0] if type(content) is list and content else None
    text = first.get("text") if type(first) is dict else None
    return text[:80] if type(text) is str else "…"
