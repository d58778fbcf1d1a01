"""The fix driver: it applies one fix at a time, until no violation is left that can be fixed without a guess.

One application of one fix to all its violations in a document is a fix pass.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import cast

from sardonyx._src.check.driver.checking import GROUPS, declared_operators, select_codes
from sardonyx._src.check.driver.pages import page
from sardonyx._src.check.driver.sources import DocumentKind, Source, read
from sardonyx._src.check.engine.document import Document
from sardonyx._src.check.engine.findings import LocatedFinding
from sardonyx._src.check.engine.location import location
from sardonyx._src.check.engine.registry import rules
from sardonyx._src.check.engine.walk import Walk, group_by_class
from sardonyx._src.check.fixing.api import AppliedFix, Fix, FixPass, Violation, fixes, fixes_by_code
from sardonyx._src.check.type_rules.runner import find_type_violations
from sardonyx._src.check.type_rules.subjects import TYPE_RULE_SUBJECTS
from sardonyx._src.io.external import Policy
from sardonyx._src.io.garbage_collection import pause_gc
from sardonyx._src.io.loading.load import PathSource
from sardonyx._src.io.loading.operator_sets import OperatorSetSource
from sardonyx._src.proto.record import Record
from sardonyx._src.proto.wire import Limits

MAX_FIX_PASSES = 200  # fix passes over a document; violations that are left then are reported


def fix(
    source: Source,
    *,
    kind: DocumentKind | None = None,
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    operator_sets: Iterable[OperatorSetSource] = (),
    policy: Policy | str = Policy.HUB,
    base: PathSource | None = None,
    limits: Limits | None = None,
) -> tuple[Record, list[AppliedFix]]:
    """Returns the document's record with all unambiguous violations fixed, and the applied fixes in order.

    The computation of the document does not change, nor do the names, types and order of inputs and outputs or the names of
    weights.  The arguments are those of `check`, except that all rules are selected by default; violations of rules that are
    not selected remain.  The source is not modified: the record is a copy that shares its data.  Fixing the result again
    changes nothing.

    Raises DecodeError, TextError, JsonError or LimitError for documents that do not decode, OSError for files that
    cannot be read, ValueError for words in `select` and `ignore` that match no rule.
    """
    # By default the groups "style" and "strict" are selected, too: their fixes do no harm.
    selected = select_codes(tuple(select) or GROUPS, ignore)
    with pause_gc():
        record, path = read(source, kind, limits)
        record = copy_record(record)
        location_base = path if base is None else Path(base) / "model"
        declared = declared_operators(record, operator_sets)
        applied: list[AppliedFix] = []
        for _ in range(MAX_FIX_PASSES):
            fixed = run_pass(Document(record, location_base, Policy(policy), declared), selected)
            if not fixed:
                break
            applied += fixed
    return record, applied


def run_pass(document: Document, selected: Collection[str]) -> list[AppliedFix]:
    """Applies the first fix that changes anything; violations of structure are fixed before those of types."""
    walk = structural_walk(document, fixes_by_code())
    findings = walk.run()
    for candidate in fixes():
        if (
            walk.is_full
        ):  # at the limit on findings, those of other rules may have left no room for those of this fix
            findings = structural_walk(document, candidate.codes).run()
        if applied := apply_fix(document, candidate, findings, selected):
            return applied
    findings = find_fixable_type_violations(document, selected)
    attempts = (apply_fix(document, candidate, findings, selected) for candidate in fixes())
    return next(filter(None, attempts), [])


def structural_walk(document: Document, codes: Iterable[str]) -> Walk:
    """A walk with those rules of these codes that need no types, and with the rules that may suppress their findings."""
    every = rules()
    structural = [code for code in codes if code not in TYPE_RULE_SUBJECTS]
    suppressing = {code for code, rule in every.items() if rule.suppresses}.union(
        *(every[code].suppressed_by for code in structural)
    )
    needed = [
        rule
        for code, rule in every.items()
        if code in structural or (code in suppressing and code not in TYPE_RULE_SUBJECTS)
    ]
    return Walk(document, group_by_class(needed, document.ir_version))


def find_fixable_type_violations(document: Document, selected: Collection[str]) -> list[LocatedFinding]:
    """The findings of type rules that have a fix, if the structure of the document is sound."""
    fixable = frozenset(selected) & fixes_by_code().keys()
    if fixable.isdisjoint(TYPE_RULE_SUBJECTS):
        return []
    findings = Walk(document, group_by_class(rules().values(), document.ir_version)).run()
    return find_type_violations(document, fixable, findings)


def apply_fix(
    document: Document, candidate: Fix, findings: Iterable[LocatedFinding], selected: Collection[str]
) -> list[AppliedFix]:
    """Applies a fix to its violations, the last one first, so that the paths of the others stay valid."""
    fix_pass = FixPass(document)
    violations = [
        Violation(
            f.rule.code, f.record_path, f.finding.path, location(f.record_path, f.finding.path), fix_pass
        )
        for f in findings
        if f.rule.code in candidate.codes and f.rule.code in selected
    ]
    effects = [(violation, candidate.apply(violation)) for violation in reversed(violations)]
    return [
        AppliedFix(violation.code, page(violation.code).name, violation.location, effect)
        for violation, effect in reversed(effects)
        if effect
    ]


def copy_record(record: Record) -> Record:
    """A deep copy of a record that shares its payloads."""
    result = type(record)()
    stack = [(record, result)]
    while stack:
        old, new = stack.pop()
        for name, value in old.__dict__.items():
            if isinstance(value, Record):
                inner = new.__dict__[name] = type(value)()
                stack.append((value, inner))
            elif isinstance(value, list) and value and isinstance(value[0], Record):
                pairs = [(child, type(child)()) for child in cast("list[Record]", value)]
                new.__dict__[name] = [copy for _, copy in pairs]
                stack += pairs
            else:
                new.__dict__[name] = list(value) if isinstance(value, list) else value
    return result
