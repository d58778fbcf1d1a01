"""Early scalars: numbers that are computed from inputs alone come first, as the rates of optimizers, which updates read in any place."""

from __future__ import annotations

from collections.abc import Iterable

from sardonyx._src.compile.kernels.elementwise.operators import SCALAR_OPERATORS
from sardonyx._src.ir.graph import Node, Value
from sardonyx._src.ir.types import TensorType


def advance_scalars(nodes: Iterable[Node]) -> list[Node]:
    """The nodes of a graph in their order, but for elementwise operations on numbers of inputs and initializers, which come first."""
    early: dict[Node, None] = {}
    others: list[Node] = []
    for node in nodes:
        known = all(v is None or v.producer is None or v.producer in early for v in node.inputs)
        is_elementwise = not node.domain and node.op_type in SCALAR_OPERATORS and bool(node.inputs)
        if known and is_elementwise and all(map(is_number, node.outputs)):
            early[node] = None
        else:
            others.append(node)
    return [*early, *others]


def is_number(value: Value) -> bool:
    """Whether a value is a floating-point tensor of rank 0."""
    return isinstance(value.type, TensorType) and value.type.shape == () and value.type.dtype.is_float
