"""QLinearConv and QLinearMatMul with constant weights and quantization parameters: int32 accumulation.

The epilogue multiplies by the combined scale and rounds once, in float64, as the reference kernels do.  Falls back to the reference kernel for
non-constant parameters, and for weights whose accumulators may overflow.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from sardonyx._src.compile.codegen.expressions import Apply, Cast, Local, Scalar
from sardonyx._src.compile.kernels.elementwise.operator_call import apply
from sardonyx._src.compile.kernels.elementwise.quantization import QUANTIZED_RANGES
from sardonyx._src.compile.lower.lowering import Lowering
from sardonyx._src.compile.lower.operators import conv_integer, matmul_integer
from sardonyx._src.compile.lower.operators.matmul_integer import INT8_TYPES
from sardonyx._src.compile.lower.operators.qdq import fits_int32, subtract_zeros
from sardonyx._src.compile.lower.registry import lowers
from sardonyx._src.compile.partition.integer_epilogues import (
    FusedIntegerEpilogue,
    KernelOperand,
    fuse_integer_epilogue,
)
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.tensors import Array


@lowers("QLinearConv", 10)
def lower_qlinear_conv(op: BoundNode, lowering: Lowering) -> bool:
    inputs = constant_inputs(op, lowering, (1, 3, 4, 5, 6, 7))
    bias = lowering.constant(op.input(8))
    if inputs is None or (bias is None and op.input(8) is not None):
        return False
    x_scale, weights, w_scale, zeros, y_scale, _ = inputs
    conv = conv_integer.match_integer_convolution(op, lowering, (op.input(0), op.input(2)), (weights, zeros))
    count = len(weights)
    if (
        conv is None
        or x_scale.size != 1
        or lowering.constant(op.input(2)) is None
        or w_scale.size not in (1, count)
    ):
        return False
    if bias is not None and bias.shape != (count,):
        return False
    added = np.zeros(count, np.int64) if bias is None else bias.astype(np.int64)
    if not fits_int32(conv.weights, added):
        return False
    factor = w_scale.reshape(-1).astype(np.float64) * x_scale.item() / y_scale.item()
    make_epilogue = partial(
        make_requantizing_epilogue, op, lowering, np.broadcast_to(factor, (count,)), channels_last=True
    )
    conv_integer.emit_integer_convolution(lowering, replace(conv, added=added), make_epilogue)
    return True


@lowers("QLinearMatMul", 21)
def lower_qlinear_matmul(op: BoundNode, lowering: Lowering) -> bool:
    inputs = constant_inputs(op, lowering, (1, 3, 4, 5, 6, 7))
    if inputs is None or lowering.constant(op.input(2)) is None:
        return False
    a_scale, b, b_scale, zeros, y_scale, _ = inputs
    product = matmul_integer.match_integer_product(op, lowering, (op.input(0), op.input(2)), (b, zeros))
    if product is None or a_scale.size != 1 or not fits_int32(subtract_zeros(b, zeros).T):
        return False
    if b_scale.size != 1 and b_scale.shape not in ((b.shape[1],), (1, b.shape[1])):
        return False
    factor = a_scale.astype(np.float64).reshape(()) * b_scale.astype(np.float64).reshape(-1)
    columns = np.broadcast_to(factor / y_scale.astype(np.float64).reshape(()), (b.shape[1],))
    matmul_integer.emit_integer_product(
        op, lowering, product, partial(make_requantizing_epilogue, op, lowering, columns, channels_last=False)
    )
    return True


def constant_inputs(op: BoundNode, lowering: Lowering, indices: tuple[int, ...]) -> list[Array] | None:
    """Constant inputs, the last two of them y's scale and zero point; None if one is not constant, or types differ."""
    arrays = [lowering.constant(op.input(i)) for i in indices]
    known = [array for array in arrays if array is not None]
    if len(known) < len(arrays) or known[-2].size != 1 or known[-1].size != 1:
        return None
    is_bytes = known[1].dtype in (np.uint8, np.int8) and lowering.dtype_of(op.output) in INT8_TYPES
    return known if is_bytes else None


def make_requantizing_epilogue(
    op: BoundNode,
    lowering: Lowering,
    factor: Array,
    accumulators: Scalar,
    operands: list[KernelOperand],
    *,
    channels_last: bool,
) -> FusedIntegerEpilogue:
    """The epilogue that multiplies accumulators by a factor per column and rounds them to the result's type."""
    zero, dtype = lowering.constant(op.input(7)), lowering.dtype(op.output)
    assert zero is not None, "constant_inputs has checked the zero point"
    parameters = [Local(f"o{len(operands) + i}") for i in range(2)]
    columns = KernelOperand("column", lowering.constant_tensor(factor.astype(np.float64)))
    zero_point = KernelOperand("scalar", lowering.constant_tensor(zero.reshape(()).astype(np.float64)))
    rounded: Apply = apply("round", apply("mul", Cast(DataType.DOUBLE, accumulators), parameters[0]))
    value = Cast(dtype, apply("clamp", apply("add", rounded, parameters[1]), *QUANTIZED_RANGES[dtype]))
    return fuse_integer_epilogue(
        lowering, op.output, value, [*operands, columns, zero_point], channels_last=channels_last
    )
