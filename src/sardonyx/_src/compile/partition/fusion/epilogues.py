"""Epilogues of float kernels: elementwise consumers fused into a kernel's store, with their operands in its layout."""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.compile.codegen.expressions import Scalar
from sardonyx._src.compile.kernels.epilogue import RESULT, Epilogue
from sardonyx._src.compile.kernels.gemm.tile.integer_epilogue import IntegerEpilogue
from sardonyx._src.compile.partition import FusedEpilogue, Scope, Shape
from sardonyx._src.compile.partition.fusion.fusion import fuse_consumers
from sardonyx._src.compile.partition.fusion.fusion_group import FusionGroup
from sardonyx._src.compile.partition.fusion.operand_roles import (
    KernelResult,
    Role,
    accepted_role,
    operand_layout,
    read_operand,
    role_of,
)
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Value


def fuse_epilogue(
    scope: Scope,
    value: Value,
    *,
    channels_last: bool = False,
    start: Scalar = RESULT,
    operands: Sequence[tuple[Value, Shape]] = (),
    takes_rows: bool = False,
) -> FusedEpilogue:
    """Fuses the elementwise consumers of a value into the kernel that computes it.

    channels_last: whether the columns of the result run along the channels, and not along the last dim.
    start: the value as an expression of the kernel's result, and of `operands` as `o0`, `o1`, ..., each with
        its dims as broadcast, which the caller has proved or guarded.
    takes_rows: whether the kernel also reads operands that have one element for each row, as GEMMs do.
    """
    result = KernelResult(scope.known_shape(value), channels_last, takes_rows)

    def accepts(operand: Value, shape: Shape) -> bool:
        return role_of(scope.known_shape(operand), shape, result) is not None

    group = fuse_consumers(scope, value, accepts, start, operands)
    if group is None:
        values, shapes = [v for v, _ in operands], [s for _, s in operands]
        group = FusionGroup(result.shape, (value,), (start,), [], values, shapes)
    dims = [s for _, s in operands] + [scope.known_shape(v) for v in group.operands[len(operands) :]]
    roles = [accepted_role(*pair, result) for pair in zip(dims, group.shapes, strict=True)]
    reads = (read_operand(operand, role, result) for operand, role in zip(group.operands, roles, strict=True))
    return FusedEpilogue(
        float_epilogue(group.value, roles),
        group.result,
        tuple(group.nodes),
        tuple(reads),
        tuple(group.shapes),
    )


def float_epilogue(value: Scalar, roles: Sequence[Role]) -> Epilogue:
    """An epilogue in float32; an `IntegerEpilogue` if an operand is a row, since only that class tells rows from matrices."""
    layouts, rows = tuple(map(operand_layout, roles)), [i for i, role in enumerate(roles) if role == "row"]
    if not rows:
        return Epilogue(value, layouts)
    types = (DataType.FLOAT,) * len(roles)
    return IntegerEpilogue(value, layouts, types, DataType.FLOAT, tuple(rows))


def fuse_without_operands(scope: Scope, value: Value) -> FusedEpilogue:
    """Fuses the consumers that read the value and constants of one element only, so that they suit any layout."""
    group = fuse_consumers(scope, value, lambda operand, shape: False, RESULT)
    if group is None:
        return FusedEpilogue(Epilogue(), value)
    return FusedEpilogue(Epilogue(group.value), group.result, tuple(group.nodes))
