"""DequantizeLinear: deferred, so that consumers may read the integers instead (see `partition.quantized.dequantized_operands`).

If a consumer reads the floats, they are computed elementwise, or by the reference kernel for constants that
no kernel reads.
"""

from __future__ import annotations

from dataclasses import replace

from sardonyx._src.compile.kernels.elementwise.quantization import QUANTIZED_TYPES
from sardonyx._src.compile.lower.operators.elementwise import match_elementwise, match_single_node
from sardonyx._src.compile.partition import Region, Scope, matches
from sardonyx._src.compile.partition.regions.region import fallback_region
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.ir import Tensor
from sardonyx._src.schema import versions


@matches("DequantizeLinear", versions("", "DequantizeLinear")[-1])
def match_dequantize_linear(op: BoundNode, scope: Scope) -> Region[object] | None:
    is_constant = all(value is None or isinstance(value.initializer, Tensor) for value in op.node.inputs)
    if not is_constant and scope.dtype_of(op.input(0)) not in QUANTIZED_TYPES:
        return match_elementwise(op, scope)
    region: Region[object] | None = match_single_node(op, scope)
    if region is None and is_constant and scope.shape(op.output) is not None:
        region = fallback_region(op.node)
    return None if region is None else replace(region, is_deferred=True)
