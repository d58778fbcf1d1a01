"""Which requirements of the specification have a rule."""

from __future__ import annotations

from check.requirements import STATIC
from sardonyx._src.check.driver.pages import page
from sardonyx._src.check.engine.registry import rules

# The list may only shrink.
OPEN: set[str] = set()


def test_the_requirements_without_a_rule_are_these() -> None:
    covered = {requirement for code in rules() for requirement in page(code).catalogue if requirement != "-"}
    assert covered - STATIC == set()
    assert STATIC - covered == OPEN


def test_codes_lie_in_the_group_of_their_requirements() -> None:
    groups = {
        "SX0": "WIR MOD MET OPS VER",
        "SX1": "GRA NAM SHP SUB TRN FUN TYP",
        "SX2": "NOD ATT FUN OPR",
        "SX3": "TEN SPT EXT TYP ATT",
        "SX4": "FUN",
        "SX5": "TRN QNT DEV",
        "SX6": "OPD DAT",
        "SX7": "GRA SHP NOD OPR TRN",
        "SX9": "STY",
    }
    for code in rules():
        for requirement in page(code).catalogue:
            if requirement != "-" and requirement[:3] not in ("SUB", "FUN", "TRN"):
                assert requirement[:3] in groups[code[:3]].split(), f"{code} covers {requirement}"
