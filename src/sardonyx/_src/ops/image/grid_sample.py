"""GridSample: an image read at the points of a grid, interpolated between pixels.

Spec: ai.onnx GridSample-16, -20, -22.  Version 16 takes images of two axes and names the modes bilinear, nearest and
bicubic; from 20 on any number of axes, and linear, nearest and cubic.  22 adds bfloat16.  Points halfway between two
pixels take the even one in nearest mode.  Cubic interpolation has the coefficient -0.75.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Call, Operator, claim
from sardonyx._src.ops.arithmetic import widen
from sardonyx._src.ops.change import Change, Converted
from sardonyx._src.ops.image.sampling import (
    Tap,
    cubic_weight,
    cut_off,
    inside,
    linear_taps,
    picked,
    sampled,
    with_zero,
)
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.shapes import merge_dims

op = Operator("GridSample", tolerance="rounding")

MODES = {
    16: {"bilinear": "linear", "nearest": "nearest", "bicubic": "cubic"},
    20: {"linear": "linear", "nearest": "nearest", "cubic": "cubic"},
}
PADDING_MODES = ("zeros", "border", "reflection")


@op.infer(16, 20, 22)
def infer(t: Inference) -> Result:
    found, grid = t.tensor(0), t.shape(1)
    shape = None if found is None else found.shape
    if shape is not None and grid is not None:
        if len(shape) != len(grid) or len(grid) < 3:
            t.fail(f"X has rank {len(shape)} and grid {len(grid)}: the same rank of at least 3 is wanted")
        if isinstance(grid[-1], int) and grid[-1] != len(grid) - 2:
            t.fail(f"the points of grid have {grid[-1]} coordinates, {len(grid) - 2} are wanted")
    rank = next((len(s) for s in (shape, grid) if s is not None), None)
    if t.version == 16 and rank not in (None, 4):
        t.fail(f"X has rank {rank}, GridSample-16 takes [N, C, H, W]")
    if found is None or rank is None:
        return found and TensorType(found.dtype)
    batch: list[Dim] = [s[0] for s in (shape, grid) if s is not None]
    spatial = (None,) * (rank - 2) if grid is None else grid[1:-1]
    channels = None if shape is None else shape[1]
    return TensorType(found.dtype, (merge_dims(t, batch, "the batches of X and grid"), channels, *spatial))


@op.convert((16, 20))
def to_20(c: Change) -> Converted:
    return c.same(mode=MODES[16].get(str(c.t.attributes["mode"])))


@op.convert((20, 16))
def to_16(c: Change) -> Converted:
    if c.rank(0) != 4:
        c.refuse(f"images there have two axes, X has {c.rank(0) - 2}")
    names = {new: old for old, new in MODES[16].items()}
    return c.same(mode=names.get(str(c.t.attributes["mode"])))


op.convert((20, 22), (22, 20))(lambda c: c.same())


@op.eval(16, 20, 22)
def eval_22(x: Array, grid: Array, *, call: Call, mode: str, padding_mode: str, align_corners: int) -> Array:
    """x: [N, C, *spatial], grid: [N, *out, axes], coordinates from the last axis to the first, result: [N, C, *out].

    Integers and bool are interpolated in float64, integers lose their fraction; strings are for nearest mode alone.
    """
    known = MODES[16 if call.version == 16 else 20]
    if mode not in known or padding_mode not in PADDING_MODES:
        wanted = f"one of {', '.join(known)} and one of {', '.join(PADDING_MODES)} are wanted"
        raise EvaluationError(f"mode is {mode!r} and padding_mode {padding_mode!r}: {wanted}")
    rank = x.ndim - 2
    if rank < 1 or grid.ndim != x.ndim or grid.shape[0] != x.shape[0] or grid.shape[-1] != rank:
        what = f"X is {list(x.shape)} and grid {list(grid.shape)}"
        raise EvaluationError(f"{what}: [N, C, *spatial] and [N, *out, {max(rank, 1)}] are wanted")
    if call.version == 16 and rank != 2:
        raise EvaluationError(f"X has {rank} spatial axes, GridSample-16 takes 2")
    if min(x.shape[2:]) == 0 and grid.size:
        raise EvaluationError(f"X of shape {list(x.shape)} has no pixels to read")
    out = grid.shape[1:-1]
    claim(call, (*x.shape[:2], *out), x.dtype, "GridSample result")
    points = grid.reshape(grid.shape[0], int(np.prod(out)), rank).astype(np.float64)
    at = [pixel(points[..., rank - 1 - i], n, bool(align_corners)) for i, n in enumerate(x.shape[2:])]
    result = interpolated(x, at, known[mode], padding_mode, bool(align_corners))
    return result.reshape(*x.shape[:2], *out)


def interpolated(x: Array, at: list[Array], mode: str, padding_mode: str, align_corners: bool) -> Array:
    """x [N, C, *spatial] at positions [N, P] along each axis -> [N, C, P]."""
    sizes = x.shape[2:]
    if padding_mode != "reflection":  # all that far outside is alike, and infinity cannot be computed with
        at = [np.clip(a, -4, n + 3) for a, n in zip(at, sizes, strict=True)]
    if mode != "cubic":  # a point outside is moved as such; cubic moves each pixel that it reads
        at = [moved(a, n, padding_mode, align_corners) for a, n in zip(at, sizes, strict=True)]
    if mode == "nearest":
        return picked(with_zero(x), sizes, [inside(np.rint(a), n) for a, n in zip(at, sizes, strict=True)])
    if x.dtype == object:
        raise EvaluationError(f"strings cannot be interpolated; mode is {mode}, nearest is wanted")
    wide = x.astype(np.float64) if x.dtype.kind in "iub" else widen(x)
    if mode == "linear":
        taps = [linear_taps(a, n) for a, n in zip(at, sizes, strict=True)]
        return cut_off(sampled(wide, taps), x.dtype)
    cubic = [cubic_taps(a, n, padding_mode, align_corners) for a, n in zip(at, sizes, strict=True)]
    return cut_off(sampled(wide, cubic), x.dtype)


def pixel(coordinate: Array, size: int, align_corners: bool) -> Array:
    """Where a coordinate from -1 to 1 lies, pixel i at i: between the outer centres or between the outer edges."""
    if align_corners:
        return (coordinate + 1) / 2 * (size - 1)
    return ((coordinate + 1) * size - 1) / 2


def moved(at: Array, size: int, padding_mode: str, align_corners: bool) -> Array:
    """Positions moved into the image, to its border or reflected there; as they are for zeros."""
    if padding_mode == "zeros":
        return at
    if padding_mode == "reflection":
        low, high = (0.0, size - 1.0) if align_corners else (-0.5, size - 0.5)
        period = 2 * (high - low)
        at = np.mod(at - low, period) if period else np.zeros_like(at)
        at = np.minimum(at, period - at) + low
    return np.clip(at, 0, size - 1)


def cubic_taps(at: Array, size: int, padding_mode: str, align_corners: bool) -> list[Tap]:
    """The four pixels around each position, weighted by the cubic convolution kernel."""
    first = np.floor(at)
    share = at - first
    taps: list[Tap] = []
    for step in (-1, 0, 1, 2):
        place = moved(first + step, size, padding_mode, align_corners)
        taps.append(Tap(inside(np.rint(place), size), cubic_weight(np.abs(share - step), -0.75)))
    return taps
