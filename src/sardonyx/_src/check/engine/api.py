"""The interface of rules: findings, the `rule` decorator, diagnostics and reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Literal, TypeVar, cast, get_args

from sardonyx._src.arguments import require_choice, require_integer
from sardonyx._src.check.engine.context import RuleContext
from sardonyx._src.dataclass import dataclass
from sardonyx._src.formatters import format_html
from sardonyx._src.proto.record import Record

Severity = Literal["error", "warning", "info"]
RuleGroup = Literal["default", "style", "strict"]
RuleFunction = Callable[[Record, RuleContext], Iterator["Finding"]]
AnyRuleFunction = TypeVar("AnyRuleFunction", bound=Callable[..., Iterator["Finding"]])
MAX_LISTED = 3  # diagnostics of one rule that the text of a report lists
MAX_IR_VERSION = 1 << 31  # above every IR version


@dataclass(frozen=True, slots=True)
class Finding:
    """One violation of a rule.

    path: leads from the visited record to the location, as `input[1]`; "" for the record itself.
    message: what is wrong.
    help: the cure.
    severity, group: override those of the rule.
    dedup_key: of several findings of one rule with the same key, only the first is reported; "" is no key.
    """

    path: str
    message: str
    help: str
    severity: Severity | None = None
    dedup_key: str = ""
    group: RuleGroup | None = None


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
    cached_by_fingerprint: bool
    group: RuleGroup
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
    cached_by_fingerprint: bool = False,
    group: RuleGroup = "default",
) -> Callable[[AnyRuleFunction], AnyRuleFunction]:
    """Registers a rule for records of the given classes; `Record` means every class.

    since, until: the IR versions that the rule applies to.
    suppressed_by: codes, separated by blanks.  A finding of this rule is dropped if a finding of one of those rules
        is at the same location, inside it or around it, because it would only be a consequence.
    suppresses: drop the findings of all other rules inside a finding of this one; for features that an IR version
        lacks.
    needs: fields, separated by blanks.  The rule is not run on records with none of them set.
    cached_by_fingerprint: the rule depends only on the record's fingerprint (`engine/fingerprints.py`), the imports of its
        body and the IR version.  Once it has passed a record, other records with that fingerprint are skipped.
    group: "default" for what a user of the model would act on; "style" for habits, and "strict" for requirements that
        readers of models do not rely on, which are reported only if they are selected.
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
            cached_by_fingerprint,
            group,
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


@dataclass(frozen=True, slots=True, repr=False)
class Report:
    """The diagnostics of one document, in the order of its fields; true if it has no errors."""

    diagnostics: tuple[Diagnostic, ...]

    @property
    def ok(self) -> bool:
        """Whether there is no error; warnings and infos are allowed."""
        return not self.of("error")

    def __bool__(self) -> bool:
        """`ok`."""
        return self.ok

    def __str__(self) -> str:
        """A line for each diagnostic and a line of counts; of a rule with many diagnostics only the first ones are listed."""
        lines = []
        for diagnostic in self.listed(MAX_LISTED):
            lines.append(str(diagnostic))
        lines += [f"{rule} {name}: {count} more" for (rule, name), count in self.omitted(MAX_LISTED).items()]
        return "\n".join([*lines, self.counts()])

    def _repr_html_(self) -> str:
        """The object as a table, in notebooks."""
        return format_html(self)

    def __repr__(self) -> str:
        return f"<Report: {self.counts()}>"

    def counts(self) -> str:
        """The number of diagnostics by severity: `2 errors, 1 warning`."""
        counts = [(len(self.of(severity)), severity) for severity in get_args(Severity)]
        nouns = [(n, "note" if severity == "info" else severity) for n, severity in counts if n]
        return ", ".join(f"{n} {noun}{'s' * (n != 1)}" for n, noun in nouns) or "no issues found"

    def listed(self, most: int) -> list[Diagnostic]:
        """The diagnostics, at most the first `most` of each rule."""
        require_integer("most", most, 0)
        return [d for d, number in self._numbered() if number <= most]

    def omitted(self, most: int) -> dict[tuple[str, str], int]:
        """The number of diagnostics that `listed` leaves out, by code and name of the rule."""
        require_integer("most", most, 0)
        return dict(Counter((d.rule, d.name) for d, number in self._numbered() if number > most))

    def _numbered(self) -> Iterator[tuple[Diagnostic, int]]:
        """Each diagnostic with its number among those of its rule, from 1."""
        numbers: Counter[str] = Counter()
        for diagnostic in self.diagnostics:
            numbers[diagnostic.rule] += 1
            yield diagnostic, numbers[diagnostic.rule]

    def of(self, severity: Severity) -> list[Diagnostic]:
        """The diagnostics of a severity; raises InputError for another word."""
        require_choice("severity", severity, get_args(Severity))
        return [d for d in self.diagnostics if d.severity == severity]
