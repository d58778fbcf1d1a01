"""Unsqueeze: inserts axes of size 1.

Spec: ai.onnx Unsqueeze-1, -11, -13, -21, -23, -24, -25.  `axes`, which are axes of the result, are an attribute up to
11, an input from 13 on; 11 specifies negative ones, which are supported here in all versions; the others add element
types.
"""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.support.axes import move_axes_to_attribute, move_axes_to_input
from sardonyx._src.ops.support.shapes import axes_of
from sardonyx._src.ops.tensor.elements import numbers, reshape_value_facet
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter

op = Operator("Unsqueeze", moves_data=True, keeps_order="always", parameters=(1,))


@op.eval(1, 11)
def eval_1(data: Array, *, axes: tuple[int, ...]) -> Array:
    return insert_axes(data, axes)


@op.eval(13, 21, 23, 24, 25)
def evaluate(data: Array, axes: Array) -> Array:
    """axes: [n] int64."""
    return insert_axes(data, [int(axis) for axis in axes.reshape(-1)])


def insert_axes(data: Array, axes: Sequence[int]) -> Array:
    rank = data.ndim + len(axes)
    new = axes_of(axes, rank)
    sizes = iter(data.shape)
    return data.reshape([1 if i in new else next(sizes) for i in range(rank)])


op.convert((11, 13))(move_axes_to_input)
op.convert((13, 11))(move_axes_to_attribute)


@op.convert((11, 1))
def to_1(adapter: Adapter) -> AdaptedNode:
    axes = adapter.inference.integers("axes") or ()
    if min(axes, default=0) >= 0:
        return adapter.same()
    return adapter.same(axes=[adapter.inference.axis(axis, adapter.rank(0) + len(axes)) for axis in axes])


# --- inference -------------------------------------------------------------------------------


@op.infer(1, 11, 13, 21, 23, 24, 25)
def infer(inference: Inference) -> Result:
    data = inference.tensor(0)
    if data is None:
        return None
    axes = inference.dims(1) if inference.has(1) else inference.integers("axes")
    if data.shape is None or axes is None:
        return TensorType(data.dtype)
    rank = len(data.shape) + len(axes)
    positions = numbers(axes)
    if positions is None:
        return TensorType(data.dtype, (None,) * rank)
    new = {inference.axis(axis, rank) for axis in positions}
    if len(new) < len(positions):
        inference.fail(f"axes must be distinct; got {list(positions)}")
    sizes = iter(data.shape)
    return TensorType(data.dtype, tuple(1 if i in new else next(sizes) for i in range(rank)))


op.value(1, 11, 13, 21, 23, 24, 25)(reshape_value_facet(infer))
