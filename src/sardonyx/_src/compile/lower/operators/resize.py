"""Resize in float32: steps along one axis after the other, or one of three kernels for channels-last images.

A tap is a source pixel of a result pixel, given by its index and weight.

- Axis by axis: interpolation to constant sizes, of few channels, of more than two axes, or by many taps.
- Integer factors in nearest mode: pixels are repeated, at any size.
- Constant sizes: taps are computed at compile time (static taps), with the reference kernel's own code.
- Dynamic sizes in nearest or linear mode: a step computes the taps (dynamic taps).

Falls back to the reference kernel for dynamic cubic or antialiased resizing, and for dynamic sizes by an aspect ratio
policy.  `prepare` decomposes the nearest mode along other axes, and pixels outside of the image.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx._src.compile.kernels.resize.dynamic_taps import (
    DYNAMIC_COORDINATES,
    NEAREST_MODES,
    DynamicAxis,
    DynamicCoordinates,
    tap_table_step,
)
from sardonyx._src.compile.kernels.resize.resample_axis import ResampleTable, resample_axis_step
from sardonyx._src.compile.kernels.resize.resampled_axes import plan_resampling
from sardonyx._src.compile.kernels.resize.resize import constant_tables, resize_step, table_constant
from sardonyx._src.compile.kernels.resize.upsample import upsample_step
from sardonyx._src.compile.lower import LaidOutRegion, Lowering, lowers
from sardonyx._src.compile.partition import Read, Region, Scope, Write, fused_region, matches
from sardonyx._src.compile.partition.fusion.epilogues import fuse_epilogue
from sardonyx._src.compile.partition.operands.resize_target import (
    ResizeTarget,
    UnsupportedResize,
    image_axes,
    resample_mode,
    resampled_axes,
    resize_target,
)
from sardonyx._src.compile.partition.operands.window_geometry import as_image, is_image
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program import CHANNELS_LAST, Step
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, Value
from sardonyx._src.ir.dims import Known, dim_min, known_equal, known_ge
from sardonyx._src.ops.image.resize.resize import check_modes

MODES = ("mode", "coordinate_transformation_mode", "nearest_mode")
MAX_UPSAMPLE_FACTOR = 64  # the greatest factor between dynamic sizes that is tried
REPEATING_RULES = {
    ("asymmetric", "floor"),
    ("half_pixel", "round_prefer_floor"),
    ("half_pixel", "round_prefer_ceil"),
}  # (coordinates, nearest mode) for which integer factors repeat pixels


@matches("Resize", 19)
def match_resize(op: BoundNode, scope: Scope) -> Region[object] | None:
    x = op.input(0)
    if x is None or not scope.is_native(x) or scope.dtype_of(x) is not DataType.FLOAT:
        return None
    target = None if scope.shape(op.output) is None else resize_target(op, scope, x)
    if target is None:
        return None
    steps = match_axis_steps(op, scope, x, target)
    if steps is not None:
        return Region("ResizeAxes", (op.node,), steps, (Read(x),), (Write(op.output),))
    if not is_image(scope, x):
        return None
    config: tuple[int, int] | StaticTaps | DynamicTaps | None
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


def match_axis_steps(
    op: BoundNode, scope: Scope, x: Value, target: ResizeTarget
) -> tuple[ResampleTable, ...] | None:
    """The taps of each resampled axis; None unless steps resample one axis after the other."""
    shape, mode = scope.known_shape(x), op.attribute("mode", str)
    try:
        check_modes(mode, op.attribute(MODES[1], str), op.attribute(MODES[2], str), op.version)
        axes = resampled_axes(op, scope, x, target)
    except (EvaluationError, UnsupportedResize):
        return None
    return plan_resampling(axes, shape[1] if len(shape) > 1 else 1, resample_mode(op))


@lowers("ResizeAxes")
def lower_resize_axes(region: LaidOutRegion[tuple[ResampleTable, ...]], lowering: Lowering) -> Sequence[Step]:
    x, y, steps = region.operands[0], region.results[0], []
    for i, taps in enumerate(region.config, 1):
        shape = (*x.shape[: taps.axis], len(taps.indices), *x.shape[taps.axis + 1 :])
        is_last = i == len(region.config)
        resampled = y if is_last else lowering.temporary(DataType.FLOAT, shape, f"{region.name}.axis")
        steps.append(resample_axis_step(x, taps, resampled))
        x = resampled
    return steps


@lowers("Upsample")
def lower_upsample(region: LaidOutRegion[tuple[int, int]], lowering: Lowering) -> Step:
    x, y = as_image(region.operands[0]), as_image(region.results[0])
    operands = tuple(map(as_image, region.epilogue_operands))
    return upsample_step(x, y, region.config, region.epilogue, operands)


# --- integer factors -------------------------------------------------------------------------


def integer_factors(op: BoundNode, scope: Scope, x: Value, target: ResizeTarget) -> tuple[int, int] | None:
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
    height, width = (1, *spatial)[-2:]
    return height, width


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
        height, width = image_axes(resampled_axes(op, scope, x, target))
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


@dataclass(frozen=True, slots=True)
class DynamicTaps:
    """Taps that are computed at run time, one or two along each axis.

    rounding: how the nearest pixel is chosen (`nearest_mode`); "" for interpolation.
    """

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
