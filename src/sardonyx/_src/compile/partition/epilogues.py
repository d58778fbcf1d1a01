"""Epilogues of float kernels: elementwise consumers fused into a kernel's store, with their operands in its layout."""

from __future__ import annotations

from sardonyx._src.compile.codegen.expressions import Apply, Local, Scalar
from sardonyx._src.compile.kernels.epilogue import RESULT, Epilogue, OperandLayout
from sardonyx._src.compile.partition.fusion import FusionGroup, fuse_consumers
from sardonyx._src.compile.partition.region import FusedEpilogue, Read, Shape
from sardonyx._src.compile.partition.scope import Scope
from sardonyx._src.compile.program.layout import CHANNELS_LAST, DENSE, ROWS
from sardonyx._src.ir.graph import Value


def fuse_epilogue(
    scope: Scope,
    value: Value,
    *,
    channels_last: bool = False,
    start: Scalar = RESULT,
    row: Value | None = None,
) -> FusedEpilogue:
    """Fuses the elementwise consumers of a value into the kernel that computes it.

    The columns of the epilogue's operands run along the last dim, or along the channels.  start: the value as an
    expression of the kernel's result.  row: is added to it first, a vector with an element for each column.
    """
    whole = scope.known_shape(value)
    operands: list[tuple[Value, Shape]] = []
    if row is not None:
        operands.append((row, (*(1 for _ in whole[1:]), whole[-1])))
        start = Apply("add", (start, Local("o0")))
    axis = 1 if channels_last else len(whole) - 1

    def accepts(operand: Value, shape: Shape) -> bool:
        return can_take(scope, operand, shape, whole, axis, channels_last=channels_last)

    group = fuse_consumers(scope, value, accepts, start, operands)
    if group is None:
        group = FusionGroup(whole, (value,), (start,), [], [v for v, _ in operands], [s for _, s in operands])
    kinds = operand_layouts(group, axis)
    reads = tuple(
        read_operand(operand, kind, channels_last=channels_last)
        for operand, kind in zip(group.operands, kinds, strict=True)
    )
    return FusedEpilogue(
        Epilogue(group.value, kinds), group.result, tuple(group.nodes), reads, tuple(group.shapes)
    )


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


def operand_layouts(group: FusionGroup, axis: int) -> tuple[OperandLayout, ...]:
    """How each operand of a group broadcasts; `can_take` accepted all of them."""
    kinds = [operand_layout(shape, group.shape, axis) for shape in group.shapes]
    known = tuple(kind for kind in kinds if kind is not None)
    assert len(known) == len(kinds), "an epilogue must be able to read its operands"
    return known


def read_operand(value: Value, kind: OperandLayout, *, channels_last: bool) -> Read:
    """An operand in the layout that an epilogue reads."""
    if kind == "matrix":
        return Read(value, CHANNELS_LAST if channels_last else ROWS)
    return Read(value, DENSE)
