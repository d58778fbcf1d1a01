"""QDQ: Conv, MatMul and Gemm of dequantized 8-bit operands, computed exactly in integers.

The int32 accumulators are multiplied by the product of both scales in the epilogue, into which a QuantizeLinear that
follows is fused.  Used only where int8 products are faster than float32 ones and accumulators cannot overflow.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sardonyx._src.compile.codegen.expressions import Apply, Cast, Local, Scalar, topological_order
from sardonyx._src.compile.codegen.expressions import operands as operands_of
from sardonyx._src.compile.kernels.elementwise.quantization import integer_attribute
from sardonyx._src.compile.kernels.gemm.int8_dot import has_fast_int8
from sardonyx._src.compile.lower.lowering import Lowering
from sardonyx._src.compile.lower.operators import matmul_integer
from sardonyx._src.compile.lower.operators.conv_integer import (
    emit_integer_convolution,
    match_integer_convolution,
)
from sardonyx._src.compile.lower.operators.matmul_integer import INT8_TYPES
from sardonyx._src.compile.partition.integer_epilogues import (
    FusedIntegerEpilogue,
    KernelOperand,
    fuse_integer_epilogue,
)
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.graph import Value
from sardonyx._src.ir.tensors import Array

MAX_INT32 = (1 << 31) - 1  # of an accumulator
MAX_BYTE = 255


@dataclass(frozen=True, slots=True)
class QuantizedValue:
    """A dequantized operand: `scale` * (`value` - `zero`), with an 8-bit value."""

    value: Value
    scale: Array
    zero: Value | None
    axis: int


def match_dequantize(lowering: Lowering, value: Value | None) -> QuantizedValue | None:
    """The 8-bit operand of a lazy DequantizeLinear with constant, moderate scales; None for any other value."""
    node = None if value is None else value.producer
    if value is None or node is None or value not in lowering.lazy or node.op_type != "DequantizeLinear":
        return None
    x, scale = node.inputs[0], lowering.constant(node.inputs[1])
    zero = node.inputs[2] if len(node.inputs) > 2 else None
    if (
        x is None
        or scale is None
        or lowering.dtype_of(x) not in INT8_TYPES
        or integer_attribute(node, "block_size", 0)
    ):
        return None
    if not is_moderate_scale(scale) or scale.ndim > 1 or lowering.dtype_of(value) is not DataType.FLOAT:
        return None
    if zero is not None and (
        lowering.constant(zero) is None or lowering.shape(zero) != lowering.shape(node.inputs[1])
    ):
        return None
    return QuantizedValue(x, scale, zero, integer_attribute(node, "axis", 1))


def is_moderate_scale(scale: Array) -> bool:
    """Whether scales are positive or negative numbers whose products with accumulators neither overflow nor underflow."""
    magnitudes = np.abs(scale.astype(np.float64))
    return scale.dtype in (np.float32, np.float64) and bool(
        ((magnitudes > 1e-30) & (magnitudes < 1e25)).all()
    )


def lower_qdq_convolution(op: BoundNode, lowering: Lowering) -> bool:
    """Lowers a Conv of dequantized 8-bit operands with constant weights; False if it is none, or int8 is not faster."""
    x, w = match_dequantize(lowering, op.input(0)), match_dequantize(lowering, op.input(1))
    bias = lowering.constant(op.input(2))
    if (
        x is None
        or w is None
        or not has_fast_int8(lowering.target)
        or (bias is None and op.input(2) is not None)
    ):
        return False
    weights, zeros = lowering.constant(w.value), lowering.constant(w.zero)
    is_by_row = w.scale.size == 1 or w.axis == 0
    if (
        weights is None
        or x.scale.size != 1
        or not is_by_row
        or (bias is not None and bias.dtype != np.float32)
    ):
        return False
    conv = match_integer_convolution(op, lowering, (x.value, x.zero), (weights, zeros))
    if conv is None or not fits_int32(conv.weights):
        return False
    scale = np.broadcast_to(
        w.scale.reshape(-1).astype(np.float64) * float(x.scale.reshape(())), (len(weights),)
    )
    emit_integer_convolution(
        lowering,
        conv,
        lambda value, operands: make_scaled_epilogue(op, lowering, (value, operands), scale, bias),
    )
    return True


def lower_qdq_product(op: BoundNode, lowering: Lowering, bias: Array | None = None) -> bool:
    """Lowers a MatMul or Gemm of dequantized 8-bit operands by a constant matrix; bias: [N]."""
    x, w = match_dequantize(lowering, op.input(0)), match_dequantize(lowering, op.input(1))
    if (
        x is None
        or w is None
        or x.scale.size != 1
        or not has_fast_int8(lowering.target)
        or has_unsupported_attributes(op)
    ):
        return False
    weights, zeros, column = lowering.constant(w.value), lowering.constant(w.zero), 1
    if weights is None or weights.ndim != 2:
        return False
    if op.attributes.get("transB"):
        weights, column = weights.T, 0
    product = matmul_integer.match_integer_product(op, lowering, (x.value, x.zero), (weights, zeros))
    if (
        product is None
        or (w.scale.size > 1 and w.axis % 2 != column)
        or not fits_int32(subtract_zeros(weights, zeros).T)
    ):
        return False
    columns = (weights.shape[1],)
    scale = np.broadcast_to(w.scale.reshape(-1).astype(np.float64) * x.scale.item(), columns)
    if not is_moderate_scale(scale):
        return False
    matmul_integer.emit_integer_product(
        op,
        lowering,
        product,
        lambda value, operands: make_scaled_epilogue(op, lowering, (value, operands), scale, bias),
    )
    return True


def has_unsupported_attributes(op: BoundNode) -> bool:
    """Whether a Gemm has a transposed left operand or a factor alpha."""
    return bool(op.attributes.get("transA")) or op.attributes.get("alpha", 1.0) != 1.0


def subtract_zeros(weights: Array, zeros: Array | None) -> Array:
    """Weights [K, N] minus zero points, one or one per column."""
    widened = weights.astype(np.int64)
    return widened if zeros is None else widened - zeros.reshape(-1).astype(np.int64)


def fits_int32(weights: Array, added: Array | None = None) -> bool:
    """Whether int32 accumulators cannot overflow: sums over each row of 8-bit values times weights [M, ...], plus `added`."""
    magnitudes = np.abs(weights.astype(np.int64)).reshape(len(weights), -1).sum(1) * MAX_BYTE
    return int((magnitudes if added is None else magnitudes + np.abs(added)).max(initial=0)) <= MAX_INT32


def make_scaled_epilogue(
    op: BoundNode,
    lowering: Lowering,
    accumulators: tuple[Scalar, list[KernelOperand]],
    scale: Array,
    bias: Array | None,
) -> FusedIntegerEpilogue:
    """The epilogue accumulators * scale + bias per column, with fused consumers; a division by a constant scale is folded."""
    accumulator, kernel_operands = accumulators
    parameters = [Local(f"o{len(kernel_operands) + i}") for i in range(2)]
    scale_and_bias = scale, np.zeros_like(scale) if bias is None else bias.astype(np.float64)
    kernel_operands = [
        *kernel_operands,
        *(
            KernelOperand("column", lowering.constant_tensor(elements.astype(np.float32)))
            for elements in scale_and_bias
        ),
    ]
    value = Apply("fma", (Cast(DataType.FLOAT, accumulator), *parameters))
    fused = fuse_integer_epilogue(
        lowering, op.output, value, kernel_operands, channels_last=op.op_type == "Conv"
    )
    division = find_division(fused, value)
    if division is None:
        return fused
    index, node = division
    divisor = fused.operands[index].buffer.data
    if (
        not isinstance(divisor, np.ndarray)
        or not is_moderate_scale(divisor)
        or not is_moderate_scale(scale_and_bias[0] / divisor.item())
    ):
        return fused
    simplified = replace_expression(fused.epilogue.expression, node, value)
    operands = list(fused.operands)
    for parameter, elements in zip(parameters, scale_and_bias, strict=True):
        operands[int(parameter.name[1:])] = lowering.constant_tensor(
            (elements / float(divisor.reshape(()))).astype(np.float32)
        )
    return replace(fused, epilogue=replace(fused.epilogue, expression=simplified), operands=tuple(operands))


def find_division(fused: FusedIntegerEpilogue, accumulators: Scalar) -> tuple[int, Scalar] | None:
    """The division by a scalar operand that is the only use of the accumulators: the operand's index, and the division."""
    users = [
        user
        for user in topological_order(fused.epilogue.expression)
        if any(operand is accumulators for operand in operands_of(user))
    ]
    match users:
        case [Apply(op="div", args=(a, Local(name=name))) as node] if a is accumulators:
            index = int(name[1:])
            return (index, node) if fused.epilogue.operand_layouts[index] == "scalar" else None
    return None


def replace_expression(value: Scalar, old: Scalar, new: Scalar) -> Scalar:
    """An expression with a subexpression, by identity, replaced."""
    if value is old:
        return new
    match value:
        case Apply():
            return replace(value, args=tuple(replace_expression(arg, old, new) for arg in value.args))
        case Cast():
            return replace(value, value=replace_expression(value.value, old, new))
    return value
