"""LRN: each element beside its neighbours in other channels, channels last."""

from __future__ import annotations

from sardonyx._src.compile.endings import ending
from sardonyx._src.compile.geometry import image
from sardonyx._src.compile.lower.pooling import is_image
from sardonyx._src.compile.lowering import Lowering
from sardonyx._src.compile.nodes import Call
from sardonyx._src.compile.registry import lowers
from sardonyx._src.compile.spatial.lrn import Response, response_normalized


@lowers("LRN", 13)
def lrn(call: Call, at: Lowering) -> bool:
    x, size = call.input(0), call.attribute("size", int)
    if x is None or not is_image(at, x) or size < 1 or at.shape(call.output) != at.shape(x):
        return False
    response = Response(size, *(call.attribute(name, float) for name in ("alpha", "beta", "bias")))
    source = image(at.channels_last(x))
    end = ending(at, call.output, channels_last=True)
    operands = tuple(map(image, end.operands))
    at.emit(response_normalized(source, image(end.y), response, end.tail, operands))
    return True
