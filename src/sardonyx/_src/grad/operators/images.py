"""Gradients of Resize and Col2Im."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sardonyx._src.dtypes import DataType
from sardonyx._src.grad.registry import decomposition, operator
from sardonyx._src.ir import Attribute, Value
from sardonyx._src.ir.build import attribute
from sardonyx._src.ops.backward_step import BackwardStep, Gradients, shape_of

Integers = NDArray[np.int64]
REGION, SCALES, SIZES = 1, 2, 3  # positions of the inputs roi, scales and sizes of Resize
DOUBLE = DataType.DOUBLE


@operator("Resize").gradient(19)
def resize(step: BackwardStep) -> Gradients:
    """Resize is linear along each axis; the gradient multiplies by the transposed matrix of each axis.

    The matrix of an axis is what Resize makes of the unit matrix.
    """
    crops = step.inference.attributes["coordinate_transformation_mode"] == "tf_crop_and_resize"
    rank, gradient = step.rank(0), step.gradient()
    axes = step.inference.integers("axes") or tuple(range(rank))
    own, result = shape_of(step.input(0)), shape_of(step.output())
    for position, axis in enumerate(a % rank for a in axes):
        if (
            own is None
            or result is None
            or own[axis] is None
            or own[axis] != result[axis]
            or crops
            or has_scale(step, position)
        ):
            gradient = contract_axis(step, gradient, resized_unit_matrix(step, axis, position), axis)
    return gradient


def has_scale(step: BackwardStep, position: int) -> bool:
    """Whether an axis may have a scale other than 1, which moves elements although it keeps the size."""
    if not has_elements(step, SCALES):
        return False
    scales = step.inference.constant(SCALES)
    return scales is None or (scales.size > 0 and float(scales.reshape(-1)[position]) != 1)


def resized_unit_matrix(step: BackwardStep, axis: int, position: int) -> Value:
    """The matrix of Resize along an axis, transposed: [result size, size]."""
    size = step.op("Shape", step.input(0), start=axis, end=axis + 1)
    square = step.op("Concat", size, size, axis=0)
    unit = step.op("EyeLike", step.op("Expand", step.scalar(0), square))
    if step.inference.attributes["keep_aspect_ratio_policy"] != "stretch" and has_elements(step, SIZES):
        return fitted_unit_matrix(step, unit, position)
    index = step.integers([position])
    parts: list[Value | None] = [region_of_axis(step, position), None, None]
    for i in (SCALES, SIZES):
        if has_elements(step, i):
            parts[i - 1] = step.op("Gather", step.input(i), index, axis=0)
    (matrix,) = step.add("Resize", [unit, *parts], axis_attributes(step, [1]), 1)
    return step.op("Transpose", matrix, perm=[1, 0])


def has_elements(step: BackwardStep, i: int) -> bool:
    """Whether an input is given and not empty: an empty tensor means the same as an omitted input."""
    return step.inference.has(i) and step.inference.shape(i) != (0,)


def axis_attributes(step: BackwardStep, axes: list[int]) -> dict[str, Attribute]:
    """The attributes of the node for other axes; the extrapolated elements outside of a region are 0, as they are constant."""
    dropped = {"axes", "extrapolation_value"}
    attributes = {name: value for name, value in step.node.attributes.items() if name not in dropped}
    return {**attributes, "axes": attribute("axes", axes)}


def region_of_axis(step: BackwardStep, position: int) -> Value | None:
    """Start and end of the region of interest along an axis."""
    if step.inference.attributes["coordinate_transformation_mode"] != "tf_crop_and_resize":
        return None
    count = len(step.inference.integers("axes") or range(step.rank(0)))
    return step.op("Gather", step.input(REGION), step.integers([position, count + position]), axis=0)


def fitted_unit_matrix(step: BackwardStep, unit: Value, position: int) -> Value:
    """`resized_unit_matrix` where the aspect ratio is preserved.

    The axis with the smallest or largest ratio of sizes decides about the scale: it is resized, too, and then dropped.
    """
    rank = step.rank(0)
    axes = step.integers([a % rank for a in step.inference.integers("axes") or range(rank)])
    own = step.op("Gather", step.op("Shape", step.input(0)), axes, axis=0)
    ratios = step.Div(step.op("Cast", step.input(SIZES), to=DOUBLE), step.op("Cast", own, to=DOUBLE))
    keeps_inside = step.inference.attributes["keep_aspect_ratio_policy"] == "not_larger"
    deciding = step.op("ArgMin" if keeps_inside else "ArgMax", ratios, axis=0)  # [1]
    sides = step.op("Concat", step.integers([position]), deciding, axis=0)
    requested = step.op("Gather", step.input(SIZES), sides, axis=0)
    single = step.integers([1])
    deep = step.op("Concat", step.op("Shape", unit), step.op("Gather", own, deciding, axis=0), axis=0)
    block = step.Expand(step.Unsqueeze(unit, step.integers([2])), deep)
    (resized,) = step.add("Resize", [block, None, None, requested], axis_attributes(step, [1, 2]), 1)
    matrix = step.Squeeze(
        step.Slice(resized, step.integers([0]), single, step.integers([2])), step.integers([2])
    )
    return step.op("Transpose", matrix, perm=[1, 0])


def contract_axis(step: BackwardStep, x: Value, matrix: Value, axis: int) -> Value:
    """The product of the slices of a tensor along an axis with a matrix: [size, new size]."""
    rank = step.rank(0)
    last = [a for a in range(rank) if a != axis] + [axis]
    product = step.MatMul(step.op("Transpose", x, perm=last), matrix)
    return step.op("Transpose", product, perm=[int(a) for a in np.argsort(last)])


@decomposition("Upsample", 10)
def upsample(step: BackwardStep) -> Sequence[Value | None] | None:
    """A Resize with the coordinates of Upsample: positions of the input times the scale."""
    mode = step.inference.attributes["mode"]
    return [
        step.op(
            "Resize",
            step.input(0),
            None,
            step.input(1),
            mode=mode,
            coordinate_transformation_mode="asymmetric",
            nearest_mode="floor",
        )
    ]


@operator("Col2Im").gradient(18)
def col2im(step: BackwardStep) -> Gradients:
    """Every element of the columns has the gradient of the pixel that it is added to, or 0 if that is padding."""
    image, block = step.inference.constant(1), step.inference.constant(2)
    if image is None or block is None:
        step.refuse("its image_shape and block_shape must be constant")
    pixels = pixel_numbers(step, [int(n) for n in image], [int(n) for n in block])
    count = int(np.prod(image))
    dy = step.gradient()
    lead = step.op("Shape", dy, start=0, end=2)
    flat = step.Reshape(dy, step.op("Concat", lead, step.integers([count]), axis=0))
    padded = step.Pad(flat, step.integers([0, 0, 0, 0, 0, 1]))
    return step.reshape_like(step.op("Gather", padded, step.integers(pixels), axis=2), step.input(0))


def pixel_numbers(step: BackwardStep, image: list[int], block: list[int]) -> Integers:
    """The pixel of each element of a channel's columns, [block elements, blocks]; the number of pixels for padding."""
    rank = len(image)
    strides = step.inference.integers("strides") or (1,) * rank
    dilations = step.inference.integers("dilations") or (1,) * rank
    pads = step.inference.integers("pads") or (0,) * (2 * rank)
    numbers: Integers = np.zeros((1, 1), np.int64)
    is_inside: NDArray[np.bool_] = np.ones((1, 1), np.bool_)
    for axis in range(rank):
        reach = dilations[axis] * (block[axis] - 1) + 1
        starts = range(0, image[axis] + pads[axis] + pads[rank + axis] - reach + 1, strides[axis])
        taps = np.arange(block[axis])[:, None] * dilations[axis]
        places = taps + np.asarray(starts, np.int64)[None, :] - pads[axis]
        inside = (places >= 0) & (places < image[axis])
        numbers = outer_sum(numbers * image[axis], places)
        is_inside = outer_sum(~is_inside, ~inside) == 0
    return np.where(is_inside, numbers, int(np.prod(image)))


def outer_sum(a: NDArray[np.generic], b: NDArray[np.generic]) -> Integers:
    """The sums of all pairs of rows and of columns: [m, n] and [k, l] to [m * k, n * l]."""
    total = a.astype(np.int64)[:, None, :, None] + b.astype(np.int64)[None, :, None, :]
    return total.reshape(a.shape[0] * b.shape[0], a.shape[1] * b.shape[1])
