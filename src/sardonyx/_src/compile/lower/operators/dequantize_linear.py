"""DequantizeLinear: a lazy value, so that consumers may read the integers instead (see `qdq` and fusion).

If it is requested after all, it is computed elementwise, or by a fallback operation for constants that no kernel reads.
"""

from __future__ import annotations

from sardonyx._src.compile.kernels.elementwise.quantization import QUANTIZED_TYPES
from sardonyx._src.compile.lower.lowering import Lowering
from sardonyx._src.compile.lower.operators.elementwise import (
    emit_group,
    has_supported_types,
    lower_elementwise,
)
from sardonyx._src.compile.lower.registry import lowers
from sardonyx._src.compile.partition.fusion import group_single_node
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.ir.tensors import Tensor
from sardonyx._src.schema import versions


@lowers("DequantizeLinear", versions("", "DequantizeLinear")[-1])
def lower_dequantize_linear(op: BoundNode, lowering: Lowering) -> bool:
    is_constant = all(value is None or isinstance(value.initializer, Tensor) for value in op.node.inputs)
    if not is_constant and lowering.dtype_of(op.input(0)) not in QUANTIZED_TYPES:
        return lower_elementwise(op, lowering)
    if lowering.shape(op.output) is None or not (is_constant or can_emit(op, lowering)):
        return False
    lowering.make_lazy(op.output, lambda: emit_node(op, lowering))
    return True


def can_emit(op: BoundNode, lowering: Lowering) -> bool:
    """Whether the node has an elementwise kernel of its own."""
    group = group_single_node(lowering, op.node)
    return group is not None and has_supported_types(lowering, group)


def emit_node(op: BoundNode, lowering: Lowering) -> None:
    """Emits the kernel of the node alone, or a fallback operation."""
    group = group_single_node(lowering, op.node)
    if group is not None and has_supported_types(lowering, group):
        emit_group(lowering, group)
    else:
        lowering.actions.append(lowering.fallback_op(op.node))
