"""The walk: every record of a document is handed, with its context, to the rules that declared its class.

Rules yield what they find; the engine filters by IR version, leaves out what follows from another fault, and puts
what is left in the order of the fields.  A stack of its own instead of recursion, as documents may be deep.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias, cast

from sardonyx._src.check.api import Finding, Rule
from sardonyx._src.check.bodies import Body, imports_of
from sardonyx._src.check.context import Context, Document, Trail
from sardonyx._src.check.forms import CLOSED, FORMS, Form
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.record import Field, Record

STEP = re.compile(r"(\w+)(?:\[(\d+)\])?\Z")
UNKNOWN = 1 << 30  # where unknown fields stand among the known ones: last
MOST_PLANS = 4096  # fields may come in any order, and a file of such records must not fill the memory
MOST_FAULTS = 20_000
BODIES = (m.GraphProto, m.FunctionProto)
Step = tuple[int, int]  # number of a field, index in it
Path = tuple[Step, ...]
Holder: TypeAlias = tuple[Trail, Context, tuple[Field, ...]]  # of records in these fields


@dataclass(frozen=True, slots=True)
class Located:
    """A finding with its rule and its place: `steps` from the document on, `trail` to the visited record."""

    rule: Rule
    finding: Finding
    steps: Path
    trail: Trail


@dataclass(frozen=True, slots=True)
class Plan:
    """What there is to do about records of one class in which the same fields are set."""

    rules: tuple[Rule, ...]  # to be asked
    others: tuple[Rule, ...]  # of these, those that look at more than the form
    children: tuple[Field, ...]  # fields that hold records


@dataclass(slots=True)
class Walk:
    """One pass of the rules over a document; without `forms`, every rule is asked about every record.

    `faultless` has, by scope and class, the forms of records in which no fault was found, each with what there is to
    do about such a record.
    """

    document: Document
    rules: Mapping[type[Record], Sequence[Rule]]
    found: list[Located] = field(default_factory=list)
    main: Body | None = None  # as algorithms of training steps see it
    forms: bool = True
    plans: dict[tuple[type[Record], tuple[str, ...]], Plan] = field(default_factory=dict)
    faultless: dict[tuple[int, type[Record]], dict[Form, Plan]] = field(default_factory=dict)
    scopes: int = 0
    asked: int = 0  # how often rules were that look at more than the form
    notes: int = 0  # findings that are no more than that

    @property
    def is_full(self) -> bool:
        """Whether so many faults were found that nobody wants to know of more."""
        return len(self.found) - min(self.notes, MOST_FAULTS) >= MOST_FAULTS

    def run(self) -> list[Located]:
        """All findings, in the order of the document's fields."""
        document = self.document
        trail = Trail(document.record)
        context = Context(document, self.body(document.record, None, trail), trail)
        plan = self.plan(document.record)
        self.ask(plan, plan.rules, trail, context)
        self.look_into((trail, context, plan.children))
        return kept(self.found)

    def look_into(self, holder: Holder) -> None:
        """Asks the rules about all that is inside a record."""
        stack = [holder]
        while stack and not self.is_full:
            trail, context, fields = stack.pop()
            values = trail.record.__dict__
            for one in fields:
                value = values[one.name]
                if value is not None:
                    children = cast("list[Record]", value if one.repeated else (value,))
                    stack += self.visited(children, one, trail, context)

    def visited(
        self, children: Sequence[Record], one: Field, around: Trail, context: Context
    ) -> Iterator[Holder]:
        """Asks the rules about the records of a field; those that have to be looked into."""
        assert one.message is not None, "the field holds records"
        form_of = FORMS.get(one.message) if self.forms else None
        faultless = self.faultless.setdefault((context.scope, one.message), {})
        for i, child in enumerate(children):
            form = form_of(child) if form_of is not None else None
            plan = faultless.get(form) if form is not None else None
            if plan is not None and not plan.others and not plan.children:
                continue
            trail = Trail(child, around, one, i if one.repeated else -1)
            inner = self.entered(trail, context) if one.message in BODIES else context
            if plan is not None:
                self.ask(plan, plan.others, trail, inner)
            else:
                plan = self.plan(child)
                is_faultless = self.ask(plan, plan.rules, trail, inner)
                if not is_faultless and self.is_full:
                    return
                if is_faultless and form is not None:
                    if one.message in CLOSED:
                        if self.is_faultless_inside((trail, inner, plan.children)):
                            faultless[form] = replace(plan, children=())
                        continue
                    faultless[form] = plan
            if plan.children:
                yield trail, inner, plan.children

    def is_faultless_inside(self, holder: Holder) -> bool:
        """Looks into a record; whether by its form alone it is clear that nothing inside has a fault."""
        before = len(self.found), self.asked
        self.look_into(holder)
        return (len(self.found), self.asked) == before

    def plan(self, record: Record) -> Plan:
        """What to do about a record, made once for all with the same fields."""
        message, values = type(record), record.__dict__
        # Reading an absent list leaves an empty one.  Forms do not tell these from others, which a record may share.
        names = (
            tuple(values)
            if message in FORMS
            else tuple(n for n, v in values.items() if type(v) is not list or v)
        )
        key = message, names
        plan = self.plans.get(key)
        if plan is None:
            rules = tuple(r for r in self.rules[message] if not r.needs or not r.needs.isdisjoint(names))
            others = tuple(r for r in rules if not r.by_form)
            children = tuple(f for f in message.FIELDS if f.message is not None and f.name in names)
            plan = Plan(rules, others, children)
            if len(self.plans) < MOST_PLANS:
                self.plans[key] = plan
        return plan

    def ask(self, plan: Plan, rules: Iterable[Rule], trail: Trail, context: Context) -> bool:
        """Asks rules about the record at the end of a trail; whether its form has no fault."""
        context.trail = trail
        self.asked += len(plan.others)
        is_faultless = True
        for rule in rules:
            for finding in rule.ask(trail.record, context):
                if self.is_full:
                    return False
                is_note = (finding.severity or rule.severity) == "info"
                self.notes += is_note
                if is_note and self.notes > MOST_FAULTS:
                    if finding.severity is None:
                        break  # as all that this rule could add are notes
                    continue
                steps = (*steps_to(trail), *steps_of(type(trail.record), finding.at))
                self.found.append(Located(rule, finding, steps, trail))
                is_faultless = is_faultless and not rule.by_form
        return is_faultless

    def entered(self, trail: Trail, context: Context) -> Context:
        """The context of a graph or function and of what is inside."""
        body = self.body(trail.record, context, trail)
        if body is not None and body.kind == "nested":
            return Context(self.document, body, trail, context.scope)
        self.scopes += 1
        return Context(self.document, body, trail, self.scopes)

    def body(self, record: Record, context: Context | None, trail: Trail) -> Body | None:
        document = self.document
        functions = document.functions
        if isinstance(record, m.FunctionProto):
            own = imports_of(record.opset_import)
            if not own and isinstance(document.record, m.OperatorSetProto):
                own = {record.domain: document.record.opset_version}
            return Body(record, "function", own, functions, function=record)
        if not isinstance(record, m.GraphProto):
            return None
        outer = context.body if context is not None else None
        if outer is not None:
            return Body(
                record, "nested", outer.imports, functions, outer, node_index(trail), function=outer.function
            )
        name = trail.field.name if trail.field is not None else ""
        imports = document.imports
        if name == "algorithm" and document.model is not None and document.model.graph is not None:
            if self.main is None:
                self.main = Body(document.model.graph, "main", imports, functions)
            return Body(record, "algorithm", imports, functions, self.main, len(document.model.graph.node))
        return Body(record, "initialization" if name == "initialization" else "main", imports, functions)


def node_index(trail: Trail) -> int:
    """The index of the nearest node around a record."""
    for step in trail.outwards():
        if isinstance(step.record, m.NodeProto):
            return step.index
    return 0


def by_class(rules: Iterable[Rule], ir_version: int) -> dict[type[Record], list[Rule]]:
    """The rules that hold for an IR version, by the class that they visit."""
    result: dict[type[Record], list[Rule]] = {message: [] for message in m.MESSAGES}
    for one in rules:
        if one.since <= ir_version <= one.until:
            for message in m.MESSAGES if Record in one.visits else one.visits:
                result[message].append(one)
    return result


def steps_to(trail: Trail) -> Path:
    steps = [(t.field.number, t.index) for t in trail.outwards() if t.field is not None]
    return tuple(reversed(steps))


def steps_of(message: type[Record] | None, at: str) -> Path:
    """A finding's path as steps; an assertion holds rules to paths that exist."""
    steps: list[Step] = []
    for part in at.split(".") if at else ():
        match = STEP.match(part)
        assert match is not None and message is not None, f"{at!r} is not a path"
        name, index = match[1], int(match[2] or -1)
        if name == "unknown":
            steps.append((UNKNOWN, index))
            message = None
            continue
        row = message.BY_NAME[name]
        steps.append((row.number, index))
        message = row.message
    return tuple(steps)


def kept(found: list[Located]) -> list[Located]:
    """What does not follow from something else that was found, each once, in order."""
    at: dict[str, set[Path]] = {}
    around: dict[str, set[Path]] = {}
    for one in found:
        at.setdefault(one.rule.code, set()).add(one.steps)
        around.setdefault(one.rule.code, set()).update(prefixes(one.steps))
    hidden = {one.steps for one in found if one.rule.hides}
    result = [one for one in found if not follows(one, at, around) and not is_inside(one, hidden)]
    result.sort(key=lambda one: (one.steps, one.rule.code))
    return list(first_of_each(result))


def prefixes(steps: Path) -> Iterator[Path]:
    """The place itself and all that are around it."""
    return (steps[:length] for length in range(len(steps) + 1))


def first_of_each(found: Iterable[Located]) -> Iterator[Located]:
    """Drops what says again what the rule has said under the same word."""
    said: set[tuple[str, str]] = set()
    for one in found:
        key = (one.rule.code, one.finding.once)
        if not one.finding.once or key not in said:
            said.add(key)
            yield one


def follows(one: Located, at: Mapping[str, set[Path]], around: Mapping[str, set[Path]]) -> bool:
    """Whether a finding of a rule that explains this one lies at its place, inside it or around it."""
    return any(
        one.steps in around[code] or any(steps in at[code] for steps in prefixes(one.steps))
        for code in one.rule.unless
        if code in at
    )


def is_inside(one: Located, hidden: set[Path]) -> bool:
    return not one.rule.hides and bool(hidden) and any(steps in hidden for steps in prefixes(one.steps))
