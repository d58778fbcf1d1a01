"""Every rule: its bad example has only this violation, its good one none."""

from __future__ import annotations

from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from check.examples import write
from sardonyx._src.check import Diagnostic, check
from sardonyx._src.check.driver.pages import page
from sardonyx._src.check.engine.registry import rules
from sardonyx._src.proto.record import Record

CODES = list(rules())


def diagnose(example: str, folder: Path, code: str) -> list[Diagnostic]:
    """The diagnostics of all rules, or of an opt-in rule alone, without the advice of other rules."""
    path, kind = write(example, folder)
    select = [code] if rules()[code].group != "default" else []
    diagnostics = check(path, kind=kind, select=select).diagnostics  # type: ignore[arg-type]
    return [d for d in diagnostics if d.rule == code or d.severity != "info" or not d.rule.startswith("SX9")]


@pytest.mark.parametrize("code", CODES)
def test_the_bad_example_fires_this_rule_alone(code: str, tmp_path: Path) -> None:
    diagnostics = diagnose(page(code).bad, tmp_path, code)
    fired = [d for d in diagnostics if d.rule == code]
    assert [d.severity for d in fired] == [page(code).severity], "\n".join(map(str, diagnostics))
    assert [d for d in diagnostics if d.severity != "info" and d.rule != code] == []
    assert fired[0].message and fired[0].help and fired[0].clause


@pytest.mark.parametrize("code", CODES)
def test_the_good_example_fires_nothing(code: str, tmp_path: Path) -> None:
    assert [str(d) for d in diagnose(page(code).good, tmp_path, code)] == []


@pytest.mark.parametrize("code", CODES)
def test_a_rule_takes_the_records_that_it_visits(code: str) -> None:
    hints = get_type_hints(rules()[code].run)
    record = next(hint for name, hint in hints.items() if name not in ("return", "context"))
    assert set(get_args(record) or [record]) == set(rules()[code].visits) or rules()[code].visits in (
        (),
        (Record,),
    )
