"""Integer products: 8-bit matrices times a constant matrix, with compensation for zero points; int32 accumulators.

Shared by MatMulInteger, QLinearMatMul and the patterns of dequantized operands.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.compile.codegen.expressions import Apply, Cast, Number
from sardonyx._src.compile.partition import BoundNode, FusedEpilogue, Read, Region, Scope, fused_region
from sardonyx._src.compile.partition.quantized.int8_layouts import INT8X4_ROWS, padded_layout
from sardonyx._src.compile.partition.quantized.integer_epilogues import (
    KernelExpression,
    KernelOperand,
    constant_operand,
)
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, Value

INT8_TYPES = (DataType.UINT8, DataType.INT8)
SIGN_OFFSET = 128  # converts between uint8 and int8
MAX_INT32 = (1 << 31) - 1  # the greatest accumulator
MAX_BYTE = 255


@dataclass(frozen=True, slots=True)
class IntegerProduct:
    """A product of a [..., M, K], uint8 or int8, and a constant int8 matrix [K, N].

    zero: the zero point of a, if it is not constant, so that the kernel reads it.
    initial: initial accumulators [N] int32; None: zeros.
    result: an element of the result, without the contributions of zero points.
    """

    a: Value
    zero: Value | None
    matrix: Array
    initial: Array | None
    result: KernelExpression
    is_signed: bool


def match_integer_product(
    op: BoundNode,
    scope: Scope,
    left: tuple[Value | None, Value | None],
    right: tuple[Array, Array | None],
) -> IntegerProduct | None:
    """The product of a node; None if it is not supported.  left, right: an operand and its zero points."""
    (a, zero), (b, zeros) = left, right
    if a is None or not is_int8_product(op, scope, a, b) or not is_optional_scalar(scope, zero):
        return None
    if zeros is not None and not is_per_column(zeros, b):
        return None
    matrix, offsets = shift_to_int8(b, zeros)
    column_sums = matrix.sum(0, dtype=np.int64) - len(b) * offsets
    result, correction = compensate_zero_point(scope, a, zero, column_sums)
    if offsets.any():
        result = subtract_row_sums(result, offsets)
    initial = None if correction is None else wrap_to_int32(correction)
    is_signed = scope.dtype(a) is DataType.INT8
    return IntegerProduct(a, zero if correction is None else None, matrix, initial, result, is_signed)


def product_region(
    op: BoundNode, scope: Scope, product: IntegerProduct, epilogue: FusedEpilogue
) -> Region[IntegerProduct]:
    reads = (Read(product.a, INT8X4_ROWS), *(() if product.zero is None else (Read(product.zero),)))
    layout = padded_layout(scope, epilogue.result, channels_last=False)
    return fused_region("IntegerMatMul", op.node, product, reads, epilogue, layout)


def is_int8_product(op: BoundNode, scope: Scope, a: Value, b: Array) -> bool:
    """Whether 8-bit matrices, with at most two batch dims, are multiplied by one matrix."""
    shape, result = scope.shape(a), scope.shape(op.output)
    if shape is None or result is None or scope.dtype_of(a) not in INT8_TYPES or not scope.is_native(a):
        return False
    if len(shape) < 2 or len(shape) > 4 or b.ndim != 2 or not isinstance(shape[-1], int):
        return False
    return shape[-1] == b.shape[0] and result == (*shape[:-1], b.shape[1])


def is_optional_scalar(scope: Scope, value: Value | None) -> bool:
    """Whether a value has one element, or is omitted."""
    if value is None:
        return True
    shape = scope.shape(value)
    return shape is not None and all(dim == 1 for dim in shape) and scope.is_native(value)


def is_per_column(parameter: Array, b: Array) -> bool:
    """Whether a scale or zero point has one element, or one for each column of a matrix."""
    return parameter.size == 1 or parameter.shape in ((b.shape[1],), (1, b.shape[1]))


def shift_to_int8(b: Array, zeros: Array | None) -> tuple[Array, Array]:
    """Returns b [K, N] as int8, and the zero points that remain to be subtracted from its columns, [N] int64.

    If b minus its zero points fits in int8, that difference is returned, and all remaining zero points are 0.
    """
    widened, zero = b.astype(np.int16), np.zeros(b.shape[1], np.int16)
    if zeros is not None:
        zero = np.broadcast_to(zeros.reshape(-1).astype(np.int16), zero.shape)
    shifted = widened - zero
    if is_in_int8_range(shifted):
        return shifted.astype(np.int8), np.zeros(b.shape[1], np.int64)
    shift = SIGN_OFFSET if b.dtype == np.uint8 else 0
    return (widened - shift).astype(np.int8), (zero - shift).astype(np.int64)


def is_in_int8_range(numbers: Array) -> bool:
    return numbers.size == 0 or bool(numbers.min() >= -SIGN_OFFSET and numbers.max() < SIGN_OFFSET)


def compensate_zero_point(
    scope: Scope, x: Value, zero: Value | None, weight_sums: Array
) -> tuple[KernelExpression, Array | None]:
    """The accumulators without the contribution of the zero point of x: sum((x - z) * w) = sum(x * w) - z * sum(w).

    Returns an expression, and the initial accumulators [N] that make the same correction if the zero point is
    constant.  Kernels add `SIGN_OFFSET` to an int8 x, so it is added to the zero point, too.
    """
    shift = SIGN_OFFSET if scope.dtype(x) is DataType.INT8 else 0
    constant = np.zeros((), np.int64) if zero is None else scope.constant(zero)
    if constant is not None:
        return KernelExpression(), -(int(constant.item()) + shift) * weight_sums
    assert zero is not None, "an omitted zero point is constant"
    result = KernelExpression()
    point, sums = result.next_operands(2)
    contribution = Apply("mul", (Apply("add", (Cast(DataType.INT32, point), Number(shift))), sums))
    operands = (
        KernelOperand("scalar", scope.dtype(zero)),
        constant_operand("column", wrap_to_int32(weight_sums)),
    )
    return result.extend(Apply("sub", (result.value, contribution)), *operands), None


def subtract_row_sums(result: KernelExpression, zeros: Array) -> KernelExpression:
    """Subtracts the contribution of the zero points of columns: each is multiplied by the sum of the row of a."""
    sums, points = result.next_operands(2)
    value = Apply("sub", (result.value, Apply("mul", (sums, points))))
    row_sums = KernelOperand("matrix", DataType.INT32, is_row=True)
    return result.extend(value, row_sums, constant_operand("column", wrap_to_int32(zeros)))


def wrap_to_int32(numbers: Array) -> Array:
    """The low 32 bits of integers."""
    return numbers.astype(np.int64).astype(np.int32)


def subtract_zeros(weights: Array, zeros: Array | None) -> Array:
    """Weights [K, N] minus zero points, one or one per column."""
    widened = weights.astype(np.int64)
    return widened if zeros is None else widened - zeros.reshape(-1).astype(np.int64)


def fits_int32(weights: Array, added: Array | None = None) -> bool:
    """Whether int32 sums over each row of 8-bit values times weights [M, ...], plus `added`, cannot overflow."""
    magnitudes = np.abs(weights.astype(np.int64)).sum(tuple(range(1, weights.ndim))) * MAX_BYTE
    return int((magnitudes if added is None else magnitudes + np.abs(added)).max(initial=0)) <= MAX_INT32
