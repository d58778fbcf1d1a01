"""Resize to known sizes in cases without a kernel: weighted sums of gathered slices, one axis after the other.

These cases are more than two resized dims, a resized batch or resized channels, pixels of many taps, and positions
outside of the image.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx._src.compile.kernels.resize.resampled_axes import has_image_kernel, plan_resampling
from sardonyx._src.compile.kernels.resize.resize import axis_taps
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, Node, Value
from sardonyx._src.ops.image.resize.resample import ResampleMode
from sardonyx._src.ops.image.resize.resampled_axis import COORDINATES, ResampledAxis
from sardonyx._src.ops.image.resize.resize import check_modes, identity_axis, regions_of, resolve_axes
from sardonyx._src.rewrite.engine.edit import Edit

MAX_GATHERS = 4  # an axis of more taps has one Gather for all, and a ReduceSum


def decompose(node: Node, edit: Edit) -> bool:
    x = edit.type(node.inputs[0])
    if edit.operator_of(node) is None or x is None or x.dtype is not DataType.FLOAT or x.shape is None:
        return False
    sizes = [dim for dim in x.shape if isinstance(dim, int)]
    if len(sizes) < len(x.shape) or 0 in sizes:
        return False
    try:
        axes, mode = resampled_axes(node, edit, sizes), resample_mode(node, edit)
    except EvaluationError:
        return False
    if axes is None or 0 in [axis.out for axis in axes] or has_kernel(axes, mode):
        return False
    y, inside = node.inputs[0], np.ones((1,) * len(axes), np.bool_)
    assert y is not None, "x is typed"
    for i in sorted(range(len(axes)), key=lambda i: axes[i].out / axes[i].size):  # shrinking axes first
        if not axes[i].is_identity:
            y = resampled(node, edit, y, i, axes[i], mode)
            inside = inside & positions_inside(axes[i], mode).reshape(-1, *(1,) * (len(axes) - 1 - i))
    if not inside.all():
        mask = edit.make_constant(inside, f"{node.name}/inside", before=node)
        fill = edit.make_constant(
            np.array(mode.extrapolation_value, np.float32), f"{node.name}/fill", before=node
        )
        y = edit.make("Where", [mask, y, fill], before=node).outputs[0]
    if y is node.inputs[0]:
        return False
    edit.transfer_outputs(node, [y])
    return True


def resampled_axes(node: Node, edit: Edit, sizes: list[int]) -> list[ResampledAxis] | None:
    """All axes, including axes that are not resized; None if scales, sizes or the region are not known."""
    attributes, rank = edit.attributes(node), len(sizes)
    given = attributes.get("axes")
    axes = [int(a) % rank for a in given] if isinstance(given, list | tuple) and given else list(range(rank))
    inputs = [node.inputs[i] if i < len(node.inputs) else None for i in (1, 2, 3)]
    known = [None if value is None else edit.constant(value) for value in inputs]
    if any(value is not None and array is None for value, array in zip(inputs, known, strict=True)):
        return None
    region, scales, targets = (None if array is None or not array.size else array for array in known)
    crops = attributes["coordinate_transformation_mode"] == "tf_crop_and_resize"
    regions = regions_of(region, len(axes)) if crops else [(0.0, 1.0)] * len(axes)
    policy = str(attributes["keep_aspect_ratio_policy"])
    resized = resolve_axes([sizes[i] for i in axes], scales, targets, regions, policy)
    result = [identity_axis(size) for size in sizes]
    for i, axis in zip(axes, resized, strict=True):
        result[i] = axis
    return result


def resample_mode(node: Node, edit: Edit) -> ResampleMode:
    """The mode of a node; raises EvaluationError for an unknown mode."""
    operator, attributes = edit.operator_of(node), edit.attributes(node)
    assert operator is not None, "decompositions are of known operators"
    mode, coordinates, rounding = (
        str(attributes[name]) for name in ("mode", "coordinate_transformation_mode", "nearest_mode")
    )
    check_modes(mode, coordinates, rounding, operator.version)
    cubic, value = attributes["cubic_coeff_a"], attributes["extrapolation_value"]
    assert isinstance(cubic, float) and isinstance(value, float), "the signature has types"
    flags = bool(attributes["antialias"]), bool(attributes["exclude_outside"])
    return ResampleMode(mode, COORDINATES[coordinates], rounding, cubic, *flags, value)


def has_kernel(axes: Sequence[ResampledAxis], mode: ResampleMode) -> bool:
    """Whether the image kernel supports the axes, or steps of kernels can resample them."""
    channels = axes[1].size if len(axes) > 1 else 1
    return has_image_kernel(axes, mode) or plan_resampling(axes, channels, mode) is not None


def positions_inside(axis: ResampledAxis, mode: ResampleMode) -> Array:
    """Whether each position along an axis is inside of the image; True everywhere if the mode does not crop."""
    positions = mode.coordinates(axis)
    return (positions >= 0) & (positions <= axis.size - 1) if mode.crops else np.ones(axis.out, np.bool_)


def resampled(node: Node, edit: Edit, x: Value, i: int, axis: ResampledAxis, mode: ResampleMode) -> Value:
    """x resampled along axis i."""

    def constant(elements: Array) -> Value:
        return edit.make_constant(elements, f"{node.name}/taps", before=node)

    def add(op_type: str, *inputs: Value, **attributes: object) -> Value:
        return edit.make(op_type, list(inputs), attributes, before=node).outputs[0]

    taps = axis_taps(axis, mode, crops=False)
    assert taps is not None, "the axis has elements"
    indices, weights = taps
    rank = edit.rank(x)
    assert rank is not None, "x has a known shape"
    if mode.mode == "nearest":
        return add("Gather", x, constant(indices[:, 0]), axis=i)
    if indices.shape[1] > MAX_GATHERS:
        factors = constant(weights.reshape(*weights.shape, *(1,) * (rank - 1 - i)))
        weighted = add("Mul", add("Gather", x, constant(indices), axis=i), factors)
        return add("ReduceSum", weighted, constant(np.array([i + 1])), keepdims=0)
    parts = [
        add(
            "Mul",
            add("Gather", x, constant(index), axis=i),
            constant(weight.reshape(-1, *(1,) * (rank - 1 - i))),
        )
        for index, weight in zip(indices.T, weights.T, strict=True)
    ]
    total = parts[0]
    for part in parts[1:]:
        total = add("Add", total, part)
    return total
