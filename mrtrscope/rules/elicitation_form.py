"""client/elicitation#requested-schema: the restricted JSON Schema of a form."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mrtrscope.link.facts import LEGACY
from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.forms import Field, fields, form_schema, forms, named, required, schema_path
from mrtrscope.rules.questions import QUESTION
from mrtrscope.rules.registry import ADVISORY, BOTH, MUST, SERVER, rule
from mrtrscope.wire.events import ABSENT, Message

PAGE = "2026-07-28/client/elicitation"
SUBSET = PAGE + "#requested-schema"
SCHEMA = "schema/2026-07-28/schema.ts "
FROM_SERVER = ("s2c",)
CHOICES_SINCE = "2025-11-25"  # the revision that added choices of several, and defaults for all fields
TYPES = ("string", "number", "integer", "boolean", "array")
FORMATS = ("email", "uri", "date", "date-time")
COMPOSED = ("$ref", "allOf", "not", "if", "then", "else")
ROOT_WORDS = frozenset({"$schema", "type", "properties", "required"})
ROOT_NAMES = frozenset({"title", "description"})  # of the form: generators add them, they demand nothing
WORDS = frozenset({
    "type", "title", "description", "minLength", "maxLength", "format", "minimum", "maximum", "default", "enum",
    "enumNames", "oneOf", "items", "minItems", "maxItems",
})  # fmt: skip
FIRST_FORMS = "2025-06-18"  # had forms first, without these, and with a default for booleans only
LATER_WORDS = frozenset({"oneOf", "items", "minItems", "maxItems"})


@rule("elicitation/form-schema-present", level=MUST, fault=SERVER, on=QUESTION, dirs=FROM_SERVER, eras=BOTH,
      facet="question", source=PAGE + "#form-mode-elicitation-requests")  # fmt: skip
def form_without_a_schema(message: Message, ctx: Context) -> Iterator[Finding]:
    """A form has no requestedSchema, or it is no object.

    Why it matters: the client does not know which fields to show.
    Cannot tell: a question with a url and without a mode is elicitation/mode-valid.
    """
    for question in forms(message, ctx):
        params = question.params
        if "mode" not in params and "url" in params and "requestedSchema" not in params:
            continue
        ctx.tested()
        schema = params.get("requestedSchema", ABSENT)
        if type(schema) is not dict:
            absent = schema is ABSENT
            yield ctx.finding(
                message,
                saw="absent" if absent else schema,
                expected="an object schema",
                path=schema_path(question),
                text=f"{named(question)} is a form without requestedSchema"
                if absent
                else f"requestedSchema of {named(question)} is no object",
            )


@rule("elicitation/schema-root-object", level=MUST, fault=SERVER, on=QUESTION, dirs=FROM_SERVER, eras=BOTH,
      facet="question", source=SUBSET)  # fmt: skip
def form_whose_root_is_no_object(message: Message, ctx: Context) -> Iterator[Finding]:
    """The root of requestedSchema is no flat object schema.

    Why it matters: a form is a list of named fields; clients look for properties and find none.
    Cannot tell: empty properties are right, for a question that only wants consent.
    """
    for question in forms(message, ctx):
        schema = form_schema(question)
        if schema is None:
            continue
        ctx.tested()
        path = schema_path(question)
        if schema.get("type") != "object":
            saw = schema.get("type", "absent")
            yield ctx.finding(message, saw=saw, expected="object", path=path + "/type",
                              text=f"the type of requestedSchema is {saw!r:.60}, not object")  # fmt: skip
        if type(schema.get("properties")) is not dict:
            yield ctx.finding(message, saw=schema.get("properties", "absent"), expected="an object",
                              path=path + "/properties",
                              text="requestedSchema has no properties object")  # fmt: skip
        names = schema.get("required", [])
        if type(names) is not list or not all(type(name) is str for name in names):
            yield ctx.finding(message, saw=names, expected="an array of strings", path=path + "/required",
                              text="required of requestedSchema is no array of strings")  # fmt: skip


@rule("elicitation/property-primitive", level=MUST, fault=SERVER, on=QUESTION, dirs=FROM_SERVER, eras=BOTH,
      facet="question", source=SUBSET)  # fmt: skip
def field_is_not_primitive(message: Message, ctx: Context) -> Iterator[Finding]:
    """A field of a form is neither a string, number, boolean nor a choice.

    Why it matters: clients draw one simple widget for a field; for anything else they have none, and refuse the form or
    leave the field out.
    Cannot tell: oneOf on a string and anyOf in the items of an array are the two compositions that a form may use. In
    2025-06-18 there is no choice of several.
    """
    for question in forms(message, ctx):
        for field in fields(question):
            ctx.tested()
            what = _not_primitive(field)
            types = TYPES[:-1] if _before_choices(ctx) else TYPES
            if not what and field.type not in types:
                what = "is a choice of several, which this revision does not have"
            if what:
                yield ctx.finding(message, saw=field.body, expected=list(types), path=field.path,
                                  text=f"the field {field.name!r} {what}")  # fmt: skip


def _before_choices(ctx: Context) -> bool:
    """Under 2025-06-18: 2025-11-25 added choices of several, and defaults for all fields."""
    return ctx.era == LEGACY and "" < ctx.version < CHOICES_SINCE


def _not_primitive(field: Field) -> str:
    schema, kind = field.schema, field.type
    if type(field.body) is not dict:
        return "is no schema object"
    composed = [word for word in COMPOSED if word in schema]
    if composed:
        return f"uses {', '.join(composed)}"
    if kind is None:
        union = next((word for word in ("anyOf", "oneOf") if word in schema), "")
        return f"has {union} in place of a type" if union else "has no type"
    if type(kind) is list:
        return "has a union of types"
    if type(kind) is not str or kind not in TYPES:
        return f"has the type {kind!r:.60}"
    if kind == "array":
        items = schema.get("items")
        choice = type(items) is dict and ("enum" in items or "anyOf" in items or "oneOf" in items)
        return "" if choice else "is an array of something else than choices"
    return ""


@rule("elicitation/string-format-supported", level=MUST, fault=SERVER, on=QUESTION, dirs=FROM_SERVER, eras=BOTH,
      facet="question", source=SUBSET)  # fmt: skip
def format_is_unknown(message: Message, ctx: Context) -> Iterator[Finding]:
    """A string field of a form has a format other than email, uri, date and date-time.

    Why it matters: the client can neither help to fill it in nor check what was filled in.
    Cannot tell: beyond the first 200 fields of a form.
    """
    for question in forms(message, ctx):
        for field in fields(question):
            if field.type != "string" or "format" not in field.schema:
                continue
            ctx.tested()
            wanted = field.schema["format"]
            if type(wanted) is not str or wanted not in FORMATS:
                yield ctx.finding(message, saw=wanted, expected=list(FORMATS), path=field.path + "/format",
                                  text=f"the field {field.name!r} has the format {wanted!r:.60}")  # fmt: skip


@rule(
    "elicitation/enum-shape",
    facet="question",
    level=MUST,
    fault=SERVER,
    on=QUESTION,
    dirs=FROM_SERVER,
    eras=BOTH,
    source=SUBSET,
)
def choice_is_misshapen(message: Message, ctx: Context) -> Iterator[Finding]:
    """A choice in a form has none of the shapes that are defined.

    Why it matters: options without a title or with other values than strings cannot be shown or sent back.
    Cannot tell: enum with enumNames is an old form that is still allowed.
    """
    for question in forms(message, ctx):
        for field in fields(question):
            if not field.schema.keys() & {"enum", "oneOf", "anyOf", "items"}:
                continue
            ctx.tested()
            for path, saw, what in _misshapen(field):
                yield ctx.finding(message, saw=saw, path=field.path + path,
                                  text=f"the choice {field.name!r} {what}")  # fmt: skip


def _misshapen(field: Field) -> Iterator[tuple[str, Any, str]]:
    schema = field.schema
    if field.type == "array":
        if "oneOf" in schema:
            yield "/oneOf", schema["oneOf"], "is an array and uses oneOf beside items"
        items = schema.get("items")
        if type(items) is not dict:
            return
        if "enum" in items:
            if items.get("type") != "string":
                yield "/items/type", items.get("type", "absent"), "has items whose type is not string"
            yield from _values("/items/enum", items["enum"])
        elif "anyOf" in items:
            yield from _titled("/items/anyOf", items["anyOf"])
        elif "oneOf" in items:
            yield "/items/oneOf", items["oneOf"], "has items with oneOf where anyOf is defined"
        else:
            yield "/items", items, "has items with neither enum nor anyOf"
        return
    if "anyOf" in schema and field.type is not None:
        yield "/anyOf", schema["anyOf"], "is no array and uses anyOf"
    if "enum" in schema:
        if field.type not in ("string", None):
            yield "/type", field.type, "has enum and is no string"
        yield from _values("/enum", schema["enum"])
    if "oneOf" in schema and field.type == "string":
        yield from _titled("/oneOf", schema["oneOf"])


def _values(path: str, values: Any) -> Iterator[tuple[str, Any, str]]:
    if type(values) is not list:
        yield path, values, "has options that are no array"
        return
    for n, value in enumerate(values):
        if type(value) is not str:
            yield f"{path}/{n}", value, f"has the option {value!r:.40}, which is no string"
            return


def _titled(path: str, options: Any) -> Iterator[tuple[str, Any, str]]:
    if type(options) is not list:
        yield path, options, "has options that are no array"
        return
    for n, option in enumerate(options):
        if type(option) is not dict or type(option.get("const")) is not str:
            yield f"{path}/{n}", option, "has an option whose const is no string"
            return
        if type(option.get("title")) is not str:
            yield f"{path}/{n}", option, "has an option without a title"
            return


@rule("elicitation/default-type", facet="question", level=MUST, fault=SERVER, on=QUESTION, dirs=FROM_SERVER, eras=BOTH,
      source=SUBSET)  # fmt: skip
def default_of_another_type(message: Message, ctx: Context) -> Iterator[Finding]:
    """The default of a field is not of the field's type.

    Why it matters: the client fills it in, and what it sends back does not fit the form.
    Cannot tell: a default that is no option or out of range is only noted. In 2025-06-18 only booleans have one.
    """
    for question in forms(message, ctx):
        for field in fields(question):
            if "default" not in field.schema or field.type not in TYPES:
                continue
            if _before_choices(ctx) and field.type != "boolean":
                continue
            ctx.tested()
            value = field.schema["default"]
            if not _of_type(value, field.type):
                yield ctx.finding(message, saw=value, expected=field.type, path=field.path + "/default",
                                  text=f"the default of {field.name!r} is no {field.type}")  # fmt: skip
            elif _out_of_bounds(value, field):
                yield ctx.finding(message, saw=value, path=field.path + "/default", level="info",
                                  text=f"the default of {field.name!r} breaks the field's own limits")  # fmt: skip


def _of_type(value: Any, kind: str) -> bool:
    if kind == "string":
        return type(value) is str
    if kind == "boolean":
        return type(value) is bool
    if kind == "array":
        return type(value) is list and all(type(v) is str for v in value)
    whole = type(value) is int or (type(value) is float and value.is_integer())
    return whole or (kind == "number" and type(value) is float)


def _out_of_bounds(value: Any, field: Field) -> bool:
    options = field.options()
    chosen = value if type(value) is list else [value]
    if options is not None and any(v not in options for v in chosen):
        return True
    limits = {"string": ("minLength", "maxLength"), "array": ("minItems", "maxItems")}
    low, high = limits.get(field.type, ("minimum", "maximum"))
    size = len(value) if type(value) in (str, list) else value
    return _below(size, field.schema.get(low)) or _below(field.schema.get(high), size)


def _below(a: Any, b: Any) -> bool:
    return type(a) in (int, float) and type(b) in (int, float) and a < b


@rule("elicitation/required-known", level=ADVISORY, fault=SERVER, on=QUESTION, dirs=FROM_SERVER, eras=BOTH,
      facet="question", source=SUBSET)  # fmt: skip
def form_that_nobody_can_fill_in(message: Message, ctx: Context) -> Iterator[Finding]:
    """A form cannot be filled in: it requires an unknown field, or limits of a field contradict each other.

    Why it matters: whatever the user enters, the answer does not fit.
    Cannot tell: patterns are not tried: only lengths, bounds, counts and options are seen to contradict each other, in
    the first 200 fields.
    """
    for question in forms(message, ctx):
        ctx.tested()
        path = schema_path(question)
        known = fields(question)
        names = {field.name for field in known}
        for name in required(question):
            if name not in names:
                yield ctx.finding(message, saw=name, expected=sorted(names), path=f"{path}/required {name}",
                                  text=f"the form requires {name!r}, which is none of its fields")  # fmt: skip
        for field in known:
            what = _contradiction(field)
            if what:
                yield ctx.finding(message, saw=field.body, path=field.path,
                                  text=f"nothing can be entered for {field.name!r}: {what}")  # fmt: skip


def _contradiction(field: Field) -> str:
    schema, options = field.schema, field.options()
    for low, high in (("minLength", "maxLength"), ("minimum", "maximum"), ("minItems", "maxItems")):
        if _below(schema.get(high), schema.get(low)):
            return f"{low} is above {high}"
    if options == []:
        return "there are no options"
    if options is not None and _below(len(options), schema.get("minItems")):
        return "minItems is above the number of options"
    return ""


@rule("elicitation/unknown-schema-keyword", level=ADVISORY, fault=SERVER, on=QUESTION, dirs=FROM_SERVER, eras=BOTH,
      facet="question", source=SUBSET)  # fmt: skip
def form_with_other_keywords(message: Message, ctx: Context) -> Iterator[Finding]:
    """A form uses keywords that are not among those of the restricted subset.

    Why it matters: clients may ignore them, so that what they demand is not enforced.
    Cannot tell: the objects are open, so nothing forbids them. A title or description of the whole form demands
    nothing. What 2025-11-25 added is noted in an exchange of 2025-06-18.
    """
    for question in forms(message, ctx):
        schema = form_schema(question)
        if schema is None:
            continue
        ctx.tested()
        path = schema_path(question)
        for word in sorted(schema.keys() - ROOT_WORDS - ROOT_NAMES)[:8]:
            yield ctx.finding(message, saw=word, path=f"{path}/{word}",
                              text=f"requestedSchema uses {word!r}, which clients need not know")  # fmt: skip
        for field in fields(question):
            later = _later(field) if ctx.version == FIRST_FORMS else set()
            for word in sorted(_strange(field) | later)[:8]:
                hint = "; 2025-11-25 showed it in prose, no schema ever had it" if word == "pattern" else ""
                if word in later:
                    hint = " before 2025-11-25"
                yield ctx.finding(message, saw=word, path=f"{field.path}/{word}",
                                  text=f"the field {field.name!r} uses {word!r}, which clients need not know{hint}",
                                  )  # fmt: skip


def _strange(field: Field) -> set[str]:
    strange = set(field.schema) - WORDS - {"anyOf", *COMPOSED}
    if "format" in field.schema and field.type != "string":
        strange.add("format")
    return strange


def _later(field: Field) -> set[str]:
    """What 2025-11-25 added."""
    words = field.schema.keys() & LATER_WORDS
    return words | {"default"} if "default" in field.schema and field.type != "boolean" else words


@rule("elicitation/legacy-enum-names", facet="question", level=ADVISORY, fault=SERVER, on=QUESTION, dirs=FROM_SERVER,
      source=SCHEMA + "LegacyTitledEnumSchema")  # fmt: skip
def titles_in_the_old_form(message: Message, ctx: Context) -> Iterator[Finding]:
    """A choice gives its titles in enumNames, which will be removed.

    Why it matters: oneOf with const and title replaces it; clients will stop to look for enumNames.
    Cannot tell: beyond the first 200 fields of a form.
    """
    for question in forms(message, ctx):
        for field in fields(question):
            if "enumNames" not in field.schema:
                continue
            ctx.tested()
            names, values = field.schema["enumNames"], field.schema.get("enum")
            uneven = type(names) is list and type(values) is list and len(names) != len(values)
            yield ctx.finding(message, saw=names, path=field.path + "/enumNames",
                              text=f"the choice {field.name!r} has enumNames"
                              + (", and not as many as options" if uneven else ""))  # fmt: skip
