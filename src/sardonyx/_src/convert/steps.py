"""The conversion steps between adjacent versions of operators, and how each is performed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from sardonyx._src.convert.signature_check import derivable
from sardonyx._src.ops.api import ConvertFacet, Operator
from sardonyx._src.ops.registry import find, operators
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter
from sardonyx._src.schema import OpSchema, exact, versions

How = Literal["facet", "derived", "body", "none"]


@dataclass(frozen=True, slots=True)
class VersionStep:
    """A step from one version of an operator to the next or previous one; `new` is 0 before its introduction."""

    domain: str
    name: str
    old: int
    new: int

    @property
    def is_up(self) -> bool:
        return self.new > self.old

    def __str__(self) -> str:
        return f"{self.domain + '.' if self.domain else ''}{self.name} {self.old} to {self.new or 'none'}"


def how(step: VersionStep) -> How:
    """How a step is performed: by a facet, derived, by the operator's body, or not at all."""
    op = find(step.domain, step.name)
    if op is None:
        return "none"
    if (step.old, step.new) in op.conversions:
        return "facet"
    if step.new and is_derivable(op, step):
        return "derived"
    return "body" if not step.is_up and has_body_below(op, step.old) else "none"


def facet_of(op: Operator, step: VersionStep) -> ConvertFacet | None:
    """The facet of a step, declared or derived."""
    facet = op.conversions.get((step.old, step.new))
    if facet is None and step.new and is_derivable(op, step):
        return keep_as_is
    return facet


def is_derivable(op: Operator, step: VersionStep) -> bool:
    old, new = (exact(step.domain, step.name, v) for v in (step.old, step.new))
    return old is not None and new is not None and derivable(op, old, new)


def keep_as_is(adapter: Adapter) -> AdaptedNode:
    """The facet of derived steps: the versions are equivalent for this node."""
    return adapter.same()


def has_body_below(op: Operator, version: int) -> bool:
    """Whether the operator has a body in an earlier opset than its own."""
    body = op.bodies.get(version)
    return body is not None and (bool(op.domain) or body.opset < version)


def steps() -> Iterator[VersionStep]:
    """Every step up and down of every operator in the specification."""
    for op in operators():
        known = versions(op.domain, op.name)
        for i, version in enumerate(known):
            if i + 1 < len(known):
                yield VersionStep(op.domain, op.name, version, known[i + 1])
            if i:
                yield VersionStep(op.domain, op.name, version, known[i - 1])
            elif version > 1:
                yield VersionStep(op.domain, op.name, version, 0)


def previous(schema: OpSchema) -> int:
    """The preceding version; 0 if there is none."""
    earlier = [v for v in versions(schema.domain, schema.name) if v < schema.since_version]
    return earlier[-1] if earlier else 0
