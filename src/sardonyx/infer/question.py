"""What one node asks its operator, and what all nodes of an operator have in common."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from sardonyx.infer.elements import Elements, may_be_small
from sardonyx.ir.dims import Dim
from sardonyx.ir.graph import Node, Value
from sardonyx.ir.types import TensorType, Type
from sardonyx.ops.api import InferFacet, Kernel, Operator, ValueFacet
from sardonyx.ops.bind import AttributePlan
from sardonyx.ops.inference import Inference, Known
from sardonyx.schema import OpSchema


@dataclass(slots=True)
class Question(Inference):
    """An Inference that looks elements up when a facet asks for them, and notes that the answer depends on them."""

    values: Sequence[Value | None] = ()
    elements: Elements = field(default_factory=Elements)
    is_special: bool = False  # whether a facet has asked for more than types and attributes

    def value(self, i: int) -> Known | None:
        self.is_special = True
        return self.elements.get(self.values[i]) if i < len(self.values) else None

    def new_dim(self) -> Dim:
        self.is_special = True
        return Inference.new_dim(self)

    def subgraph(
        self, name: str, inputs: Sequence[Type | None], known: Sequence[Known | None] = ()
    ) -> list[Type | None] | None:
        self.is_special = True
        return Inference.subgraph(self, name, inputs, known)


@dataclass(frozen=True, slots=True)
class Answer:
    """Types of a node's outputs, and whether one may be small enough for its elements to be known."""

    types: Sequence[Type | None]
    may_be_small: bool

    @classmethod
    def of(cls, found: Type | Sequence[Type | None] | None) -> Answer:
        types = found if isinstance(found, list | tuple) else (found,)
        return cls(types, any(may_be_small(type) for type in types))


class Plan:
    """An operator in one version, ready to be asked about many nodes.

    Nodes with equal attributes and input types get one answer, unless it came of more than those.
    """

    __slots__ = ("answers", "attributes", "infer", "kernel", "kinds", "schema", "value")

    def __init__(self, op: Operator, schema: OpSchema, attributes: AttributePlan, infer: InferFacet) -> None:
        version = schema.since_version
        self.schema = schema
        self.attributes = attributes
        self.kinds = attributes.kinds
        self.infer = infer
        self.value: ValueFacet | None = op.values.get(version)
        computes_shapes = self.value is not None or op.elementwise
        self.kernel: Kernel | None = op.kernels.get(version) if computes_shapes and not op.is_random else None
        self.answers: dict[Hashable, Answer] = {}

    def key(self, node: Node) -> Hashable | None:
        """What the answer for a node depends on; None when a look at attributes alone does not tell."""
        key: list[Hashable] = [len(node.outputs)]
        for value in node.inputs:
            key.append(0 if value is None else value.type)
        kinds = self.kinds
        for name, attribute in node.attributes.items():
            if attribute.ref or kinds.get(name) is not attribute.type:
                return None
            key.append(name)
            key.append(attribute.value)
        return tuple(key)
