"""An analysis that is written down and taken up again between frames finds what one in a single go finds."""

from __future__ import annotations

from pathlib import Path

import pytest

from mrtrscope.link.memory import DictMemory
from mrtrscope.pipeline import Pipeline
from mrtrscope.rules import registry
from mrtrscope.rules.examples import cases_of, rules_with_cases
from mrtrscope.sources import open_source

RULES = registry.load()
AREAS = sorted({id.partition("/")[0] for id in rules_with_cases()})


def _findings(file: Path, again: bool) -> list[tuple[str, str]]:
    memory = DictMemory()
    pipeline = Pipeline(memory, salt=b"salt")
    found = []
    with open_source(file) as source:
        for name, header in source.headers().items():
            pipeline.source(name, header)
        for n, frame in enumerate(source.frames()):
            pipeline.feed(frame)
            if again and (n < 8 or n % 32 == 0):  # long cases say the same again and again
                found += pipeline.drain().findings
                pipeline = Pipeline.restore(pipeline.snapshot(), memory, salt=b"salt")
    found += pipeline.drain().findings + pipeline.finish().findings
    return sorted((f.id, f.text) for f in found)


@pytest.mark.parametrize("area", AREAS)
def test_findings_survive_a_checkpoint(area: str, tmp_path: Path) -> None:
    file = tmp_path / "case.jsonl"
    for id in rules_with_cases():
        if id.startswith(f"{area}/"):
            for case in cases_of(id):
                for transport in case.transports(sorted(RULES[id].transports)):
                    file.write_text(case.transcript(transport)[0], encoding="utf-8")
                    assert _findings(file, again=True) == _findings(file, again=False), f"{id}/{case.name}"
