"""BatchNormalization with constant statistics: a factor and an addend per channel, which any epilogue can apply."""

from __future__ import annotations

from sardonyx._src.compile.partition import BoundNode, Scope
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, Tensor, TensorType, Value
from sardonyx._src.rewrite.support.batch_norm import fold_statistics

FIRST_VERSION = 7  # from this version on, attributes and outputs show whether a node is in training mode


def folded_statistics(op: BoundNode, scope: Scope) -> tuple[Value, Value] | None:
    """The factor and the addend [C, 1, ...] of a BatchNormalization in float32; None for any other node."""
    if op.op_type != "BatchNormalization" or op.node.domain or op.version < FIRST_VERSION:
        return None
    if op.node not in scope.folded_constants:
        scope.folded_constants[op.node] = fold_constants(op, scope)
    factor_and_addend = scope.folded_constants[op.node]
    return (factor_and_addend[0], factor_and_addend[1]) if factor_and_addend else None


def fold_constants(op: BoundNode, scope: Scope) -> tuple[Value, ...]:
    """New constants for the factor and the addend of a BatchNormalization; an empty tuple if its statistics are not constant."""
    shape = scope.shape(op.input(0))
    if (
        shape is None
        or len(shape) < 2
        or any(scope.dtype_of(v) is not DataType.FLOAT for v in op.node.inputs)
    ):
        return ()
    columns = fold_statistics(op.node, op.attributes, [scope.constant(value) for value in op.node.inputs[1:]])
    if columns is None:
        return ()
    dims = (-1, *(1 for _ in shape[2:]))
    name = op.output.name
    return tuple(
        constant_value(f"{name}/{role}", column.astype(DataType.FLOAT.numpy).reshape(dims))
        for role, column in zip(("factor", "addend"), columns, strict=True)
    )


def constant_value(name: str, elements: Array) -> Value:
    """A constant that belongs to no graph."""
    literal = Tensor.of(elements)
    return Value(name, TensorType(literal.dtype, literal.shape), literal)
