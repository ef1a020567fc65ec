"""What a probe does wrong with a request itself: who sends it, where, under which id, declaring what. Pure."""

from __future__ import annotations

import copy
from typing import Any

from mrtrscope.link.facts import META_CAPABILITIES, META_CLIENT_INFO
from mrtrscope.replay.attempt import (
    ACCEPT,
    BAD_REQUEST,
    FIRST,
    NOT_ASK,
    NOT_TELL,
    ONCE,
    REFUSE,
    SAME,
    SERVER,
    Retry,
    attempt,
)


@attempt("other-principal", "the retry with --as", rule="mrtr/state-bound-to-principal", want=REFUSE)
def other_principal(retry: Retry) -> str:
    if not retry.http:
        return "there are no principals on stdio"
    retry.headers.update(retry.as_headers)
    return "" if retry.as_headers else "say who with --as"


@attempt(
    "other-connection",
    "the retry over another connection or process",
    rule="mrtr/retry-self-contained",
    want=ACCEPT,
)
def other_connection(retry: Retry) -> str:
    retry.apart = True
    return ""


@attempt("without-session", "the retry without the session headers that the server minted",
         rule="mrtr/retry-self-contained", want=ACCEPT)  # fmt: skip
def without_session(retry: Retry) -> str:
    if not retry.http:
        return "there are no headers on stdio"
    if not retry.minted:
        return "the server minted no Mcp-Session-Id and no cookie"
    retry.headers.update(dict.fromkeys(retry.minted, ""))
    return ""


@attempt("undeclared", "a first request that declares no capability", on=FIRST,
         rule="mrtr/input-request-capability-declared", want=NOT_ASK)  # fmt: skip
def undeclared(retry: Retry) -> str:
    meta = _meta(retry.first)
    if META_CAPABILITIES not in meta:
        return "the recorded client declared none"
    meta[META_CAPABILITIES] = {}
    return ""


@attempt("undeclared-on-retry", "a retry that declares no capability any more",
         rule="mrtr/input-request-capability-declared", want=NOT_ASK)  # fmt: skip
def undeclared_on_retry(retry: Retry) -> str:
    meta = _meta(retry.body)
    if META_CAPABILITIES not in meta:
        return "the recorded client declared none"
    meta[META_CAPABILITIES] = {}
    return ""


def _meta(message: dict[str, Any]) -> dict[str, Any]:
    """`_meta` of a message, a copy that is in it now."""
    params = message.get("params")
    meta = params.get("_meta") if type(params) is dict else None
    if type(params) is not dict or type(meta) is not dict:
        return {}
    params["_meta"] = copy.deepcopy(meta)
    found: dict[str, Any] = params["_meta"]
    return found


@attempt("header-apart", "Mcp-Name says another name than the body", rule="http/standard-mismatch-rejected",
         want=BAD_REQUEST)  # fmt: skip
def header_apart(retry: Retry) -> str:
    retry.headers["Mcp-Name"] = "mrtrscope-other"
    return "" if retry.http else "there are no headers on stdio"


@attempt("method-apart", "Mcp-Method says another method than the body", rule="http/standard-mismatch-rejected",
         want=BAD_REQUEST)  # fmt: skip
def method_apart(retry: Retry) -> str:
    retry.headers["Mcp-Method"] = "tools/list"
    return "" if retry.http else "there are no headers on stdio"


@attempt("same-id", "the retry under the id of the request that it takes up", rule="jsonrpc/single-response",
         want=ONCE)  # fmt: skip
def same_id(retry: Retry) -> str:
    """A client must not, but a server that has answered the id may take it for a new request, or refuse it."""
    retry.body["id"] = retry.before["id"]
    return ""


@attempt("other-client-name", "lists asked for under two client names", on=SERVER,
         rule="meta/client-info-not-behavioural", want=SAME)  # fmt: skip
def other_client_name(retry: Retry) -> str:
    meta = _meta(retry.first)
    if META_CLIENT_INFO not in meta:
        return "the recorded client gave no name"
    meta[META_CLIENT_INFO] = {"name": "mrtrscope-probe", "version": "0"}
    return ""


@attempt(
    "task-of-another", "a task polled with --as", on=SERVER, rule="tasks/authorization-checked", want=NOT_TELL
)
def task_of_another(retry: Retry) -> str:
    return other_principal(retry)
