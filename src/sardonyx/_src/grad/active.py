"""Active values: the values through which a gradient flows from a target to its sources."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from sardonyx._src.convert.outline import read_values
from sardonyx._src.ir import Node, OptionalType, SequenceType, TensorType, Type, Value


def active_nodes(
    nodes: Iterable[Node],
    sources: Collection[Value],
    targets: Collection[Value],
    constants: Collection[Value] = (),
) -> list[Node]:
    """The nodes, in their order, on paths of differentiable values from the sources to the targets.

    No path goes through a source or one of the `constants`.
    """
    dependent = set(sources)
    fixed = {*sources, *constants}
    forward: list[Node] = []
    for node in nodes:
        if any(value in dependent for value in differentiable_reads(node)):
            forward.append(node)
            dependent.update(v for v in node.outputs if v.name and v not in fixed and is_differentiable(v))
    needed = set(targets)
    path: list[Node] = []
    for node in reversed(forward):
        if any(value in needed for value in node.outputs if value in dependent):
            path.append(node)
            needed.update(
                value for value in differentiable_reads(node) if value in dependent and value not in fixed
            )
    return path[::-1]


def active_values(path: Iterable[Node], sources: Collection[Value]) -> set[Value]:
    """The sources, and the outputs of nodes on a path that carry gradients."""
    return {*sources, *(v for node in path for v in node.outputs if v.name and is_differentiable(v))}


def differentiable_reads(node: Node) -> Iterator[Value]:
    """The values that a node reads and may have a gradient for.

    A gradient reaches quantized integers only through DequantizeLinear; other readers of them have no slope.
    """
    is_dequantization = node.op_type == "DequantizeLinear" and not node.domain
    for value in read_values(node):
        if carries_gradient(value.type) or (is_dequantization and is_quantized(value)):
            yield value


def is_differentiable(value: Value) -> bool:
    """Whether a value can have a gradient: floats, or the result of QuantizeLinear, through which gradients pass unchanged."""
    return carries_gradient(value.type) or is_quantized(value)


def is_quantized(value: Value) -> bool:
    """Whether a value is the result of QuantizeLinear."""
    node = value.producer
    return node is not None and node.op_type == "QuantizeLinear" and not node.domain


def carries_gradient(type: Type | None) -> bool:
    """Whether values of a type have gradients: floats, and sequences and optionals of them."""
    match type:
        case None:
            return True
        case TensorType():
            return type.dtype.is_float
        case SequenceType() | OptionalType():
            return carries_gradient(type.elem)
    return False
