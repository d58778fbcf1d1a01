"""GridSample: an image sampled at the points of a grid, interpolated between pixels.

Spec: ai.onnx GridSample-16, -20, -22.  Version 16 samples images of two axes, and its modes are bilinear, nearest and
bicubic; from 20 on images may have any number of axes, and the modes are linear, nearest and cubic.  22 adds bfloat16.
Nearest mode breaks ties toward the even pixel.  Cubic interpolation has the coefficient -0.75.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ops.api import Operator, RunContext, check_result_bytes
from sardonyx._src.ops.image.sampling import (
    Tap,
    append_zero,
    cubic_weight,
    index_or_outside,
    interpolate_points,
    linear_taps,
    saturate_to_type,
    take_flat,
)
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.support.arithmetic import promote_to_float32
from sardonyx._src.ops.support.shapes import merge_dims
from sardonyx._src.ops.traits import enum_values, enum_values_by_version
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter, keep

GRID_SAMPLE_MODES = {
    16: {"bilinear": "linear", "nearest": "nearest", "bicubic": "cubic"},
    20: {"linear": "linear", "nearest": "nearest", "cubic": "cubic"},
}
PADDING_MODES = ("zeros", "border", "reflection")

op = Operator(
    "GridSample",
    tolerance="rounding",
    enum_attributes={
        "mode": enum_values_by_version(GRID_SAMPLE_MODES),
        "padding_mode": enum_values(*PADDING_MODES),
    },
)


@op.infer(16, 20, 22)
def infer(inference: Inference) -> Result:
    image, grid = inference.tensor(0), inference.shape(1)
    shape = None if image is None else image.shape
    if shape is not None and grid is not None:
        if len(shape) != len(grid) or len(grid) < 3:
            inference.fail(f"X and grid must have the same rank >= 3; got {len(shape)} and {len(grid)}")
        if isinstance(grid[-1], int) and grid[-1] != len(grid) - 2:
            inference.fail(f"the points of grid must have {len(grid) - 2} coordinates; got {grid[-1]}")
        inference.require_equal(len(grid) - 2, grid[-1])
    rank = next((len(s) for s in (shape, grid) if s is not None), None)
    if inference.version == 16 and rank not in (None, 4):
        inference.fail(f"X has rank {rank}, GridSample-16 takes [N, C, H, W]")
    if image is None or rank is None:
        return image and TensorType(image.dtype)
    batch: list[Dim] = [s[0] for s in (shape, grid) if s is not None]
    spatial = (None,) * (rank - 2) if grid is None else grid[1:-1]
    channels = None if shape is None else shape[1]
    return TensorType(
        image.dtype, (merge_dims(inference, batch, "the batches of X and grid"), channels, *spatial)
    )


@op.convert((16, 20))
def to_20(adapter: Adapter) -> AdaptedNode:
    return adapter.same(mode=GRID_SAMPLE_MODES[16].get(str(adapter.inference.attributes["mode"])))


@op.convert((20, 16))
def to_16(adapter: Adapter) -> AdaptedNode:
    if adapter.rank(0) != 4:
        adapter.refuse(f"images there have two axes, X has {adapter.rank(0) - 2}")
    names = {new: old for old, new in GRID_SAMPLE_MODES[16].items()}
    return adapter.same(mode=names.get(str(adapter.inference.attributes["mode"])))


op.convert((20, 22), (22, 20))(keep)


@op.eval(16, 20, 22)
def eval_22(
    x: Array, grid: Array, *, context: RunContext, mode: str, padding_mode: str, align_corners: int
) -> Array:
    """x: [N, C, *spatial]; grid: [N, *out, axes], the coordinate along the last spatial axis first; result: [N, C, *out].

    Integers and bool are interpolated in float64 and truncated; strings support only nearest mode.
    """
    known = GRID_SAMPLE_MODES[16 if context.version == 16 else 20]
    if mode not in known or padding_mode not in PADDING_MODES:
        allowed = f"one of {', '.join(known)} and padding_mode one of {', '.join(PADDING_MODES)}"
        raise EvaluationError(f"mode must be {allowed}; got {mode!r} and {padding_mode!r}")
    rank = x.ndim - 2
    if rank < 1 or grid.ndim != x.ndim or grid.shape[0] != x.shape[0] or grid.shape[-1] != rank:
        actual = f"{list(x.shape)} and {list(grid.shape)}"
        raise EvaluationError(
            f"X and grid must be [N, C, *spatial] and [N, *out, {max(rank, 1)}]; got {actual}"
        )
    if context.version == 16 and rank != 2:
        raise EvaluationError(f"X must have 2 spatial axes for GridSample-16; got {rank}")
    if min(x.shape[2:]) == 0 and grid.size:
        raise EvaluationError(f"X must have pixels to sample; got shape {list(x.shape)}")
    out = grid.shape[1:-1]
    check_result_bytes(context, (*x.shape[:2], *out), x.dtype, "GridSample result")
    points = grid.reshape(grid.shape[0], int(np.prod(out)), rank).astype(np.float64)
    positions = [pixel(points[..., rank - 1 - i], n, bool(align_corners)) for i, n in enumerate(x.shape[2:])]
    result = interpolate(x, positions, known[mode], padding_mode, bool(align_corners))
    return result.reshape(*x.shape[:2], *out)


def interpolate(x: Array, positions: list[Array], mode: str, padding_mode: str, align_corners: bool) -> Array:
    """x [N, C, *spatial] at positions [N, P] along each axis -> [N, C, P]."""
    sizes = x.shape[2:]
    # Without reflection, points whose taps are all outside are equivalent.  The farthest tap is 2 pixels from its point.
    # Clipping keeps infinite positions from giving NaN.
    if padding_mode != "reflection":
        positions = [np.clip(a, -4, n + 3) for a, n in zip(positions, sizes, strict=True)]
    if mode != "cubic":  # in cubic mode, padding is applied to each tap instead of the point
        positions = [
            apply_padding_mode(a, n, padding_mode, align_corners)
            for a, n in zip(positions, sizes, strict=True)
        ]
    if mode == "nearest":
        return take_flat(
            append_zero(x),
            sizes,
            [index_or_outside(np.rint(a), n) for a, n in zip(positions, sizes, strict=True)],
        )
    if x.dtype == object:
        raise EvaluationError(f"mode must be nearest for strings; got {mode}")
    wide = x.astype(np.float64) if x.dtype.kind in "iub" else promote_to_float32(x)
    if mode == "linear":
        taps = [linear_taps(a, n) for a, n in zip(positions, sizes, strict=True)]
        return saturate_to_type(interpolate_points(wide, taps), x.dtype)
    cubic = [cubic_taps(a, n, padding_mode, align_corners) for a, n in zip(positions, sizes, strict=True)]
    return saturate_to_type(interpolate_points(wide, cubic), x.dtype)


def pixel(coordinate: Array, size: int, align_corners: bool) -> Array:
    """A coordinate in [-1, 1] as a pixel position.

    With `align_corners`, -1 and 1 are the centers of the outer pixels, else their outer edges.
    """
    if align_corners:
        return (coordinate + 1) / 2 * (size - 1)
    return ((coordinate + 1) * size - 1) / 2


def apply_padding_mode(positions: Array, size: int, padding_mode: str, align_corners: bool) -> Array:
    """Positions clamped to the border of the image, or reflected at it; unchanged for padding mode zeros."""
    if padding_mode == "zeros":
        return positions
    if padding_mode == "reflection":
        low, high = (0.0, size - 1.0) if align_corners else (-0.5, size - 0.5)
        period = 2 * (high - low)
        positions = np.mod(positions - low, period) if period else np.zeros_like(positions)
        positions = np.minimum(positions, period - positions) + low
    return np.clip(positions, 0, size - 1)


def cubic_taps(positions: Array, size: int, padding_mode: str, align_corners: bool) -> list[Tap]:
    """The four pixels around each position, weighted by the cubic convolution kernel."""
    first = np.floor(positions)
    share = positions - first
    taps: list[Tap] = []
    for step in (-1, 0, 1, 2):
        position = apply_padding_mode(first + step, size, padding_mode, align_corners)
        taps.append(Tap(index_or_outside(np.rint(position), size), cubic_weight(np.abs(share - step), -0.75)))
    return taps
