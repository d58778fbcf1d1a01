"""Resize of float32 images, channels-last, by one of three kernels.

- Nearest by integer factors: pixels are repeated, at any size.
- Constant sizes: source indices and weights are computed at compile time (static taps), with the reference's own code.
- Dynamic sizes, nearest or linear: indices and weights are computed by a step of the program (dynamic taps).
Falls back for aspect ratio policies other than "stretch", resized batch or channel dims, and dynamic cubic or
antialiased resizing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sardonyx._src.compile.kernels.resize.dynamic_taps import (
    DYNAMIC_COORDINATES,
    NEAREST_MODES,
    DynamicAxis,
    tap_table_step,
)
from sardonyx._src.compile.kernels.resize.resize import resize_step, table_resize_step
from sardonyx._src.compile.kernels.resize.upsample import upsample_step
from sardonyx._src.compile.lower.lowering import Lowering
from sardonyx._src.compile.lower.operators.pooling import is_image
from sardonyx._src.compile.lower.registry import lowers
from sardonyx._src.compile.lower.window_geometry import Pair, as_image, as_pair
from sardonyx._src.compile.partition.epilogues import fuse_epilogue
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.dims import Known, dim_min, known_equal, known_ge
from sardonyx._src.ir.graph import Value
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.image.resize.resample import ResampleMode
from sardonyx._src.ops.image.resize.resampled_axis import COORDINATES, ResampledAxis
from sardonyx._src.ops.image.resize.resize import check_modes, identity_axis, regions_of, resolve_axes

MODES = ("mode", "coordinate_transformation_mode", "nearest_mode")
MAX_UPSAMPLE_FACTOR = 64  # tried as the factor between dynamic sizes
REPEATING_RULES = {
    ("asymmetric", "floor"),
    ("half_pixel", "round_prefer_floor"),
    ("half_pixel", "round_prefer_ceil"),
}  # (coordinates, nearest mode) for which integer factors repeat pixels


@dataclass(frozen=True, slots=True)
class ResizeTarget:
    """The resized axes with their scales or sizes, one of which is None, and the region of interest."""

    axes: tuple[int, ...]
    scales: Array | None
    sizes: Array | None
    region: Array | None


@lowers("Resize", 19)
def lower_resize(op: BoundNode, lowering: Lowering) -> bool:
    x = op.input(0)
    if x is None or not is_image(lowering, x) or lowering.shape(op.output) is None:
        return False
    if op.attributes["keep_aspect_ratio_policy"] != "stretch":
        return False
    target = resize_target(op, lowering, x)
    if target is None:
        return False
    factors = integer_factors(op, lowering, x, target)
    if factors is not None:
        source = as_image(lowering.channels_last(x))
        fused = fuse_epilogue(lowering, op.output, channels_last=True)
        lowering.emit(
            upsample_step(
                source, as_image(fused.y), factors, fused.epilogue, tuple(map(as_image, fused.operands))
            )
        )
        return True
    return lower_by_static_taps(op, lowering, x, target) or lower_by_dynamic_taps(op, lowering, x, target)


def resize_target(op: BoundNode, lowering: Lowering, x: Value) -> ResizeTarget | None:
    """The target of a node; None if scales, sizes or region are not known, or invalid."""
    rank = len(lowering.known_shape(x))
    axes = op.ints("axes") or tuple(range(rank))
    if not all(-rank <= axis < rank for axis in axes) or len({axis % rank for axis in axes}) < len(axes):
        return None
    region, scales, sizes = (op.input(i) for i in (1, 2, 3))
    sources = (lowering.constant(region), lowering.constant(scales), lowering.elements(sizes))
    for value, elements in zip((region, scales, sizes), sources, strict=True):
        if value is not None and elements is None:
            return None
        if value is not region and elements is not None and elements.size not in (0, len(axes)):
            return None
    present = [elements if elements is not None and elements.size else None for elements in sources]
    if (present[1] is None) == (present[2] is None):
        return None
    return ResizeTarget(tuple(axis % rank for axis in axes), present[1], present[2], present[0])


# --- integer factors -------------------------------------------------------------------------


def integer_factors(op: BoundNode, lowering: Lowering, x: Value, target: ResizeTarget) -> Pair | None:
    """The integer factors of height and width, if resizing only repeats pixels; None otherwise."""
    if (
        op.attributes["mode"] != "nearest"
        or tuple(op.attributes[n] for n in MODES[1:]) not in REPEATING_RULES
    ):
        return None
    scales = {} if target.scales is None else dict(zip(target.axes, target.scales.reshape(-1), strict=True))
    pairs = zip(lowering.known_shape(x), lowering.known_shape(op.output), strict=True)
    factors = [integer_factor(size, out) for size, out in pairs]
    known_factors = [n for n in factors if n is not None]
    if len(known_factors) < len(factors) or known_factors[:2] != [1, 1]:
        return None
    if any(scales.get(i, n) != n for i, n in enumerate(known_factors)):
        return None
    spatial = known_factors[2:]
    return as_pair((1, *spatial) if len(spatial) == 1 else tuple(spatial))


def integer_factor(size: Known, out: Known) -> int | None:
    """The integer factor between two sizes; None if there is none."""
    if isinstance(size, int) and isinstance(out, int):
        return out // size if size > 0 and out > 0 and out % size == 0 else None
    return next((n for n in range(1, MAX_UPSAMPLE_FACTOR + 1) if known_equal(size * n, out)), None)


# --- taps ------------------------------------------------------------------------------------


def lower_by_static_taps(op: BoundNode, lowering: Lowering, x: Value, target: ResizeTarget) -> bool:
    """Lowers by taps computed at compile time; False if sizes are dynamic or no kernel supports the mode."""
    try:
        height, width = resampled_axes(op, lowering, x, target)
        mode, coordinates, rounding = (op.attribute(name, str) for name in MODES)
        check_modes(mode, coordinates, rounding, op.version)
    except (EvaluationError, UnsupportedResize):
        return False
    source, resampling = as_image(lowering.channels_last(x)), resample_mode(op)
    shape = (*source.shape[:1], height.out, width.out, *source.shape[3:])
    if (
        resize_step(source, lowering.temporary(DataType.FLOAT, shape, "probe"), resampling, height, width)
        is None
    ):
        return False
    fused = fuse_epilogue(lowering, op.output, channels_last=True)
    step = resize_step(
        source,
        as_image(fused.y),
        resampling,
        height,
        width,
        fused.epilogue,
        tuple(map(as_image, fused.operands)),
    )
    assert step is not None, "support depends on sizes and mode only"
    lowering.emit(step)
    return True


class UnsupportedResize(Exception):
    """Sizes are dynamic, or the batch or the channels are resized."""


def resampled_axes(op: BoundNode, lowering: Lowering, x: Value, target: ResizeTarget) -> list[ResampledAxis]:
    """Height and width as resampled axes; raises UnsupportedResize, or EvaluationError for invalid attributes."""
    has_regions = op.attributes["coordinate_transformation_mode"] == "tf_crop_and_resize"
    count = len(target.axes)
    regions = regions_of(target.region, count) if has_regions else [(0.0, 1.0)] * count
    resampled = [identity_axis(1)] * (4 - len(lowering.known_shape(x)))
    for axis, (size, out) in enumerate(
        zip(lowering.known_shape(x), lowering.known_shape(op.output), strict=True)
    ):
        index = target.axes.index(axis) if axis in target.axes else None
        region = (0.0, 1.0) if index is None else regions[index]
        scale = None if index is None or target.scales is None else target.scales[index : index + 1]
        if axis < 2:
            if size != out or region != (0.0, 1.0) or (scale is not None and scale[0] != 1):
                raise UnsupportedResize
        else:
            resampled.append(resampled_axis(size, out, scale, region))
    return resampled


def resampled_axis(
    size: Known, out: Known, scale: Array | None, region: tuple[float, float]
) -> ResampledAxis:
    """One axis, resized by a scale, or to a size if there is no scale."""
    if not isinstance(size, int) or not isinstance(out, int):
        raise UnsupportedResize
    (resampled,) = resolve_axes(
        [size], scale, np.array([out]) if scale is None else None, [region], "stretch"
    )
    return resampled


def lower_by_dynamic_taps(op: BoundNode, lowering: Lowering, x: Value, target: ResizeTarget) -> bool:
    """Lowers by taps computed at run time: the nearest pixel, or two interpolated pixels along each axis."""
    mode, coordinates, rounding = (op.attribute(name, str) for name in MODES)
    coordinate_mode = next((name for name in DYNAMIC_COORDINATES if name == coordinates), None)
    if (
        coordinate_mode is None
        or mode not in ("nearest", "linear")
        or (mode == "nearest" and rounding not in NEAREST_MODES)
    ):
        return False
    axes = dynamic_axes(lowering, x, op.output, target)
    if axes is None or op.attributes["antialias"] or op.attributes["exclude_outside"]:
        return False
    taps = 1 if mode == "nearest" else 2
    index_tables, weights = [], []
    for axis in axes:
        index_tables.append(lowering.temporary(DataType.INT64, (axis.out, taps), f"{op.output.name}.places"))
        if taps == 2:
            weights.append(lowering.temporary(DataType.FLOAT, (axis.out, taps), f"{op.output.name}.weights"))
        lowering.emit(
            tap_table_step(
                axis,
                coordinate_mode,
                rounding if taps == 1 else "",
                index_tables[-1],
                weights[-1] if weights else None,
            )
        )
    source = as_image(lowering.channels_last(x))
    fused = fuse_epilogue(lowering, op.output, channels_last=True)
    operands = tuple(map(as_image, fused.operands))
    lowering.emit(
        table_resize_step(
            source, as_image(fused.y), (taps, taps), [*index_tables, *weights], fused.epilogue, operands
        )
    )
    return True


def dynamic_axes(lowering: Lowering, x: Value, y: Value, target: ResizeTarget) -> list[DynamicAxis] | None:
    """Height and width; None if another axis is resized, or an axis is empty."""
    shapes = list(zip(lowering.known_shape(x), lowering.known_shape(y), strict=True))
    scales = {} if target.scales is None else dict(zip(target.axes, target.scales.reshape(-1), strict=True))
    if len(shapes) not in (3, 4) or any(
        size != out or scales.get(i, 1) != 1 for i, (size, out) in enumerate(shapes[:2])
    ):
        return None
    if any(not np.isfinite(scale) or scale <= 0 for scale in scales.values()):
        return None
    for size, _ in shapes[2:]:
        if known_ge(size, 1) is False:
            return None
        if known_ge(size, 1) is None:
            lowering.guards[dim_min(size, 1), 1] = None
    unit_scale = None if target.scales is None else 1.0
    result = [DynamicAxis(1, 1, unit_scale)] * (4 - len(shapes))
    for i, (size, out) in enumerate(shapes[2:], 2):
        result.append(DynamicAxis(size, out, float(scales[i]) if i in scales else unit_scale))
    return result


def resample_mode(op: BoundNode) -> ResampleMode:
    return ResampleMode(
        op.attribute("mode", str),
        COORDINATES[op.attribute("coordinate_transformation_mode", str)],
        op.attribute("nearest_mode", str),
        op.attribute("cubic_coeff_a", float),
        bool(op.attributes["antialias"]),
        bool(op.attributes["exclude_outside"]),
        op.attribute("extrapolation_value", float),
    )
