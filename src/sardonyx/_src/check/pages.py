"""The rules, found by listing their folder, and the pages that their docstrings are."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from sardonyx._src.check.api import REGISTERED, Rule, Severity
from sardonyx._src.check.mends import mendable

FOLDER = Path(__file__).parent / "rules"
PACKAGE = f"{__name__.rpartition('.')[0]}.rules"
HEADINGS = ("Clause", "Catalogue", "Why", "Bad", "Good")
TITLE = re.compile(r"(SX\d{3}) ([a-z0-9-]+): (.+)\Z")


@dataclass(frozen=True, slots=True)
class Page:
    """A rule's docstring, taken apart.  `bad` and `good` are examples; `catalogue` the requirements it covers."""

    code: str
    name: str
    title: str
    severity: Severity
    clause: str
    catalogue: tuple[str, ...]
    why: str
    bad: str
    good: str

    @property
    def fix(self) -> str:
        """What `check --fix` does about the fault where it can tell what is meant; "" where it can do nothing."""
        one = mendable().get(self.code)
        return one.title if one is not None else ""

    def text(self) -> str:
        """The page for a terminal."""
        rows = [
            f"{self.code} {self.name} ({self.severity}): {self.title}",
            f"Clause: {self.clause}",
            f"Why: {self.why}",
            *([f"Fix: {self.fix}"] if self.fix else ()),
        ]
        return "\n\n".join([*rows, f"Bad:\n\n{indented(self.bad)}", f"Good:\n\n{indented(self.good)}"]) + "\n"

    def markdown(self) -> str:
        """The page without its title, for whoever shows it under one."""
        rows = [
            f"Clause: {self.clause}",
            self.why,
            *([f"Fix: {self.fix}"] if self.fix else ()),
            f"Bad:\n\n```\n{self.bad}\n```",
            f"Good:\n\n```\n{self.good}\n```",
        ]
        return "\n\n".join(rows) + "\n"


@cache
def rules() -> Mapping[str, Rule]:
    """Every rule by its code; an assertion names the files of two that share one."""
    for module in pkgutil.iter_modules([str(FOLDER)]):
        importlib.import_module(f"{PACKAGE}.{module.name}")
    result: dict[str, Rule] = {}
    for one in sorted(REGISTERED, key=lambda r: r.code):
        other = result.get(one.code)
        assert other is None, f"{one.code} is both {one.module} and {other and other.module}"
        result[one.code] = one
    return result


def name_of(rule: Rule) -> str:
    """The rule's name, which is that of its file."""
    return rule.module.rpartition(".")[2].replace("_", "-")


@cache
def page(code: str) -> Page:
    """The page of a rule; an assertion says what its docstring lacks."""
    one = rules()[code]
    doc = inspect.cleandoc(importlib.import_module(one.module).__doc__ or "")
    title, _, rest = doc.partition("\n\n")
    found = TITLE.match(" ".join(title.split()))
    assert found is not None, f"{one.module} does not begin with `SXnnn its-name: what is wrong`"
    assert found[1] == code and found[2] == name_of(one), (
        f"the docstring of {one.module} is that of {found[0]!r}"
    )
    parts = sections(rest)
    assert tuple(parts) == HEADINGS, f"{one.module} has the headings {tuple(parts)}, wanted {HEADINGS}"
    catalogue = tuple(parts["Catalogue"].split())
    clause, why = (" ".join(parts[h].split()) for h in ("Clause", "Why"))
    return Page(code, found[2], found[3], one.severity, clause, catalogue, why, parts["Bad"], parts["Good"])


def sections(text: str) -> dict[str, str]:
    """Heading -> what stands behind it, without the indentation that its lines share."""
    parts: dict[str, list[str]] = {}
    current: list[str] = []
    for line in text.splitlines():
        heading, colon, first = line.partition(":")
        if colon and heading in HEADINGS:
            current = parts[heading] = [" " * (len(heading) + 1) + first]
        else:
            current.append(line)
    return {heading: inspect.cleandoc("\n" + "\n".join(lines)).strip() for heading, lines in parts.items()}


def indented(text: str) -> str:
    return "\n".join(f"    {line}".rstrip() for line in text.splitlines())
