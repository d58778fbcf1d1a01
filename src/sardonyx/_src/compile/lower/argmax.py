"""ArgMax and ArgMin: where along an axis the greatest or the least element is."""

from __future__ import annotations

from sardonyx._src.compile.lowering import Lowering
from sardonyx._src.compile.nodes import Call
from sardonyx._src.compile.registry import lowers
from sardonyx._src.compile.rows.arg import Ends, places_of_extremes
from sardonyx._src.compile.rows.folds import ELEMENTS
from sardonyx._src.ir.dims import known_ge


@lowers("ArgMax", 13)
@lowers("ArgMin", 13)
def lower(call: Call, at: Lowering) -> bool:
    x, axis = call.input(0), call.attribute("axis", int)
    if x is None or not at.is_native(x) or at.dtype(x) not in ELEMENTS:
        return False
    shape = at.known_shape(x)
    if not -len(shape) <= axis < len(shape) or known_ge(shape[axis], 1) is not True:
        return False
    axis %= len(shape)
    kept = (1,) if call.attributes["keepdims"] else ()
    if at.shape(call.output) != (*shape[:axis], *kept, *shape[axis + 1 :]):
        return False
    ends = Ends(call.op_type == "ArgMax", bool(call.attributes["select_last_index"]))
    step = places_of_extremes(at.strided(x), at.result(call.output), axis, ends)
    assert step is not None, "the element type has a kernel"
    at.emit(step)
    return True
