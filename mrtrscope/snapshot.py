"""Writes the state of an analysis as JSON text, and reads it back: the checkpoint in `scope.db`.

A capture may come from somebody else, so this is no pickle: only plain values and the slotted classes of `wire` and
`link` are read back, by setting their fields; nothing of the text is ever run.
"""

from __future__ import annotations

import base64
import json
from collections import OrderedDict, deque
from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any

from pydantic_core import PydanticSerializationError, to_json

from mrtrscope.wire.events import ABSENT, Message

VERSION = 1
_HOMES = ("mrtrscope.wire.", "mrtrscope.link.")
_PLAIN = frozenset({str, int, float, bool, type(None)})


def dump(root: Any, externals: Mapping[str, Any]) -> bytes:
    """The object graph under `root`. What is in `externals` is written as its name and left out.

    An object may offer `__snapshot__()`, which gives the fields to keep as a dict, where not all of them can be.
    """
    writer = _Writer(externals)
    top = writer.value(root)
    whole = [VERSION, top, writer.objects]
    try:
        return to_json(whole, inf_nan_mode="constants")
    except (PydanticSerializationError, ValueError):  # lone surrogates, numbers beyond measure, a deep body
        return json.dumps(whole, separators=(",", ":")).encode()


def load(text: bytes, externals: Mapping[str, Any]) -> Any:
    """What `dump` wrote; ValueError when it is something else, or of another version.

    An object with `__restore__(fields)` is given its fields by that.
    """
    try:
        version, top, objects = json.loads(text)
        if version != VERSION:
            raise ValueError(f"checkpoint of version {version}")
        return _Reader(objects, externals).value(top)
    except (TypeError, KeyError, IndexError, AttributeError, ImportError, RecursionError) as error:
        raise ValueError(f"no checkpoint: {error}") from error


class _Writer:
    def __init__(self, externals: Mapping[str, Any]) -> None:
        self.objects: list[list[Any]] = []
        self._numbers: dict[int, int] = {}
        self._slots: dict[type, list[str]] = {}
        self._names = {id(value): name for name, value in externals.items()}

    def value(self, value: Any) -> Any:
        kind = type(value)
        if kind in _PLAIN:
            return value
        if kind is list:
            return ["l", *self._values(value)]
        if kind is tuple:
            return ["t", *self._values(value)]
        if kind is dict or kind is OrderedDict:
            tag = "d" if kind is dict else "D"
            return [tag, *self._values([x for pair in value.items() for x in pair])]
        if kind is bytes or kind is bytearray:
            return ["b" if kind is bytes else "B", base64.b64encode(value).decode()]
        if kind is deque:
            return ["q", value.maxlen, *self._values(value)]
        if kind is set or kind is frozenset:
            return ["s" if kind is set else "f", *self._values(sorted(value))]
        if value is ABSENT:
            return ["a"]
        name = self._names.get(id(value))
        return ["x", name] if name is not None else ["o", self._object(value)]

    def _values(self, values: Iterable[Any]) -> list[Any]:
        # most are plain, and a call costs more than a look
        return [value if type(value) in _PLAIN else self.value(value) for value in values]

    def _object(self, value: Any) -> int:
        number = self._numbers.get(id(value))
        if number is not None:
            return number
        kind = type(value)
        if not kind.__module__.startswith(_HOMES):
            raise TypeError(f"{kind.__module__}.{kind.__qualname__} has no place in a checkpoint")
        number = self._numbers[id(value)] = len(self.objects)
        row: list[Any] = [f"{kind.__module__}:{kind.__qualname__}"]
        self.objects.append(row)
        fields = value.__snapshot__() if hasattr(value, "__snapshot__") else self._fields(value)
        for name, field in fields.items():
            # A body is plain JSON: the C encoder takes it as it is.
            if name == "body" and kind is Message:
                row += (name, ["j", field])
            else:
                row += (name, field if type(field) in _PLAIN else self.value(field))
        return number

    def _fields(self, value: Any) -> dict[str, Any]:
        kind = type(value)
        slots = self._slots.get(kind)
        if slots is None:
            slots = [name for base in kind.__mro__ for name in getattr(base, "__slots__", ())]
            self._slots[kind] = slots
        found = {name: getattr(value, name) for name in slots if hasattr(value, name)}
        found.update(getattr(value, "__dict__", {}))
        return found


class _Reader:
    def __init__(self, rows: list[list[Any]], externals: Mapping[str, Any]) -> None:
        self._rows = rows
        self._externals = externals
        self._made: dict[int, Any] = {}
        self._classes: dict[str, type] = {}

    def value(self, value: Any) -> Any:
        if type(value) is not list:
            return value
        tag = value[0]
        if tag == "o":
            return self._object(value[1])
        if tag in ("l", "t", "s", "f"):
            return {"l": list, "t": tuple, "s": set, "f": frozenset}[tag](map(self.value, value[1:]))
        if tag in ("d", "D"):
            flat = list(map(self.value, value[1:]))
            return (dict if tag == "d" else OrderedDict)(zip(flat[::2], flat[1::2], strict=True))
        if tag in ("b", "B"):
            data = base64.b64decode(value[1])
            return data if tag == "b" else bytearray(data)
        if tag == "q":
            return deque(map(self.value, value[2:]), maxlen=value[1])
        if tag == "j":
            return value[1]
        if tag == "a":
            return ABSENT
        if tag == "x":
            return self._externals[value[1]]
        raise ValueError(f"unknown tag {tag!r} in a checkpoint")

    def _object(self, number: int) -> Any:
        if number in self._made:
            return self._made[number]
        row = self._rows[number]
        kind = self._class(row[0])
        made: Any = object.__new__(kind)
        self._made[number] = made
        fields = {row[n]: self.value(row[n + 1]) for n in range(1, len(row), 2)}
        if hasattr(made, "__restore__"):
            made.__restore__(fields)
        else:
            for name, field in fields.items():
                setattr(made, name, field)
        return made

    def _class(self, name: str) -> type:
        found = self._classes.get(name)
        if found is None:
            module, _, qualname = name.partition(":")
            if not module.startswith(_HOMES):
                raise ValueError(f"{module} has no place in a checkpoint")
            found = getattr(import_module(module), qualname)
            if not isinstance(found, type) or found.__module__ != module:
                raise ValueError(f"{name} is no class of its module")
            self._classes[name] = found
        return found
