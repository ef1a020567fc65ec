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
    past = before.chain if before is not None else None
    digests = {key: question_digest(value) for key, value in questions.items()}
    now.rounds = 1 + (past.rounds if past else 0)
    now.ids = ([*past.ids, exchange.request.id_text or ""] if past else [exchange.request.id_text or ""])[
        -IDS:
    ]
    now.first = past.first if past else exchange.key
    now.arguments = past.arguments if past else question_digest(exchange.arguments)
    now.answered = dict(past.answered) if past else {}
    now.unasked = past.unasked if past else []
    if before is not None and past is not None and type(exchange.answers) is dict:
        for key in exchange.answers:
            if key in before.questions:
                now.answered[key] = past.asked.get(key, "")
        if strange := [
            key for key in exchange.answers if key not in before.questions and key not in past.unasked
        ]:
            now.unasked = [*past.unasked, *strange][-KEYS:]
    now.asked = _last(({**past.asked} if past else {}) | digests)
    now.answered = _last(now.answered)
    now.reused = past.reused if past else []
    now.changed = [
        key for key, text in digests.items() if now.answered.get(key, text) != text and key not in now.reused
    ]
    if now.changed:
        now.reused = [*now.reused, *now.changed][-KEYS:]
    now.kinds = sorted({*(past.kinds if past else ()), *_kinds(questions)})
    now.repeats = now.quick = now.loops = 0
    now.agreed = past.agreed if past else False
    if before is not None and past is not None:
        looped, agreed = _shows(exchange, before)
        now.loops = past.loops + 1 if looped else 0
        now.agreed = past.agreed or agreed
        if questions and spelling(questions) == spelling(before.questions) and _accepted(exchange, before):
            now.repeats = past.repeats + 1
        if not questions and not before.questions and exchange.t - before.t <= QUICK:
            now.quick = past.quick + 1
    return now


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
