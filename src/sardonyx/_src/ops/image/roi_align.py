"""RoiAlign: regions of an image read on a grid of points between pixels and pooled into bins of equal number.

Spec: ai.onnx RoiAlign-10, -16, -22.  Version 10 takes coordinates as they are, which 16 calls output_half_pixel, and
regions of less than a pixel as one pixel wide; half_pixel, the default from 16 on, moves them by half a pixel.  22 adds
bfloat16.  Points up to one pixel outside of the image read its border, those beyond read 0.  Mode max takes the
greatest of the weighted pixels themselves, not of their sums: so has the official case it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Call, Operator, claim
from sardonyx._src.ops.arithmetic import narrow, widen
from sardonyx._src.ops.change import Change, Converted
from sardonyx._src.ops.image.sampling import Tap, linear_taps, sampled
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.shapes import element, merge_dims

op = Operator("RoiAlign", tolerance="rounding")

BLOCK = 1 << 22  # elements read at a time


@op.infer(10, 16, 22)
def infer(t: Inference) -> Result:
    dtype = element(t.tensor(0), t.tensor(1))
    for i, rank in enumerate((4, 2, 1)):
        if t.rank(i) not in (None, rank):
            t.fail(f"input {i} has rank {t.rank(i)}, {rank} is wanted")
    x, rois, images = t.shape(0), t.shape(1), t.shape(2)
    counts: list[Dim] = [s[0] for s in (rois, images) if s is not None]
    if rois is not None and isinstance(rois[1], int) and rois[1] != 4:
        t.fail(f"rois have {rois[1]} coordinates, 4 are wanted")
    channels = None if x is None else x[1]
    size = (t.integer("output_height"), t.integer("output_width"))
    if min(size) < 1 or t.integer("sampling_ratio") < 0:
        t.fail(
            f"output size {size[0]} x {size[1]}, sampling_ratio {t.integer('sampling_ratio')}: sizes of at least 1 and a ratio of at least 0 are wanted"
        )
    return (
        None
        if dtype is None
        else TensorType(dtype, (merge_dims(t, counts, "rois and batch_indices"), channels, *size))
    )


@op.convert((10, 16))
def to_16(c: Change) -> Converted:
    return c.same(coordinate_transformation_mode="output_half_pixel")


@op.convert((16, 10))
def to_10(c: Change) -> Converted:
    if c.t.attributes["coordinate_transformation_mode"] != "output_half_pixel":
        c.refuse("coordinates are not moved by half a pixel there")
    return c.same(drop=("coordinate_transformation_mode",))


@dataclass(frozen=True, slots=True)
class Axis:
    """The regions along one axis: where each begins, how wide its bins are, how many points lie in one."""

    start: Array  # [R] float
    bin: Array  # [R] float
    count: Array  # [R] int64

    def points(self, regions: Array, bins: int) -> Array:
        """Where the points of some regions lie, which have equal counts: [regions, bins * count]."""
        count = int(self.count[regions[0]])
        share = (np.arange(bins * count) + 0.5) / count
        return self.start[regions, None] + self.bin[regions, None] * share.astype(self.start.dtype)


@op.eval(10, 16, 22)
def eval_22(
    x: Array,
    rois: Array,
    batch_indices: Array,
    *,
    call: Call,
    mode: str,
    output_height: int,
    output_width: int,
    sampling_ratio: int,
    spatial_scale: float,
    coordinate_transformation_mode: str = "output_half_pixel",
) -> Array:
    """x: [N, C, H, W], rois: [R, 4] as x1, y1, x2, y2, batch_indices: [R], result: [R, C, *output size]."""
    if mode not in ("avg", "max"):
        raise EvaluationError(f"mode is {mode!r}, avg or max is wanted")
    if coordinate_transformation_mode not in ("half_pixel", "output_half_pixel"):
        what = f"coordinate_transformation_mode is {coordinate_transformation_mode!r}"
        raise EvaluationError(f"{what}, half_pixel or output_half_pixel is wanted")
    if min(output_height, output_width) < 1 or sampling_ratio < 0:
        what = f"output size {output_height} x {output_width}, sampling_ratio {sampling_ratio}"
        raise EvaluationError(f"{what}: sizes of at least 1 and a ratio of at least 0 are wanted")
    check(x, rois, batch_indices)
    wide, corners = widen(x), widen(rois)
    corners = corners * corners.dtype.type(spatial_scale)
    half_pixel = coordinate_transformation_mode == "half_pixel"
    rows = axis(corners[:, 1], corners[:, 3], output_height, sampling_ratio, half_pixel)
    columns = axis(corners[:, 0], corners[:, 2], output_width, sampling_ratio, half_pixel)
    shape = (len(rois), x.shape[1], output_height, output_width)
    claim(call, shape, wide.dtype, "RoiAlign result")
    result = np.zeros(shape, wide.dtype)
    for image, regions in alike(batch_indices, rows, columns, x.shape[1] * output_height * output_width):
        result[regions] = pooled(wide[image : image + 1], regions, rows, columns, shape, mode, call)
    return narrow(result, x.dtype)


def pooled(
    x: Array, regions: Array, rows: Axis, columns: Axis, shape: Sequence[int], mode: str, call: Call
) -> Array | float:
    """The bins of some regions of x [1, C, H, W], which have equal counts: [regions, C, output height, output width]."""
    _, channels, height, width = shape
    down, across = int(rows.count[regions[0]]), int(columns.count[regions[0]])
    if min(down, across) == 0:
        return 0.0  # an empty region has no points
    claim(call, (len(regions), channels, height * down, width * across), x.dtype, "what RoiAlign reads")
    points = rows.points(regions, height), columns.points(regions, width)
    values = read(x, *points, np.add if mode == "avg" else np.maximum)
    values = values.reshape(channels, len(regions), height, down, width, across)
    return (values.mean((3, 5)) if mode == "avg" else values.max((3, 5))).swapaxes(0, 1)


def check(x: Array, rois: Array, batch_indices: Array) -> None:
    if x.ndim != 4 or rois.ndim != 2 or rois.shape[1] != 4 or batch_indices.shape != rois.shape[:1]:
        what = f"X is {list(x.shape)}, rois {list(rois.shape)}, batch_indices {list(batch_indices.shape)}"
        raise EvaluationError(f"{what}: [N, C, H, W], [R, 4] and [R] are wanted")
    if batch_indices.size and not (batch_indices.min() >= 0 and batch_indices.max() < x.shape[0]):
        bad = f"{batch_indices.min()} to {batch_indices.max()}"
        raise EvaluationError(f"batch_indices reach from {bad}, X has a batch of {x.shape[0]}")
    if not np.isfinite(rois.astype(np.float64)).all():
        raise EvaluationError("rois have coordinates that are not finite")


def axis(start: Array, stop: Array, bins: int, sampling_ratio: int, half_pixel: bool) -> Axis:
    """The regions from `start` to `stop`, in pixels of x."""
    width = stop - start
    if half_pixel:
        start = start - start.dtype.type(0.5)
    else:
        width = np.maximum(width, 1)
    bin_ = width / start.dtype.type(bins)
    count = (
        np.full(len(bin_), sampling_ratio)
        if sampling_ratio
        else np.maximum(np.ceil(bin_), 0).astype(np.int64)
    )
    return Axis(start, bin_, count)


def alike(images: Array, rows: Axis, columns: Axis, bins: int) -> Iterator[tuple[int, Array]]:
    """Each image with regions in it whose grids have the same number of points, as many as `BLOCK` allows."""
    if not len(images):
        return
    keys = np.stack([images, rows.count, columns.count])
    unique, group = np.unique(keys, axis=1, return_inverse=True)
    order = np.argsort(group.reshape(-1), kind="stable")
    ends = np.cumsum(np.bincount(group.reshape(-1)))
    for (image, down, across), members in zip(unique.T.tolist(), np.split(order, ends[:-1]), strict=True):
        step = max(BLOCK // max(bins * down * across, 1), 1)
        for i in range(0, len(members), step):
            yield image, members[i : i + step]


def read(x: Array, down: Array, across: Array, join: np.ufunc) -> Array:
    """x [1, C, H, W] at the crossings of rows [R, Y] and columns [R, X] -> [1, C, R * Y * X]."""
    shape = (down.shape[0], down.shape[1], across.shape[1])
    axes = [
        [
            Tap(spread(tap.index, shape, i), spread(tap.weight, shape, i))
            for tap in border_taps((down, across)[i], x.shape[2 + i])
        ]
        for i in range(2)
    ]
    return sampled(x, axes, join)


def spread(values: Array, shape: tuple[int, int, int], i: int) -> Array:
    """values [R, Y] for i = 0, or [R, X] for i = 1, repeated for each point of the grids: [1, R * Y * X]."""
    return np.broadcast_to(values[:, :, None] if i == 0 else values[:, None, :], shape).reshape(1, -1)


def border_taps(at: Array, size: int) -> list[Tap]:
    """The two pixels around each position, moved to the border from up to one pixel outside; none beyond."""
    outside = (at < -1) | (at > size)
    taps = linear_taps(np.clip(at, 0, size - 1), size)
    return [Tap(np.where(outside, -1, tap.index), tap.weight) for tap in taps]
