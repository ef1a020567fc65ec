"""Elicitations in form mode, taken apart: the schema of the form and its fields. Shared by the rules about them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mrtrscope.rules.context import Context
from mrtrscope.rules.questions import ELICITATION, Question, asked, elicitation_mode, pointer
from mrtrscope.wire.events import Message

FIELDS = 200  # of one form that are looked at


class Field:
    """One property of a form: its name, its schema ({} when that is no object), and its JSON pointer."""

    __slots__ = ("body", "name", "path", "schema")

    def __init__(self, path: str, name: str, body: Any) -> None:
        self.path = path + pointer(name)
        self.name = name
        self.body = body
        self.schema: dict[str, Any] = body if type(body) is dict else {}

    @property
    def type(self) -> Any:
        return self.schema.get("type")

    def options(self) -> list[Any] | None:
        """What may be chosen, None when it is no choice."""
        items = self.schema.get("items")
        for holder in (self.schema, items if type(items) is dict else {}):
            if type(holder.get("enum")) is list:
                return list(holder["enum"])
            for word in ("oneOf", "anyOf"):
                if type(holder.get(word)) is list:
                    return [o.get("const") if type(o) is dict else None for o in holder[word]]
        return None


def forms(message: Message, ctx: Context) -> Iterator[Question]:
    """Questions in form mode."""
    for question in asked(message, ctx, ELICITATION):
        if elicitation_mode(question.params) == "form":
            yield question


def form_schema(question: Question) -> dict[str, Any] | None:
    """requestedSchema, None when it is no object."""
    schema = question.params.get("requestedSchema")
    return schema if type(schema) is dict else None


def schema_path(question: Question) -> str:
    return question.path + "/params/requestedSchema"


def fields(question: Question) -> list[Field]:
    """The properties of a form."""
    schema = form_schema(question)
    properties = schema.get("properties") if schema is not None else None
    if type(properties) is not dict:
        return []
    path = schema_path(question) + "/properties"
    return [Field(path, name, body) for name, body in list(properties.items())[:FIELDS]]


def required(question: Question) -> list[str]:
    """Names that the form requires."""
    schema = form_schema(question)
    names = schema.get("required") if schema is not None else None
    return [name for name in names if type(name) is str] if type(names) is list else []


def named(question: Question) -> str:
    """How a text names the question."""
    return "the question" if question.old_way else f"the question {question.key!r}"
