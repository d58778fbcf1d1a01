"""The axes that a Resize node resamples, for its matchers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx._src.compile.partition import BoundNode, Scope, Shape
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Array, Value
from sardonyx._src.ir.dims import Known
from sardonyx._src.ops.image.resize.resample import ResampleMode
from sardonyx._src.ops.image.resize.resampled_axis import COORDINATES, ResampledAxis
from sardonyx._src.ops.image.resize.resize import identity_axis, regions_of, resolve_axes


@dataclass(frozen=True, slots=True)
class ResizeTarget:
    """The resized axes with either their scales or their sizes, and the region of interest (`roi`), if there is one."""

    axes: tuple[int, ...]
    scales: Array | None
    sizes: Array | None
    region: Array | None


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


class UnsupportedResize(Exception):
    """Raised where sizes are dynamic, or the batch or the channels are resized."""


def image_axes(axes: Sequence[ResampledAxis | None]) -> list[ResampledAxis]:
    """Height and width; raises UnsupportedResize if the batch or the channels are resized, too."""
    if len(axes) not in (3, 4) or not all(axis is None or axis.is_identity for axis in axes[:2]):
        raise UnsupportedResize
    if None in axes[2:]:
        raise UnsupportedResize
    return [identity_axis(1)] * (4 - len(axes)) + [axis for axis in axes[2:] if axis is not None]


def resampled_axes(op: BoundNode, scope: Scope, x: Value, target: ResizeTarget) -> list[ResampledAxis | None]:
    """All axes; None for a symbolic one that is not resized.

    Raises UnsupportedResize, and EvaluationError for invalid attributes.
    """
    has_regions = op.attributes["coordinate_transformation_mode"] == "tf_crop_and_resize"
    count = len(target.axes)
    regions = regions_of(target.region, count) if has_regions else [(0.0, 1.0)] * count
    shape, result = scope.known_shape(x), scope.known_shape(op.output)
    policy = op.attribute("keep_aspect_ratio_policy", str)
    resampled: list[ResampledAxis | None] = []
    for axis, (size, out) in enumerate(zip(shape, result, strict=True)):
        index = target.axes.index(axis) if axis in target.axes else None
        region = (0.0, 1.0) if index is None else regions[index]
        scale = None if index is None or target.scales is None else target.scales[index : index + 1]
        if not isinstance(size, int) and size == out and region == (0.0, 1.0) and scale in (None, 1):
            resampled.append(None)
        elif policy == "stretch" or index is None:
            resampled.append(resampled_axis(size, out, scale, region))
        else:
            resampled.append(resized_together(shape, target, regions, policy)[index])
    return resampled


def resized_together(
    shape: Shape, target: ResizeTarget, regions: Sequence[tuple[float, float]], policy: str
) -> list[ResampledAxis]:
    """The resized axes, with one scale for all, by a policy that keeps the aspect ratio."""
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
