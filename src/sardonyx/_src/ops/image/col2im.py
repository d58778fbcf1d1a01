"""Col2Im: blocks put back into the image that they were cut from, added up where they overlap.

Spec: ai.onnx Col2Im-18.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.dims import Dim, exact_div
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import Shape, TensorType
from sardonyx._src.ops.api import Call, Operator, claim
from sardonyx._src.ops.arithmetic import narrow, widen
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.nn.windows import Windows, per_axis, place, summed, unpadded
from sardonyx._src.ops.shapes import product

op = Operator("Col2Im", tolerance="rounding")


def check_axes(t: Inference, image: Sequence[Dim] | None, block: Sequence[Dim] | None) -> None:
    """Raises InferenceError unless image, block and attributes speak of equally many axes."""
    axes = [len(sizes) for sizes in (image, block) if sizes is not None]
    if len(set(axes)) > 1:
        t.fail(f"image_shape has {axes[0]} entries and block_shape {axes[1]}, the same number is wanted")
    if axes:
        try:
            for name, each, least in (("strides", 1, 1), ("dilations", 1, 1), ("pads", 2, 0)):
                per_axis(name, t.integers(name), each * axes[0], least=least)
        except EvaluationError as error:
            t.fail(error.why)


@op.infer(18)
def infer(t: Inference) -> Result:
    found = t.tensor(0)
    if found is None:
        return None
    if t.rank(0) not in (None, 3):
        t.fail(f"the input has rank {t.rank(0)}, [N, C * taps, blocks] is wanted")
    for i, name in ((1, "image_shape"), (2, "block_shape")):
        if t.rank(i) not in (None, 1):
            t.fail(f"{name} has rank {t.rank(i)}, where a vector is wanted")
    image, block = t.dims(1), t.dims(2)
    check_axes(t, image, block)
    if image is None:
        return TensorType(found.dtype, None if block is None else (None,) * (2 + len(block)))
    lead: Shape = (None, None)
    if found.shape is not None:
        taps = None if block is None else product(block)
        rows = found.shape[1]
        if isinstance(taps, int) and isinstance(rows, int) and (taps < 1 or rows % taps):
            t.fail(f"the input has {rows} rows, a multiple of the {taps} elements of a block is wanted")
        lead = (found.shape[0], None if taps is None else exact_div(rows, taps))
    return TensorType(found.dtype, (*lead, *(t.new_dim() if n is None else n for n in image)))


@op.eval(18)
def eval_18(
    x: Array,
    image_shape: Array,
    block_shape: Array,
    *,
    call: Call,
    dilations: tuple[int, ...] | None = None,
    pads: tuple[int, ...] | None = None,
    strides: tuple[int, ...] | None = None,
) -> Array:
    """x: [N, C * taps, blocks], image_shape, block_shape: [axes], result: [N, C, *image_shape].

    Of bool, overlapping elements are joined by or; strings cannot be added, so their blocks must not overlap.
    """
    image = tuple(int(n) for n in image_shape.reshape(-1))
    block = tuple(int(n) for n in block_shape.reshape(-1))
    if min(image, default=0) < 0:
        raise EvaluationError(f"image_shape {list(image)} has a negative entry")
    windows = place(image, block, strides=strides, pads=pads, dilations=dilations)
    taps, blocks = math.prod(block), math.prod(windows.out)
    if x.ndim != 3 or x.shape[1] % taps or x.shape[2] != blocks:
        wanted = f"[N, C * {taps}, {blocks}] is wanted"
        raise EvaluationError(f"the input has shape {list(x.shape)}, {wanted}")
    channels = x.shape[1] // taps
    claim(call, (x.shape[0], channels, *image), x.dtype, "Col2Im result")
    claim(call, (x.shape[0], channels, *windows.extents), x.dtype, "Col2Im result with its padding")
    columns = widen(x).reshape(x.shape[0], channels, *block, *windows.out)
    if x.dtype == object:
        return strings(columns, windows)
    return narrow(unpadded(summed(columns, windows), windows), x.dtype)


def strings(columns: Array, windows: Windows) -> Array:
    """Strings moved by their places; raises EvaluationError when two come to the same one."""
    numbers = np.arange(1, columns.size + 1).reshape(columns.shape)
    counts = unpadded(summed(np.ones_like(numbers), windows), windows)
    if counts.size and counts.max() > 1:
        raise EvaluationError("blocks of strings overlap, and strings cannot be added")
    source = unpadded(summed(numbers, windows), windows)
    return np.concatenate([np.array([""], object), columns.reshape(-1)])[source]
