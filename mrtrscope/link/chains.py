"""What a chain of rounds amounts to with each `input_required` result: see `facts.Chain`."""

from __future__ import annotations

from typing import Any

from mrtrscope.link.canonical import spelling, stamp
from mrtrscope.link.facts import Ask, Chain, Exchange

QUICK = 20_000  # a state-only round retried within so many microseconds counts as at once
IDS, KEYS = 256, 256  # how much is kept of each


def chain(exchange: Exchange, questions: dict[str, Any]) -> Chain:
    """Everything that the chain amounts to with this result, from what it amounted to before."""
    link, now = exchange.link, Chain()
    before = link.chain if link is not None and exchange.operation.key != exchange.key else None
    digests = {key: question_digest(value) for key, value in questions.items()}
    now.repeats = now.quick = now.loops = 0
    if before is None:
        now.rounds, now.first, now.arguments = 1, exchange.key, question_digest(exchange.arguments)
        now.ids, now.kinds = [exchange.request.id_text or ""], sorted(_kinds(questions))
        now.asked, now.answered = _last(digests), {}
        now.unasked, now.reused, now.changed = [], [], []
        now.agreed = False
    else:
        _go_on(now, exchange, before, questions, digests)
    return now


def _go_on(
    now: Chain, exchange: Exchange, before: Ask, questions: dict[str, Any], digests: dict[str, str]
) -> None:
    """Fill in the chain of a later result; `before`: the result that its request took up."""
    past = before.chain
    now.rounds, now.first, now.arguments = past.rounds + 1, past.first, past.arguments
    now.ids = [*past.ids, exchange.request.id_text or ""][-IDS:]
    now.kinds = sorted({*past.kinds, *_kinds(questions)})
    now.asked = _last(past.asked | digests)
    now.answered, now.unasked, now.reused = past.answered, past.unasked, past.reused
    if type(exchange.answers) is dict:
        met = [key for key in exchange.answers if key in before.questions]
        now.answered = _last(past.answered | {key: past.asked.get(key, "") for key in met})
        strange = [key for key in exchange.answers if key not in before.questions and key not in past.unasked]
        if strange:
            now.unasked = [*past.unasked, *strange][-KEYS:]
    now.changed = [
        key for key, text in digests.items() if now.answered.get(key, text) != text and key not in now.reused
    ]
    if now.changed:
        now.reused = [*now.reused, *now.changed][-KEYS:]
    looped, agreed = _shows(exchange, before)
    now.loops = past.loops + 1 if looped else 0
    now.agreed = past.agreed or agreed
    if questions and spelling(questions) == spelling(before.questions) and _accepted(exchange, before):
        now.repeats = past.repeats + 1
    if not questions and not before.questions and exchange.t - before.t <= QUICK:
        now.quick = past.quick + 1


def _shows(exchange: Exchange, before: Ask) -> tuple[bool, bool]:
    """What the answers of a retry show: (a model stopped for a tool, the user agreed to open an address)."""
    answers, looped, agreed = exchange.answers, False, False
    if type(answers) is dict:
        for key, question in before.questions.items():
            answer = answers.get(key)
            params = question.get("params") if type(question) is dict else None
            if type(params) is dict and type(answer) is dict:
                looped = looped or ("tools" in params and answer.get("stopReason") == "toolUse")
                agreed = agreed or (params.get("mode") == "url" and answer.get("action") == "accept")
    return looped, agreed


def question_digest(value: Any) -> str:
    """Stands for a JSON value in `Chain`: equal for equal ones."""
    return stamp(value)


def _kinds(questions: dict[str, Any]) -> set[str]:
    return {q["method"] for q in questions.values() if type(q) is dict and type(q.get("method")) is str}


def _last(found: dict[str, str]) -> dict[str, str]:
    return found if len(found) <= KEYS else dict(list(found.items())[-KEYS:])


def _accepted(exchange: Exchange, before: Ask) -> bool:
    """Whether every key was answered, elicitations by accept."""
    answers = exchange.answers
    if type(answers) is not dict:
        return False
    for key, question in before.questions.items():
        answer = answers.get(key)
        if type(answer) is not dict:
            return False
        asked = question.get("method") if type(question) is dict else None
        if asked == "elicitation/create" and answer.get("action") != "accept":
            return False
    return True
