"""basic/patterns/mrtr: what an `input_required` result may look like, and what may be asked in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mrtrscope.link.facts import MRTR_METHODS
from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.questions import CAPABILITY, ELICITATION, ROOTS, SAMPLING, Question, asked, pointer
from mrtrscope.rules.registry import ADVISORY, ASKED, MUST, MUST_NOT, SERVER, SHOULD_NOT, rule
from mrtrscope.wire.events import Message

PAGE = "2026-07-28/basic/patterns/mrtr"
ITEM = PAGE + "#server-requirements-basic-workflow item "
SCHEMA = "schema/2026-07-28/schema.ts "

FROM_SERVER = ("s2c",)
OTHER_METHODS = frozenset({
    "completion/complete", "initialize", "logging/setLevel", "ping", "prompts/list", "resources/list",
    "resources/subscribe", "resources/templates/list", "resources/unsubscribe", "server/discover",
    "subscriptions/listen", "tools/list",
})  # fmt: skip
FINAL_FIELDS = ("content", "structuredContent", "isError", "messages", "contents", "taskId")
OFFICIAL = "io.modelcontextprotocol/"
RELATED_TASK = OFFICIAL + "related-task"


@rule("mrtr/input-required-method-allowed", level=MUST_NOT, fault=SERVER, on=ASKED, dirs=FROM_SERVER,
      facet="question", source=PAGE + "#supported-requests")  # fmt: skip
def asks_where_nothing_may_be_asked(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A method other than tools/call, prompts/get and resources/read is answered with input_required.

    Why it matters: clients start a round trip for these three methods only; elsewhere they take the answer for a
    broken result, or for a finished one without its content.
    Cannot tell: a method of an extension may define rounds of its own, so that is only noted. tasks/get reports
    the status input_required inside a complete result, which is something else.
    """
    exchange = ctx.exchange
    if exchange is None or exchange.method.startswith("tasks/"):
        return
    ctx.tested()
    if exchange.method not in MRTR_METHODS:
        known = exchange.method in OTHER_METHODS
        yield ctx.finding(
            answer,
            saw=exchange.method,
            expected=list(MRTR_METHODS),
            also=[exchange.request],
            text=f"{exchange.method or 'a request without a method'} is answered with input_required",
            level=None if known else "info",
        )


@rule(
    "mrtr/at-least-one-field",
    level=MUST,
    fault=SERVER,
    on=ASKED,
    dirs=FROM_SERVER,
    facet="question",
    source=ITEM + "6",
)
def asks_for_nothing(answer: Message, ctx: Context) -> Iterator[Finding]:
    """InputRequiredResult has neither inputRequests nor requestState.

    Why it matters: the client has nothing to answer and nothing to echo, so it cannot go on.
    Cannot tell: empty values are values ({} and "" satisfy the sentence); null counts as absent.
    """
    result = answer.result
    ctx.tested()
    if result.get("inputRequests") is None and result.get("requestState") is None:
        yield ctx.finding(answer, saw=sorted(result), expected="inputRequests, requestState or both")


@rule("mrtr/input-requests-is-object", level=MUST, fault=SERVER, on=ASKED, dirs=FROM_SERVER,
      facet="question", source=PAGE + "#inputrequests")  # fmt: skip
def questions_are_no_map(answer: Message, ctx: Context) -> Iterator[Finding]:
    """inputRequests is no map from keys to request objects.

    Why it matters: answers are found by key; without keys the client cannot say which answer is for which question.
    Cannot tell: nothing; it speaks whenever such a message is seen. Neither it nor requestState is
    mrtr/at-least-one-field.
    """
    result = answer.result
    if "inputRequests" not in result:
        return
    ctx.tested()
    questions = result["inputRequests"]
    if type(questions) is not dict:
        yield ctx.finding(
            answer,
            saw=questions,
            expected="an object",
            path="/result/inputRequests",
            text=f"inputRequests is {_kind(questions)}, not an object",
        )
        return
    for key, value in questions.items():
        if type(value) is not dict:
            yield ctx.finding(
                answer,
                saw=value,
                expected="a request object",
                path=pointer("result", "inputRequests", key),
                text=f"inputRequests[{key!r}] is {_kind(value)}, not a request object",
            )


@rule("mrtr/input-requests-empty", level=ADVISORY, fault=SERVER, on=ASKED, dirs=FROM_SERVER,
      facet="question", source=PAGE + "#client-requirements-basic-workflow item 1")  # fmt: skip
def asks_with_an_empty_map(answer: Message, ctx: Context) -> Iterator[Finding]:
    """inputRequests is there and empty.

    Why it matters: nothing is asked, yet a client that looks whether the member is there no longer takes the answer
    for "come back later"; without a requestState its retry equals the first request, and both go round in circles.
    Cannot tell: nothing; it speaks whenever such a message is seen.
    """
    result = answer.result
    if type(result.get("inputRequests")) is not dict:
        return
    ctx.tested()
    if not result["inputRequests"]:
        without = (
            "" if "requestState" in result else ", and there is no requestState: the retry equals the request"
        )
        yield ctx.finding(answer, saw={}, text=f"inputRequests is empty{without}")


@rule(
    "mrtr/input-request-method-allowed",
    facet="question",
    level=MUST,
    fault=SERVER,
    on=ASKED,
    dirs=FROM_SERVER,
    source=ITEM + "2",
)
def asks_an_unknown_thing(answer: Message, ctx: Context) -> Iterator[Finding]:
    """An entry of inputRequests is no elicitation, sampling or roots request.

    Why it matters: the client has no way to answer it, so the operation ends here.
    Cannot tell: an extension that we do not know may add kinds of its own; where the client declared one on this
    request, it is only noted.
    """
    level = "info" if _unknown_extensions(ctx) else None
    for question in asked(answer, ctx):
        ctx.tested()
        if question.method not in CAPABILITY:
            saw = question.body.get("method", "no method")
            yield ctx.finding(
                answer,
                saw=saw,
                expected=list(CAPABILITY),
                path=question.path + "/method",
                text=f"inputRequests[{question.key!r}] asks for {saw!r}, which no client answers",
                level=level,
            )


@rule("mrtr/input-request-shape", level=MUST, fault=SERVER, on=ASKED, dirs=FROM_SERVER, facet="question",
      source=SCHEMA + "InputRequest, ElicitRequest, CreateMessageRequest, ListRootsRequest")  # fmt: skip
def question_without_params(answer: Message, ctx: Context) -> Iterator[Finding]:
    """The params of an embedded request are missing or no object.

    Why it matters: message, schema and sampling messages live in params; a roots/list alone may do without.
    Cannot tell: what is inside params is the business of the rules about elicitation, sampling and roots.
    """
    for question in asked(answer, ctx):
        if question.method not in CAPABILITY:
            continue
        ctx.tested()
        if "params" not in question.body:
            if question.method != ROOTS:
                yield ctx.finding(
                    answer,
                    saw=sorted(question.body),
                    expected="params",
                    path=question.path,
                    text=f"inputRequests[{question.key!r}] is {question.method} without params",
                )
        elif type(question.body["params"]) is not dict:
            yield ctx.finding(
                answer,
                saw=question.body["params"],
                expected="an object",
                path=question.path + "/params",
                text=f"params of inputRequests[{question.key!r}] is {_kind(question.body['params'])}, not an object",
            )


@rule("mrtr/input-request-no-envelope", level=ADVISORY, fault=SERVER, on=ASKED, dirs=FROM_SERVER,
      facet="question", source=SCHEMA + "ElicitRequest, CreateMessageRequest, ListRootsRequest")  # fmt: skip
def question_in_an_envelope(answer: Message, ctx: Context) -> Iterator[Finding]:
    """An embedded request carries jsonrpc or id.

    Why it matters: it was copied from an older server-initiated request, and a client may answer it with a message of
    its own instead of an entry of inputResponses.
    Cannot tell: nothing; it speaks whenever such a message is seen. A question that is no object is
    mrtr/input-requests-is-object.
    """
    for question in asked(answer, ctx):
        ctx.tested()
        envelope = [name for name in ("jsonrpc", "id") if name in question.body]
        if envelope:
            yield ctx.finding(answer, saw=envelope, path=question.path)


@rule("mrtr/input-request-legacy-fields", level=SHOULD_NOT, fault=SERVER, on=ASKED, dirs=FROM_SERVER,
      facet="question", source="2026-07-28/changelog#minor-changes item 11")  # fmt: skip
def question_with_fields_of_2025(answer: Message, ctx: Context) -> Iterator[Finding]:
    """An embedded request has fields that only 2025-11-25 knows.

    Why it matters: nobody acts on params.task, a progress token or a related task in here; a gateway that copied the
    request of an older server forgot to take up what these fields promise.
    Cannot tell: elicitationId is left to elicitation/no-elicitation-id. Vendor keys in _meta are allowed.
    """
    for question in asked(answer, ctx):
        if question.method not in (ELICITATION, SAMPLING):
            continue
        ctx.tested()
        for path in _legacy_fields(question):
            yield ctx.finding(
                answer,
                saw=path,
                path=question.path + path,
                text=f"inputRequests[{question.key!r}] has {path[1:].replace('/', '.', 1)}, gone since 2026-07-28",
            )


@rule(
    "mrtr/input-request-keys-unique",
    level=MUST,
    fault=SERVER,
    on=ASKED,
    dirs=FROM_SERVER,
    facet="question",
    source=ITEM + "2",
)
def two_questions_under_one_key(answer: Message, ctx: Context) -> Iterator[Finding]:
    """Two entries of inputRequests have the same key.

    Why it matters: a JSON parser keeps one of them, so a question is lost without anybody noticing.
    Cannot tell: one result is looked at alone; the same key in another round is asked again, which is allowed.
    """
    if type(answer.result.get("inputRequests")) is not dict:
        return
    ctx.tested()
    for kind, detail in answer.oddities:
        if kind != "duplicate-key":
            continue
        parent, _, key = detail.rpartition("/")
        if parent == "/result/inputRequests":
            yield ctx.finding(answer, saw=key, path=detail, text=f"inputRequests has the key {key!r} twice")


@rule("mrtr/key-reused-with-new-question", level=ADVISORY, fault=SERVER, on=ASKED, dirs=FROM_SERVER,
      facet="chain", source=PAGE + "#inputrequests")  # fmt: skip
def key_means_something_else_now(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A key that was answered in an earlier round now asks something else.

    Why it matters: a client that keeps answers by key gives the old answer to the new question.
    Cannot tell: whether the text changed because the answer was refused ("try again") or because the question did;
    nothing forbids it, so it is only noted, once for a key of an operation.
    """
    if ctx.exchange is None or ctx.exchange.ask is None or ctx.ask is None:
        return
    ctx.tested()
    for key in ctx.exchange.ask.chain.changed:
        yield ctx.finding(
            answer,
            saw=key,
            also=[ctx.ask.key],
            path=pointer("result", "inputRequests", key),
            text=f"the key {key!r} was answered before and now asks something else",
        )


@rule("mrtr/input-request-capability-declared", level=MUST_NOT, fault=SERVER, on=ASKED, dirs=FROM_SERVER,
      facet="question", source=ITEM + "7")  # fmt: skip
def asks_more_than_was_declared(answer: Message, ctx: Context) -> Iterator[Finding]:
    """The client is asked something that it did not declare on this request.

    Why it matters: a client without the capability cannot answer, and the operation dies; the server has to answer
    -32021 instead, which says what is missing.
    Cannot tell: when the request declared no capabilities at all (meta/client-capabilities-present then). {} counts
    as declared. Only the request that is answered counts: neither earlier rounds nor a handshake.
    """
    exchange = ctx.exchange
    if exchange is None or exchange.capabilities is None:
        return
    for question in asked(answer, ctx):
        needed = CAPABILITY.get(question.method)
        if needed is None:
            continue
        ctx.tested()
        if needed not in exchange.capabilities:
            yield ctx.finding(
                answer,
                saw=question.method,
                expected=sorted(exchange.capabilities),
                also=[exchange.request],
                path=question.path,
                text=f"inputRequests[{question.key!r}] is {question.method}, "
                f"but the request did not declare {needed}",
            )


@rule(
    "mrtr/request-state-is-string",
    level=MUST,
    fault=SERVER,
    on=ASKED,
    dirs=FROM_SERVER,
    facet="question",
    source=ITEM + "3",
)
def state_is_no_string(answer: Message, ctx: Context) -> Iterator[Finding]:
    """requestState of an input_required result is no string.

    Why it matters: clients echo a string; a number or an object comes back changed, as text, or not at all.
    Cannot tell: nothing; it speaks whenever such a message is seen.
    """
    result = answer.result
    if "requestState" not in result:
        return
    ctx.tested()
    state = result["requestState"]
    if type(state) is not str:
        yield ctx.finding(
            answer,
            saw=_kind(state),
            expected="a string",
            path="/result/requestState",
            text=f"requestState is {_kind(state)}, not a string",
        )


@rule("mrtr/final-fields-on-input-required", level=ADVISORY, fault=SERVER, on=ASKED, dirs=FROM_SERVER,
      facet="question", source=PAGE + "#inputrequiredresult")  # fmt: skip
def interim_result_with_a_payload(answer: Message, ctx: Context) -> Iterator[Finding]:
    """An input_required result also has members of a final one.

    Why it matters: a client that looks for content instead of resultType takes the call for finished.
    Cannot tell: nothing; it speaks whenever such a message is seen.
    """
    ctx.tested()
    found = [name for name in FINAL_FIELDS if name in answer.result]
    if found:
        yield ctx.finding(answer, saw=found, text=f"an input_required result also has {', '.join(found)}")


@rule("mrtr/no-cache-hints-on-input-required", level=SHOULD_NOT, fault=SERVER, on=ASKED, dirs=FROM_SERVER,
      facet="question", source="2026-07-28/server/utilities/caching#cacheable-results")  # fmt: skip
def interim_result_to_be_cached(answer: Message, ctx: Context) -> Iterator[Finding]:
    """An input_required result carries ttlMs or cacheScope.

    Why it matters: a cache that believes it hands one client's question, and its state, to another.
    Cannot tell: nothing; it speaks whenever such a message is seen.
    """
    ctx.tested()
    found = [name for name in ("ttlMs", "cacheScope") if name in answer.result]
    if found:
        yield ctx.finding(answer, saw={name: answer.result[name] for name in found})


def _legacy_fields(question: Question) -> Iterator[str]:
    if "task" in question.params:
        yield "/params/task"
    meta = question.params.get("_meta")
    for name in ("progressToken", RELATED_TASK):
        if type(meta) is dict and name in meta:
            yield pointer("params", "_meta", name)


def _unknown_extensions(ctx: Context) -> bool:
    """Whether the client declared an extension, on this request, that is none of the official ones."""
    declared = (ctx.exchange.capabilities or {}).get("extensions") if ctx.exchange is not None else None
    return type(declared) is dict and any(not name.startswith(OFFICIAL) for name in declared)


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    names: dict[type, str] = {dict: "an object", list: "an array", str: "a string", bool: "a boolean"}
    return names.get(type(value), "a number")
