"""The walk over a document: runs the rules on every record, each with its context.

The walk filters rules by class and IR version; `suppression.py` drops findings that follow from others and sorts the
rest by location.  It uses an explicit stack instead of recursion, since documents may be deeply nested.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import TypeAlias, cast

from sardonyx._src.check.engine.api import Finding, Rule
from sardonyx._src.check.engine.body import BodyKind, BodyScope, imports_of
from sardonyx._src.check.engine.context import RecordPath, RuleContext
from sardonyx._src.check.engine.document import Document
from sardonyx._src.check.engine.findings import LocatedFinding, steps_of, steps_to
from sardonyx._src.check.engine.fingerprints import (
    FINGERPRINTS,
    RecordFingerprint,
    covers_subtree,
    node_fingerprints,
)
from sardonyx._src.check.engine.suppression import drop_suppressed
from sardonyx._src.dataclass import dataclass
from sardonyx._src.io.serde.types import MAX_RANK
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.record import Field, Record

MAX_PLANS = 4096  # visit plans that are kept: a bound for a file whose records set their fields in many different orders
MAX_FINDINGS = 20_000
NODE_BLOCK = 128  # nodes whose fingerprints are computed together
SCOPED_RECORDS = (m.GraphProto, m.FunctionProto)
Parent: TypeAlias = tuple[
    RecordPath, RuleContext, tuple[Field, ...]
]  # a record whose children are still to be visited, its context, and its fields that hold records


@dataclass(frozen=True, slots=True)
class VisitPlan:
    """The rules and children to visit for records of one class with the same fields set.

    rules: all rules for these records.
    uncached: those of the rules that depend on more than the fingerprint.
    children: the fields that hold records.
    """

    rules: tuple[Rule, ...]
    uncached: tuple[Rule, ...]
    children: tuple[Field, ...]

    @property
    def is_done(self) -> bool:
        """Whether nothing is left to visit in a record whose fingerprint has passed."""
        return not self.uncached and not self.children


@dataclass(slots=True)
class Walk:
    """One pass of the rules over a document.

    rules: the rules that apply to the document, by the class of the records that they visit.
    findings: the findings so far.
    main: the main graph, whose values algorithms of training steps may read.
    use_clean_cache: False runs every rule on every record.
    plans: the visit plans so far, by class and the names of the fields that are set.
    clean_cache: by scope and class, the fingerprints of records without findings, with their plans.
    scopes: the number of scopes so far.
    uncached_runs: how often rules ran that depend on more than the fingerprint.
    notes: the number of findings of severity "info".
    """

    document: Document
    rules: Mapping[type[Record], Sequence[Rule]]
    findings: list[LocatedFinding] = field(default_factory=list)
    main: BodyScope | None = None
    use_clean_cache: bool = True
    plans: dict[tuple[type[Record], tuple[str, ...]], VisitPlan] = field(default_factory=dict)
    clean_cache: dict[tuple[int, type[Record]], dict[RecordFingerprint, VisitPlan]] = field(
        default_factory=dict
    )
    scopes: int = 0
    uncached_runs: int = 0
    notes: int = 0

    @property
    def is_full(self) -> bool:
        """Whether the limit on findings is reached.

        Notes have the same limit of their own: they are not counted here up to it, and dropped beyond it.
        """
        return len(self.findings) - min(self.notes, MAX_FINDINGS) >= MAX_FINDINGS

    def run(self) -> list[LocatedFinding]:
        """All findings that are not suppressed, in the order of the document's fields."""
        document = self.document
        record_path = RecordPath(document.record)
        context = RuleContext(document, self.body(document.record, None, record_path), record_path)
        plan = self.plan(document.record)
        self.run_rules(plan, plan.rules, record_path, context)
        self.visit_inside((record_path, context, plan.children))
        return drop_suppressed(self.findings)

    def visit_inside(self, parent: Parent) -> None:
        """Runs the rules on everything inside a record."""
        stack = [parent]
        while stack and not self.is_full:
            record_path, context, fields = stack.pop()
            values = record_path.record.__dict__
            for child_field in fields:
                value = values[child_field.name]
                if value is not None:
                    children = cast("list[Record]", value if child_field.repeated else (value,))
                    if len(children) > MAX_RANK and child_field.message is m.TensorShapeProtoDimension:
                        continue  # SX008 reports the shape
                    stack += self.visit_children(children, child_field, record_path, context)

    def visit_children(
        self, children: Sequence[Record], child_field: Field, parent: RecordPath, context: RuleContext
    ) -> Iterator[Parent]:
        """Runs the rules on the records of a field; yields those whose children are still to be visited."""
        message_class = child_field.message
        assert message_class is not None, "the field holds records"
        fingerprint_of = FINGERPRINTS.get(message_class) if self.use_clean_cache else None
        clean = self.clean_cache.setdefault((context.scope, message_class), {})
        indexed: Iterator[tuple[int, Record]] = enumerate(children)
        if message_class is m.NodeProto and self.use_clean_cache:
            indexed = skip_clean_blocks(cast("Sequence[m.NodeProto]", children), clean)
        for i, child in indexed:
            fingerprint = fingerprint_of(child) if fingerprint_of is not None else None
            plan = clean.get(fingerprint) if fingerprint is not None else None
            if plan is not None and plan.is_done:
                continue
            record_path = RecordPath(child, parent, child_field, i if child_field.repeated else -1)
            inner = self.enter_body(record_path, context) if message_class in SCOPED_RECORDS else context
            if plan is not None:
                self.run_rules(plan, plan.uncached, record_path, inner)
            else:
                plan = self.plan(child)
                is_clean = self.run_rules(plan, plan.rules, record_path, inner)
                if not is_clean and self.is_full:
                    return
                if is_clean and fingerprint is not None:
                    if covers_subtree(child):
                        if self.is_clean_inside((record_path, inner, plan.children)):
                            clean[fingerprint] = replace(plan, children=())
                        continue
                    clean[fingerprint] = plan
            if plan.children:
                yield record_path, inner, plan.children

    def is_clean_inside(self, parent: Parent) -> bool:
        """Visits everything inside a record; returns whether other records with its fingerprint can be skipped.

        That is so if nothing inside violates a rule, and no rule inside depends on more than the fingerprint.
        """
        before = len(self.findings), self.uncached_runs
        self.visit_inside(parent)
        return (len(self.findings), self.uncached_runs) == before

    def plan(self, record: Record) -> VisitPlan:
        """The plan for a record, shared by all records of its class with the same fields."""
        message_class, values = type(record), record.__dict__
        # Reading an absent list leaves an empty one.  A fingerprint does not distinguish an empty list from a filled
        # one, so a plan that records share by fingerprint covers fields with empty lists, too.
        names = (
            tuple(values)
            if message_class in FINGERPRINTS
            else tuple(n for n, v in values.items() if type(v) is not list or v)
        )
        key = message_class, names
        plan = self.plans.get(key)
        if plan is None:
            rules = tuple(
                r for r in self.rules[message_class] if not r.needs or not r.needs.isdisjoint(names)
            )
            uncached = tuple(r for r in rules if not r.cached_by_fingerprint)
            children = tuple(f for f in message_class.FIELDS if f.message is not None and f.name in names)
            plan = VisitPlan(rules, uncached, children)
            if len(self.plans) < MAX_PLANS:
                self.plans[key] = plan
        return plan

    def run_rules(
        self, plan: VisitPlan, rules: Iterable[Rule], record_path: RecordPath, context: RuleContext
    ) -> bool:
        """Runs rules on the record at the end of a path; returns whether it passes all that depend only on its fingerprint."""
        context.record_path = record_path
        self.uncached_runs += len(plan.uncached)
        is_clean = True
        for rule in rules:
            for finding in rule.run(record_path.record, context):
                if self.is_full:
                    return False
                is_note = (finding.severity or rule.severity) == "info"
                self.notes += is_note
                if is_note and self.notes > MAX_FINDINGS:
                    if finding.severity is None:
                        break  # the rule can only add notes
                    continue
                self.add(rule, finding, record_path)
                is_clean = is_clean and not rule.cached_by_fingerprint
        return is_clean

    def add(self, rule: Rule, finding: Finding, record_path: RecordPath) -> None:
        steps = (*steps_to(record_path), *steps_of(type(record_path.record), finding.path))
        self.findings.append(LocatedFinding(rule, finding, steps, record_path))

    def enter_body(self, record_path: RecordPath, context: RuleContext) -> RuleContext:
        """The context of a graph or function and of everything inside."""
        body = self.body(record_path.record, context, record_path)
        if body is not None and body.kind == "nested":
            return RuleContext(self.document, body, record_path, context.scope)
        self.scopes += 1
        return RuleContext(self.document, body, record_path, self.scopes)

    def body(self, record: Record, context: RuleContext | None, record_path: RecordPath) -> BodyScope | None:
        document = self.document
        functions = document.functions
        if isinstance(record, m.FunctionProto):
            own = imports_of(record.opset_import)
            if not own and isinstance(document.record, m.OperatorSetProto):
                own = {record.domain: document.record.opset_version}
            return BodyScope(record, "function", own, functions, function=record)
        if not isinstance(record, m.GraphProto):
            return None
        outer = context.body if context is not None else None
        if outer is not None:
            index = enclosing_node_index(record_path)
            return BodyScope(
                record, "nested", outer.imports, functions, outer, index, function=outer.function
            )
        name = record_path.field.name if record_path.field is not None else ""
        imports = document.imports
        if name == "algorithm" and document.model is not None and document.model.graph is not None:
            if self.main is None:
                self.main = BodyScope(document.model.graph, "main", imports, functions)
            node_count = len(document.model.graph.node)
            return BodyScope(record, "algorithm", imports, functions, self.main, node_count)
        kind: BodyKind = "initialization" if name == "initialization" else "main"
        return BodyScope(record, kind, imports, functions)


def skip_clean_blocks(
    nodes: Sequence[m.NodeProto], clean: Mapping[RecordFingerprint, VisitPlan]
) -> Iterator[tuple[int, Record]]:
    """The nodes with their indices, without blocks of nodes whose fingerprints have all passed when the block is reached."""
    for start in range(0, len(nodes), NODE_BLOCK):
        block = nodes[start : start + NODE_BLOCK]
        fingerprints = node_fingerprints(block)
        if fingerprints is None or not all(f in clean and clean[f].is_done for f in fingerprints):
            yield from enumerate(block, start)


def enclosing_node_index(record_path: RecordPath) -> int:
    """The index of the nearest node around a record."""
    for step in record_path.ancestors():
        if isinstance(step.record, m.NodeProto):
            return step.index
    return 0


def group_by_class(rules: Iterable[Rule], ir_version: int) -> dict[type[Record], list[Rule]]:
    """The rules that apply to an IR version, by the class that they visit."""
    result: dict[type[Record], list[Rule]] = {message: [] for message in m.MESSAGES}
    for rule in rules:
        if rule.since <= ir_version <= rule.until:
            for message in m.MESSAGES if Record in rule.visits else rule.visits:
                result[message].append(rule)
    return result
