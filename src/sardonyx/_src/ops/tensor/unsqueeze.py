"""Unsqueeze: axes of size 1 put in.

Spec: ai.onnx Unsqueeze-1, -11, -13, -21, -23, -24, -25.  `axes`, which count in the result, are an attribute up to 11,
an input from 13 on; 11 says that negative ones count from the back, which they do here in all versions; the others
add element types.
"""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.axes import axes_as_attribute, axes_as_input
from sardonyx._src.ops.change import Change, Converted
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.shapes import axes_of
from sardonyx._src.ops.tensor.elements import numbers, reshaping

op = Operator("Unsqueeze")


@op.eval(1, 11)
def eval_1(data: Array, *, axes: tuple[int, ...]) -> Array:
    return unsqueezed(data, axes)


@op.eval(13, 21, 23, 24, 25)
def evaluate(data: Array, axes: Array) -> Array:
    """axes: [n] int64."""
    return unsqueezed(data, [int(axis) for axis in axes.reshape(-1)])


def unsqueezed(data: Array, axes: Sequence[int]) -> Array:
    rank = data.ndim + len(axes)
    new = axes_of(axes, rank)
    sizes = iter(data.shape)
    return data.reshape([1 if i in new else next(sizes) for i in range(rank)])


op.convert((11, 13))(axes_as_input)
op.convert((13, 11))(axes_as_attribute)


@op.convert((11, 1))
def to_1(c: Change) -> Converted:
    axes = c.t.integers("axes") or ()
    if min(axes, default=0) >= 0:
        return c.same()
    return c.same(axes=[c.t.axis(axis, c.rank(0) + len(axes)) for axis in axes])


# --- inference -------------------------------------------------------------------------------


@op.infer(1, 11, 13, 21, 23, 24, 25)
def infer(t: Inference) -> Result:
    data = t.tensor(0)
    if data is None:
        return None
    axes = t.dims(1) if t.has(1) else t.integers("axes")
    if data.shape is None or axes is None:
        return TensorType(data.dtype)
    rank = len(data.shape) + len(axes)
    places = numbers(axes)
    if places is None:
        return TensorType(data.dtype, (None,) * rank)
    new = {t.axis(axis, rank) for axis in places}
    if len(new) < len(places):
        t.fail(f"axes {list(places)} name an axis twice")
    sizes = iter(data.shape)
    return TensorType(data.dtype, tuple(1 if i in new else next(sizes) for i in range(rank)))


op.value(1, 11, 13, 21, 23, 24, 25)(reshaping(infer))
