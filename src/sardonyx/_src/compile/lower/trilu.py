"""Trilu, where the diagonal is known."""

from __future__ import annotations

from sardonyx._src.compile.asked import MOST_ELEMENTS
from sardonyx._src.compile.lower.range import number
from sardonyx._src.compile.lowering import Lowering
from sardonyx._src.compile.moves.copy import copied
from sardonyx._src.compile.moves.triangle import triangle
from sardonyx._src.compile.nodes import Call
from sardonyx._src.compile.registry import lowers


@lowers("Trilu", 14)
def lower(call: Call, at: Lowering) -> bool:
    x, k = call.input(0), call.input(1)
    diagonal = 0 if k is None else number(at, k)
    if x is None or diagonal is None or not at.is_native(x) or at.shape(call.output) != at.shape(x):
        return False
    if len(at.known_shape(x)) < 2:
        return False
    if isinstance(diagonal, int):
        diagonal = min(max(diagonal, -MOST_ELEMENTS), MOST_ELEMENTS)
    source, made = at.rows(x), at.result(call.output)
    is_upper = bool(call.attribute("upper", int))
    if made.strides[-1] == 1 or made.shape[-1] == 1:
        at.emit(triangle(source, made, diagonal, upper=is_upper))
        return True
    plain = at.temporary(made.dtype, made.shape, call.output.name)
    at.emit(triangle(source, plain, diagonal, upper=is_upper), copied(plain, made))
    return True
