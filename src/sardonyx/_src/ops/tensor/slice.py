"""Slice: a part of a tensor between starts and ends.

Spec: ai.onnx Slice-1, -10, -11, -13.  Version 1 has starts, ends and axes as attributes, 10 as inputs, with `steps`;
11 says that negative axes count from the back, which they do here in all versions; 13 adds an element type.  Texts
before 13 point to NumPy for what lies out of bounds; 13 spells out clamping, and that is done in all versions.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import Shape, TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.change import Change, Converted
from sardonyx._src.ops.inference import Inference, Known, Result
from sardonyx._src.ops.tensor.elements import elements, numbers, settled
from sardonyx._src.ops.tensor.slicing import cut, fixed, sliced, sliced_dim

op = Operator("Slice")
Ranges = tuple[
    Sequence[Dim], Sequence[Dim], Sequence[int], Sequence[Dim]
]  # starts, ends, axes from the front, steps


@op.eval(1)
def eval_1(
    data: Array, *, starts: tuple[int, ...], ends: tuple[int, ...], axes: tuple[int, ...] | None = None
) -> Array:
    return sliced(data, starts, ends, axes)


@op.eval(10, 11, 13)
def evaluate(
    data: Array, starts: Array, ends: Array, axes: Array | None = None, steps: Array | None = None
) -> Array:
    """starts, ends, axes, steps: [n] int32 or int64, one entry for each axis that is cut."""
    lists = [None if x is None else [int(n) for n in x.reshape(-1)] for x in (axes, steps)]
    return sliced(data, [int(n) for n in starts.reshape(-1)], [int(n) for n in ends.reshape(-1)], *lists)


@op.convert((1, 10))
def to_10(c: Change) -> Converted:
    lists = [c.as_input(name) for name in ("starts", "ends", "axes")]
    return c.same([c.input(0), *lists], drop=("starts", "ends", "axes"))


@op.convert((10, 1))
def to_1(c: Change) -> Converted:
    steps = c.t.constant(4)
    if c.optional(4) is not None and (steps is None or (steps != 1).any()):
        c.refuse("there are no steps there, and those of the node are not known to be 1")
    found = [
        c.as_attribute(i, name, AttributeType.INTS) for i, name in enumerate(("starts", "ends", "axes"), 1)
    ]
    return c.same([c.input(0)], starts=found[0], ends=found[1], axes=found[2])


@op.convert((11, 10))
def to_10_again(c: Change) -> Converted:
    """Negative axes came with 11."""
    axes = c.t.constant(3)
    if c.optional(3) is None or (axes is not None and (axes >= 0).all()):
        return c.same()
    if axes is None:
        c.refuse("axes are not constant: one that counts from the back would mean nothing there")
    front = c.integers([c.t.axis(int(axis), c.rank(0)) for axis in axes.reshape(-1)])
    if axes.dtype != np.int64:
        front = c.Cast(front, to=DataType.of(axes.dtype))
    return c.same([*c.node.inputs[:3], front, *c.node.inputs[4:]])


# --- inference -------------------------------------------------------------------------------


@op.infer(1, 10, 11, 13)
def infer(t: Inference) -> Result:
    data = t.tensor(0)
    if data is None or data.shape is None:
        return data
    found = ranges(t, len(data.shape))
    if found is None:
        return TensorType(data.dtype, unknown_where_cut(t, data.shape))
    shape = list(data.shape)
    for start, end, axis, step in zip(*found, strict=True):
        count = sliced_dim(shape[axis], start, end, step)
        shape[axis] = t.new_dim() if count is None else count
    return TensorType(data.dtype, tuple(shape))


@op.value(1, 10, 11, 13)
@settled
def value(t: Inference) -> Known | None:
    data = elements(t, 0)
    if data is None:
        return None
    found = ranges(t, data.ndim)
    if found is None:
        return None
    index = [slice(None)] * data.ndim
    for start, end, axis, step in zip(*found, strict=True):
        part = fixed(data.shape[axis], start, end, step)
        if part is None:
            return None
        index[axis] = part
    return cut(data, index)


def ranges(t: Inference, rank: int) -> Ranges | None:
    """What the node says of each axis that it cuts; None where not even the axes are known."""
    starts = t.integers("starts") if has_attributes(t) else t.dims(1)
    ends = t.integers("ends") if has_attributes(t) else t.dims(2)
    if starts is None or ends is None:
        return None
    steps = t.dims(4) if t.has(4) else (1,) * len(starts)
    axes = axes_cut(t, len(starts))
    if axes is None or steps is None:
        return None
    if len({len(starts), len(ends), len(axes), len(steps)}) > 1:
        t.fail(
            f"starts, ends, axes, steps have {len(starts)}, {len(ends)}, {len(axes)}, {len(steps)} entries"
        )
    if any(isinstance(step, int) and step == 0 for step in steps):
        t.fail("a step is 0")
    return starts, ends, t.axes(axes, rank), steps


def has_attributes(t: Inference) -> bool:
    """Whether starts, ends and axes are attributes, as in Slice-1; DynamicSlice-1 has inputs."""
    return "starts" in t.attributes


def axes_cut(t: Inference, count: int) -> Sequence[int] | None:
    if has_attributes(t):
        axes = t.integers("axes")
        return axes if axes is not None else range(count)
    if not t.has(3):
        return range(count)
    dims = t.dims(3)
    return None if dims is None else numbers(dims)


def unknown_where_cut(t: Inference, shape: Shape) -> Shape:
    """The shape when starts and ends are unknown: axes that are known not to be cut keep their size."""
    axes = axes_cut(t, 0) if t.has(3) else None
    if axes is None:
        return (None,) * len(shape)
    cut = {t.axis(axis, len(shape)) for axis in axes}
    return tuple(t.new_dim() if i in cut else n for i, n in enumerate(shape))
