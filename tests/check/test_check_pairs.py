"""Pairs of a bad document and its fixed twin: the bad one violates one requirement, the twin none.

A file of `pairs/` has blocks between blank lines.  The first line of a block names the requirement, or several where
one is a case of another, the severity if it is not the usual one, and the variant; the rest is an example as
`examples.py` reads them, with `«good|bad»` where the two differ.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from check.examples import write
from check.requirements import STATIC, WARNINGS
from sardonyx._src.check import Diagnostic, check
from sardonyx._src.check.driver.checking import GROUPS
from sardonyx._src.check.driver.pages import page

FOLDER = Path(__file__).parent / "pairs"
EDIT = re.compile(r"«([^|»]*)\|([^»]*)»")
SHORT = {
    "%H": 'opset_import: ["": 21, "com.example": 1]',
    "%D": 'domain: "com.example", opset_import: ["": 21]',
    "%P": 'domain: "com.example", producer_name: "p", producer_version: "1"',
}


class Pair(NamedTuple):
    """A pair of documents; the bad one violates one of `requirements`."""

    requirements: tuple[str, ...]
    severity: str
    variant: str
    good: str
    bad: str


def pair(block: str) -> Pair:
    head, _, text = block.partition("\n")
    words, _, variant = head.partition(": ")
    requirements = tuple(w for w in words.split() if w in STATIC)
    (severity,) = set(words.split()) - STATIC or {"warning" if requirements[0] in WARNINGS else "error"}
    for short, long in SHORT.items():
        text = text.replace(short, long)
    return Pair(requirements, severity, variant, EDIT.sub(r"\1", text), EDIT.sub(r"\2", text))


PAIRS = [
    pair(block.strip())
    for path in sorted(FOLDER.glob("*.txt"))
    for block in path.read_text(encoding="utf-8").split("\n\n")
    if block.strip()
]


def diagnose(example: str, folder: Path) -> list[Diagnostic]:
    path, kind = write(example, folder)
    return [d for d in check(path, kind=kind, select=GROUPS).diagnostics if d.severity != "info"]  # type: ignore[arg-type]


def test_pairs_differ_and_are_of_known_severities() -> None:
    assert len(PAIRS) > 700
    assert [p for p in PAIRS if p.good == p.bad or p.severity not in ("error", "warning")] == []


@pytest.mark.parametrize("case", PAIRS, ids=lambda p: f"{p.requirements[0]}-{p.variant.replace(' ', '-')}")
def test_the_bad_document_violates_only_its_requirement_and_the_twin_none(case: Pair, tmp_path: Path) -> None:
    for name in ("good", "bad"):
        (tmp_path / name).mkdir()
    assert [str(d) for d in diagnose(case.good, tmp_path / "good")] == []
    diagnostics = diagnose(case.bad, tmp_path / "bad")
    assert {d.severity for d in diagnostics} == {case.severity}, "\n".join(map(str, diagnostics))
    (rule,) = {d.rule for d in diagnostics}
    if case.severity == "error":  # what is reported on request only are warnings
        path, kind = write(case.bad, tmp_path)
        assert check(path, kind=kind).of("error")  # type: ignore[arg-type]
    assert set(case.requirements) & set(page(rule).catalogue), "\n".join(map(str, diagnostics))
