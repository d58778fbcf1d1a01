"""CastLike: a Cast to the type of another tensor, whose elements nobody asks for."""

from __future__ import annotations

from sardonyx._src.compile.elementwise.kernel import elementwise
from sardonyx._src.compile.elementwise.operators import scalar
from sardonyx._src.compile.loops.ir import Local
from sardonyx._src.compile.lowering import Lowering
from sardonyx._src.compile.nodes import Call
from sardonyx._src.compile.registry import lowers


@lowers("CastLike", 25)
def lower(call: Call, at: Lowering) -> bool:
    x, own, to = call.input(0), at.dtype_of(call.input(0)), at.dtype_of(call.output)
    if x is None or own is None or to is None or not at.is_native(x) or at.shape(call.output) != at.shape(x):
        return False
    if own is to:
        at.strided(x)
        at.bind(call.output, *at.forms[x])
        return True
    value = scalar("Cast", {**call.attributes, "to": int(to)}, [Local("i0")], [own])
    if value is None:
        return False
    source = at.dense(x)
    at.emit(elementwise(value, [source], at.result(call.output)))
    return True
