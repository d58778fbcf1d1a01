"""RotaryEmbedding: heads turned by the angles of their tokens."""

from __future__ import annotations

from sardonyx._src.compile.lower.attention import HEADS_INSIDE, heads
from sardonyx._src.compile.lowering import Lowering
from sardonyx._src.compile.nodes import Call
from sardonyx._src.compile.registry import lowers
from sardonyx._src.compile.rows.rotary import rotated
from sardonyx._src.compile.tensor import Tensor
from sardonyx._src.compile.views import viewed
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.graph import Value


@lowers("RotaryEmbedding", 23)
def lower(call: Call, at: Lowering) -> bool:
    value, cos, sin, places = (call.input(i) for i in range(4))
    if value is None or cos is None or sin is None or not are_native(at, value, cos, sin):
        return False
    if places is not None and not (at.is_native(places) and at.dtype_of(places) is DataType.INT64):
        return False
    x = heads(call, at, value, "num_heads")
    if x is None or at.shape(call.output) != at.shape(value) or not fits(call, at, x, (cos, sin), places):
        return False
    step = rotated(
        x,
        placed(at.result(call.output), x),
        rows(at, cos),
        rows(at, sin),
        interleaved=bool(call.attribute("interleaved", int)),
        positions=None if places is None else at.dense(places),
        status=at.status,
    )
    at.emit(step)
    return True


def are_native(at: Lowering, *values: Value) -> bool:
    return all(at.is_native(value) and at.dtype_of(value) is DataType.FLOAT for value in values)


def fits(call: Call, at: Lowering, x: Tensor, caches: tuple[Value, Value], places: Value | None) -> bool:
    """Whether caches are known to have an angle for every pair, and positions to be one for every token."""
    tokens, size = (x.shape[0], x.shape[2]), x.shape[3]
    turned = call.attribute("rotary_embedding_dim", int) or size
    if not isinstance(turned, int) or not isinstance(size, int) or turned % 2 or not 0 <= turned <= size:
        return False
    for cache in caches:
        shape = at.known_shape(cache)
        count = at.known_shape(caches[0])[:1] if places is not None else tokens
        wanted = (*count, turned // 2)
        if len(shape) != len(wanted) or not all(map(at.agree, shape, wanted)):
            return False
    where = () if places is None else at.known_shape(places)
    return places is None or (len(where) == 2 and all(map(at.agree, where, tokens)))


def rows(at: Lowering, cache: Value) -> Tensor:
    """A cache with its rows dense, whatever their distances."""
    at.strided(cache)
    return next((form for form in at.forms[cache] if form.strides[-1] == 1), None) or at.dense(cache)


def placed(y: Tensor, x: Tensor) -> Tensor:
    """The result with heads as those of x."""
    if y.rank == 4:
        return y
    batch, heads, length, size = x.shape
    found = viewed(y, (batch, length, heads, size))
    assert found is not None, "rows of a result have views"
    return found.permuted(HEADS_INSIDE)
