"""The interface of rules: findings, the `rule` decorator, diagnostics and reports."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeVar, cast, get_args

from sardonyx._src.arguments import require_choice
from sardonyx._src.check.engine.context import RuleContext
from sardonyx._src.proto.record import Record

Severity = Literal["error", "warning", "info"]
RuleFunction = Callable[[Record, RuleContext], Iterator["Finding"]]
AnyRuleFunction = TypeVar("AnyRuleFunction", bound=Callable[..., Iterator["Finding"]])
MAX_IR_VERSION = 1 << 31  # above every IR version


@dataclass(frozen=True, slots=True)
class Finding:
    """One violation of a rule.

    `path` leads from the visited record to the location (`input[1]`; "" for the record itself).  `severity` overrides
    that of the rule.  Of the findings of one rule with the same `dedup_key`, only the first is reported.
    """

    path: str
    message: str
    help: str
    severity: Severity | None = None
    dedup_key: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """A registered rule; its name and its page are those of its module."""

    code: str
    severity: Severity
    visits: tuple[type[Record], ...]
    since: int
    until: int
    suppressed_by: frozenset[str]
    suppresses: bool
    needs: frozenset[str]
    by_fingerprint: bool
    opt_in: bool
    run: RuleFunction
    module: str


REGISTERED_RULES: list[Rule] = []


def rule(
    code: str,
    severity: Severity = "error",
    *,
    visits: type[Record] | tuple[type[Record], ...],
    since: int = 0,
    until: int = MAX_IR_VERSION,
    suppressed_by: str = "",
    suppresses: bool = False,
    needs: str = "",
    by_fingerprint: bool = False,
    opt_in: bool = False,
) -> Callable[[AnyRuleFunction], AnyRuleFunction]:
    """Registers a rule for records of the given classes; `Record` alone means every class.

    since, until: the IR versions that the rule applies to.
    suppressed_by: codes, separated by blanks.  A finding of this rule is dropped if a finding of one of those rules
        is at the same location, inside it or around it, because it would only be a consequence.
    suppresses: drop the findings of all other rules inside a finding of this one; for features that an IR version
        lacks.
    needs: fields, separated by blanks.  The rule is not run on records with none of them set.
    by_fingerprint: the rule depends only on the record's fingerprint (`engine/fingerprints.py`), the imports of its
        body and the IR version.  Once it has passed a record, other records with that fingerprint are skipped.
    opt_in: run the rule only if it is selected; for matters of style.
    """

    def register(function: AnyRuleFunction) -> AnyRuleFunction:
        registered = Rule(
            code,
            severity,
            visits if isinstance(visits, tuple) else (visits,),
            since,
            until,
            frozenset(suppressed_by.split()),
            suppresses,
            frozenset(needs.split()),
            by_fingerprint,
            opt_in,
            cast(RuleFunction, function),
            function.__module__,
        )
        REGISTERED_RULES.append(registered)
        return function

    return register


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A reported violation.

    rule: the code (`SX110`); name: the rule's name (`value-defined-twice`); clause: the passage of the specification;
    location: the path from the document, with the names of the records on it.
    """

    rule: str
    name: str
    severity: Severity
    location: str
    message: str
    help: str
    clause: str

    def __str__(self) -> str:
        prefix = f"{self.location}: " if self.location else ""
        return f"{prefix}{self.severity}: {self.rule} {self.name}: {self.message} (help: {self.help})"


@dataclass(frozen=True, slots=True)
class Report:
    """The diagnostics of one document, in the order of its fields."""

    diagnostics: tuple[Diagnostic, ...]

    @property
    def ok(self) -> bool:
        """Whether there is no error; warnings and infos are allowed."""
        return not self.of("error")

    def of(self, severity: Severity) -> list[Diagnostic]:
        """The diagnostics of a severity; raises InputError for another word."""
        require_choice("severity", severity, get_args(Severity))
        return [d for d in self.diagnostics if d.severity == severity]
