"""Valid documents that a checker could refuse by mistake; none has an error or a warning.

A block of `valid.txt` states its claim in the first line; the rest is an example as `examples.py` reads them.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from check.examples import write
from sardonyx._src.check import check
from sardonyx._src.check.driver.sources import DocumentKind

BLOCKS = (Path(__file__).parent / "valid.txt").read_text(encoding="utf-8").split("\n\n")
EXAMPLES = dict(block.strip().split("\n", 1) for block in BLOCKS)


def test_every_claim_is_made_once() -> None:
    assert len(EXAMPLES) == len(BLOCKS)


@pytest.mark.parametrize("claim", EXAMPLES)
def test_nothing_is_wrong_with(claim: str, tmp_path: Path) -> None:
    path, word = write(EXAMPLES[claim], tmp_path)
    kind: DocumentKind = word  # type: ignore[assignment]  # `write` returns a string
    assert [str(d) for d in check(path, kind=kind).diagnostics if d.severity != "info"] == []
