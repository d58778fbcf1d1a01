"""Nodes as lowerings see them: the operator's signature and attributes as its kernel takes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar, cast

from sardonyx._src.ir.graph import Node, Value
from sardonyx._src.ir.types import TensorType
from sardonyx._src.schema import OpSchema

T = TypeVar("T")


def is_typed(node: Node, schema: OpSchema) -> bool:
    """Whether the element types of all tensors that a node is given are such as its operator takes, and go together."""
    bound: dict[str, str] = {}
    for i, value in enumerate(node.inputs):
        parameter = schema.input(i)
        if value is None or parameter is None or not isinstance(value.type, TensorType):
            continue
        found = f"tensor({value.type.dtype.text})"
        if found not in schema.allowed(parameter):
            return False
        if parameter.homogeneous and bound.setdefault(parameter.type, found) != found:
            return False
    return True


@dataclass(frozen=True, slots=True)
class Call:
    """A node with its signature; attributes left out have their defaults."""

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
        """An input, or None if it is left out."""
        return self.node.inputs[index] if index < len(self.node.inputs) else None

    def wanted(self, index: int) -> bool:
        """Whether an output is there and somebody reads it."""
        if index >= len(self.node.outputs):
            return False
        value = self.node.outputs[index]
        return bool(value.name) and (bool(value.uses) or value.is_graph_output)

    def attribute(self, name: str, kind: type[T]) -> T:
        """An attribute that is there, of a kind that the signature promises."""
        value = self.attributes[name]
        assert isinstance(value, kind), f"{self.op_type}.{name} is {value!r}"
        return value

    def optional(self, name: str) -> object | None:
        return self.attributes.get(name)

    def ints(self, name: str) -> tuple[int, ...] | None:
        value = self.attributes.get(name)
        return None if value is None else tuple(int(one) for one in cast("list[int]", value))
