"""Squeeze: axes of size 1 taken away.

Spec: ai.onnx Squeeze-1, -11, -13, -21, -23, -24, -25.  `axes` is an attribute up to 11, an input from 13 on; 11 says
that negative ones count from the back, which they do here in all versions; the others add element types.  Without
`axes`, every axis of size 1 goes.
"""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.dims import known_equal
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import Shape, TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.axes import all_from_the_front, axes_as_attribute, axes_as_input
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.shapes import axes_of
from sardonyx._src.ops.tensor.elements import numbers, reshaping

op = Operator("Squeeze")


@op.eval(1, 11)
def eval_1(data: Array, *, axes: tuple[int, ...] | None = None) -> Array:
    return squeezed(data, axes)


@op.eval(13, 21, 23, 24, 25)
def evaluate(data: Array, axes: Array | None = None) -> Array:
    """axes: [n] int64."""
    return squeezed(data, None if axes is None else [int(axis) for axis in axes.reshape(-1)])


def squeezed(data: Array, axes: Sequence[int] | None) -> Array:
    if axes is None:
        return data.reshape([n for n in data.shape if n != 1])
    gone = axes_of(axes, data.ndim)
    if any(data.shape[axis] != 1 for axis in gone):
        raise EvaluationError(f"axes {list(axes)} of shape {list(data.shape)} are not all of size 1")
    return data.reshape([n for i, n in enumerate(data.shape) if i not in gone])


op.convert((11, 13))(axes_as_input)
op.convert((13, 11))(axes_as_attribute)
op.convert((11, 1))(all_from_the_front)


# --- inference -------------------------------------------------------------------------------


@op.infer(1, 11, 13, 21, 23, 24, 25)
def infer(t: Inference) -> Result:
    data = t.tensor(0)
    if data is None:
        return None
    if not t.has(1) and t.integers("axes") is None:
        return TensorType(data.dtype, without_ones(data.shape))
    axes = t.integers("axes") if not t.has(1) else t.dims(1)
    if data.shape is None or axes is None:
        return TensorType(data.dtype)
    gone = numbers(axes)
    if gone is None:
        return TensorType(data.dtype, (None,) * (len(data.shape) - len(axes)))
    return TensorType(data.dtype, without(t, data.shape, gone))


op.value(1, 11, 13, 21, 23, 24, 25)(reshaping(infer))


def without_ones(shape: Shape | None) -> Shape | None:
    """The sizes that are not 1; None where one might be."""
    if shape is None or any(dim != 1 and known_equal(dim, 1) is not False for dim in shape):
        return None
    return tuple(dim for dim in shape if dim != 1)


def without(t: Inference, shape: Shape, axes: Sequence[int]) -> Shape:
    gone = t.axes(axes, len(shape))
    for axis in gone:
        if known_equal(shape[axis], 1) is False:
            t.fail(f"axis {axis} has size {shape[axis]}, where 1 is wanted")
    return tuple(dim for i, dim in enumerate(shape) if i not in gone)
