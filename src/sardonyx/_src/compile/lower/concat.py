"""Concat: what was not written into its place already is copied there."""

from __future__ import annotations

from sardonyx._src.compile.lower.views import cut
from sardonyx._src.compile.lowering import Lowering
from sardonyx._src.compile.moves.copy import copied
from sardonyx._src.compile.nodes import Call
from sardonyx._src.compile.registry import lowers
from sardonyx._src.compile.tensor import Tensor, first_order
from sardonyx._src.ir.dims import Known
from sardonyx._src.ir.graph import Value


@lowers("Concat", 13)
def concat(call: Call, at: Lowering) -> bool:
    shape = at.shape(call.output)
    values = [value for value in call.node.inputs if value is not None]
    if shape is None or not all(at.is_native(value) for value in values):
        return False
    axis = call.attribute("axis", int) % len(shape)
    if not fits(at, values, shape, axis):
        return False
    whole = at.destinations.begun.get(call.node)
    if whole is None:
        last = axis == 1 and any(at.has_channels_last(value) for value in values)
        made = at.result(call.output, channels_last=last)
        whole = made.permuted(first_order(made.rank)) if last else made
    fill(at, values, whole, axis)
    at.bind(call.output, whole)
    return True


def fits(at: Lowering, values: list[Value], shape: tuple[Known, ...], axis: int) -> bool:
    """Whether the parts are known to fill the whole."""
    total: Known = 0
    for value in values:
        dims = at.known_shape(value)
        if len(dims) != len(shape) or any(
            not at.agree(a, b) for i, (a, b) in enumerate(zip(dims, shape, strict=True)) if i != axis
        ):
            return False
        total = total + dims[axis]
    return at.agree(total, shape[axis])


def fill(at: Lowering, values: list[Value], whole: Tensor, axis: int) -> None:
    first: Known = 0
    for value in values:
        size = at.known_shape(value)[axis]
        place = cut(whole, axis, first, size)
        at.strided(value)
        if place not in at.forms[value]:
            at.emit(copied(at.forms[value][0], place))
        first = first + size
