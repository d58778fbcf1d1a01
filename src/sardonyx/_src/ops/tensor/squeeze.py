"""Squeeze: removes axes of size 1.

Spec: ai.onnx Squeeze-1, -11, -13, -21, -23, -24, -25.  `axes` is an attribute up to 11, an input from 13 on; 11
specifies negative ones, which are supported here in all versions; the others add element types.  Without `axes`, every
axis of size 1 is removed.
"""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, Shape, TensorType
from sardonyx._src.ir.dims import known_equal
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.support.axes import move_axes_to_attribute, move_axes_to_input, normalize_axes
from sardonyx._src.ops.support.shapes import axes_of
from sardonyx._src.ops.tensor.elements import numbers, reshape_value_facet

op = Operator("Squeeze", moves_data=True, under_permutation="squeeze", keeps_order="always", parameters=(1,))


@op.eval(1, 11)
def eval_1(data: Array, *, axes: tuple[int, ...] | None = None) -> Array:
    return remove_axes(data, axes)


@op.eval(13, 21, 23, 24, 25)
def evaluate(data: Array, axes: Array | None = None) -> Array:
    """axes: [n] int64."""
    return remove_axes(data, None if axes is None else [int(axis) for axis in axes.reshape(-1)])


def remove_axes(data: Array, axes: Sequence[int] | None) -> Array:
    if axes is None:
        return data.reshape([n for n in data.shape if n != 1])
    removed = axes_of(axes, data.ndim)
    if any(data.shape[axis] != 1 for axis in removed):
        raise EvaluationError(
            f"squeezed axes must have size 1; got axes {list(axes)} of shape {list(data.shape)}"
        )
    return data.reshape([n for i, n in enumerate(data.shape) if i not in removed])


op.convert((11, 13))(move_axes_to_input)
op.convert((13, 11))(move_axes_to_attribute)
op.convert((11, 1))(normalize_axes)


# --- inference -------------------------------------------------------------------------------


@op.infer(1, 11, 13, 21, 23, 24, 25)
def infer(inference: Inference) -> Result:
    data = inference.tensor(0)
    if data is None:
        return None
    if not inference.has(1) and inference.integers("axes") is None:
        return TensorType(data.dtype, without_ones(data.shape))
    axes = inference.integers("axes") if not inference.has(1) else inference.dims(1)
    if data.shape is None or axes is None:
        return TensorType(data.dtype)
    removed = numbers(axes)
    if removed is None:
        return TensorType(data.dtype, (None,) * (len(data.shape) - len(axes)))
    return TensorType(data.dtype, without(inference, data.shape, removed))


op.value(1, 11, 13, 21, 23, 24, 25)(reshape_value_facet(infer))


def without_ones(shape: Shape | None) -> Shape | None:
    """The sizes that are not 1; None if it is not known of a size whether it is 1."""
    if shape is None or any(dim != 1 and known_equal(dim, 1) is not False for dim in shape):
        return None
    return tuple(dim for dim in shape if dim != 1)


def without(inference: Inference, shape: Shape, axes: Sequence[int]) -> Shape:
    """The shape without the axes, whose size must be 1."""
    removed = inference.axes(axes, len(shape))
    for axis in removed:
        if known_equal(shape[axis], 1) is False:
            inference.fail(f"squeezed axes must have size 1; got {shape[axis]} for axis {axis}")
        inference.require_equal(1, shape[axis])
    return tuple(dim for i, dim in enumerate(shape) if i not in removed)
