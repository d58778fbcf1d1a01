"""Write docs/generated/conversions.md: how each operator goes from version to version, up and down."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from sardonyx._src.convert.steps import Step, how, steps

PAGE = Path("docs/generated/conversions.md")
HEAD = """# Conversions

Written by `make regen`: every step between two versions of an operator that `sardonyx convert` may have to take.
`=` is derived: the versions mean the same wherever a node fits both, which is looked at node by node.  `f` is written
down as a facet, which may refuse a node that the other version cannot express.  `b` puts the operator's body in its
place.  `-` cannot be taken.  0 is the operator set before the operator came.

"""
MARKS = {"derived": "=", "facet": "f", "body": "b", "none": "-"}


def files() -> dict[Path, str]:
    """Path from the project's root -> content."""
    found = sorted(steps(), key=lambda s: (s.domain, s.name))
    lines = [HEAD, *summary(found), "\n| operator | up | down |\n|---|---|---|\n"]
    for (domain, name), group in groupby(found, key=lambda s: (s.domain, s.name)):
        own = list(group)
        cells = [" ".join(cell(s) for s in own if s.is_up is up) for up in (True, False)]
        lines.append(f"| {domain + '.' if domain else ''}{name} | {cells[0]} | {cells[1]} |\n")
    return {PAGE: "".join(lines)}


def cell(step: Step) -> str:
    return f"{step.old}→{step.new}{MARKS[how(step)]}"


def summary(found: list[Step]) -> Iterator[str]:
    """How many steps are made in which way."""
    yield "| | derived | by facet | by body | not at all |\n|---|---|---|---|---|\n"
    for title, up in (("up", True), ("down", False)):
        counts = Counter(how(s) for s in found if s.is_up is up)
        yield f"| {title} | {counts['derived']} | {counts['facet']} | {counts['body']} | {counts['none']} |\n"
