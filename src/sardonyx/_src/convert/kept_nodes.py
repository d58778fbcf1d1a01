"""Nodes that a step keeps as they are, told by the signatures of nodes that it has kept before.

Most steps of most models are derived: both versions of the operator are equivalent, and the node stays.  What such a step
checks depends on the operator, on the element types of inputs and outputs and on the types of attributes only, apart from
what inference has checked already.  So one node of a signature is converted in full, and the others are skipped.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from sardonyx._src.convert.signature_check import referenced_names
from sardonyx._src.convert.steps import VersionStep, is_derivable
from sardonyx._src.ir import Node, TensorType, Value
from sardonyx._src.ops.attribute_domains import attribute_domains
from sardonyx._src.ops.registry import find
from sardonyx._src.ops.traits import EnumValues
from sardonyx._src.schema import OpSchema, exact

SetStep: TypeAlias = tuple[int, int]  # two adjacent versions of an operator set


@dataclass(slots=True)
class KeptNodes:
    """Which steps keep which nodes of a scope.

    by_signature: for each signature of a node, the steps that keep it.
    steps: the entry of `by_signature` of each node that is known to be valid in its current version.
    """

    by_signature: dict[Hashable, set[SetStep]] = field(default_factory=dict)
    steps: dict[Node, set[SetStep]] = field(default_factory=dict)

    def add_valid(self, nodes: Iterable[Node]) -> None:
        """Records that inference has accepted nodes in their current version."""
        for node in nodes:
            signature = signature_of(node)
            if signature is not None:
                self.steps[node] = self.by_signature.setdefault(signature, set())

    def is_kept(self, node: Node, step: SetStep) -> bool:
        """Whether a step keeps the node: it has kept one of equal signature."""
        steps = self.steps.get(node)
        return steps is not None and step in steps

    def record(self, node: Node, step: SetStep, keeps: bool) -> None:
        """Records that a step has converted a node, and whether it `keeps` its signature."""
        if keeps:
            self.add_valid([node])
            if node in self.steps:
                self.steps[node].add(step)
        else:
            self.steps.pop(node, None)


def signature_of(node: Node) -> Hashable:
    """What a derived step checks of a node; None unless all of its types are known, and nothing but operands is to be adapted."""
    inputs, attributes = node.inputs, node.attributes
    if node.device_configurations or (inputs and inputs[-1] is None):
        return None
    operands = [None if value is None else dtype_of(value) for value in inputs]
    results = [dtype_of(value) for value in node.outputs if value.name]
    if None in results or any(a is None and v is not None for a, v in zip(operands, inputs, strict=True)):
        return None
    for attribute in attributes.values():
        if attribute.ref or attribute.graphs:
            return None
    kinds = [(name, attribute.type) for name, attribute in attributes.items()]
    named = tuple(bool(value.name) for value in node.outputs)
    return node.op_type, tuple(operands), tuple(results), named, tuple(kinds)


def dtype_of(value: Value) -> object:
    """The element type of a tensor; None for other values."""
    return value.type.dtype if isinstance(value.type, TensorType) else None


def allowed_values(schema: OpSchema) -> dict[str, object]:
    """The limits of the values of attributes in one version of an operator."""
    return {
        name: domain.in_version(schema.since_version) if isinstance(domain, EnumValues) else domain
        for name, domain in attribute_domains(schema).items()
    }


def keeps_meaning(step: VersionStep) -> bool:
    """Whether a step is derived, and inference accepts the same nodes in both versions."""
    op = find(step.domain, step.name)
    old, new = (exact(step.domain, step.name, version) for version in (step.old, step.new))
    if op is None or old is None or new is None or (step.old, step.new) in op.conversions:
        return False
    infer = op.infers.get(step.old)
    return (
        infer is not None
        and infer is op.infers.get(step.new)
        and "version" not in referenced_names(infer)
        and allowed_values(old) == allowed_values(new)
        and is_derivable(op, step)
    )
