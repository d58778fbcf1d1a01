"""MatMulInteger of two computed operands, and with zero points in every form: int32 accumulators, and a correction.

If zero points are scalars, steps over the sums make terms of columns and of rows, which the epilogue of the product subtracts;
otherwise the correction is a step of its own.

The kernel multiplies unsigned rows by signed columns.  With a' and b' the operands as it reads them, and their zero points shifted
alike, (a' - za) (b' - zb) summed over k is the accumulator - za * (sum(b') - K * zb) - zb * sum(a').
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sardonyx._src.compile.codegen.expressions import Apply, Cast, Local, Number, Scalar
from sardonyx._src.compile.kernels.elementwise.elementwise import elementwise_step
from sardonyx._src.compile.kernels.epilogue import RESULT, OperandLayout
from sardonyx._src.compile.kernels.gemm.int8_packing import pack_int8_tensor
from sardonyx._src.compile.kernels.gemm.integer_epilogue import IntegerEpilogue, expand_row_vector
from sardonyx._src.compile.kernels.gemm.integer_matmul import integer_matmul_steps
from sardonyx._src.compile.kernels.gemm.packed_int8 import pack_int8_constant
from sardonyx._src.compile.layouts.laid_out import LaidOutRegion
from sardonyx._src.compile.lower.lowering import Lowering
from sardonyx._src.compile.lower.registry import lowers
from sardonyx._src.compile.partition.int8_layouts import INT8X4_ROWS
from sardonyx._src.compile.partition.integer_products import INT8_TYPES, SIGN_OFFSET
from sardonyx._src.compile.partition.product_batches import is_broadcastable
from sardonyx._src.compile.partition.region import Read, Region, Write
from sardonyx._src.compile.partition.scope import Scope
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program.step import Step
from sardonyx._src.compile.program.tensor import TensorView
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Known, known_equal
from sardonyx._src.ir.graph import Value

MAX_RANK = 4
ACCUMULATOR = Local("i0")


@dataclass(frozen=True, slots=True)
class ComputedIntegerProduct:
    """k: the length of the sums.  zeros: whether each operand has a zero point; these are read after the operands."""

    k: int
    signed: tuple[bool, bool]
    zeros: tuple[bool, bool]


@dataclass(frozen=True, slots=True)
class CorrectionTerm:
    """What is subtracted from every element of a column, [..., 1, N], or from every element of a row, [..., M, 1]."""

    tensor: TensorView
    is_row: bool


def match_computed_product(op: BoundNode, scope: Scope) -> Region[ComputedIntegerProduct] | None:
    a, b, zeros = op.input(0), op.input(1), (op.input(2), op.input(3))
    if a is None or b is None or not all(scope.is_native(v) for v in (a, b, *zeros) if v is not None):
        return None
    if scope.dtype(a) not in INT8_TYPES or scope.dtype(b) not in INT8_TYPES or scope.shape(op.output) is None:
        return None
    left, right, result = scope.known_shape(a), scope.known_shape(b), scope.known_shape(op.output)
    if not 2 <= len(left) <= MAX_RANK or not 2 <= len(right) <= MAX_RANK:
        return None
    k = left[-1]
    if not isinstance(k, int):
        return None
    if not all(is_broadcastable(scope, shape[:-2], result[:-2]) for shape in (left, right)):
        return None
    if not is_zero_point(scope, zeros[0], a, -2) or not is_zero_point(scope, zeros[1], b, -1):
        return None
    signed = scope.dtype(a) is DataType.INT8, scope.dtype(b) is DataType.INT8
    config = ComputedIntegerProduct(k, signed, (zeros[0] is not None, zeros[1] is not None))
    reads = (Read(a, INT8X4_ROWS), Read(b), *(Read(zero) for zero in zeros if zero is not None))
    return Region("ComputedIntegerProduct", (op.node,), config, reads, (Write(op.output),))


def is_zero_point(scope: Scope, zero: Value | None, operand: Value, axis: int) -> bool:
    """Whether a zero point is omitted, one number, or one for each row or column of an operand, along `axis`."""
    if zero is None:
        return True
    shape, whole = scope.known_shape(zero), scope.known_shape(operand)
    if all(dim == 1 for dim in shape):
        return len(shape) <= len(whole)
    if len(shape) == 1:
        return known_equal(shape[0], whole[axis]) is True
    expected = [*whole[:-2], 1, 1]
    expected[axis] = whole[axis]
    return len(shape) == len(whole) and all(
        known_equal(*pair) is True for pair in zip(shape, expected, strict=True)
    )


@lowers("ComputedIntegerProduct")
def lower_computed_product(
    region: LaidOutRegion[ComputedIntegerProduct], lowering: Lowering
) -> Sequence[Step]:
    config, (a, b, *zeros), (y,) = region.config, region.operands, region.results
    name = region.region.reads[1].value.name
    right = pack_int8_tensor(b, lowering.target, name)
    if config.zeros[1] or not config.signed[1]:  # sums of the rows are needed
        row_sums, steps = sum_rows(a, config, lowering, name)
    else:
        row_sums, steps = None, []
    points = iter(zeros)
    za, zb = (next(points) if has_zero else None for has_zero in config.zeros)
    if za is not None and za.rank == 1 and za.shape != (1,):
        za = za.reshape((*za.shape, 1))
    if all(point is None or point.num_elements == 1 for point in (za, zb)):
        terms, sums_steps = scalar_corrections(config, (za, zb), (right.sums, row_sums), lowering, name)
        epilogue, operands = correction_epilogue(terms, y)
        product = integer_matmul_steps(
            a, right.panels, y, None, epilogue, operands, a_is_signed=config.signed[0]
        )
        return [*steps, right.step, *sums_steps, *product]
    correction = Correction(config)
    value = correction.expression(za, zb, right.sums, row_sums)
    sums = lowering.temporary(DataType.INT32, y.shape, f"{name}/product")
    product = integer_matmul_steps(
        a, right.panels, sums, None, IntegerEpilogue(), a_is_signed=config.signed[0]
    )
    return [*steps, right.step, *product, elementwise_step(value, (sums, *correction.operands), y)]


def scalar_corrections(
    config: ComputedIntegerProduct,
    zeros: tuple[TensorView | None, TensorView | None],
    sums: tuple[TensorView, TensorView | None],
    lowering: Lowering,
    name: str,
) -> tuple[list[CorrectionTerm], list[Step]]:
    """What scalar zero points take from columns and from rows, if anything; and the steps."""
    terms, steps = [], []
    columns, rows = Correction(config), Correction(config)
    values = (
        columns.column_term(*columns.zero_points(*zeros), ACCUMULATOR),
        product_of(rows.zero_points(None, zeros[1])[1], ACCUMULATOR),
    )
    for correction, value, total in zip((columns, rows), values, sums, strict=True):
        if value is not None and total is not None:
            term = lowering.temporary(DataType.INT32, total.shape, f"{name}/correction")
            terms.append(CorrectionTerm(term, is_row=correction is rows))
            steps.append(elementwise_step(value, (total, *correction.operands), term))
    return terms, steps


def correction_epilogue(
    terms: Sequence[CorrectionTerm], y: TensorView
) -> tuple[IntegerEpilogue, tuple[TensorView, ...]]:
    """The epilogue that subtracts terms of columns and of rows, and its operands as it reads them."""
    value: Scalar = RESULT
    views, rows = [], []
    for number, term in enumerate(terms):
        value, tensor = Apply("sub", (value, Local(f"o{number}"))), term.tensor
        if term.is_row:
            rows.append(number)
            vector = replace(tensor, shape=tensor.shape[:-1], strides=tensor.strides[:-1])
            views.append(expand_row_vector(broadcast_view(vector, y.shape[:-1]), y))
        else:
            views.append(broadcast_view(tensor, y.shape))
    layouts: list[OperandLayout] = ["matrix" for _ in terms]
    types = (DataType.INT32,) * len(terms)
    return IntegerEpilogue(value, tuple(layouts), operand_types=types, row_operands=tuple(rows)), tuple(views)


def product_of(factor: Scalar | None, value: Scalar) -> Scalar | None:
    return None if factor is None else Apply("mul", (factor, value))


def broadcast_view(tensor: TensorView, shape: tuple[Known, ...]) -> TensorView:
    """A tensor with the dims of a shape to which it broadcasts; those that it repeats have stride 0."""
    lead = len(shape) - tensor.rank
    strides = (0 if dim == 1 else stride for dim, stride in zip(tensor.shape, tensor.strides, strict=True))
    return replace(tensor, shape=shape, strides=(*(0,) * lead, *strides))


def sum_rows(
    a: TensorView, config: ComputedIntegerProduct, lowering: Lowering, name: str
) -> tuple[TensorView, list[Step]]:
    """The sums of the rows of a, [..., M, 1], as a product with a column of ones."""
    ones = lowering.memoize(
        ("ones", config.k), lambda: pack_int8_constant(np.ones((config.k, 1), np.int8), lowering.target)
    )
    sums = lowering.temporary(DataType.INT32, (*a.shape[:-1], 1), f"{name}/row sums")
    steps = integer_matmul_steps(a, ones, sums, None, IntegerEpilogue(), a_is_signed=config.signed[0])
    return sums, steps


class Correction:
    """The operands of the correction, in the order in which its expression names them: i1, i2, ..."""

    def __init__(self, config: ComputedIntegerProduct) -> None:
        self.config = config
        self.operands: list[TensorView] = []

    def expression(
        self,
        za: TensorView | None,
        zb: TensorView | None,
        column_sums: TensorView,
        row_sums: TensorView | None,
    ) -> Scalar:
        """The result without the contributions of zero points."""
        left, right = self.zero_points(za, zb)
        value: Scalar = ACCUMULATOR
        column = None if left is None else self.column_term(left, right, self.operand(column_sums))
        if column is not None:
            value = Apply("sub", (value, column))
        if right is not None and row_sums is not None:
            value = Apply("sub", (value, Apply("mul", (right, self.operand(row_sums)))))
        return value

    def column_term(self, left: Scalar | None, right: Scalar | None, sums: Scalar) -> Scalar | None:
        """What zero points take from a column with these sums; None if the left one is 0."""
        if right is not None:
            sums = Apply("sub", (sums, Apply("mul", (right, Number(self.config.k)))))
        return product_of(left, sums)

    def zero_points(
        self, za: TensorView | None, zb: TensorView | None
    ) -> tuple[Scalar | None, Scalar | None]:
        """The zero points of the operands as the kernel reads them; None for 0."""
        left = self.zero_point(za, SIGN_OFFSET if self.config.signed[0] else 0)
        return left, self.zero_point(zb, 0 if self.config.signed[1] else -SIGN_OFFSET)

    def zero_point(self, zero: TensorView | None, shift: int) -> Scalar | None:
        """A zero point plus the shift of its operand, as int32; None if it is 0."""
        if zero is None:
            return Number(shift) if shift else None
        value: Scalar = Cast(DataType.INT32, self.operand(zero))
        return Apply("add", (value, Number(shift))) if shift else value

    def operand(self, tensor: TensorView) -> Local:
        self.operands.append(tensor)
        return Local(f"i{len(self.operands)}")
