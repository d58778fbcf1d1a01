"""QLinearConv and QLinearMatMul with constant weights or scales: int32 accumulation.

The epilogue multiplies by the combined scale and rounds once, in float64, as the reference kernels do.  Falls
back to the reference kernel for computed parameters, unless `prepare` decomposes the node, and for sums that
may overflow.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sardonyx._src.compile.codegen.expressions import Cast
from sardonyx._src.compile.kernels.elementwise.operator_call import apply
from sardonyx._src.compile.kernels.elementwise.quantization import saturate
from sardonyx._src.compile.kernels.epilogue import OperandLayout
from sardonyx._src.compile.kernels.gemm.tile.integer_epilogue import Approximation
from sardonyx._src.compile.partition import Region, Scope, matches
from sardonyx._src.compile.partition.quantized.computed_integer_products import (
    ComputedIntegerProduct,
    match_computed_product,
)
from sardonyx._src.compile.partition.quantized.integer_convolutions import (
    IntegerConvolution,
    convolution_region,
    match_integer_convolution,
)
from sardonyx._src.compile.partition.quantized.integer_epilogues import (
    KernelExpression,
    constant_operand,
    fuse_integer_epilogue,
)
from sardonyx._src.compile.partition.quantized.integer_products import (
    INT8_TYPES,
    MAX_BYTE,
    MAX_INT32,
    IntegerProduct,
    fits_int32,
    is_per_column,
    match_integer_product,
    product_region,
    subtract_zeros,
)
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array

MIN_FACTOR, MAX_FACTOR = 1e-30, 0.5
MAX_TERMS = MAX_INT32 // (MAX_BYTE * MAX_BYTE)  # sums of at most this many products of bytes fit in int32


@matches("QLinearConv", 10)
def match_qlinear_conv(op: BoundNode, scope: Scope) -> Region[IntegerConvolution] | None:
    inputs, bias = constant_inputs(op, scope), scope.constant(op.input(8))
    if inputs is None or (bias is None and op.input(8) is not None):
        return None
    x_scale, weights, w_scale, zeros, y_scale, y_zero = inputs
    count = len(weights)
    if w_scale.size not in (1, count) or (bias is not None and bias.shape != (count,)):
        return None
    added = np.zeros(count, np.int64) if bias is None else bias.astype(np.int64)
    conv = match_integer_convolution(op, scope, (op.input(0), op.input(2)), (weights, zeros), added)
    if conv is None or not fits_int32(conv.weights, added):
        return None
    factor = w_scale.reshape(-1).astype(np.float64) * x_scale.item() / y_scale.item()
    result = requantize(op, scope, conv.result, np.broadcast_to(factor, count), y_zero)
    epilogue = fuse_integer_epilogue(scope, op.output, result, channels_last=True)
    return convolution_region(op, scope, replace(conv, result=result), epilogue)


@matches("QLinearMatMul", 21)
def match_qlinear_matmul(
    op: BoundNode, scope: Scope
) -> Region[IntegerProduct] | Region[ComputedIntegerProduct] | None:
    return match_constant_qlinear_matmul(op, scope) or match_computed_qlinear_matmul(op, scope)


def match_constant_qlinear_matmul(op: BoundNode, scope: Scope) -> Region[IntegerProduct] | None:
    inputs = constant_inputs(op, scope)
    if inputs is None:
        return None
    a_scale, b, b_scale, zeros, y_scale, y_zero = inputs
    product = match_integer_product(op, scope, (op.input(0), op.input(2)), (b, zeros))
    if product is None or not is_per_column(b_scale, b) or not fits_int32(subtract_zeros(b, zeros).T):
        return None
    factor = a_scale.astype(np.float64).reshape(()) * b_scale.astype(np.float64).reshape(-1)
    columns = np.broadcast_to(factor / y_scale.astype(np.float64).reshape(()), b.shape[1])
    result = requantize(op, scope, product.result, columns, y_zero)
    epilogue = fuse_integer_epilogue(scope, op.output, result)
    return product_region(op, scope, replace(product, result=result), epilogue)


def match_computed_qlinear_matmul(op: BoundNode, scope: Scope) -> Region[ComputedIntegerProduct] | None:
    """A product with constant scalar scales and few enough terms for sums to fit in int32; guarded."""
    scales, zero = [scope.constant(op.input(i)) for i in (1, 4, 6)], scope.constant(op.input(7))
    known = [scale.astype(np.float64) for scale in scales if scale is not None and scale.size == 1]
    a = op.input(0)
    if a is None or zero is None or zero.size != 1 or len(known) < len(scales):
        return None
    if scope.dtype_of(op.output) not in INT8_TYPES or scope.shape(a) is None:
        return None
    a_scale, b_scale, y_scale = (scale.reshape(()) for scale in known)
    with np.errstate(all="ignore"):
        factor = np.asarray(a_scale * b_scale / y_scale)
    left, right = (a, op.input(2)), (op.input(3), op.input(5))
    return match_computed_product(
        op, scope, left, right, lambda sums: requantize(op, scope, sums, factor, zero), max_terms=MAX_TERMS
    )


def constant_inputs(op: BoundNode, scope: Scope) -> list[Array] | None:
    """The scale of the left operand, the right operand with its scale and zero points, and y's scale and zero point.

    None if one of these or the zero point of the left operand is not constant, or element types differ.
    """
    arrays = [scope.constant(op.input(i)) for i in (1, 3, 4, 5, 6, 7)]
    known = [array for array in arrays if array is not None]
    if len(known) < len(arrays) or scope.constant(op.input(2)) is None:
        return None
    x_scale, weights, _, _, y_scale, y_zero = known
    is_bytes = weights.dtype in (np.uint8, np.int8) and scope.dtype_of(op.output) in INT8_TYPES
    return known if is_bytes and x_scale.size == y_scale.size == y_zero.size == 1 else None


def requantize(
    op: BoundNode, scope: Scope, sums: KernelExpression, factor: Array, zero: Array
) -> KernelExpression:
    """Sums multiplied by a factor (one, or one for each column), and rounded to the result's type; NaN becomes the lowest number."""
    dtype, (scale, zero_point, rounded) = scope.dtype(op.output), sums.next_operands(3)
    layout: OperandLayout = "column" if factor.ndim else "scalar"
    product = apply("mul", Cast(DataType.DOUBLE, sums.value), scale)
    operands = [
        constant_operand(layout, factor.astype(np.float64)),
        constant_operand("scalar", zero.reshape(())),
    ]
    approximation = None
    if is_usual_factor(factor):
        operands.append(constant_operand(layout, factor.astype(np.float32)))
        approximation = Approximation(product, apply("mul", Cast(DataType.FLOAT, sums.value), rounded))
    value = saturate(product, Cast(DataType.DOUBLE, zero_point), dtype)
    return replace(sums.extend(value, *operands), approximation=approximation)


def is_usual_factor(factor: Array) -> bool:
    """Whether a float64 factor can be approximated in float32: its products with sums are below 2^30, and not subnormal."""
    magnitude = np.abs(factor)
    return bool(np.all((magnitude > MIN_FACTOR) & (magnitude < MAX_FACTOR)))
