"""The table of requirements of docs/architecture/training.md names rules and tests that exist, for every requirement."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from check.requirements import COUNTS
from train import test_training_session

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/architecture/training.md").read_text(encoding="utf-8")
RULES = (ROOT / "docs/generated/rules.md").read_text(encoding="utf-8")
PAIRS = (ROOT / "tests/check/pairs/training.txt").read_text(encoding="utf-8")
ROWS = dict(re.findall(r"^\| ((?:TRN|SEM)-\d+) \|.*\| (.*) \|$", PAGE, re.MULTILINE))


def test_every_requirement_is_in_the_table() -> None:
    on_files = [f"TRN-{i:02}" for i in range(1, COUNTS["TRN"] + 1)]
    assert [*ROWS] == [*on_files, *(f"SEM-{i}" for i in range(39, 45))]


@pytest.mark.parametrize("label", [label for label in ROWS if label.startswith("TRN")])
def test_requirements_on_files_have_rules_and_pairs(label: str) -> None:
    rules = ROWS[label].removesuffix(" and others").split(", ")
    assert rules and all(f") {rule} |" in RULES for rule in rules)
    assert re.search(rf"^{label}(:| warning:)", PAIRS, re.MULTILINE)


@pytest.mark.parametrize("label", [label for label in ROWS if label.startswith("SEM")])
def test_requirements_on_runs_have_tests(label: str) -> None:
    names = re.findall(r"`(\w+)`", ROWS[label])
    assert names and all(callable(getattr(test_training_session, name, None)) for name in names)
