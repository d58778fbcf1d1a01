"""The steps between versions of an operator: which there are, and how each is made."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from sardonyx._src.convert.fitting import derivable
from sardonyx._src.ops.api import ConvertFacet, Operator
from sardonyx._src.ops.change import Change, Converted
from sardonyx._src.ops.registry import find, operators
from sardonyx._src.schema import OpSchema, exact, versions

How = Literal["facet", "derived", "body", "none"]


@dataclass(frozen=True, slots=True)
class Step:
    """From one version of an operator to the next or the previous one; `new` is 0 where the operator is not there."""

    domain: str
    name: str
    old: int
    new: int

    @property
    def is_up(self) -> bool:
        return self.new > self.old

    def __str__(self) -> str:
        return f"{self.domain + '.' if self.domain else ''}{self.name} {self.old} to {self.new or 'none'}"


def how(step: Step) -> How:
    """How the step is made: by a facet, derived, by the body of the operator, or not at all."""
    op = find(step.domain, step.name)
    if op is None:
        return "none"
    if (step.old, step.new) in op.conversions:
        return "facet"
    if step.new and derived(op, step):
        return "derived"
    return "body" if not step.is_up and has_body_below(op, step.old) else "none"


def facet_of(op: Operator, step: Step) -> ConvertFacet | None:
    """The facet that makes the step, written down or derived."""
    found = op.conversions.get((step.old, step.new))
    if found is None and step.new and derived(op, step):
        return as_it_is
    return found


def derived(op: Operator, step: Step) -> bool:
    old, new = (exact(step.domain, step.name, v) for v in (step.old, step.new))
    return old is not None and new is not None and derivable(op, old, new)


def as_it_is(c: Change) -> Converted:
    """The node says the same in both versions."""
    return c.same()


def has_body_below(op: Operator, version: int) -> bool:
    """Whether the operator has a body that goes by an earlier operator set than its own."""
    body = op.bodies.get(version)
    return body is not None and (bool(op.domain) or body.opset < version)


def steps() -> Iterator[Step]:
    """Every step up and down, of every operator that the specification lists."""
    for op in operators():
        known = versions(op.domain, op.name)
        for i, version in enumerate(known):
            if i + 1 < len(known):
                yield Step(op.domain, op.name, version, known[i + 1])
            if i:
                yield Step(op.domain, op.name, version, known[i - 1])
            elif version > 1:
                yield Step(op.domain, op.name, version, 0)


def previous(schema: OpSchema) -> int:
    """The version before this one, 0 where there is none."""
    earlier = [v for v in versions(schema.domain, schema.name) if v < schema.since_version]
    return earlier[-1] if earlier else 0
