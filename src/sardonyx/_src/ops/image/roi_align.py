"""RoiAlign: regions of an image sampled on a grid between pixels, then pooled into a fixed number of bins.

Spec: ai.onnx RoiAlign-10, -16, -22.  Version 10 uses unshifted coordinates, which 16 calls output_half_pixel, and
widens regions to at least one pixel; half_pixel, the default from 16 on, shifts coordinates by half a pixel.  22 adds
bfloat16.  Points up to one pixel outside the image read its border; points farther away read 0.  At each point, four
pixels are weighted.  Mode avg takes the mean of the points' sums; mode max takes the maximum of the weighted pixels, not
of their sums, as the official test case requires.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ops.api import Operator, RunContext, check_result_bytes
from sardonyx._src.ops.image.sampling import Tap, interpolate_points, linear_taps
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.support.arithmetic import promote_to_float32, round_to_type
from sardonyx._src.ops.support.shapes import first_element_type, merge_dims
from sardonyx._src.ops.traits import enum_values
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter

COORDINATE_MODES = ("half_pixel", "output_half_pixel")
POOLING_MODES = ("avg", "max")
op = Operator(
    "RoiAlign",
    tolerance="rounding",
    computes_in_float32=True,
    enum_attributes={
        "coordinate_transformation_mode": enum_values(*COORDINATE_MODES),
        "mode": enum_values(*POOLING_MODES),
    },
)

SAMPLE_BLOCK_ELEMENTS = 1 << 22  # elements sampled at a time
# The number of arrays with an element for each point of an axis that are assumed to be alive at once when their bytes are
# checked against the limit of the run.  It is generous, since the time grows with the number of points, too.
POINT_ARRAYS = 128


@op.infer(10, 16, 22)
def infer(inference: Inference) -> Result:
    dtype = first_element_type(inference.tensor(0), inference.tensor(1))
    for i, rank in enumerate((4, 2, 1)):
        if inference.rank(i) not in (None, rank):
            inference.fail(f"input {i} must have rank {rank}; got rank {inference.rank(i)}")
    x, rois, images = inference.shape(0), inference.shape(1), inference.shape(2)
    counts: list[Dim] = [s[0] for s in (rois, images) if s is not None]
    if rois is not None and isinstance(rois[1], int) and rois[1] != 4:
        inference.fail(f"rois must have 4 coordinates; got {rois[1]}")
    inference.require_equal(4, *(rois or ())[1:])
    channels = None if x is None else x[1]
    size = (inference.integer("output_height"), inference.integer("output_width"))
    if min(size) < 1 or inference.integer("sampling_ratio") < 0:
        inference.fail(
            f"output sizes must be >= 1 and sampling_ratio >= 0; got {size[0]} x {size[1]} and {inference.integer('sampling_ratio')}"
        )
    return (
        None
        if dtype is None
        else TensorType(dtype, (merge_dims(inference, counts, "rois and batch_indices"), channels, *size))
    )


@op.convert((10, 16))
def to_16(adapter: Adapter) -> AdaptedNode:
    return adapter.same(coordinate_transformation_mode="output_half_pixel")


@op.convert((16, 10))
def to_10(adapter: Adapter) -> AdaptedNode:
    if adapter.inference.attributes["coordinate_transformation_mode"] != "output_half_pixel":
        adapter.refuse("coordinate_transformation_mode must be output_half_pixel for RoiAlign-10")
    return adapter.same(drop=("coordinate_transformation_mode",))


@dataclass(frozen=True, slots=True)
class RoiAxis:
    """The regions along one axis."""

    start: Array  # [R] float, the start of each region
    bin: Array  # [R] float, the width of its bins
    count: Array  # [R] int64, the number of sampling points in a bin

    def points(self, regions: Array, bins: int) -> Array:
        """The sampling positions of regions with equal counts: [regions, bins * count]."""
        count = int(self.count[regions[0]])
        share = (np.arange(bins * count) + 0.5) / count
        return self.start[regions, None] + self.bin[regions, None] * share.astype(self.start.dtype)


@op.eval(10, 16, 22)
def eval_22(
    x: Array,
    rois: Array,
    batch_indices: Array,
    *,
    context: RunContext,
    mode: str,
    output_height: int,
    output_width: int,
    sampling_ratio: int,
    spatial_scale: float,
    coordinate_transformation_mode: str = "output_half_pixel",
) -> Array:
    """x: [N, C, H, W], rois: [R, 4] as x1, y1, x2, y2, batch_indices: [R], result: [R, C, *output size]."""
    if mode not in POOLING_MODES:
        raise EvaluationError(f"mode must be avg or max; got {mode!r}")
    if coordinate_transformation_mode not in COORDINATE_MODES:
        raise EvaluationError(
            f"coordinate_transformation_mode must be half_pixel or output_half_pixel; got {coordinate_transformation_mode!r}"
        )
    if min(output_height, output_width) < 1 or sampling_ratio < 0:
        actual = f"{output_height} x {output_width} and {sampling_ratio}"
        raise EvaluationError(f"output sizes must be >= 1 and sampling_ratio >= 0; got {actual}")
    check_inputs(x, rois, batch_indices)
    wide, corners = promote_to_float32(x), promote_to_float32(rois)
    corners = corners * corners.dtype.type(spatial_scale)
    half_pixel = coordinate_transformation_mode == "half_pixel"
    rows = roi_axis(corners[:, 1], corners[:, 3], output_height, sampling_ratio, half_pixel)
    columns = roi_axis(corners[:, 0], corners[:, 2], output_width, sampling_ratio, half_pixel)
    shape = (len(rois), x.shape[1], output_height, output_width)
    check_result_bytes(context, shape, wide.dtype, "RoiAlign result")
    result = np.zeros(shape, wide.dtype)
    for image, regions in group_equal_grids(
        batch_indices, rows, columns, x.shape[1] * output_height * output_width
    ):
        result[regions] = pool_regions(wide[image : image + 1], regions, rows, columns, shape, mode, context)
    return round_to_type(result, x.dtype)


def pool_regions(
    x: Array,
    regions: Array,
    rows: RoiAxis,
    columns: RoiAxis,
    shape: Sequence[int],
    mode: str,
    context: RunContext,
) -> Array | float:
    """The bins of regions of x [1, C, H, W]: [regions, C, output height, output width].

    All regions have equal numbers of points.  Where an axis has more points than pixels, the work is done per pixel.
    """
    _, channels, height, width = shape
    down, across = int(rows.count[regions[0]]), int(columns.count[regions[0]])
    if min(down, across) == 0:
        return 0.0  # an empty region has no points
    for bins, count in ((height, down), (width, across)):
        arrays = (POINT_ARRAYS, len(regions), bins * count)
        check_result_bytes(context, arrays, np.float64, "RoiAlign points")
    is_dense = height * down > x.shape[2] and width * across > x.shape[3]
    if is_dense and np.isfinite(x).all():
        pool = average_pixels if mode == "avg" else greatest_pixels
        return pool(x, rows.points(regions, height), columns.points(regions, width), shape)
    check_result_bytes(
        context, (len(regions), channels, height * down, width * across), x.dtype, "RoiAlign samples"
    )
    points = rows.points(regions, height), columns.points(regions, width)
    values = sample_grid(x, *points, np.add if mode == "avg" else np.maximum)
    values = values.reshape(channels, len(regions), height, down, width, across)
    return (values.mean((3, 5)) if mode == "avg" else values.max((3, 5))).swapaxes(0, 1)


def average_pixels(x: Array, down: Array, across: Array, shape: Sequence[int]) -> Array:
    """The means over bins of finite x [1, C, H, W] at the grid points of rows [R, Y] and columns [R, X].

    A mean is a weighted sum of pixels.  The weight of a pixel is the product of the weights of its row and its column, so
    two matrix products compute all means, and the work does not grow with the number of points in a pixel.
    """
    _, _, height, width = shape
    vertical = pixel_weights(down, height, x.shape[2]).astype(x.dtype)
    horizontal = pixel_weights(across, width, x.shape[3]).astype(x.dtype)
    return np.matmul(np.matmul(vertical[:, None], x), horizontal[:, None].swapaxes(2, 3))


def greatest_pixels(x: Array, down: Array, across: Array, shape: Sequence[int]) -> Array:
    """The greatest weighted pixels over bins of finite x [1, C, H, W] at the grid points of rows [R, Y] and columns [R, X].

    The weight of a pixel is the product of the weights of its row and its column, which are not negative.  So a positive
    pixel is greatest where both weights are greatest, a negative one where both are least.  Points outside the image
    count as 0.
    """
    _, _, height, width = shape
    most_down, least_down, outside_down = extreme_weights(down, height, x.shape[2])
    most_across, least_across, outside_across = extreme_weights(across, width, x.shape[3])
    rows = weigh_pixels(x[:, :, :, None, :], most_across[:, None, None], least_across[:, None, None])
    columns = rows.swapaxes(2, 3)[:, :, None]  # [R, C, 1, bins across, H]
    top = weigh_pixels(columns, most_down[:, None, :, None], least_down[:, None, :, None])
    is_outside = outside_down[:, None, :, None] | outside_across[:, None, None, :]
    return np.where(is_outside, np.maximum(top, 0), top).astype(x.dtype)


def weigh_pixels(x: Array, most: Array, least: Array) -> Array:
    """The greatest product of an element and a weight between `least` and `most`, along the last axis.

    An infinite `least` marks an element that no point reads; the result is 0 if no element is read.
    """
    is_read = np.isfinite(least)
    products = np.where(is_read, x * np.where(is_read, np.where(x >= 0, most, least), 0), -np.inf)
    top = products.max(-1)
    return np.where(np.isfinite(top), top, top.dtype.type(0))


def extreme_weights(points: Array, bins: int, size: int) -> tuple[Array, Array, Array]:
    """The greatest and the least weight of each pixel of an axis at the points of each bin that read it: [R, bins, size].

    They are -inf and inf for a pixel that no point reads.  The third result tells whether a point of the bin is outside
    the image: [R, bins].  points: [R, bins * count].
    """
    regions, count = len(points), points.shape[1] // bins
    first = np.arange(regions * bins).reshape(regions, bins, 1) * size
    most, least = (np.full(regions * bins * size, end) for end in (-np.inf, np.inf))
    for tap in border_taps(points, size):
        index = tap.index.reshape(regions, bins, count)
        reads_pixel = index >= 0
        weights = tap.weight.reshape(index.shape)[reads_pixel]
        np.maximum.at(most, (first + index)[reads_pixel], weights)
        np.minimum.at(least, (first + index)[reads_pixel], weights)
    is_outside: Array = np.asarray(~reads_pixel.all(2))  # the same for both taps of a point
    return most.reshape(regions, bins, size), least.reshape(regions, bins, size), is_outside


def pixel_weights(points: Array, bins: int, size: int) -> Array:
    """The weight of each pixel of an axis in the mean of each bin, for points [R, bins * count]: [R, bins, size]."""
    regions, count = len(points), points.shape[1] // bins
    first = np.arange(regions * bins).reshape(regions, bins, 1) * size
    total = np.zeros(regions * bins * size)
    for tap in border_taps(points, size):
        index = tap.index.reshape(regions, bins, count)
        reads_pixel = index >= 0
        weights = tap.weight.reshape(index.shape)[reads_pixel]
        total += np.bincount((first + index)[reads_pixel], weights, len(total))
    return total.reshape(regions, bins, size) / count


def check_inputs(x: Array, rois: Array, batch_indices: Array) -> None:
    if x.ndim != 4 or rois.ndim != 2 or rois.shape[1] != 4 or batch_indices.shape != rois.shape[:1]:
        actual = f"{list(x.shape)}, {list(rois.shape)} and {list(batch_indices.shape)}"
        raise EvaluationError(f"X, rois and batch_indices must be [N, C, H, W], [R, 4] and [R]; got {actual}")
    if batch_indices.size and not (batch_indices.min() >= 0 and batch_indices.max() < x.shape[0]):
        bad = f"{batch_indices.min()} to {batch_indices.max()}"
        raise EvaluationError(f"batch_indices must lie in [0, {x.shape[0]}); got {bad}")
    if not np.isfinite(rois.astype(np.float64)).all():
        raise EvaluationError("rois must be finite")


def roi_axis(start: Array, stop: Array, bins: int, sampling_ratio: int, half_pixel: bool) -> RoiAxis:
    """The regions from `start` to `stop`, in pixels of x; sampling_ratio 0 means one point for each pixel of a bin."""
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
    return RoiAxis(start, bin_, count)


def group_equal_grids(
    images: Array, rows: RoiAxis, columns: RoiAxis, bins: int
) -> Iterator[tuple[int, Array]]:
    """Batches of regions of one image with equal point counts; each has at most `SAMPLE_BLOCK_ELEMENTS` samples."""
    if not len(images):
        return
    keys = np.stack([images, rows.count, columns.count])
    unique, group = np.unique(keys, axis=1, return_inverse=True)
    order = np.argsort(group.reshape(-1), kind="stable")
    ends = np.cumsum(np.bincount(group.reshape(-1)))
    for (image, down, across), members in zip(unique.T.tolist(), np.split(order, ends[:-1]), strict=True):
        step = max(SAMPLE_BLOCK_ELEMENTS // max(bins * down * across, 1), 1)
        for i in range(0, len(members), step):
            yield image, members[i : i + step]


def sample_grid(x: Array, down: Array, across: Array, combine: np.ufunc) -> Array:
    """x [1, C, H, W] at the grid points of rows [R, Y] and columns [R, X] -> [1, C, R * Y * X]."""
    shape = (down.shape[0], down.shape[1], across.shape[1])
    axes = [
        [
            Tap(repeat_for_points(tap.index, shape, i), repeat_for_points(tap.weight, shape, i))
            for tap in border_taps((down, across)[i], x.shape[2 + i])
        ]
        for i in range(2)
    ]
    return interpolate_points(x, axes, combine)


def repeat_for_points(values: Array, shape: tuple[int, int, int], i: int) -> Array:
    """values [R, Y] for i = 0, or [R, X] for i = 1, repeated for each point of the grids: [1, R * Y * X]."""
    return np.broadcast_to(values[:, :, None] if i == 0 else values[:, None, :], shape).reshape(1, -1)


def border_taps(positions: Array, size: int) -> list[Tap]:
    """The two pixels around each position; up to one pixel outside the image those of the border, farther away none."""
    outside = (positions < -1) | (positions > size)
    taps = linear_taps(np.clip(positions, 0, size - 1), size)
    return [Tap(np.where(outside, -1, tap.index), tap.weight) for tap in taps]
