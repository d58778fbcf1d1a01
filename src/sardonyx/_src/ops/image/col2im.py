"""Col2Im: rearranges columns of blocks into an image and sums overlapping elements.

Spec: ai.onnx Col2Im-18.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, Shape, TensorType
from sardonyx._src.ir.dims import Dim, exact_div
from sardonyx._src.ops.api import Operator, RunContext, check_result_bytes
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.nn.windows import (
    WindowGeometry,
    compute_windows,
    crop_padding,
    fold_windows,
    values_per_axis,
)
from sardonyx._src.ops.support.arithmetic import promote_to_float32, round_to_type
from sardonyx._src.ops.support.shapes import element_count

op = Operator("Col2Im", tolerance="rounding", parameters=(1, 2))


def check_axes(inference: Inference, image: Sequence[Dim] | None, block: Sequence[Dim] | None) -> None:
    """Raises InferenceError unless image, block and attributes have the same number of axes."""
    axes = [len(sizes) for sizes in (image, block) if sizes is not None]
    if len(set(axes)) > 1:
        inference.fail(
            f"image_shape and block_shape must have the same number of entries; got {axes[0]} and {axes[1]}"
        )
    if axes:
        try:
            for name, each, minimum in (("strides", 1, 1), ("dilations", 1, 1), ("pads", 2, 0)):
                values_per_axis(name, inference.integers(name), each * axes[0], minimum=minimum)
        except EvaluationError as error:
            inference.fail(error.why)


@op.infer(18)
def infer(inference: Inference) -> Result:
    columns_type = inference.tensor(0)
    if columns_type is None:
        return None
    if inference.rank(0) not in (None, 3):
        inference.fail(f"the input must have rank 3 ([N, C * taps, blocks]); got rank {inference.rank(0)}")
    for i, name in ((1, "image_shape"), (2, "block_shape")):
        if inference.rank(i) not in (None, 1):
            inference.fail(f"{name} must be a vector; got rank {inference.rank(i)}")
    image, block = inference.dims(1), inference.dims(2)
    check_axes(inference, image, block)
    if image is None:
        return TensorType(columns_type.dtype, None if block is None else (None,) * (2 + len(block)))
    lead: Shape = (None, None)
    if columns_type.shape is not None:
        taps = None if block is None else element_count(block)
        rows = columns_type.shape[1]
        if isinstance(taps, int) and isinstance(rows, int) and (taps < 1 or rows % taps):
            inference.fail(
                f"rows of the input must be a multiple of the {taps} elements of a block; got {rows}"
            )
        lead = (columns_type.shape[0], None if taps is None else exact_div(rows, taps))
    return TensorType(columns_type.dtype, (*lead, *(inference.new_dim() if n is None else n for n in image)))


@op.eval(18)
def eval_18(
    x: Array,
    image_shape: Array,
    block_shape: Array,
    *,
    context: RunContext,
    dilations: tuple[int, ...] | None = None,
    pads: tuple[int, ...] | None = None,
    strides: tuple[int, ...] | None = None,
) -> Array:
    """x: [N, C * taps, blocks], image_shape, block_shape: [axes], result: [N, C, *image_shape].

    Overlapping bool elements are combined by or; strings cannot be added, so their blocks must not overlap.
    """
    image = tuple(int(n) for n in image_shape.reshape(-1))
    block = tuple(int(n) for n in block_shape.reshape(-1))
    if min(image, default=0) < 0:
        raise EvaluationError(f"entries of image_shape must be >= 0; got {list(image)}")
    windows = compute_windows(image, block, strides=strides, pads=pads, dilations=dilations)
    taps, blocks = math.prod(block), math.prod(windows.out)
    if x.ndim != 3 or x.shape[1] % taps or x.shape[2] != blocks:
        raise EvaluationError(f"the input must be [N, C * {taps}, {blocks}]; got {list(x.shape)}")
    channels = x.shape[1] // taps
    check_result_bytes(context, (x.shape[0], channels, *image), x.dtype, "Col2Im result")
    check_result_bytes(
        context, (x.shape[0], channels, *windows.extents), x.dtype, "Col2Im result with its padding"
    )
    columns = promote_to_float32(x).reshape(x.shape[0], channels, *block, *windows.out)
    if x.dtype == object:
        return fold_strings(columns, windows)
    return round_to_type(crop_padding(fold_windows(columns, windows), windows), x.dtype)


def fold_strings(columns: Array, windows: WindowGeometry) -> Array:
    """The image of blocks of strings; raises EvaluationError when two strings map to the same element.

    The folding is done with the numbers of the strings; 0 stands for an element without a string, "".
    """
    numbers = np.arange(1, columns.size + 1).reshape(columns.shape)
    counts = crop_padding(fold_windows(np.ones_like(numbers), windows), windows)
    if counts.size and counts.max() > 1:
        raise EvaluationError("blocks of strings must not overlap: strings cannot be added")
    source = crop_padding(fold_windows(numbers, windows), windows)
    return np.concatenate([np.array([""], object), columns.reshape(-1)])[source]
