"""Resize of float32 images, channels-last, by one of three kernels.

- Nearest by integer factors: pixels are repeated, at any size.
- Constant sizes: source indices and weights are computed at compile time (static taps), with the reference's own code.
- Dynamic sizes, nearest or linear: indices and weights are computed by a step of the program (dynamic taps).
Falls back for dynamic cubic or antialiased resizing, and dynamic sizes by an aspect ratio policy; `prepare` decomposes
constant sizes of other axes, of many taps, or with pixels outside of the image.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sardonyx._src.compile.kernels.resize.dynamic_taps import (
    DYNAMIC_COORDINATES,
    NEAREST_MODES,
    DynamicAxis,
    DynamicCoordinates,
    tap_table_step,
)
from sardonyx._src.compile.kernels.resize.resize import constant_tables, resize_step, table_constant
from sardonyx._src.compile.kernels.resize.upsample import upsample_step
from sardonyx._src.compile.layouts.laid_out import LaidOutRegion
from sardonyx._src.compile.lower.lowering import Lowering
from sardonyx._src.compile.lower.operators.pooling import is_image
from sardonyx._src.compile.lower.registry import lowers
from sardonyx._src.compile.partition.epilogues import fuse_epilogue
from sardonyx._src.compile.partition.region import Read, Region, Shape, fused_region
from sardonyx._src.compile.partition.registry import matches
from sardonyx._src.compile.partition.scope import Scope
from sardonyx._src.compile.partition.window_geometry import Pair, as_image, as_pair
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program.layout import CHANNELS_LAST
from sardonyx._src.compile.program.step import Step
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


@matches("Resize", 19)
def match_resize(op: BoundNode, scope: Scope) -> Region[object] | None:
    x = op.input(0)
    if x is None or not is_image(scope, x) or scope.shape(op.output) is None:
        return None
    target = resize_target(op, scope, x)
    if target is None:
        return None
    config: Pair | StaticTaps | DynamicTaps | None
    if op.attributes["keep_aspect_ratio_policy"] == "stretch":
        config = integer_factors(op, scope, x, target)
        config = config or match_static_taps(op, scope, x, target) or match_dynamic_taps(op, scope, x, target)
    else:
        config = match_static_taps(op, scope, x, target)
    if config is None:
        return None
    kind = {StaticTaps: "StaticResize", DynamicTaps: "DynamicResize"}.get(type(config), "Upsample")
    epilogue = fuse_epilogue(scope, op.output, channels_last=True)
    reads = (Read(x, CHANNELS_LAST),)
    return fused_region(kind, op.node, config, reads, epilogue, CHANNELS_LAST)


@lowers("Upsample")
def lower_upsample(region: LaidOutRegion[Pair], lowering: Lowering) -> Step:
    x, y = as_image(region.operands[0]), as_image(region.results[0])
    operands = tuple(map(as_image, region.epilogue_operands))
    return upsample_step(x, y, region.config, region.epilogue, operands)


def resize_target(op: BoundNode, scope: Scope, x: Value) -> ResizeTarget | None:
    """The target of a node; None if scales, sizes or region are not known, or invalid."""
    rank = len(scope.known_shape(x))
    axes = op.ints("axes") or tuple(range(rank))
    if not all(-rank <= axis < rank for axis in axes) or len({axis % rank for axis in axes}) < len(axes):
        return None
    region, scales, sizes = (op.input(i) for i in (1, 2, 3))
    sources = (scope.constant(region), scope.constant(scales), scope.elements(sizes))
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


def integer_factors(op: BoundNode, scope: Scope, x: Value, target: ResizeTarget) -> Pair | None:
    """The integer factors of height and width, if resizing only repeats pixels; None otherwise."""
    if (
        op.attributes["mode"] != "nearest"
        or tuple(op.attributes[n] for n in MODES[1:]) not in REPEATING_RULES
    ):
        return None
    scales = {} if target.scales is None else dict(zip(target.axes, target.scales.reshape(-1), strict=True))
    pairs = zip(scope.known_shape(x), scope.known_shape(op.output), strict=True)
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


@dataclass(frozen=True, slots=True)
class StaticTaps:
    """Taps that are computed at compile time: the tables of `constant_tables`."""

    tables: tuple[Array, ...]


def match_static_taps(op: BoundNode, scope: Scope, x: Value, target: ResizeTarget) -> StaticTaps | None:
    """The tables of taps; None if sizes are dynamic or no kernel supports the mode."""
    try:
        height, width = resampled_axes(op, scope, x, target)
        mode, coordinates, rounding = (op.attribute(name, str) for name in MODES)
        check_modes(mode, coordinates, rounding, op.version)
    except (EvaluationError, UnsupportedResize):
        return None
    tables = constant_tables(resample_mode(op), height, width)
    return None if tables is None else StaticTaps(tables)


@lowers("StaticResize")
def lower_static_resize(region: LaidOutRegion[StaticTaps], lowering: Lowering) -> Step:
    x, y = as_image(region.operands[0]), as_image(region.results[0])
    operands = tuple(map(as_image, region.epilogue_operands))
    tables = [table_constant(table) for table in region.config.tables]
    return resize_step(x, y, tables, region.epilogue, operands)


class UnsupportedResize(Exception):
    """Sizes are dynamic, or the batch or the channels are resized."""


def resampled_axes(op: BoundNode, scope: Scope, x: Value, target: ResizeTarget) -> list[ResampledAxis]:
    """Height and width as resampled axes; raises UnsupportedResize, or EvaluationError for invalid attributes."""
    has_regions = op.attributes["coordinate_transformation_mode"] == "tf_crop_and_resize"
    count = len(target.axes)
    regions = regions_of(target.region, count) if has_regions else [(0.0, 1.0)] * count
    shape, result = scope.known_shape(x), scope.known_shape(op.output)
    policy = op.attribute("keep_aspect_ratio_policy", str)
    if policy != "stretch" and any(shape[axis] != result[axis] for axis in target.axes if axis < 2):
        raise UnsupportedResize
    resampled = [identity_axis(1)] * (4 - len(shape))
    for axis, (size, out) in enumerate(zip(shape, result, strict=True)):
        index = target.axes.index(axis) if axis in target.axes else None
        region = (0.0, 1.0) if index is None else regions[index]
        scale = None if index is None or target.scales is None else target.scales[index : index + 1]
        if axis < 2:
            if size != out or region != (0.0, 1.0) or (scale is not None and scale[0] != 1):
                raise UnsupportedResize
        elif policy == "stretch" or index is None:
            resampled.append(resampled_axis(size, out, scale, region))
        else:
            resampled.append(resized_together(shape, target, regions, policy)[index])
    return resampled


def resized_together(
    shape: Shape, target: ResizeTarget, regions: Sequence[tuple[float, float]], policy: str
) -> list[ResampledAxis]:
    """The resized axes, whose scales are equal by an aspect ratio policy."""
    sizes = [size for axis in target.axes if isinstance(size := shape[axis], int)]
    if len(sizes) < len(target.axes) or (target.sizes is not None and target.sizes.dtype == object):
        raise UnsupportedResize
    return resolve_axes(sizes, target.scales, target.sizes, regions, policy)


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


@dataclass(frozen=True, slots=True)
class DynamicTaps:
    """Taps that are computed at run time, one or two along each axis; rounding: of the nearest pixel."""

    axes: tuple[DynamicAxis, ...]
    coordinates: DynamicCoordinates
    rounding: str
    taps: int


def match_dynamic_taps(op: BoundNode, scope: Scope, x: Value, target: ResizeTarget) -> DynamicTaps | None:
    """Taps computed at run time: the nearest pixel, or two interpolated pixels along each axis."""
    mode, coordinates, rounding = (op.attribute(name, str) for name in MODES)
    coordinate_mode = next((name for name in DYNAMIC_COORDINATES if name == coordinates), None)
    if (
        coordinate_mode is None
        or mode not in ("nearest", "linear")
        or (mode == "nearest" and rounding not in NEAREST_MODES)
    ):
        return None
    axes = dynamic_axes(scope, x, op.output, target)
    if axes is None or op.attributes["antialias"] or op.attributes["exclude_outside"]:
        return None
    taps = 1 if mode == "nearest" else 2
    return DynamicTaps(tuple(axes), coordinate_mode, rounding if taps == 1 else "", taps)


@lowers("DynamicResize")
def lower_dynamic_resize(region: LaidOutRegion[DynamicTaps], lowering: Lowering) -> Sequence[Step]:
    config, taps, steps = region.config, region.config.taps, []
    index_tables, weights = [], []
    for axis in config.axes:
        index_tables.append(lowering.temporary(DataType.INT64, (axis.out, taps), f"{region.name}.indices"))
        if taps == 2:
            weights.append(lowering.temporary(DataType.FLOAT, (axis.out, taps), f"{region.name}.weights"))
        weight_table = weights[-1] if weights else None
        steps.append(
            tap_table_step(axis, config.coordinates, config.rounding, index_tables[-1], weight_table)
        )
    x, y = as_image(region.operands[0]), as_image(region.results[0])
    operands = tuple(map(as_image, region.epilogue_operands))
    tables = [*index_tables, *weights]
    return *steps, resize_step(x, y, tables, region.epilogue, operands)


def dynamic_axes(scope: Scope, x: Value, y: Value, target: ResizeTarget) -> list[DynamicAxis] | None:
    """Height and width; None if another axis is resized, or an axis is empty."""
    shapes = list(zip(scope.known_shape(x), scope.known_shape(y), strict=True))
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
            scope.guard(dim_min(size, 1), 1)
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
