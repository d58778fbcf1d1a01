"""Cast: elementwise; an upcast from half precision becomes a lazy value.

Consumers of a lazy upcast may read its half-precision operand instead, such as constant weights of a GEMM.
"""

from __future__ import annotations

from sardonyx._src.compile.layouts.dequantized_constants import is_upcast
from sardonyx._src.compile.lower.lowering import Lowering
from sardonyx._src.compile.lower.operators.dequantize_linear import can_emit, emit_node
from sardonyx._src.compile.lower.operators.elementwise import lower_elementwise
from sardonyx._src.compile.lower.registry import lowers
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.schema import versions


@lowers("Cast", versions("", "Cast")[-1])
def lower_cast(op: BoundNode, lowering: Lowering) -> bool:
    if not is_upcast(op.node) or not can_emit(op, lowering):
        return lower_elementwise(op, lowering)
    lowering.make_lazy(op.output, lambda: emit_node(op, lowering))
    return True
