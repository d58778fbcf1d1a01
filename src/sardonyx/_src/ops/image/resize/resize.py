"""Resize: resamples an array to other sizes by nearest, linear or cubic interpolation.

Spec: ai.onnx Resize-10, -11, -13, -18, -19.  Version 10 has only scales and asymmetric coordinates (first elements
aligned).  Its nearest mode rounds positions down, or up along axes that shrink: the specification does not say so, but the
test cases of its release require it.  11 adds sizes, cubic, coordinate_transformation_mode and related attributes; 13 makes
inputs optional and drops tf_half_pixel_for_nn, which is accepted here since a test case of its release still uses it;
18 adds axes, antialias and keep_aspect_ratio_policy; 19 adds half_pixel_symmetric.

As the official test cases require, positions are computed with the scales as given, not with the quotients of the
rounded sizes, and align_corners uses the size before rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ops.api import Operator, RunContext, check_result_bytes
from sardonyx._src.ops.image.resize.resample import ResampleMode, resample
from sardonyx._src.ops.image.resize.resampled_axis import COORDINATES, NEAREST, ResampledAxis
from sardonyx._src.ops.image.resize.sizes import POLICIES, by_scale, by_sizes, scaled_dim, validate_scales
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.support.shapes import axes_of
from sardonyx._src.ops.traits import enum_values, enum_values_by_version

COORDINATE_MODES = {
    11: {
        "asymmetric",
        "half_pixel",
        "pytorch_half_pixel",
        "tf_half_pixel_for_nn",
        "align_corners",
        "tf_crop_and_resize",
    },
}
COORDINATE_MODES[13] = COORDINATE_MODES[11]
COORDINATE_MODES[18] = COORDINATE_MODES[11] - {"tf_half_pixel_for_nn"}
COORDINATE_MODES[19] = COORDINATE_MODES[18] | {"half_pixel_symmetric"}

op = Operator(
    "Resize",
    tolerance="rounding",
    computes_in_float32=True,
    size_rule="lengths",
    parameters=(1, 2, 3),
    enum_attributes={
        "coordinate_transformation_mode": enum_values_by_version(COORDINATE_MODES),
        "keep_aspect_ratio_policy": enum_values(*POLICIES),
        "mode": enum_values_by_version({10: ("nearest", "linear"), 11: ("nearest", "linear", "cubic")}),
        "nearest_mode": enum_values(*NEAREST),
    },
)


@op.infer(10)
def infer_10(inference: Inference) -> Result:
    return scaled_type(inference, inference.constant(1))


def scaled_type(inference: Inference, scales: Array | None, minimum: float = 0) -> Result:
    """The type of input 0 with all its axes scaled; `minimum` as in `validate_scales`."""
    data = inference.tensor(0)
    if data is None or data.shape is None:
        return data and TensorType(data.dtype, None if scales is None else (None,) * scales.size)
    if scales is None:
        return TensorType(data.dtype, tuple(inference.new_dim() for _ in data.shape))
    return TensorType(data.dtype, scaled_dims(inference, data.shape, scales, minimum))


def scaled_dims(
    inference: Inference, dims: Sequence[Dim], scales: Array, minimum: float = 0
) -> tuple[Dim, ...]:
    if scales.size != len(dims):
        inference.fail(f"scales must have {len(dims)} entries, one per axis; got {scales.size}")
    try:
        factors = validate_scales(scales, minimum=minimum)
    except EvaluationError as error:
        inference.fail(error.why)
    return tuple(scaled_dim(dim, s) for dim, s in zip(dims, factors, strict=True))


@op.eval(10)
def eval_10(x: Array, scales: Array, *, context: RunContext, mode: str) -> Array:
    """x: [d0, ..., dk]; scales: [rank] float32; result: the sizes of x times the scales, rounded down."""
    return resize_by_scales(x, validate_scales(scales), mode, context)


def resize_by_scales(x: Array, scales: Sequence[np.float32], mode: str, context: RunContext) -> Array:
    """x resized by scales with asymmetric coordinates (first elements aligned)."""
    if mode not in ("nearest", "linear"):
        raise EvaluationError(f"mode must be nearest or linear; got {mode!r}")
    if len(scales) != x.ndim:
        raise EvaluationError(f"scales must have {x.ndim} entries, one per axis; got {len(scales)}")
    axes = [by_scale(n, s) for n, s in zip(x.shape, scales, strict=True)]
    check_result_bytes(context, [axis.out for axis in axes], x.dtype, "the resized array")
    return resample(x, axes, ResampleMode(mode))


@op.infer(11, 13, 18, 19)
def infer_19(inference: Inference) -> Result:
    data = inference.tensor(0)
    axes = inference.integers("axes")
    has_scales, has_sizes = (inference.has(i) and inference.shape(i) != (0,) for i in (2, 3))
    if has_scales == has_sizes and (not inference.has(2) or inference.shape(2) is not None):
        inference.fail(
            f"exactly one of scales and sizes must be given; got {'both' if has_scales else 'neither'}"
        )
    if data is None:
        return None
    shape = data.shape
    if shape is None:
        sizes = inference.dims(3) or inference.dims(2)
        if axes is not None or not sizes:
            return TensorType(data.dtype)
        shape = (None,) * len(sizes)
    chosen = range(len(shape)) if axes is None else inference.axes(axes, len(shape))
    result = list(shape)
    for i, dim in zip(chosen, resized_dims(inference, [shape[i] for i in chosen]), strict=True):
        result[i] = dim
    return TensorType(data.dtype, tuple(result))


def resized_dims(inference: Inference, dims: Sequence[Dim]) -> Sequence[Dim]:
    """The sizes of the resized axes, as far as they are known."""
    sizes = inference.dims(3) if inference.has(3) else ()
    if sizes:
        if len(sizes) != len(dims):
            inference.fail(f"sizes must have {len(dims)} entries, one per axis; got {len(sizes)}")
        policy = str(inference.attributes.get("keep_aspect_ratio_policy", "stretch"))
        return fitted_dims(inference, dims, sizes, policy)
    scales = inference.constant(2)
    crops = (
        inference.attributes["coordinate_transformation_mode"] == "tf_crop_and_resize"
    )  # the size also depends on roi
    if sizes is None or scales is None or scales.size == 0 or crops:
        return [inference.new_dim() for _ in dims]
    return scaled_dims(inference, dims, scales)


def fitted_dims(
    inference: Inference, dims: Sequence[Dim], sizes: Sequence[Dim], policy: str
) -> Sequence[Dim]:
    """The output sizes for the requested sizes; `policy` is keep_aspect_ratio_policy."""
    if policy == "stretch":
        return [inference.new_dim() if n is None else n for n in sizes]
    numbers = [n for n in (*dims, *sizes) if isinstance(n, int)]
    if len(numbers) < 2 * len(dims):
        return (None,) * len(dims)
    try:
        return [axis.out for axis in by_sizes(numbers[: len(dims)], numbers[len(dims) :], policy)]
    except EvaluationError as error:
        inference.fail(error.why)


@op.eval(11, 13, 18, 19)
def eval_19(
    x: Array,
    roi: Array | None = None,
    scales: Array | None = None,
    sizes: Array | None = None,
    *,
    context: RunContext,
    mode: str,
    coordinate_transformation_mode: str,
    nearest_mode: str,
    cubic_coeff_a: float,
    exclude_outside: int,
    extrapolation_value: float,
    antialias: int = 0,
    axes: tuple[int, ...] | None = None,
    keep_aspect_ratio_policy: str = "stretch",
) -> Array:
    """x: [d0, ..., dk]; roi: all starts, then all ends; scales or sizes: one number for each of `axes`, by default all.

    An empty roi, scales or sizes is treated as omitted.
    """
    check_modes(mode, coordinate_transformation_mode, nearest_mode, context.version)
    chosen = axes_of(range(x.ndim) if axes is None else axes, x.ndim)
    scales, sizes = (None if v is None or v.size == 0 else v for v in (scales, sizes))
    regions = [(0.0, 1.0)] * len(chosen)
    if coordinate_transformation_mode == "tf_crop_and_resize":
        regions = regions_of(roi, len(chosen))
    input_sizes = [x.shape[i] for i in chosen]
    resampled_axes = [identity_axis(n) for n in x.shape]
    for i, axis in zip(
        chosen, resolve_axes(input_sizes, scales, sizes, regions, keep_aspect_ratio_policy), strict=True
    ):
        resampled_axes[i] = axis
    check_result_bytes(context, [axis.out for axis in resampled_axes], x.dtype, "Resize result")
    resample_mode = ResampleMode(
        mode,
        COORDINATES[coordinate_transformation_mode],
        nearest_mode,
        cubic_coeff_a,
        bool(antialias),
        bool(exclude_outside),
        extrapolation_value,
    )
    return resample(x, resampled_axes, resample_mode)


def check_modes(mode: str, coordinate_transformation_mode: str, nearest_mode: str, version: int) -> None:
    """Raises EvaluationError for a value that the version does not have."""
    choices = (
        ("mode", mode, {"nearest", "linear", "cubic"}),
        ("coordinate_transformation_mode", coordinate_transformation_mode, COORDINATE_MODES[version]),
        ("nearest_mode", nearest_mode, NEAREST.keys()),
    )
    for name, value, allowed in choices:
        if value not in allowed:
            raise EvaluationError(f"{name} must be one of {', '.join(sorted(allowed))}; got {value!r}")


def regions_of(roi: Array | None, count: int) -> list[tuple[float, float]]:
    """The start and the end of the region of interest on each axis."""
    if roi is None or roi.size != 2 * count:
        size = 0 if roi is None else roi.size
        raise EvaluationError(f"roi must have {2 * count} elements for tf_crop_and_resize; got {size}")
    ends = roi.reshape(2, count).astype(np.float64)
    if not np.isfinite(ends).all():
        raise EvaluationError("roi must be finite")
    return list(zip(ends[0].tolist(), ends[1].tolist(), strict=True))


def resolve_axes(
    size: Sequence[int],
    scales: Array | None,
    sizes: Array | None,
    regions: Sequence[tuple[float, float]],
    policy: str,
) -> list[ResampledAxis]:
    """The resampled axes from scales or sizes; raises EvaluationError unless exactly one of the two is given."""
    if (scales is None) == (sizes is None):
        actual = "both" if scales is not None else "neither"
        raise EvaluationError(f"exactly one of scales and sizes must be given; got {actual}")
    values = scales if scales is not None else sizes
    assert values is not None, "one of them is given"
    if values.size != len(size):
        raise EvaluationError(
            f"scales or sizes must have {len(size)} entries, one per axis; got {values.size}"
        )
    if scales is not None:
        factors = validate_scales(scales)
        return [by_scale(n, s, *region) for n, s, region in zip(size, factors, regions, strict=True)]
    resampled_axes = by_sizes(size, [int(n) for n in values.reshape(-1)], policy)
    return [
        replace(axis, start=start, stop=stop)
        for axis, (start, stop) in zip(resampled_axes, regions, strict=True)
    ]


def identity_axis(size: int) -> ResampledAxis:
    return by_sizes([size], [size], "stretch")[0]
