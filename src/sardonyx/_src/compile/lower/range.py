"""Range, where sizes of inputs say how many numbers there are."""

from __future__ import annotations

from sardonyx._src.compile.lowering import Lowering
from sardonyx._src.compile.nodes import Call
from sardonyx._src.compile.registry import lowers
from sardonyx._src.compile.rows.counting import ELEMENTS, counted
from sardonyx._src.ir.dims import Expr, Known
from sardonyx._src.ir.graph import Value


@lowers("Range", 27)
def lower(call: Call, at: Lowering) -> bool:
    start, delta = (number(at, call.input(i)) for i in (0, 2))
    if start is None or not isinstance(delta, int) or at.shape(call.output) is None:
        return False
    if at.dtype_of(call.output) not in ELEMENTS:
        return False
    made = at.allocated(call.output, "output" if call.output in at.outputs else "arena")
    at.bind(call.output, made)
    at.emit(counted(made, start, delta))
    return True


def number(at: Lowering, value: Value | None) -> Known | None:
    """The one element of a value, if sizes of inputs decide it."""
    elements = at.elements(value)
    if elements is None or elements.size != 1:
        return None
    found = elements.reshape(-1)[0]
    if isinstance(found, Expr):
        return found if is_decided(at, found) else None
    return None if found is None else int(found)


def is_decided(at: Lowering, dim: Expr) -> bool:
    return dim.symbols() <= at.sizes.keys() and dim.substitute({}) is not None
