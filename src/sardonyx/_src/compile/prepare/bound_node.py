"""Bound nodes: a node with its operator's signature, and its attributes with defaults filled in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar, cast

from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Node, TensorType, Value
from sardonyx._src.schema import OpSchema

T = TypeVar("T")


def is_typed(node: Node, schema: OpSchema) -> bool:
    """Whether the element types of all tensor inputs satisfy the type constraints of the operator."""
    bound: dict[str, str] = {}
    for i, value in enumerate(node.inputs):
        parameter = schema.input(i)
        if value is None or parameter is None or not isinstance(value.type, TensorType):
            continue
        type_text = f"tensor({value.type.dtype.text})"
        if type_text not in schema.allowed_types(parameter):
            return False
        if parameter.homogeneous and bound.setdefault(parameter.type, type_text) != type_text:
            return False
    return True


@dataclass(frozen=True, slots=True)
class BoundNode:
    """A node with its signature, and its attributes, with defaults for attributes that the node omits."""

    node: Node
    schema: OpSchema
    attributes: Mapping[str, object]

    @property
    def op_type(self) -> str:
        return self.node.op_type

    @property
    def version(self) -> int:
        return self.schema.since_version

    @property
    def output(self) -> Value:
        return self.node.outputs[0]

    def input(self, index: int) -> Value | None:
        """An input; None if it is omitted."""
        return self.node.inputs[index] if index < len(self.node.inputs) else None

    def is_output_used(self, index: int) -> bool:
        """Whether an output is present, and is read or an output of the graph."""
        if index >= len(self.node.outputs):
            return False
        value = self.node.outputs[index]
        return bool(value.name) and (bool(value.uses) or value.is_graph_output)

    def attribute(self, name: str, kind: type[T]) -> T:
        """An attribute that the signature requires or gives a default; `kind` is its Python type."""
        value = self.attributes[name]
        assert isinstance(value, kind), f"{self.op_type}.{name} is {value!r}"
        return value

    def optional(self, name: str) -> object | None:
        """An attribute; None if it is omitted and has no default."""
        return self.attributes.get(name)

    def ints(self, name: str) -> tuple[int, ...] | None:
        """An attribute that is a list of integers; None if it is omitted and has no default."""
        value = self.attributes.get(name)
        return None if value is None else tuple(map(int, cast("list[int]", value)))
