"""Epilogues of float kernels: elementwise consumers fused into a kernel's store, with their operands in its layout."""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.compile.codegen.expressions import Scalar
from sardonyx._src.compile.kernels.epilogue import RESULT, Epilogue, OperandLayout
from sardonyx._src.compile.kernels.gemm.integer_epilogue import IntegerEpilogue
from sardonyx._src.compile.partition.fusion import fuse_consumers
from sardonyx._src.compile.partition.group_builder import FusionGroup
from sardonyx._src.compile.partition.region import FusedEpilogue, Read, Shape
from sardonyx._src.compile.partition.scope import Scope
from sardonyx._src.compile.program.layout import CHANNELS_LAST, DENSE, ROWS
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.graph import Value


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

    The columns of the epilogue's operands run along the last dim, or along the channels.  start: the value as an
    expression of the kernel's result, and of `operands` as `o0`, `o1`, ..., each with its dims as broadcast.  takes_rows:
    whether the kernel also reads operands that have one element for each row, as GEMMs do.
    """
    whole = scope.known_shape(value)
    axis = 1 if channels_last else len(whole) - 1

    def accepts(operand: Value, shape: Shape) -> bool:
        if takes_rows and is_row_vector(scope.known_shape(operand), whole):
            return True
        return can_take(scope, operand, shape, whole, axis, channels_last=channels_last)

    group = fuse_consumers(scope, value, accepts, start, operands)
    if group is None:
        group = FusionGroup(whole, (value,), (start,), [], [v for v, _ in operands], [s for _, s in operands])
    rows = tuple(i for i, shape in enumerate(group.shapes) if is_row_vector(shape, whole))
    kinds = operand_layouts(group, axis)
    reads = tuple(
        Read(operand, DENSE) if i in rows else read_operand(operand, kind, channels_last=channels_last)
        for i, (operand, kind) in enumerate(zip(group.operands, kinds, strict=True))
    )
    epilogue = row_epilogue(group.value, kinds, rows) if rows else Epilogue(group.value, kinds)
    return FusedEpilogue(epilogue, group.result, tuple(group.nodes), reads, tuple(group.shapes))


def row_epilogue(value: Scalar, kinds: tuple[OperandLayout, ...], rows: tuple[int, ...]) -> IntegerEpilogue:
    """An epilogue in float32, of whose operands those numbered `rows` have one element for each row."""
    types = (DataType.FLOAT,) * len(kinds)
    return IntegerEpilogue(value, kinds, operand_types=types, result_dtype=DataType.FLOAT, row_operands=rows)


def fuse_without_operands(scope: Scope, value: Value) -> FusedEpilogue:
    """Fuses those consumers that read nothing else than constants of one element, whatever the layout of the result."""
    group = fuse_consumers(scope, value, lambda operand, shape: False, RESULT)
    if group is None:
        return FusedEpilogue(Epilogue(), value)
    return FusedEpilogue(Epilogue(group.value), group.result, tuple(group.nodes))


def can_take(
    scope: Scope, operand: Value, shape: Shape, whole: Shape, axis: int, *, channels_last: bool
) -> bool:
    """Whether an epilogue can read an operand, whose broadcast dims are `shape`."""
    dims = scope.known_shape(operand)
    kind = operand_layout(shape, whole, axis)
    if kind is None or not has_static_dims(dims, shape):
        return False
    # A matrix has its channels at axis 1 only if it has the rank of the result.
    return kind != "matrix" or not channels_last or len(dims) == len(shape)


def has_static_dims(dims: Shape, broadcast: Shape) -> bool:
    """Whether an operand's dims equal its broadcast dims, apart from ones: none may turn out to be 1 at run time."""
    return [dim for dim in dims if dim != 1] == [dim for dim in broadcast if dim != 1]


def operand_layout(shape: Shape, whole: Shape, axis: int) -> OperandLayout | None:
    """How an operand broadcasts along rows whose columns are dim `axis`; None if no epilogue can read it."""
    if all(dim == 1 for dim in shape):
        return "scalar"
    if shape == whole:
        return "matrix"
    rest = [dim for i, dim in enumerate(shape) if i != axis]
    return "column" if shape[axis] == whole[axis] and all(dim == 1 for dim in rest) else None


def is_row_vector(shape: Shape, whole: Shape) -> bool:
    """Whether an operand has one element for each row, and no layout of `operand_layout`."""
    is_column = len(whole) > 1 and shape == (*whole[:-1], 1)
    return is_column and operand_layout(shape, whole, len(whole) - 1) is None


def operand_layouts(group: FusionGroup, axis: int) -> tuple[OperandLayout, ...]:
    """How each operand of a group broadcasts, which the kernel accepted; a vector of rows is part of a matrix."""
    kinds = [
        "matrix" if is_row_vector(shape, group.shape) else operand_layout(shape, group.shape, axis)
        for shape in group.shapes
    ]
    known = tuple(kind for kind in kinds if kind is not None)
    assert len(known) == len(kinds), "an epilogue must be able to read its operands"
    return known


def read_operand(value: Value, kind: OperandLayout, *, channels_last: bool) -> Read:
    """An operand in the layout that an epilogue reads."""
    if kind == "matrix":
        return Read(value, CHANNELS_LAST if channels_last else ROWS)
    return Read(value, DENSE)
