"""MatMul and Gemm of dequantized 8-bit operands by a constant matrix, computed in integers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sardonyx._src.compile.partition import BoundNode, Region, Scope, fuses
from sardonyx._src.compile.partition.operands.gemm_bias import constant_bias
from sardonyx._src.compile.partition.quantized.dequantized_operands import (
    fuse_scaled_epilogue,
    match_dequantized_operands,
)
from sardonyx._src.compile.partition.quantized.integer_products import (
    IntegerProduct,
    fits_int32,
    match_integer_product,
    product_region,
    subtract_zeros,
)
from sardonyx._src.compile.partition.quantized.requantization import is_moderate_scale
from sardonyx._src.ir import Array


@fuses("Gemm", 13)
def match_quantized_gemm(op: BoundNode, scope: Scope) -> Region[IntegerProduct] | None:
    bias = constant_bias(op, scope)
    if (bias is None and op.input(2) is not None) or op.attributes["transA"] or op.attributes["alpha"] != 1.0:
        return None
    return match_quantized_product(op, scope, bias)


@fuses("MatMul", 13)
def match_quantized_matmul(op: BoundNode, scope: Scope) -> Region[IntegerProduct] | None:
    return match_quantized_product(op, scope)


def match_quantized_product(
    op: BoundNode, scope: Scope, bias: Array | None = None
) -> Region[IntegerProduct] | None:
    """The region of a product that is exact in int32; its epilogue multiplies by the scale and adds `bias` [N]."""
    operands = match_dequantized_operands(op, scope)
    if operands is None:
        return None
    x, w = operands
    weights, zeros, column_axis = scope.constant(w.value), scope.constant(w.zero), 1
    if weights is None or weights.ndim != 2:
        return None
    if op.attributes.get("transB"):
        weights, column_axis = weights.T, 0
    product = match_integer_product(op, scope, (x.value, x.zero), (weights, zeros))
    if product is None or (w.scale.size > 1 and w.axis % 2 != column_axis):
        return None
    scale = np.broadcast_to(w.scale.reshape(-1).astype(np.float64) * x.scale.item(), weights.shape[1])
    if not is_moderate_scale(scale) or not fits_int32(subtract_zeros(weights, zeros).T):
        return None
    result, epilogue = fuse_scaled_epilogue(scope, op.output, product.result, (scale, bias))
    return product_region(op, scope, replace(product, result=result), epilogue)
