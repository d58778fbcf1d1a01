"""Conv of dequantized 8-bit operands with constant weights, computed in integers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sardonyx._src.compile.partition import BoundNode, Region, Scope, fuses
from sardonyx._src.compile.partition.quantized.dequantized_operands import (
    fuse_scaled_epilogue,
    match_dequantized_operands,
)
from sardonyx._src.compile.partition.quantized.integer_convolutions import (
    IntegerConvolution,
    convolution_region,
    match_integer_convolution,
)
from sardonyx._src.compile.partition.quantized.integer_products import fits_int32


@fuses("Conv", 22)
def match_quantized_convolution(op: BoundNode, scope: Scope) -> Region[IntegerConvolution] | None:
    operands, bias = match_dequantized_operands(op, scope), scope.constant(op.input(2))
    if operands is None or (op.input(2) is not None and (bias is None or bias.dtype != np.float32)):
        return None
    x, w = operands
    weights, zeros = scope.constant(w.value), scope.constant(w.zero)
    if weights is None or (w.scale.size != 1 and w.axis != 0):
        return None
    conv = match_integer_convolution(op, scope, (x.value, x.zero), (weights, zeros))
    if conv is None or not fits_int32(conv.weights):
        return None
    scale = np.broadcast_to(w.scale.reshape(-1).astype(np.float64) * x.scale.item(), len(weights))
    result, epilogue = fuse_scaled_epilogue(scope, op.output, conv.result, (scale, bias), channels_last=True)
    return convolution_region(op, scope, replace(conv, result=result), epilogue)
