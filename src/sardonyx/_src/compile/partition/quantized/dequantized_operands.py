"""Dequantized operands: Conv, MatMul and Gemm of two DequantizeLinear results, computed exactly in integers.

The epilogue multiplies the int32 accumulators by the product of both scales; a QuantizeLinear that follows is fused
into it.  Integers are used where the accumulators cannot overflow.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.compile.codegen.expressions import Apply, Cast
from sardonyx._src.compile.kernels.elementwise.quantization import integer_attribute
from sardonyx._src.compile.partition import BoundNode, FusedEpilogue, Scope
from sardonyx._src.compile.partition.quantized.folded_scales import fold_scales
from sardonyx._src.compile.partition.quantized.integer_epilogues import (
    KernelExpression,
    constant_operand,
    fuse_integer_epilogue,
)
from sardonyx._src.compile.partition.quantized.integer_products import INT8_TYPES
from sardonyx._src.compile.partition.quantized.requantization import ScaledAccumulator, is_moderate_scale
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, Value


@dataclass(frozen=True, slots=True)
class QuantizedValue:
    """A dequantized operand: `scale` * (`value` - `zero`), with an 8-bit value."""

    value: Value
    scale: Array
    zero: Value | None
    axis: int


def match_dequantized_operands(op: BoundNode, scope: Scope) -> tuple[QuantizedValue, QuantizedValue] | None:
    """The 8-bit operands of a node, the left one with a single scale; None if it has others.

    They are multiplied as integers on every target, so that all have equal results.
    """
    x, weights = match_dequantize(scope, op.input(0)), match_dequantize(scope, op.input(1))
    return None if x is None or weights is None or x.scale.size != 1 else (x, weights)


def match_dequantize(scope: Scope, value: Value | None) -> QuantizedValue | None:
    """The 8-bit operand of a deferred DequantizeLinear with constant, moderate scales; None for any other value."""
    node = None if value is None else value.producer
    if value is None or node is None or value not in scope.deferred or node.op_type != "DequantizeLinear":
        return None
    x, scale = node.inputs[0], scope.constant(node.inputs[1])
    zero = node.inputs[2] if len(node.inputs) > 2 else None
    if x is None or scale is None or scope.dtype_of(x) not in INT8_TYPES:
        return None
    if scope.dtype_of(value) is not DataType.FLOAT or integer_attribute(node, "block_size", 0):
        return None
    if scale.ndim > 1 or not is_moderate_scale(scale):
        return None
    if zero is not None and (scope.constant(zero) is None or scope.shape(zero) != scale.shape):
        return None
    return QuantizedValue(x, scale, zero, integer_attribute(node, "axis", 1))


def fuse_scaled_epilogue(
    scope: Scope,
    value: Value,
    sums: KernelExpression,
    columns: tuple[Array, Array | None],
    *,
    channels_last: bool = False,
) -> tuple[KernelExpression, FusedEpilogue]:
    """The expression sums * scale + bias of a value, and its epilogue; divisions by constant scales are folded.

    columns: the scale [N] float64, and the bias [N] float32.
    """
    scale, bias = columns
    added = np.zeros_like(scale) if bias is None else bias.astype(np.float64)
    scaled = Apply("fma", (Cast(DataType.FLOAT, sums.value), *sums.next_operands(2)))
    operands = [constant_operand("column", column.astype(np.float32)) for column in (scale, added)]
    result = sums.extend(scaled, *operands)
    epilogue = fuse_integer_epilogue(scope, value, result, channels_last=channels_last)
    return fold_scales(scope, ScaledAccumulator(scaled, sums.value, scale, added), result, epilogue)
