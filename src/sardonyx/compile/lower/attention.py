"""Attention without caches: heads as views of what projections made."""

from __future__ import annotations

import math

from sardonyx.compile.attention.step import attention
from sardonyx.compile.lowering import Lowering
from sardonyx.compile.nodes import Call
from sardonyx.compile.registry import lowers
from sardonyx.compile.tensor import Tensor
from sardonyx.compile.views import viewed
from sardonyx.dtypes import DataType
from sardonyx.ir.dims import Known, known_equal
from sardonyx.ir.graph import Value

HEADS_INSIDE = (0, 2, 1, 3)  # from [B, H, S, D] to [B, S, H, D]
PLAIN = {"softcap": 0.0, "left_window_size": -1, "right_window_size": -1}


@lowers("Attention", 25)
def attention_(call: Call, at: Lowering) -> bool:
    values = [call.input(i) for i in range(3)]
    if any(call.input(i) is not None for i in (3, 4, 5, 6)) or any(call.wanted(i) for i in (1, 2, 3)):
        return False
    if not is_plain(call) or at.shape(call.output) is None:
        return False
    if not all(at.is_native(v) and at.dtype_of(v) is DataType.FLOAT for v in values):
        return False
    names = ("q_num_heads", "kv_num_heads", "kv_num_heads")
    found = [heads(call, at, v, name) for v, name in zip(values, names, strict=True) if v is not None]
    q, k, v = found
    if q is None or k is None or v is None or not fit(at, q, k, v):
        return False
    scale = call.optional("scale")
    factor = float(scale) if isinstance(scale, float) else 1 / math.sqrt(max(int(q.shape[3]), 1))  # type: ignore[arg-type]
    y = result(call, at, q, v)
    at.emit(attention(q, k, v, y, scale=factor, causal=bool(call.attribute("is_causal", int))))
    return True


def is_plain(call: Call) -> bool:
    """Whether scores are neither capped nor cut off at a distance."""
    return all(call.attributes.get(name, plain) == plain for name, plain in PLAIN.items())


def heads(call: Call, at: Lowering, value: Value, name: str) -> Tensor | None:
    """A value [B, H, S, D], or [B, S, H * D], as [B, H, S, D] with elements of a row 1 apart; None if it is neither."""
    shape = at.known_shape(value)
    if len(shape) == 4:
        at.strided(value)
        return next((form for form in at.forms[value] if form.strides[3] == 1), None) or at.dense(value)
    count = call.attributes.get(name)
    if len(shape) != 3 or not isinstance(count, int) or count < 1:
        return None
    size = shape[2] // count
    if not known_equal(size * count, shape[2]):
        return None
    found = viewed(at.rows(value), (shape[0], shape[1], count, size))
    return None if found is None else found.permuted(HEADS_INSIDE)


def fit(at: Lowering, q: Tensor, k: Tensor, v: Tensor) -> bool:
    """Whether the heads are known to go together, and their numbers and sizes are numbers."""
    (batch, queries_heads, _, depth), group = q.shape, k.shape[1]
    same: list[tuple[Known, Known]] = [(batch, k.shape[0]), (batch, v.shape[0]), (depth, k.shape[3])]
    same += [(group, v.shape[1]), (k.shape[2], v.shape[2])]
    if not all(at.agree(a, b) for a, b in same):
        return False
    if not (isinstance(depth, int) and isinstance(group, int) and isinstance(queries_heads, int)):
        return False
    return group > 0 and queries_heads % group == 0


def result(call: Call, at: Lowering, q: Tensor, v: Tensor) -> Tensor:
    """Memory for the result, heads inside where that saves a copy behind it."""
    shape = (q.shape[0], q.shape[1], q.shape[2], v.shape[3])
    if len(at.known_shape(call.output)) == 3:
        made = at.result(call.output)
        found = viewed(made, (shape[0], shape[2], shape[1], shape[3]))
        assert found is not None, "a dense tensor has views"
        return found.permuted(HEADS_INSIDE)
    reader = at.only_reader(call.output)
    if reader is None or reader.op_type != "Transpose":
        return at.result(call.output)
    placed = tuple(shape[i] for i in HEADS_INSIDE)
    made = at.temporary(DataType.FLOAT, placed, call.output.name).permuted(HEADS_INSIDE)
    at.bind(call.output, made)
    return made
