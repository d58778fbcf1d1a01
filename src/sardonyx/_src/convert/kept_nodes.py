"""Nodes that a step keeps as they are, told by the signatures of nodes that it has kept before.

Most steps of most models are derived: both versions of the operator are equivalent, and the node stays.  What such a step
checks depends on the operator, on the element types of inputs and outputs and on the types of attributes only, apart from
what inference has checked already.  So one node of a signature is converted in full, and the others are skipped.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import field
from typing import TypeAlias

from sardonyx._src.convert.signature_check import referenced_names
from sardonyx._src.convert.steps import VersionStep, facet_of
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Node, TensorType, Value
from sardonyx._src.ops.attribute_domains import attribute_domains
from sardonyx._src.ops.registry import find
from sardonyx._src.ops.traits import EnumValues
from sardonyx._src.ops.version_adapter import keep
from sardonyx._src.schema import exact

SetStep: TypeAlias = tuple[int, int]  # two adjacent versions of an operator set


@dataclass(slots=True)
class KeptNodes:
    """Which steps keep which nodes of a scope.

    by_signature: for each signature of a node, the steps that keep it.
    steps: the entry of `by_signature` of each node that is known to be valid in its current version.
    meanings: for each step of an operator, whether inference accepts the same, and whether the step keeps nodes.
    """

    by_signature: dict[Hashable, set[SetStep]] = field(default_factory=dict)
    steps: dict[Node, set[SetStep]] = field(default_factory=dict)
    meanings: dict[VersionStep, tuple[bool, bool]] = field(default_factory=dict)

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

    def record(
        self, node: Node, new_nodes: Sequence[Node], step: VersionStep, set_step: SetStep, is_unchanged: bool
    ) -> None:
        """Records what a step has made of a node; is_unchanged: whether the node itself stays as it was.

        The new nodes are valid in the new version if inference accepts the same nodes in both.
        """
        self.steps.pop(node, None)
        if step not in self.meanings:
            self.meanings[step] = accepts_same(step), keeps_meaning(step)
        accepts, keeps = self.meanings[step]
        if accepts:
            self.add_valid(new_nodes)
            if keeps and is_unchanged and node in self.steps:
                self.steps[node].add(set_step)


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


def keeps_meaning(step: VersionStep) -> bool:
    """Whether a step keeps every node that both versions allow, and inference accepts the same nodes in both."""
    op = find(step.domain, step.name)
    return op is not None and facet_of(op, step) is keep and accepts_same(step)


def accepts_same(step: VersionStep) -> bool:
    """Whether inference and the limits of attributes, apart from their presence, are the same in both versions."""
    op = find(step.domain, step.name)
    infer = None if op is None else op.infers.get(step.old)
    if op is None or infer is not op.infers.get(step.new):
        return False
    if infer is None or "version" in referenced_names(infer):
        return False
    old, new = (allowed_values(step.domain, step.name, version) for version in (step.old, step.new))
    return all(old[name] == new[name] for name in old.keys() & new.keys())


def allowed_values(domain: str, name: str, version: int) -> dict[str, object]:
    """The limits of the values of attributes in one version of an operator."""
    schema = exact(domain, name, version)
    limits = {} if schema is None else attribute_domains(schema)
    return {
        attribute: limit.in_version(version) if isinstance(limit, EnumValues) else limit
        for attribute, limit in limits.items()
    }
