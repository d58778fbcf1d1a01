"""What a rule says and what becomes of it: findings, rules, diagnostics."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeVar, cast

from sardonyx._src.check.context import Context
from sardonyx._src.proto.record import Record

Severity = Literal["error", "warning", "info"]
Ask = Callable[[Record, Context], Iterator["Finding"]]
F = TypeVar("F", bound=Callable[..., Iterator["Finding"]])
NEWEST = 1 << 31  # above every IR version


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault: `at` is a path from the visited record (`input[1]`; "" for the record itself).

    `severity` is given where it is not the rule's own.  Of findings of one rule with the same `once`, the first alone
    is reported.
    """

    at: str
    says: str
    help: str
    severity: Severity | None = None
    once: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule as its decorator states it; its name and page are those of its module."""

    code: str
    severity: Severity
    visits: tuple[type[Record], ...]
    since: int
    until: int
    unless: frozenset[str]
    hides: bool
    needs: frozenset[str]
    by_form: bool
    by_request: bool
    ask: Ask
    module: str


REGISTERED: list[Rule] = []


def rule(
    code: str,
    severity: Severity = "error",
    *,
    visits: type[Record] | tuple[type[Record], ...],
    since: int = 0,
    until: int = NEWEST,
    unless: str = "",
    hides: bool = False,
    needs: str = "",
    by_form: bool = False,
    by_request: bool = False,
) -> Callable[[F], F]:
    """Registers a rule for the records of some classes; `Record` alone stands for all of them.

    The rule holds for IR versions `since` to `until`.  `unless` lists codes, separated by blanks: a finding of this
    rule is left out where one of theirs lies at the same place, inside it or around it, as it would follow from it.
    `hides` is for features that a version lacks: nothing else is said about what lies inside such a finding.
    `needs` lists fields, separated by blanks: a record that has none of them set cannot break the rule, which is not
    asked about it.  `by_form` says that the rule looks at no more than the record's form (`check/forms.py`), what its
    body imports, and the IR version: once it has found nothing, it is not asked about other records of that form.
    `by_request` is for habits of style: the rule is asked only where it is selected.
    """

    def register(function: F) -> F:
        classes = visits if isinstance(visits, tuple) else (visits,)
        known = frozenset(unless.split())
        one = Rule(
            code,
            severity,
            classes,
            since,
            until,
            known,
            hides,
            frozenset(needs.split()),
            by_form,
            by_request,
            cast(Ask, function),
            function.__module__,
        )
        REGISTERED.append(one)
        return function

    return register


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A fault as it is reported.

    `rule` is the code (`SX110`), `name` the rule's name (`value-defined-twice`), `clause` the passage of the
    specification, `location` the place with the names of what stands there.
    """

    rule: str
    name: str
    severity: Severity
    location: str
    message: str
    help: str
    clause: str

    def __str__(self) -> str:
        place = f"{self.location}: " if self.location else ""
        return f"{place}{self.severity}: {self.rule} {self.name}: {self.message} (help: {self.help})"


@dataclass(frozen=True, slots=True)
class Report:
    """All faults of one document, in the order of its fields."""

    diagnostics: tuple[Diagnostic, ...]

    @property
    def ok(self) -> bool:
        """Whether there is no error; warnings and infos may be there."""
        return not self.of("error")

    def of(self, severity: Severity) -> list[Diagnostic]:
        return [d for d in self.diagnostics if d.severity == severity]
