"""Range with a start, and a constant delta, determined by the sizes of inputs; falls back to the reference kernel for other operands."""

from __future__ import annotations

from sardonyx._src.compile.kernels.data_movement.arange import ARANGE_ELEMENTS, arange_step
from sardonyx._src.compile.lower.lowering import Lowering
from sardonyx._src.compile.lower.registry import lowers
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.ir.dims import Expr, Known
from sardonyx._src.ir.graph import Value


@lowers("Range", 27)
def lower_range(op: BoundNode, lowering: Lowering) -> bool:
    start, delta = (known_scalar(lowering, op.input(i)) for i in (0, 2))
    if start is None or not isinstance(delta, int) or lowering.shape(op.output) is None:
        return False
    if lowering.dtype_of(op.output) not in ARANGE_ELEMENTS:
        return False
    result = lowering.allocate(op.output, "output" if op.output in lowering.outputs else "arena")
    lowering.bind(op.output, result)
    lowering.emit(arange_step(result, start, delta))
    return True


def known_scalar(lowering: Lowering, value: Value | None) -> Known | None:
    """The element of a one-element value, if the sizes of inputs determine it."""
    elements = lowering.elements(value)
    if elements is None or elements.size != 1:
        return None
    element = elements.reshape(-1)[0]
    if isinstance(element, Expr):
        return element if lowering.is_size(element) else None
    return None if element is None else int(element)
