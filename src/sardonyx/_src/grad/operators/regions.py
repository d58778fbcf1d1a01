"""RoiAlign and MaxRoiPool, decomposed into sampled points of bins, and maxima over bins."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.grad.operators.sampling import AxisTaps, Sampler
from sardonyx._src.grad.registry import decomposition
from sardonyx._src.ir import Value
from sardonyx._src.ops.backward_step import BackwardStep


@dataclass(frozen=True, slots=True)
class RegionPoints:
    """Sampling points along one axis of each of R regions: B bins with K points each.

    positions: [R, B * K], in pixels.
    is_used: [R, 1, K], which of the K points a region uses, since the number of points may differ between regions.
    count: [R, 1], the number of points in a bin of each region.
    bins: B.
    """

    positions: Value
    is_used: Value
    count: Value
    bins: int


@decomposition("RoiAlign", 22)
def roi_align(step: BackwardStep) -> Sequence[Value | None] | None:
    """The means, or the greatest weighted pixels, over the points of each bin."""
    sampler = Sampler.of(step, 0, 1)
    x, rois = sampler.widen(step.input(0)), sampler.widen(step.input(1))
    corners = sampler.scale_of_type(rois, step.inference.number("spatial_scale"))
    rows = region_axis(sampler, corners, 1, step.inference.integer("output_height"))
    columns = region_axis(sampler, corners, 0, step.inference.integer("output_width"))
    images = step.op("Gather", x, step.input(2), axis=0)  # the image of each region
    axes = [
        spread_axis(sampler, images, rows, columns, 0),
        spread_axis(sampler, images, rows, columns, 1),
    ]
    pool = average if step.inference.attributes["mode"] == "avg" else greatest
    return [step.op("Cast", pool(sampler, images, axes, rows, columns), to=step.dtype(0))]


def region_axis(sampler: Sampler, corners: Value, i: int, bins: int) -> RegionPoints:
    """The points along an axis; i: the column of its starts among the corners."""
    step, ratio = sampler.step, sampler.step.inference.integer("sampling_ratio")
    start, stop = (step.op("Gather", corners, step.integers([column]), axis=1) for column in (i, i + 2))
    width = step.Sub(stop, start)
    if step.inference.attributes["coordinate_transformation_mode"] == "half_pixel":
        start = step.Sub(start, sampler.number(0.5))
    else:
        width = step.Max(width, sampler.number(1))
    size = step.Div(width, sampler.number(bins))
    if ratio:
        count = step.Expand(sampler.number(ratio), step.Shape(size))
        most = step.integers(ratio)
    else:
        count = step.Max(step.Ceil(size), sampler.number(0))
        most = step.op("Cast", step.op("ReduceMax", count, keepdims=0), to=DataType.INT64)
    line = sampler.widen(step.Range(step.integers(0), most, step.integers(1)))  # [K]
    share = step.Div(step.Add(line, sampler.number(0.5)), step.Max(count, sampler.number(1)))  # [R, K]
    whole = step.constant(np.arange(bins).reshape(1, bins, 1), sampler.wide)
    axis = step.integers([1])
    offset = step.Mul(step.Unsqueeze(size, axis), step.Add(step.Unsqueeze(share, axis), whole))
    points = in_rows(step, step.Add(step.Unsqueeze(start, axis), offset))
    return RegionPoints(points, step.Unsqueeze(step.Less(line, count), axis), count, bins)


def in_rows(step: BackwardStep, x: Value) -> Value:
    """The elements of x in one row for each region."""
    count = step.ReduceProd(step.op("Shape", x, start=1))
    shape = step.op("Concat", step.op("Shape", x, start=0, end=1), count, axis=0)
    return step.op("Reshape", x, shape, allowzero=1)


def spread_axis(sampler: Sampler, x: Value, rows: RegionPoints, columns: RegionPoints, i: int) -> AxisTaps:
    """The taps of all points of the grids along axis i, [R, 2, Y * X]; none beyond a pixel outside of the image."""
    step, own, other = sampler.step, (rows, columns)[i], (columns, rows)[i]
    size = sampler.size(x, 2 + i)
    grid = step.Add(
        step.Unsqueeze(own.positions, step.integers([2 - i])),
        step.Mul(step.Unsqueeze(other.positions, step.integers([1 + i])), sampler.number(0)),
    )
    points = in_rows(step, grid)
    outside = step.Or(step.Less(points, sampler.number(-1)), step.Greater(points, size))
    taps = sampler.linear_taps(sampler.clamp(points, 0, step.Sub(size, sampler.number(1))), size)
    index = step.Where(step.Unsqueeze(outside, step.integers([1])), sampler.number(-1), taps.index)
    return AxisTaps(index, taps.weight, size, 2)


def bins_of(sampler: Sampler, values: Value, rows: RegionPoints, columns: RegionPoints, axis: int) -> Value:
    """Values of all points, [..., Y * X, ...] with `axis` that of points, as [..., rows, K, columns, K, ...]."""
    step = sampler.step
    parts = [
        step.op("Shape", values, start=0, end=axis),
        step.integers([rows.bins]),
        step.op("Shape", rows.is_used, start=2),
        step.integers([columns.bins]),
        step.op("Shape", columns.is_used, start=2),
        step.op("Shape", values, start=axis + 1),
    ]
    return step.op("Reshape", values, step.op("Concat", *parts, axis=0), allowzero=1)


def used_points(step: BackwardStep, rows: RegionPoints, columns: RegionPoints) -> Value:
    """Whether a point of a bin counts: [R, 1, K, 1, K]."""
    return step.And(
        step.Unsqueeze(rows.is_used, step.integers([3, 4])),
        step.Unsqueeze(columns.is_used, step.integers([1, 2])),
    )


def average(
    sampler: Sampler, x: Value, axes: Sequence[AxisTaps], rows: RegionPoints, columns: RegionPoints
) -> Value:
    """The mean of each bin: [R, C, rows, columns]."""
    step = sampler.step
    samples = bins_of(sampler, sampler.sample(x, axes), rows, columns, 2)
    is_used = step.Unsqueeze(used_points(step, rows, columns), step.integers([1]))
    used = step.Where(is_used, samples, sampler.number(0))
    total = step.ReduceSum(used, step.integers([3, 5]), keepdims=0)
    count = step.Max(step.Mul(rows.count, columns.count), sampler.number(1))
    return step.Div(total, step.Unsqueeze(count, step.integers([2, 3])))


def greatest(
    sampler: Sampler, x: Value, axes: Sequence[AxisTaps], rows: RegionPoints, columns: RegionPoints
) -> Value:
    """The greatest weighted pixel of each bin: [R, C, rows, columns]; 0 in a bin without points."""
    step = sampler.step
    pixels, weight = sampler.values(x, axes)  # [R, 4, Y * X, C]
    weighted = bins_of(sampler, step.Mul(pixels, weight), rows, columns, 2)  # [R, 4, rows, K, columns, K, C]
    is_used = step.Unsqueeze(used_points(step, rows, columns), step.integers([1, 6]))
    lowest = step.Where(is_used, weighted, sampler.number(-np.inf))
    top = step.op("ReduceMax", lowest, step.integers([1, 3, 5]), keepdims=0)  # [R, rows, columns, C]
    is_empty = step.Equal(top, sampler.number(-np.inf))
    return step.op("Transpose", step.Where(is_empty, sampler.number(0), top), perm=[0, 3, 1, 2])


@decomposition("MaxRoiPool", 22)
def max_roi_pool(step: BackwardStep) -> Sequence[Value | None] | None:
    """Maxima over rows and then over columns; the edges of bins are rounded to pixels, so that regions have no gradient."""
    sampler = Sampler.of(step, 0)
    x, rois = sampler.widen(step.input(0)), sampler.widen(step.input(1))
    image = step.op("Cast", step.op("Gather", rois, step.integers(0), axis=1), to=DataType.INT64)
    pixels = step.op("Gather", x, image, axis=0)  # [R, C, H, W]
    corners = sampler.scale_of_type(rois, step.inference.number("spatial_scale"))
    rounded = step.Mul(
        step.Sign(corners), step.Floor(step.Add(step.Abs(corners), sampler.number(0.5)))
    )  # ties away from zero
    down, across = step.inference.integers("pooled_shape") or (1, 1)
    rows = bin_mask(sampler, pixels, rounded, 2, down, 2)  # [R, down, H]
    columns = bin_mask(sampler, pixels, rounded, 1, across, 3)  # [R, across, W]
    lowest = sampler.number(-np.inf)
    wide = step.Where(
        step.Unsqueeze(rows, step.integers([1, 4])), step.Unsqueeze(pixels, step.integers([2])), lowest
    )
    strips = step.op("ReduceMax", wide, step.integers([3]), keepdims=0)  # [R, C, down, W]
    cells = step.Where(
        step.Unsqueeze(columns, step.integers([1, 2])), step.Unsqueeze(strips, step.integers([3])), lowest
    )
    top = step.op("ReduceMax", cells, step.integers([4]), keepdims=0)
    is_empty = step.Equal(top, lowest)
    return [step.op("Cast", step.Where(is_empty, sampler.number(0), top), to=step.dtype(0))]


def bin_mask(sampler: Sampler, x: Value, corners: Value, column: int, bins: int, axis: int) -> Value:
    """Whether a pixel of an axis belongs to a bin: [R, bins, size]."""
    step = sampler.step
    first, last = (step.op("Gather", corners, step.integers([i]), axis=1) for i in (column, column + 2))
    width = step.Max(step.Add(step.Sub(last, first), sampler.number(1)), sampler.number(1))
    number = step.constant(np.arange(bins).reshape(1, bins), sampler.wide)
    count = sampler.number(bins)
    start = step.Add(first, step.Floor(step.Div(step.Mul(number, width), count)))
    following = step.Add(number, sampler.number(1))
    stop = step.Add(first, step.Ceil(step.Div(step.Mul(following, width), count)))
    size = step.Squeeze(step.op("Shape", x, start=axis, end=axis + 1), step.integers([0]))
    pixel = sampler.widen(step.Range(step.integers(0), size, step.integers(1)))
    end = step.integers([2])
    return step.And(
        step.GreaterOrEqual(pixel, step.Unsqueeze(start, end)), step.Less(pixel, step.Unsqueeze(stop, end))
    )
