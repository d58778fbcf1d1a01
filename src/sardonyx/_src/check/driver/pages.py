"""Pages of rules: the docstrings of their modules, parsed."""

from __future__ import annotations

import re
from functools import cache

from sardonyx._src.check.engine.api import RuleGroup, Severity
from sardonyx._src.check.engine.registry import name_of, rules
from sardonyx._src.check.fixing.api import fixes_by_code
from sardonyx._src.dataclass import dataclass
from sardonyx._src.docpages import load_page

PAGE_HEADINGS = ("Clause", "Catalogue", "Why", "Bad", "Good")
RULE_TITLE = re.compile(r"(SX\d{3}) ([a-z0-9-]+): (.+)\Z")


@dataclass(frozen=True, slots=True)
class RulePage:
    """A parsed docstring of a rule.  `bad` and `good` are examples; `catalogue` lists the requirements it covers."""

    code: str
    name: str
    title: str
    severity: Severity
    group: RuleGroup
    clause: str
    catalogue: tuple[str, ...]
    why: str
    bad: str
    good: str

    @property
    def fix(self) -> str:
        """The effect of `check --fix` on an unambiguous violation; "" if the rule has no fix."""
        registered = fixes_by_code().get(self.code)
        return registered.title if registered is not None else ""

    @property
    def selection(self) -> str:
        """The option that makes `check` report the rule; "" if it is reported by default."""
        ways = {"style": "with --select style", "strict": "with --strict", "default": ""}
        return ways[self.group]

    def text(self) -> str:
        """The page for a terminal."""
        rows = [
            f"{self.code} {self.name} ({self.severity}): {self.title}",
            *([f"Clause: {self.clause}"] if self.clause else ()),
            f"Why: {self.why}",
            *([f"Reported: {self.selection}"] if self.selection else ()),
            *([f"Fix: {self.fix}"] if self.fix else ()),
        ]
        examples = [("Bad", self.bad), ("Good", self.good)]
        rows += [f"{label}:\n\n{indent(text)}" for label, text in examples if text]
        return "\n\n".join(rows) + "\n"

    def markdown(self) -> str:
        """The page in Markdown, without its title."""
        rows = [
            f"Clause: {self.clause}",
            self.why,
            *([f"Reported: {self.selection}"] if self.selection else ()),
            *([f"Fix: {self.fix}"] if self.fix else ()),
            f"Bad:\n\n```\n{self.bad}\n```",
            f"Good:\n\n```\n{self.good}\n```",
        ]
        return "\n\n".join(rows) + "\n"


OWN_PAGES: dict[str, RulePage] = {}  # the pages of rules of callers, by code


def page(code: str) -> RulePage:
    """The page of a rule."""
    return OWN_PAGES[code] if code in OWN_PAGES else parse_page(code)


@cache
def parse_page(code: str) -> RulePage:
    """The page of a rule of this package; asserts that its docstring is complete."""
    rule = rules()[code]
    doc = load_page(rule.module, RULE_TITLE, PAGE_HEADINGS)
    match, parts = doc.title, doc.sections
    assert match[1] == code and match[2] == name_of(rule), (
        f"the docstring of {rule.module} must begin with {code} {name_of(rule)}; got {match[1]} {match[2]}"
    )
    catalogue = tuple(parts["Catalogue"].split())
    clause, why = (" ".join(parts[h].split()) for h in ("Clause", "Why"))
    return RulePage(
        code,
        match[2],
        match[3],
        rule.severity,
        rule.group,
        clause,
        catalogue,
        why,
        parts["Bad"],
        parts["Good"],
    )


def indent(text: str) -> str:
    return "\n".join(f"    {line}".rstrip() for line in text.splitlines())
