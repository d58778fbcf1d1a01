"""CenterCropPad: crops or zero-pads axes symmetrically to given sizes.

Spec: ai.onnx CenterCropPad-18.  For an odd difference the smaller half is removed or added at the start.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ops.api import Operator, RunContext, check_result_bytes
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.support.body_text import scalar, vector
from sardonyx._src.ops.support.shapes import axes_of
from sardonyx._src.ops.tensor.zeros import zero

op = Operator("CenterCropPad", parameters=(1,))


@op.infer(18)
def infer(inference: Inference) -> Result:
    data, sizes, axes = inference.tensor(0), inference.dims(1), inference.integers("axes")
    if data is None or data.shape is None:
        return data
    chosen = [
        inference.axis(axis, len(data.shape)) for axis in (range(len(data.shape)) if axes is None else axes)
    ]
    sizes = (None,) * len(chosen) if sizes is None else sizes
    if len(sizes) != len(chosen):
        inference.fail(f"shape must have {len(chosen)} entries, one per axis; got {len(sizes)}")
    new_sizes = dict(zip(chosen, sizes, strict=True))
    return TensorType(data.dtype, tuple(new_sizes.get(i, n) for i, n in enumerate(data.shape)))


@op.eval(18)
def evaluate(
    input_data: Array, shape: Array, *, axes: tuple[int, ...] | None = None, context: RunContext
) -> Array:
    """shape: [n] int32 or int64, the sizes of `axes` or of all axes."""
    sizes = [int(n) for n in shape.reshape(-1)]
    chosen: Sequence[int] = axes_of(range(input_data.ndim) if axes is None else axes, input_data.ndim)
    if len(sizes) != len(chosen) or min(sizes, default=0) < 0:
        raise EvaluationError(f"shape must have {len(chosen)} sizes >= 0, one per axis; got {sizes}")
    new = list(input_data.shape)
    for axis, size in zip(chosen, sizes, strict=True):
        new[axis] = size
    check_result_bytes(context, new, input_data.dtype, "CenterCropPad result")
    result = np.full(new, zero(input_data.dtype), input_data.dtype)
    parts = [overlap(n, m) for n, m in zip(input_data.shape, new, strict=True)]
    result[tuple(target for _, target in parts)] = input_data[tuple(source for source, _ in parts)]
    return result


def overlap(old: int, new: int) -> tuple[slice, slice]:
    """The source and target slices of an axis resized from `old` to `new`."""
    cropped, added = max(old - new, 0) // 2, max(new - old, 0) // 2
    common = min(old, new)
    return slice(cropped, cropped + common), slice(added, added + common)


@op.body(18, opset=18)
def body(inference: Inference) -> str:
    """A Slice, then a Pad; without `axes`, both treat all axes, as the operator does."""
    axes = inference.integers("axes")
    names = "" if axes is None else f"axes = {vector(axes)}"
    return f"""(x, shape) => (y) {{
      {names}
      zero = {scalar(0, DataType.INT64)}
      two = {scalar(2, DataType.INT64)}
      sizes = Shape(x)
      old = {"Identity(sizes)" if axes is None else "Gather(sizes, axes)"}
      new = Cast <to = {int(DataType.INT64)}> (shape)
      surplus = Sub(old, new)
      spare = Max(surplus, zero)
      start = Div(spare, two)
      kept = Min(old, new)
      end = Add(start, kept)
      cut = Slice(x, start, end{"" if axes is None else ", axes"})
      lack = Sub(new, kept)
      before = Div(lack, two)
      after = Sub(lack, before)
      pads = Concat <axis = 0> (before, after)
      y = Pad(cut, pads{"" if axes is None else ", , axes"})
    }}"""
