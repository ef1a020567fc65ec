"""Where the answers to a live server's questions come from: a file, the recording, or somebody at the terminal."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mrtrscope.replay.compare import aligned

Person = Callable[[str, dict[str, Any]], dict[str, Any] | None]


class Unanswered(Exception):
    """Nobody has an answer to these questions."""


class Answers:
    """file     key or message of a question -> what to answer; goes before what was recorded
    person   asked for what is neither recorded nor in the file, one question at a time; None: nobody
    """

    def __init__(self, file: dict[str, Any] | None = None, person: Person | None = None) -> None:
        self._file = file or {}
        self._person = person
        self._lock = asyncio.Lock()

    @classmethod
    def read(cls, path: Path | None, person: Person | None = None) -> Answers:
        """From a JSON file; ValueError says what is wrong with it."""
        if path is None:
            return cls(None, person)
        try:
            file = json.loads(path.read_text(encoding="utf-8"))
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{path}: not JSON: {error}") from None
        except OSError as error:
            raise ValueError(f"{path}: {error.strerror}") from None
        if type(file) is not dict:
            raise ValueError(f'{path}: an object is wanted, {{"key or message of a question": answer}}')
        return cls(file, person)

    async def to(self, now: dict[str, Any], asked: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
        """The answers to the questions of today; `asked` and `given` are those of the recording.

        What the recorded client left unanswered is left out again, and what it said unasked is said again.
        Unanswered when somebody has to be asked and nobody is there.
        """
        names = aligned(asked, now)
        answers: dict[str, Any] = {}
        for key, question in now.items():
            recorded = names.get(key)
            if (found := self._in_file(key, question)) is not None:
                answers[key] = found
            elif recorded is None:
                answers[key] = await self._ask(key, question)
            elif recorded in given:
                answers[key] = given[recorded]
        return answers | {k: v for k, v in given.items() if k not in asked}

    def _in_file(self, key: str, question: Any) -> dict[str, Any] | None:
        params = question.get("params") if type(question) is dict else None
        message = params.get("message") if type(params) is dict else None
        found = self._file.get(key, self._file.get(message) if type(message) is str else None)
        if type(found) is not dict:
            return None
        whole = {"action", "roots", "role"} & found.keys()
        return found if whole else {"action": "accept", "content": found}

    async def _ask(self, key: str, question: Any) -> dict[str, Any]:
        if self._person is not None and type(question) is dict:
            async with self._lock:
                answer = await asyncio.to_thread(self._person, key, question)
            if answer is not None:
                return answer
        raise Unanswered(
            f"no recorded answer for the question {key!r}; give one with --answers FILE or --ask"
        )
