"""The conversion steps between adjacent versions of operators, and the method that performs each.

A step is performed by a facet, which is a function of the operator for this step; it is derived if the specification
shows that the two versions are equivalent; or the operator's body replaces the node.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from sardonyx._src.convert.signature_check import derivable
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Node
from sardonyx._src.ops.api import ConvertFacet, Operator
from sardonyx._src.ops.registry import find, operators
from sardonyx._src.ops.version_adapter import keep
from sardonyx._src.schema import OpSchema, exact, last_version, versions, withdrawn

StepMethod = Literal["facet", "derived", "body", "none"]


@dataclass(frozen=True, slots=True)
class VersionStep:
    """A step from one version of an operator to the next or previous one.

    `new` is 0 before the introduction of the operator, and after its withdrawal.
    """

    domain: str
    name: str
    old: int
    new: int

    @property
    def is_up(self) -> bool:
        return self.new > self.old or self.is_withdrawal

    @property
    def is_withdrawal(self) -> bool:
        """Whether the later operator set has no operator of this name."""
        return self.new == 0 and last_version(self.domain, self.name) is not None

    def __str__(self) -> str:
        return f"{self.domain + '.' if self.domain else ''}{self.name} {self.old} to {self.new or 'none'}"


def step_method(step: VersionStep) -> StepMethod:
    """The method that performs a step; "none" if the step is impossible."""
    op = find(step.domain, step.name)
    if op is None:
        return "none"
    if (step.old, step.new) in op.conversions:
        return "facet"
    if step.new and is_derivable(op, step):
        return "derived"
    return "body" if not step.is_up and has_body_below(op, step.old) else "none"


def facet_of(op: Operator, step: VersionStep) -> ConvertFacet | None:
    """The facet that performs a step, declared by the operator or derived; None if there is none."""
    facet = op.conversions.get((step.old, step.new))
    if facet is None and step.new and is_derivable(op, step):
        return keep
    return facet


def is_derivable(op: Operator, step: VersionStep) -> bool:
    old, new = (exact(step.domain, step.name, v) for v in (step.old, step.new))
    return old is not None and new is not None and derivable(op, old, new)


def has_body_below(op: Operator, version: int) -> bool:
    """Whether this version of the operator has a body that can replace a node in an earlier operator set."""
    body = op.bodies.get(version)
    return body is not None and (bool(op.domain) or body.opset < version)


def steps() -> Iterator[VersionStep]:
    """Every step up and down of every operator in the specification, and its introduction or withdrawal."""
    for op in operators():
        known = versions(op.domain, op.name)
        for i, version in enumerate(known):
            if i + 1 < len(known):
                yield VersionStep(op.domain, op.name, version, known[i + 1])
            if i:
                yield VersionStep(op.domain, op.name, version, known[i - 1])
            elif version > 1:
                yield VersionStep(op.domain, op.name, version, 0)
    for schema in withdrawn():
        if last_version(schema.domain, schema.name) is not None:
            yield VersionStep(schema.domain, schema.name, schema.since_version, 0)


def previous(schema: OpSchema) -> int:
    """The preceding version of the operator; 0 if there is none."""
    earlier = [v for v in versions(schema.domain, schema.name) if v < schema.since_version]
    return earlier[-1] if earlier else 0


def changes_at(node: Node, version: int) -> bool:
    """Whether an operator changes from the preceding version of its set to this one."""
    last = last_version(node.domain, node.op_type)
    return is_version(node, version) or (last is not None and version == last + 1)


def is_version(node: Node, version: int) -> bool:
    """Whether a new version of the operator was introduced with this version of its operator set."""
    return version in versions(node.domain, node.op_type)


def has_no_signature(node: Node) -> bool:
    """Whether the node uses a withdrawn operator for which `schema` has no signature."""
    return last_version(node.domain, node.op_type) is not None and exact(node.domain, node.op_type, 1) is None


def reason_for_no_facet(step: VersionStep) -> str:
    """The reason, for messages, why a step that no facet performs is impossible."""
    if step.is_withdrawal:
        return "it was withdrawn, and no standard operator replaces it"
    return "it has no equivalent there" if step.new else "it was introduced in a later version"
