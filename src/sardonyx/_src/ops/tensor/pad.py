"""Pad: entries added before and behind each axis, or taken away where a count is negative.

Spec: ai.onnx Pad-1, -2, -11, -13, -18, -19, -21, -23, -24, -25.  Version 1 calls the counts `paddings`, 2 `pads`; both
have them and the value as attributes, 11 as inputs.  18 adds `axes`, 19 the mode wrap; the others add element types.
The counts are [x1_begin, x2_begin, ..., x1_end, x2_end, ...] in all versions; the example of version 1, which has them
by axis, contradicts its own description and was mended in 2.  A mode continues data itself: where one end is cut and
the other one grows, what is cut still counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.dims import Dim, dim_add
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Call, Operator, claim
from sardonyx._src.ops.change import Change, Converted
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.shapes import axes_of
from sardonyx._src.ops.tensor.elements import numbers
from sardonyx._src.ops.tensor.zeros import zero

op = Operator("Pad")


def reflected(places: Array, size: int) -> Array:
    """0 1 2 3 2 1 0 1 ...: the first and the last entry are not repeated."""
    period = max(2 * (size - 1), 1)
    places = places % period
    return np.minimum(places, period - places)


def clamped(places: Array, size: int) -> Array:
    return places.clip(0, size - 1)


def wrapped(places: Array, size: int) -> Array:
    return places % size


# For each mode: where an entry comes from that lies at these places, which may be outside of [0, size).
CONTINUE: dict[str, Callable[[Array, int], Array]] = {"reflect": reflected, "edge": clamped, "wrap": wrapped}


@op.eval(1)
def eval_1(data: Array, *, paddings: tuple[int, ...], mode: str, value: float, call: Call) -> Array:
    return eval_2(data, pads=paddings, mode=mode, value=value, call=call)


@op.eval(2)
def eval_2(data: Array, *, pads: tuple[int, ...], mode: str, value: float, call: Call) -> Array:
    return padded(data, pads, mode, np.array(value, data.dtype), None, call)


@op.eval(11, 13, 18, 19, 21, 23, 24, 25)
def evaluate(
    data: Array,
    pads: Array,
    constant_value: Array | None = None,
    axes: Array | None = None,
    *,
    mode: str,
    call: Call,
) -> Array:
    """pads: [2 * n] int64 for the n axes of data or those in axes: [n]; constant_value: one element."""
    fill = zero(data.dtype) if constant_value is None else constant_value.reshape(())
    chosen = None if axes is None else [int(axis) for axis in axes.reshape(-1)]
    return padded(data, [int(n) for n in pads.reshape(-1)], mode, fill, chosen, call)


def padded(
    data: Array, pads: Sequence[int], mode: str, fill: Array, axes: Sequence[int] | None, call: Call
) -> Array:
    modes = ["constant", "reflect", "edge"] + ["wrap"] * (call.version >= 19)
    if mode not in modes:
        raise EvaluationError(f"mode is {mode!r}, where {', '.join(modes)} are known to Pad-{call.version}")
    chosen = axes_of(range(data.ndim) if axes is None else axes, data.ndim)
    if len(pads) != 2 * len(chosen):
        raise EvaluationError(
            f"{len(pads)} pads are given, where two for each of {len(chosen)} axes are wanted"
        )
    around = {axis: (pads[i], pads[i + len(chosen)]) for i, axis in enumerate(chosen)}
    shape = [n + sum(around.get(i, ())) for i, n in enumerate(data.shape)]
    if min(shape, default=0) < 0:
        raise EvaluationError(f"pads {list(pads)} take away more than shape {list(data.shape)} has")
    claim(call, shape, data.dtype, "Pad result")
    if mode == "constant":
        return framed(data, around, shape, fill)
    for axis, (before, behind) in around.items():
        data = continued(data, axis, before, behind, mode)
    return data


def framed(data: Array, around: dict[int, tuple[int, int]], shape: Sequence[int], fill: Array) -> Array:
    """data in a frame of `fill`, of this shape in all."""
    result = np.full(shape, fill, data.dtype)
    inner, kept = [], []
    for axis, size in enumerate(data.shape):
        before, behind = around.get(axis, (0, 0))
        first, last = max(-before, 0), max(size - max(-behind, 0), 0)
        kept.append(slice(first, max(first, last)))
        inner.append(slice(first + before, max(first, last) + before))
    result[tuple(inner)] = data[tuple(kept)]
    return result


def continued(data: Array, axis: int, before: int, behind: int, mode: str) -> Array:
    """data with one axis continued at both ends."""
    size = data.shape[axis]
    places = np.arange(-before, size + behind)
    if size == 0 and places.size:
        raise EvaluationError(f"mode {mode!r} has nothing to continue: axis {axis} is empty")
    if (places >= 0).all() and (places < size).all():
        return data[(slice(None),) * axis + (slice(-before, size + behind),)]
    return data[(slice(None),) * axis + (CONTINUE[mode](places, size),)]


@op.convert((1, 2))
def to_2(c: Change) -> Converted:
    return c.same(drop=("paddings",), pads=c.renamed("paddings", "pads"))


@op.convert((2, 1))
def to_1(c: Change) -> Converted:
    return c.same(drop=("pads",), paddings=c.renamed("pads", "paddings"))


@op.convert((2, 11))
def to_11(c: Change) -> Converted:
    value = c.as_input("value", c.dtype(0))
    return c.same([c.input(0), c.as_input("pads"), value], drop=("pads", "value"))


@op.convert((11, 2))
def to_2_again(c: Change) -> Converted:
    pads = c.as_attribute(1, "pads", AttributeType.INTS)
    return c.same([c.input(0)], pads=pads, value=c.as_attribute(2, "value", AttributeType.FLOAT))


op.convert((11, 13), (13, 11), (13, 18), (18, 19))(lambda c: c.same())
op.convert(*[s for a, b in ((19, 21), (21, 23), (23, 24), (24, 25)) for s in ((a, b), (b, a))])(
    lambda c: c.same()
)


@op.convert((19, 18))
def to_18(c: Change) -> Converted:
    if c.t.attributes["mode"] == "wrap":
        c.refuse("there is no mode 'wrap' there")
    return c.same()


@op.convert((18, 13))
def to_13(c: Change) -> Converted:
    """Pads for some axes are pads for all of them, of which the others get none."""
    if c.optional(3) is None:
        return c.same()
    rank, axes, pads = c.rank(0), c.t.constant(3), c.t.constant(1)
    if axes is None:
        c.refuse("axes are not constant, and pads for all axes are wanted there")
    chosen = axes_of([int(axis) for axis in axes.reshape(-1)], rank)
    places = {axis + end * rank: i + end * len(chosen) for i, axis in enumerate(chosen) for end in (0, 1)}
    if pads is not None:
        flat = pads.reshape(-1).tolist()
        full = c.integers([flat[places[i]] if i in places else 0 for i in range(2 * rank)])
    else:
        longer = c.op("Concat", c.input(1), c.integers([0]), axis=0)
        full = c.Gather(longer, c.integers([places.get(i, 2 * len(chosen)) for i in range(2 * rank)]))
    return c.same([c.input(0), full, c.optional(2)])


# --- inference -------------------------------------------------------------------------------


@op.infer(1, 2, 11, 13, 18, 19, 21, 23, 24, 25)
def infer(t: Inference) -> Result:
    data = t.tensor(0)
    if data is None or data.shape is None:
        return data
    rank = len(data.shape)
    pads = t.dims(1) if t.version > 2 else t.integers("paddings" if t.version == 1 else "pads")
    axes = tuple(range(rank)) if not t.has(3) else known_axes(t)
    if axes is None:
        return TensorType(data.dtype, (None,) * rank)
    chosen = t.axes(axes, rank)
    if pads is None:
        pads = (None,) * (2 * len(chosen))
    if len(pads) != 2 * len(chosen):
        t.fail(f"{len(pads)} pads are given, where two for each of {len(chosen)} axes are wanted")
    shape = list(data.shape)
    for i, axis in enumerate(chosen):
        shape[axis] = grown(t, shape[axis], pads[i], pads[i + len(chosen)])
    return TensorType(data.dtype, tuple(shape))


def known_axes(t: Inference) -> tuple[int, ...] | None:
    dims = t.dims(3)
    return None if dims is None else numbers(dims)


def grown(t: Inference, size: Dim, before: Dim, behind: Dim) -> Dim:
    found = dim_add(size, before, behind)
    if isinstance(found, int) and found < 0:
        t.fail(f"pads {before} and {behind} take away more than an axis of size {size} has")
    return found
