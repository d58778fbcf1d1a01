"""Resize: an array of other sizes, each element read from the input or mixed from its neighbours there.

Spec: ai.onnx Resize-10, -11, -13, -18, -19.  Version 10 takes scales alone, lays the first elements on one another
(asymmetric), and in nearest mode rounds positions down, or up on axes that shrink; the text leaves this open, the
cases of its release do not.  11 adds sizes, cubic, coordinate_transformation_mode and its kin; 13 lets inputs be left
out and drops tf_half_pixel_for_nn, which a case of its release still uses; 18 adds axes, antialias and
keep_aspect_ratio_policy; 19 adds half_pixel_symmetric.

Positions use the scales as they are given, not those of the rounded sizes, and align_corners, too, works with the
length before rounding: so have the official cases it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Call, Operator, claim
from sardonyx._src.ops.image.resize.resample import Manner, resample
from sardonyx._src.ops.image.resize.sizes import by_scale, by_sizes, checked_scales, scaled_dim
from sardonyx._src.ops.image.resize.stretch import COORDINATES, NEAREST, Stretch
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.shapes import axes_of

op = Operator("Resize", tolerance="rounding")

MODES = {
    11: {
        "asymmetric",
        "half_pixel",
        "pytorch_half_pixel",
        "tf_half_pixel_for_nn",
        "align_corners",
        "tf_crop_and_resize",
    },
}
MODES[13] = MODES[11]
MODES[18] = MODES[11] - {"tf_half_pixel_for_nn"}
MODES[19] = MODES[18] | {"half_pixel_symmetric"}


@op.infer(10)
def infer_10(t: Inference) -> Result:
    return scaled_type(t, t.constant(1))


def scaled_type(t: Inference, scales: Array | None, least: float = 0) -> Result:
    """The type of input 0 with all its axes scaled; `least` is that of `checked_scales`."""
    found = t.tensor(0)
    if found is None or found.shape is None:
        return found and TensorType(found.dtype, None if scales is None else (None,) * scales.size)
    if scales is None:
        return TensorType(found.dtype, tuple(t.new_dim() for _ in found.shape))
    return TensorType(found.dtype, scaled_dims(t, found.shape, scales, least))


def scaled_dims(t: Inference, dims: Sequence[Dim], scales: Array, least: float = 0) -> tuple[Dim, ...]:
    if scales.size != len(dims):
        t.fail(f"there are {scales.size} scales for {len(dims)} axes")
    try:
        factors = checked_scales(scales, least=least)
    except EvaluationError as error:
        t.fail(error.why)
    return tuple(scaled_dim(dim, s) for dim, s in zip(dims, factors, strict=True))


@op.eval(10)
def eval_10(x: Array, scales: Array, *, call: Call, mode: str) -> Array:
    """x: [d0, ..., dk], scales: [rank] float32, result: x's dims times the scales, rounded down."""
    return scaled(x, checked_scales(scales), mode, call)


def scaled(x: Array, scales: Sequence[np.float32], mode: str, call: Call) -> Array:
    """x resized by scales with the first elements on one another."""
    if mode not in ("nearest", "linear"):
        raise EvaluationError(f"mode is {mode!r}, nearest or linear is wanted")
    if len(scales) != x.ndim:
        raise EvaluationError(f"there are {len(scales)} scales for {x.ndim} axes")
    axes = [by_scale(n, s) for n, s in zip(x.shape, scales, strict=True)]
    claim(call, [axis.out for axis in axes], x.dtype, "the resized array")
    return resample(x, axes, Manner(mode))


@op.infer(11, 13, 18, 19)
def infer_19(t: Inference) -> Result:
    found = t.tensor(0)
    axes = t.integers("axes")
    has_scales, has_sizes = (t.has(i) and t.shape(i) != (0,) for i in (2, 3))
    if has_scales == has_sizes and (not t.has(2) or t.shape(2) is not None):
        t.fail(
            f"{'both' if has_scales else 'neither'} scales and sizes are given, where one of them is wanted"
        )
    if found is None:
        return None
    shape = found.shape
    if shape is None:
        sizes = t.dims(3) or t.dims(2)
        if axes is not None or not sizes:
            return TensorType(found.dtype)
        shape = (None,) * len(sizes)
    chosen = range(len(shape)) if axes is None else t.axes(axes, len(shape))
    result = list(shape)
    for i, dim in zip(chosen, resized_dims(t, [shape[i] for i in chosen]), strict=True):
        result[i] = dim
    return TensorType(found.dtype, tuple(result))


def resized_dims(t: Inference, dims: Sequence[Dim]) -> Sequence[Dim]:
    """The sizes of the axes that are resized, as far as they can be told."""
    sizes = t.dims(3) if t.has(3) else ()
    if sizes:
        if len(sizes) != len(dims):
            t.fail(f"there are {len(sizes)} sizes for {len(dims)} axes")
        policy = str(t.attributes.get("keep_aspect_ratio_policy", "stretch"))
        return fitted_dims(t, dims, sizes, policy)
    scales = t.constant(2)
    crops = t.attributes["coordinate_transformation_mode"] == "tf_crop_and_resize"  # the region counts, too
    if sizes is None or scales is None or scales.size == 0 or crops:
        return [t.new_dim() for _ in dims]
    return scaled_dims(t, dims, scales)


def fitted_dims(t: Inference, dims: Sequence[Dim], sizes: Sequence[Dim], policy: str) -> Sequence[Dim]:
    """The sizes that `policy` makes of those that are wanted."""
    if policy == "stretch":
        return [t.new_dim() if n is None else n for n in sizes]
    numbers = [n for n in (*dims, *sizes) if isinstance(n, int)]
    if len(numbers) < 2 * len(dims):
        return (None,) * len(dims)
    try:
        return [axis.out for axis in by_sizes(numbers[: len(dims)], numbers[len(dims) :], policy)]
    except EvaluationError as error:
        t.fail(error.why)


@op.eval(11, 13, 18, 19)
def eval_19(
    x: Array,
    roi: Array | None = None,
    scales: Array | None = None,
    sizes: Array | None = None,
    *,
    call: Call,
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
    """x: [d0, ..., dk], roi: all starts, then all ends, scales or sizes: one for each of `axes`, by default all.

    An empty roi, scales or sizes is one left out.
    """
    check_modes(mode, coordinate_transformation_mode, nearest_mode, call.version)
    chosen = axes_of(range(x.ndim) if axes is None else axes, x.ndim)
    scales, sizes = (None if v is None or v.size == 0 else v for v in (scales, sizes))
    regions = [(0.0, 1.0)] * len(chosen)
    if coordinate_transformation_mode == "tf_crop_and_resize":
        regions = regions_of(roi, len(chosen))
    of_axes = [x.shape[i] for i in chosen]
    stretches = [unchanged(n) for n in x.shape]
    for i, axis in zip(chosen, asked(of_axes, scales, sizes, regions, keep_aspect_ratio_policy), strict=True):
        stretches[i] = axis
    claim(call, [axis.out for axis in stretches], x.dtype, "Resize result")
    manner = Manner(
        mode,
        COORDINATES[coordinate_transformation_mode],
        nearest_mode,
        cubic_coeff_a,
        bool(antialias),
        bool(exclude_outside),
        extrapolation_value,
    )
    return resample(x, stretches, manner)


def check_modes(mode: str, coordinate_transformation_mode: str, nearest_mode: str, version: int) -> None:
    choices = (
        ("mode", mode, {"nearest", "linear", "cubic"}),
        ("coordinate_transformation_mode", coordinate_transformation_mode, MODES[version]),
        ("nearest_mode", nearest_mode, NEAREST.keys()),
    )
    for name, value, allowed in choices:
        if value not in allowed:
            raise EvaluationError(f"{name} is {value!r}, not one of {', '.join(sorted(allowed))}")


def regions_of(roi: Array | None, count: int) -> list[tuple[float, float]]:
    """The start and the end of the region of interest on each axis."""
    if roi is None or roi.size != 2 * count:
        size = 0 if roi is None else roi.size
        raise EvaluationError(f"roi has {size} elements, tf_crop_and_resize wants {2 * count}")
    ends = roi.reshape(2, count).astype(np.float64)
    if not np.isfinite(ends).all():
        raise EvaluationError("roi has elements that are not finite")
    return list(zip(ends[0].tolist(), ends[1].tolist(), strict=True))


def asked(
    size: Sequence[int],
    scales: Array | None,
    sizes: Array | None,
    regions: Sequence[tuple[float, float]],
    policy: str,
) -> list[Stretch]:
    """The axes of `size` as scales or sizes want them; raises EvaluationError unless exactly one of those is given."""
    if (scales is None) == (sizes is None):
        what = (
            "both scales and sizes are given" if scales is not None else "neither scales nor sizes are given"
        )
        raise EvaluationError(f"{what}, one of them is wanted")
    values = scales if scales is not None else sizes
    assert values is not None, "one of them is given"
    if values.size != len(size):
        raise EvaluationError(f"there are {values.size} scales or sizes for {len(size)} axes")
    if scales is not None:
        factors = checked_scales(scales)
        return [by_scale(n, s, *region) for n, s, region in zip(size, factors, regions, strict=True)]
    stretches = by_sizes(size, [int(n) for n in values.reshape(-1)], policy)
    return [
        replace(axis, start=start, stop=stop) for axis, (start, stop) in zip(stretches, regions, strict=True)
    ]


def unchanged(size: int) -> Stretch:
    return by_sizes([size], [size], "stretch")[0]
