"""MatMulInteger by a constant matrix, and the int8 product shared with `qdq` and `qlinear`: int32 accumulation.

Contributions of zero points are subtracted by the initial accumulators where they are constant, otherwise in the
epilogue.  Falls back for a non-constant right operand, zero points of single rows, and more than two batch dims.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sardonyx._src.compile.codegen.expressions import Apply, Cast, Local, Number, Scalar
from sardonyx._src.compile.kernels.gemm.integer_epilogue import IntegerEpilogue, expand_row_vector
from sardonyx._src.compile.kernels.gemm.integer_matmul import integer_matmul_steps
from sardonyx._src.compile.kernels.gemm.packed_int8 import (
    make_padded_temporary,
    pack_int8_constant,
    pack_int32_bias,
    view_as_int8x4,
)
from sardonyx._src.compile.kernels.gemm.packing import make_constant
from sardonyx._src.compile.kernels.gemm.panels import Panels
from sardonyx._src.compile.lower.lowering import Lowering
from sardonyx._src.compile.lower.registry import lowers
from sardonyx._src.compile.partition.integer_epilogues import (
    ACCUMULATOR,
    FusedIntegerEpilogue,
    KernelOperand,
    fuse_integer_epilogue,
)
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program.tensor import TensorView, row_major_strides
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.graph import Value
from sardonyx._src.ir.tensors import Array

MakeIntegerEpilogue = Callable[[Scalar, list[KernelOperand]], FusedIntegerEpilogue]
INT8_TYPES = (DataType.UINT8, DataType.INT8)
SIGN_OFFSET = 128  # converts between uint8 and int8


@dataclass(frozen=True, slots=True)
class PackedInt8Matrix:
    """The packed right operand b: int8 [K, N], and what compensates for zero points.

    column_sums: [N] int64, of b minus its zero points; the left zero point multiplies these.  zeros: [N] int64, the
    zero points that remain to be subtracted: all 0 if the difference fits in int8.
    """

    panels: Panels
    column_sums: Array
    zeros: Array


@dataclass(frozen=True, slots=True)
class IntegerProduct:
    """A product of a [..., M, K] (uint8 or int8, zero point `zero`, None: 0) and a constant b [K, N] with its zero points."""

    a: Value
    zero: Value | None
    b: Array
    zeros: Array | None


@lowers("MatMulInteger", 10)
def lower_matmul_integer(op: BoundNode, lowering: Lowering) -> bool:
    b, zeros = lowering.constant(op.input(1)), lowering.constant(op.input(3))
    if b is None or (zeros is None and op.input(3) is not None):
        return False
    product = match_integer_product(op, lowering, (op.input(0), op.input(2)), (b, zeros))
    if product is None:
        return False
    emit_integer_product(
        op,
        lowering,
        product,
        lambda value, operands: fuse_integer_epilogue(lowering, op.output, value, operands),
    )
    return True


def match_integer_product(
    op: BoundNode,
    lowering: Lowering,
    left: tuple[Value | None, Value | None],
    right: tuple[Array, Array | None],
) -> IntegerProduct | None:
    """The product of a node; None if it is not supported.  left, right: an operand and its zero points."""
    (a, zero), (b, zeros) = left, right
    if a is None or not is_int8_product(op, lowering, a, b) or not is_optional_scalar(lowering, zero):
        return None
    return IntegerProduct(a, zero, b, zeros) if zeros is None or is_per_column(zeros, b) else None


def emit_integer_product(
    op: BoundNode, lowering: Lowering, product: IntegerProduct, make_epilogue: MakeIntegerEpilogue
) -> None:
    """Emits a product; `make_epilogue` receives the compensated accumulators as an expression, and its operands."""
    packed = pack_matrix(lowering, product.b, product.zeros)
    value, operands, bias = compensate_zero_points(lowering, product.a, product.zero, packed, op.output)
    fused = make_epilogue(value, operands)
    is_signed = lowering.dtype(product.a) is DataType.INT8
    source = as_int8x4(lowering, product.a)
    lowering.emit(
        *integer_matmul_steps(
            source, packed.panels, fused.y, bias, fused.epilogue, fused.operands, a_is_signed=is_signed
        )
    )


def is_int8_product(op: BoundNode, lowering: Lowering, a: Value, b: Array) -> bool:
    """Whether 8-bit matrices, with at most two batch dims, are multiplied by one matrix."""
    shape, result = lowering.shape(a), lowering.shape(op.output)
    if shape is None or result is None or lowering.dtype_of(a) not in INT8_TYPES or not lowering.is_native(a):
        return False
    if len(shape) < 2 or len(shape) > 4 or b.ndim != 2 or not isinstance(shape[-1], int):
        return False
    return shape[-1] == b.shape[0] and result == (*shape[:-1], b.shape[1])


def is_optional_scalar(lowering: Lowering, value: Value | None) -> bool:
    """Whether a value has one element, or is omitted."""
    if value is None:
        return True
    shape = lowering.shape(value)
    return shape is not None and all(dim == 1 for dim in shape) and lowering.is_native(value)


def is_per_column(zeros: Array, b: Array) -> bool:
    return zeros.size == 1 or zeros.shape in ((b.shape[1],), (1, b.shape[1]))


def pack_matrix(lowering: Lowering, b: Array, zeros: Array | None) -> PackedInt8Matrix:
    """Packs b minus its zero points if that fits in int8; otherwise b itself, with the zero points to subtract."""
    rows, columns = b.shape
    widened = b.astype(np.int16)
    zero = np.zeros(columns, np.int16)
    if zeros is not None:
        zero = np.broadcast_to(zeros.reshape(-1).astype(np.int16), (columns,))
    shifted = widened - zero
    if shifted.size == 0 or (shifted.min() >= -SIGN_OFFSET and shifted.max() < SIGN_OFFSET):
        zero = np.zeros(columns, np.int16)
    else:
        shift = SIGN_OFFSET if b.dtype == np.uint8 else 0
        shifted, zero = widened - shift, zero - shift
    column_sums = shifted.sum(0, dtype=np.int64) - rows * zero.astype(np.int64)
    return PackedInt8Matrix(
        pack_int8_constant(shifted.astype(np.int8), lowering.target), column_sums, zero.astype(np.int64)
    )


def compensate_zero_points(
    lowering: Lowering, a: Value, zero: Value | None, packed: PackedInt8Matrix, result: Value
) -> tuple[Scalar, list[KernelOperand], TensorView | None]:
    """The accumulators without the contributions of zero points: an expression, its operands, and the initial values.

    (a - z) @ (b - zeros) = a @ b - z * column_sums(b - zeros) - zeros * row_sums(a).
    """
    shift = SIGN_OFFSET if lowering.dtype(a) is DataType.INT8 else 0
    value: Scalar = ACCUMULATOR
    operands: list[KernelOperand] = []
    zero_point = np.zeros(1, np.int64) if zero is None else lowering.constant(zero)
    bias = None
    if zero_point is not None:
        initial = -(int(zero_point.reshape(())) + shift) * packed.column_sums
        bias = make_constant(pack_int32_bias(wrap_to_int32(initial), packed.panels.tile), "bias")
    else:
        assert zero is not None, "an omitted zero point is constant"
        operands += [
            KernelOperand("scalar", lowering.dense(zero)),
            column_operand(lowering, packed.column_sums),
        ]
        point = Apply("add", (Cast(DataType.INT32, Local("o0")), Number(shift)))
        value = Apply("sub", (value, Apply("mul", (point, Local("o1")))))
    if packed.zeros.any():
        row_operand, column_name = f"o{len(operands)}", f"o{len(operands) + 1}"
        operands += [
            KernelOperand("matrix", emit_row_sums(lowering, a, result), is_row=True),
            column_operand(lowering, packed.zeros),
        ]
        value = Apply("sub", (value, Apply("mul", (Local(row_operand), Local(column_name)))))
    return value, operands, bias


def wrap_to_int32(numbers: Array) -> Array:
    """The low 32 bits of integers."""
    return numbers.astype(np.int64).astype(np.int32)


def column_operand(lowering: Lowering, numbers: Array) -> KernelOperand:
    return KernelOperand("column", lowering.constant_tensor(wrap_to_int32(numbers)))


def emit_row_sums(lowering: Lowering, a: Value, result: Value) -> TensorView:
    """Emits the sums of the rows of a, as a product with a column of ones; broadcast along the columns of the result."""
    shape = lowering.known_shape(a)
    k = shape[-1]
    assert isinstance(k, int), "the length of rows is constant"
    panels = lowering.memoize(
        ("ones", k), lambda: pack_int8_constant(np.ones((k, 1), np.int8), lowering.target)
    )
    sums = lowering.temporary(DataType.INT32, (*shape[:-1], 1), f"{a.name}/sums")
    is_signed = lowering.dtype(a) is DataType.INT8
    lowering.emit(
        *integer_matmul_steps(
            as_int8x4(lowering, a), panels, sums, None, IntegerEpilogue(), a_is_signed=is_signed
        )
    )
    dims = shape[:-1]
    result_view = TensorView(
        DataType.INT32,
        lowering.known_shape(result),
        row_major_strides(lowering.known_shape(result)),
        sums.buffer,
    )
    return expand_row_vector(
        TensorView(DataType.INT32, dims, row_major_strides(dims), sums.buffer), result_view
    )


def as_int8x4(lowering: Lowering, value: Value) -> TensorView:
    """An 8-bit value [..., K] as packed int8x4; copied if its rows are not multiples of 4 bytes apart."""
    lowering.any_layout(value)
    for layout in lowering.tensors[value]:
        packed = view_as_int8x4(layout)
        if packed is not None:
            return packed
    padded = make_padded_temporary(lowering.dtype(value), lowering.known_shape(value), value.name)
    lowering.copy(value, lowering.tensors[value][0], padded)
    packed = view_as_int8x4(padded)
    assert packed is not None, "the temporary is padded to multiples of 4 bytes"
    return packed
