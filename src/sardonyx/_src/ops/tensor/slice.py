"""Slice: the part of a tensor between starts and ends.

Spec: ai.onnx Slice-1, -10, -11, -13.  Starts, ends and axes are attributes in version 1, inputs from 10 on, which adds
`steps`; 11 specifies negative axes, which are supported here in all versions; 13 adds an element type.  Versions before
13 refer to NumPy for out-of-bounds positions; 13 specifies clamping, which is used here in all versions.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, Shape, TensorType
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Known, Result
from sardonyx._src.ops.tensor.elements import elements, numbers, restore_element_type
from sardonyx._src.ops.tensor.slicing import index_array, known_slice, slice_array, sliced_dim
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter

op = Operator(
    "Slice",
    moves_data=True,
    under_permutation="slice",
    size_rule="slice_ends",
    sizes_input=2,  # the ends may be sizes of data
    parameters=(1, 2, 3, 4),  # they say what is computed of input 0
)
Ranges = tuple[
    Sequence[Dim], Sequence[Dim], Sequence[int], Sequence[Dim]
]  # starts, ends, axes counted from the front, steps


@op.eval(1)
def evaluate_1(
    data: Array, *, starts: tuple[int, ...], ends: tuple[int, ...], axes: tuple[int, ...] | None = None
) -> Array:
    return slice_array(data, starts, ends, axes)


@op.eval(10, 11, 13)
def evaluate_10(
    data: Array, starts: Array, ends: Array, axes: Array | None = None, steps: Array | None = None
) -> Array:
    """starts, ends, axes, steps: [n] int32 or int64, one entry for each sliced axis."""
    lists = [None if x is None else [int(n) for n in x.reshape(-1)] for x in (axes, steps)]
    return slice_array(data, [int(n) for n in starts.reshape(-1)], [int(n) for n in ends.reshape(-1)], *lists)


@op.convert((1, 10))
def convert_1_to_10(adapter: Adapter) -> AdaptedNode:
    lists = [adapter.as_input(name) for name in ("starts", "ends", "axes")]
    return adapter.same([adapter.input(0), *lists], drop=("starts", "ends", "axes"))


@op.convert((10, 1))
def convert_10_to_1(adapter: Adapter) -> AdaptedNode:
    steps = adapter.inference.constant(4)
    if adapter.optional(4) is not None and (steps is None or (steps != 1).any()):
        adapter.refuse("steps must be known to be 1 for Slice-1")
    known_ranges = [
        adapter.as_attribute(i, name, AttributeType.INTS)
        for i, name in enumerate(("starts", "ends", "axes"), 1)
    ]
    return adapter.same(
        [adapter.input(0)], starts=known_ranges[0], ends=known_ranges[1], axes=known_ranges[2]
    )


@op.convert((11, 10))
def convert_11_to_10(adapter: Adapter) -> AdaptedNode:
    """Make axes non-negative: version 10 has no negative axes."""
    axes = adapter.inference.constant(3)
    if adapter.optional(3) is None or (axes is not None and (axes >= 0).all()):
        return adapter.same()
    if axes is None:
        adapter.refuse("axes must be constant: Slice-10 has no negative axes")
    front = adapter.integers(
        [adapter.inference.axis(int(axis), adapter.rank(0)) for axis in axes.reshape(-1)]
    )
    if axes.dtype != np.int64:
        front = adapter.Cast(front, to=DataType.of(axes.dtype))
    return adapter.same([*adapter.node.inputs[:3], front, *adapter.node.inputs[4:]])


# --- inference -------------------------------------------------------------------------------


@op.infer(1, 10, 11, 13)
def infer(inference: Inference) -> Result:
    data = inference.tensor(0)
    if data is None or data.shape is None:
        return data
    known_ranges = ranges(inference, len(data.shape))
    if known_ranges is None:
        return TensorType(data.dtype, forget_sliced_sizes(inference, data.shape))
    shape = list(data.shape)
    for start, end, axis, step in zip(*known_ranges, strict=True):
        count = sliced_dim(shape[axis], start, end, step)
        shape[axis] = inference.new_dim() if count is None else count
    return TensorType(data.dtype, tuple(shape))


@op.value(1, 10, 11, 13)
@restore_element_type
def value(inference: Inference) -> Known | None:
    data = elements(inference, 0)
    if data is None:
        return None
    known_ranges = ranges(inference, data.ndim)
    if known_ranges is None:
        return None
    index = [slice(None)] * data.ndim
    for start, end, axis, step in zip(*known_ranges, strict=True):
        part = known_slice(data.shape[axis], start, end, step)
        if part is None:
            return None
        index[axis] = part
    return index_array(data, index)


def ranges(inference: Inference, rank: int) -> Ranges | None:
    """Starts, ends, axes and steps of the node; None if their number or the axes are not known."""
    starts = inference.integers("starts") if has_attributes(inference) else inference.dims(1)
    ends = inference.integers("ends") if has_attributes(inference) else inference.dims(2)
    if starts is None or ends is None:
        return None
    steps = inference.dims(4) if inference.has(4) else (1,) * len(starts)
    axes = sliced_axes(inference, len(starts))
    if axes is None or steps is None:
        return None
    counts = [len(starts), len(ends), len(axes), len(steps)]
    if len(set(counts)) > 1:
        inference.fail(f"starts, ends, axes and steps must have equally many entries; got {counts}")
    if any(isinstance(step, int) and step == 0 for step in steps):
        inference.fail("steps must not be 0")
    return starts, ends, inference.axes(axes, rank), steps


def has_attributes(inference: Inference) -> bool:
    """Whether starts, ends and axes are attributes, as in Slice-1; DynamicSlice-1 has inputs."""
    return "starts" in inference.attributes


def sliced_axes(inference: Inference, count: int) -> Sequence[int] | None:
    """The axes as stated, by default the first `count` ones; None if they are not known."""
    if has_attributes(inference):
        axes = inference.integers("axes")
        return axes if axes is not None else range(count)
    if not inference.has(3):
        return range(count)
    dims = inference.dims(3)
    return None if dims is None else numbers(dims)


def forget_sliced_sizes(inference: Inference, shape: Shape) -> Shape:
    """The shape when starts and ends are unknown: only axes known not to be sliced keep their size."""
    axes = sliced_axes(inference, 0) if inference.has(3) else None
    if axes is None:
        return (None,) * len(shape)
    sliced = {inference.axis(axis, len(shape)) for axis in axes}
    return tuple(inference.new_dim() if i in sliced else n for i, n in enumerate(shape))
