"""Epilogues of integer GEMMs and convolutions: elementwise consumers of int32 accumulators, of several element types."""

from __future__ import annotations

from sardonyx._src.compile.codegen.expressions import Local, Scalar
from sardonyx._src.compile.kernels.epilogue import OperandLayout
from sardonyx._src.compile.kernels.gemm.tile.integer_epilogue import Approximation, IntegerEpilogue
from sardonyx._src.compile.partition import FusedEpilogue, Scope, Shape
from sardonyx._src.compile.partition.fusion.fusion_group import FusionGroup
from sardonyx._src.compile.partition.fusion.group_builder import Accepts, GroupBuilder
from sardonyx._src.compile.partition.fusion.operand_roles import (
    KernelResult,
    accepted_role,
    operand_layout,
    read_operand,
    role_of,
)
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, Node, Value

EPILOGUE_DTYPES = frozenset({DataType.FLOAT, DataType.INT32, DataType.UINT8, DataType.INT8})
ACCUMULATOR = Local("x")


@dataclass(frozen=True, slots=True)
class KernelOperand:
    """An operand of the integer kernel itself, such as a column of weight sums: `o0`, `o1`, ... before the fused ones.

    is_row: whether it has one element per row, in the layout of `integer_epilogue.expand_row_vector`.
    elements: the elements of a constant; the lowering knows the tensor of any other operand.
    """

    layout: OperandLayout
    dtype: DataType
    is_row: bool = False
    elements: Array | None = None


def constant_operand(layout: OperandLayout, elements: Array) -> KernelOperand:
    """An operand whose elements are known at compile time."""
    return KernelOperand(layout, DataType.of(elements.dtype), elements=elements)


@dataclass(frozen=True, slots=True)
class KernelExpression:
    """An expression of the int32 accumulator and of the operands of the integer kernel itself.

    approximation: how the quotient is approximated that the expression rounds, if there is one.
    """

    value: Scalar = ACCUMULATOR
    operands: tuple[KernelOperand, ...] = ()
    approximation: Approximation | None = None

    def next_operands(self, count: int) -> list[Local]:
        """The names of operands that are added next."""
        return [Local(f"o{len(self.operands) + i}") for i in range(count)]

    def extend(self, value: Scalar, *operands: KernelOperand) -> KernelExpression:
        """An expression that contains this one, with operands added."""
        return KernelExpression(value, (*self.operands, *operands))


class IntegerGroupBuilder(GroupBuilder):
    """A group after int32 accumulators: float32, int32, uint8 and int8 only."""

    # Several quantized consumers have scales and zero points, which occupy no register during accumulation.
    max_operands = 14

    def add(self, node: Node) -> bool:
        dtypes = [self.scope.dtype_of(value) for value in node.outputs]
        return all(dtype in EPILOGUE_DTYPES for dtype in dtypes) and super().add(node)


def fuse_integer_epilogue(
    scope: Scope, value: Value, start: KernelExpression, *, channels_last: bool = False
) -> FusedEpilogue:
    """Fuses the elementwise consumers of a value into the integer kernel that computes it.

    start: the value as the kernel computes it; the lowering passes the tensors of its operands before the fused ones.
    """
    own, kernel_result = start.operands, KernelResult(scope.known_shape(value), channels_last)

    def accepts(operand: Value, shape: Shape) -> bool:
        is_supported = scope.dtype_of(operand) in EPILOGUE_DTYPES
        return is_supported and role_of(scope.known_shape(operand), shape, kernel_result) is not None

    group = group_consumers(scope, value, accepts, start.value, len(own))
    fused = [] if group is None else list(zip(group.operands, group.shapes, strict=True))[len(own) :]
    kinds = [operand.layout for operand in own]
    reads = []
    for operand, shape in fused:
        role = accepted_role(scope.known_shape(operand), shape, kernel_result)
        kinds.append(operand_layout(role))
        reads.append(read_operand(operand, role, kernel_result))
    result, expression = (value, start.value) if group is None else (group.result, group.value)
    dtypes = (*(operand.dtype for operand in own), *(scope.dtype(read.value) for read in reads))
    rows = tuple(i for i, operand in enumerate(own) if operand.is_row)
    epilogue = IntegerEpilogue(
        expression,
        tuple(kinds),
        dtypes,
        scope.dtype(result),
        rows,
        has_bounded_quotient=group is None and start.approximation is not None,
        approximation=start.approximation,
    )
    nodes = () if group is None else tuple(group.nodes)
    return FusedEpilogue(epilogue, result, nodes, tuple(reads), tuple(shape for _, shape in fused))


def group_consumers(
    scope: Scope, value: Value, accepts: Accepts, start: Scalar, own: int
) -> FusionGroup | None:
    """The consumers that fit in the epilogue; `own` is the number of the kernel's own operands."""
    shape = scope.shape(value)
    if shape is None or value in scope.outputs:
        return None
    builder = IntegerGroupBuilder(scope, shape, accepts, "o")
    for i in range(own):
        builder.operands[Value(f"operand {i}", None), ()] = Local(f"o{i}")
    builder.define(value, start)
    return builder.grow()
