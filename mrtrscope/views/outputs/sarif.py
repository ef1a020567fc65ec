"""Findings as SARIF 2.1.0, for code-scanning viewers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mrtrscope import __version__, model
from mrtrscope.rules.registry import Rule
from mrtrscope.views.escape import visible
from mrtrscope.views.outputs.places import Places
from mrtrscope.views.outputs.select import Folded

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVEL = {"must": "error", "should": "warning", "info": "note"}
SPECIFICATION = "https://modelcontextprotocol.io/specification/"
ROOT = "%SRCROOT%"  # what viewers call the root of the repository
BASE = {ROOT: {"description": {"text": "The root of the repository."}}}
MESSAGE_LIMIT = 1000  # characters; viewers cut longer ones


def sarif(findings: Iterable[Folded], rules: dict[str, Rule], places: Places) -> dict[str, Any]:
    """One run. A result stands at the line or record of the file that was read, and names its message and operation."""
    found = list(findings)
    used = sorted({f.finding.rule for f in found})
    index = {id: n for n, id in enumerate(used)}
    driver = {
        "name": "mrtrscope",
        "version": __version__,
        "semanticVersion": __version__,
        "rules": [_rule(id, rules[id]) for id in used],
    }
    results = [_result(f, index, places) for f in found]
    run = {
        "tool": {"driver": driver},
        "originalUriBaseIds": BASE,
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(id: str, rule: Rule) -> dict[str, Any]:
    severity = (
        "must" if rule.level.startswith("must") else "should" if rule.level.startswith("should") else "info"
    )
    return {
        "id": id,
        "name": "".join(part.capitalize() for part in id.replace("/", "-").split("-")),
        "shortDescription": {"text": f"{rule.title}."},
        "fullDescription": {"text": _paragraph(rule.doc)},
        "helpUri": f"{SPECIFICATION}{rule.source.partition(' ')[0]}",
        "help": {"text": f"{_paragraph(rule.doc)}\n\nSource: {rule.source}\nMore: mrtrscope explain {id}"},
        "defaultConfiguration": {"level": LEVEL[severity]},
        "properties": {
            "tags": [id.partition("/")[0], rule.fault],
            "keyword": rule.level,
            "source": rule.source,
        },
    }


def _paragraph(doc: str) -> str:
    return "\n".join(line.strip() for line in doc.strip().splitlines())


def _result(folded: Folded, index: dict[str, int], places: Places) -> dict[str, Any]:
    finding = folded.finding
    times = f" ({folded.count} times)" if folded.count > 1 else ""
    return {
        "ruleId": finding.rule,
        "ruleIndex": index[finding.rule],
        "level": LEVEL[finding.level],
        "message": {"text": visible(f"{finding.party}: {finding.text}{times}", "\n")[:MESSAGE_LIMIT]},
        "locations": [_location(finding, folded, places)],
        "occurrenceCount": folded.count,
        # The second is the one by which GitHub knows an alert again; it would make it of the line, which changes.
        "partialFingerprints": {
            "mrtrscope/v1": folded.fingerprint,
            "primaryLocationLineHash": f"{folded.fingerprint}:1",
        },
        "properties": {
            "party": finding.party,
            "channel": finding.channel,
            "at": finding.at,
            "operation": finding.operation or "",
            "also": finding.also,
            "saw": finding.saw,
            "expected": finding.expected,
            "consequence": finding.because is not None,
        },
    }


def _location(finding: model.Finding, folded: Folded, places: Places) -> dict[str, Any]:
    source = finding.source
    # A place in a journal is a byte, in a transcript of HTTP a flow; viewers want a line all the same.
    line = source.line + 1 if source.line is not None else source.flow if source.flow else 1
    region: dict[str, Any] = {"startLine": max(1, line)}
    logical = [
        {
            "name": finding.at,
            "kind": "message",
            "fullyQualifiedName": f"{finding.operation or ''}/{finding.at}",
        }
    ]
    if folded.method:
        logical.append({"name": f"{folded.method} {folded.target}".strip(), "kind": "function"})
    artifact = {"uri": places.uri(source)}
    if places.inside(source) is not None:
        artifact["uriBaseId"] = ROOT
    place: dict[str, Any] = {"artifactLocation": artifact, "region": region}
    if source.offset is not None:
        place["region"] = {"startLine": 1, "byteOffset": source.offset}
    return {"physicalLocation": place, "logicalLocations": logical}
