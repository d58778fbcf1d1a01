"""The walk: every record of a document is handed, with its context, to the rules that declared its class.

Rules yield what they find; the engine filters by IR version, leaves out what follows from another fault, and puts
what is left in the order of the fields.  A stack of its own instead of recursion, as documents may be deep.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from sardonyx.check.api import Finding, Rule
from sardonyx.check.bodies import Body, imports_of
from sardonyx.check.context import Context, Document, Trail
from sardonyx.proto import messages as m
from sardonyx.proto.record import Field, Record

STEP = re.compile(r"(\w+)(?:\[(\d+)\])?\Z")
UNKNOWN = 1 << 30  # where unknown fields stand among the known ones: last
Step = tuple[int, int]  # number of a field, index in it
Path = tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Located:
    """A finding with its rule and its place: `steps` from the document on, `trail` to the visited record."""

    rule: Rule
    finding: Finding
    steps: Path
    trail: Trail


@dataclass(slots=True)
class Walk:
    """One pass of the rules over a document."""

    document: Document
    rules: Mapping[type[Record], Sequence[Rule]]
    found: list[Located] = field(default_factory=list)
    main: Body | None = None  # as algorithms of training steps see it

    def run(self) -> list[Located]:
        """All findings, in the order of the document's fields."""
        document = self.document
        trail = Trail(document.record)
        stack = [(trail, Context(document, self.body(document.record, None, trail), trail))]
        while stack:
            trail, context = stack.pop()
            self.visit(trail, context)
            inner: list[Trail] = []
            values = trail.record.__dict__
            for one in CHILDREN[type(trail.record)]:
                value = values.get(one.name)
                if value is None:
                    continue
                if one.repeated:
                    inner += [Trail(v, trail, one, i) for i, v in enumerate(cast("list[Record]", value))]
                else:
                    inner.append(Trail(cast(Record, value), trail, one))
            for child in reversed(inner):
                stack.append((child, self.entered(child, context)))
        return kept(self.found)

    def visit(self, trail: Trail, context: Context) -> None:
        context.visit(trail)
        values = trail.record.__dict__
        for rule in self.rules[type(trail.record)]:
            if rule.needs and rule.needs not in values:
                continue
            for finding in rule.ask(trail.record, context):
                steps = (*steps_to(trail), *steps_of(type(trail.record), finding.at))
                self.found.append(Located(rule, finding, steps, trail))

    def entered(self, trail: Trail, context: Context) -> Context:
        """The context inside a record: another one in a graph or function."""
        if not isinstance(trail.record, m.GraphProto | m.FunctionProto):
            return context
        return Context(self.document, self.body(trail.record, context, trail), trail)

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


CHILDREN: dict[type[Record], tuple[Field, ...]] = {
    message: tuple(f for f in message.FIELDS if f.message is not None) for message in m.MESSAGES
}


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
