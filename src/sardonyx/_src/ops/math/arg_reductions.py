"""ArgMax, ArgMin: where along an axis the largest or the smallest element is.

Spec: ai.onnx ArgMax-1, -11, -12, -13 and ArgMin likewise.  Of equal elements the first one counts, from 12 on the last
one where `select_last_index` is set; 13 adds an element type.  NaN, of which the text says nothing, is found first
by both.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.arithmetic import widen
from sardonyx._src.ops.axes import from_the_front
from sardonyx._src.ops.body_text import END
from sardonyx._src.ops.change import Change, Converted
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.shapes import axis_of

VERSIONS = (1, 11, 12, 13)


def infer(t: Inference) -> Result:
    shape = t.shape(0)
    if shape is None:
        return TensorType(DataType.INT64)
    axis = t.axis(t.integer("axis"), len(shape))
    rest = shape[:axis] + shape[axis + 1 :]
    if shape[axis] == 0 and all(isinstance(n, int) and n > 0 for n in rest):
        t.fail(f"axis {axis} is empty, where at least one element is wanted")
    kept = (1,) if t.integer("keepdims") else ()
    return TensorType(DataType.INT64, shape[:axis] + kept + shape[axis + 1 :])


def finder(find: Callable[[Array, int], Array]) -> Callable[..., Array]:
    """The kernel that finds by `find(x, axis)`, which takes the first of equal elements."""

    def evaluate(data: Array, *, axis: int, keepdims: int, select_last_index: int = 0) -> Array:
        """data: [..., n, ...], n > 0; result: int64 [..., 1, ...], without that axis where keepdims is 0."""
        axis = axis_of(axis, data.ndim)
        rest = data.shape[:axis] + data.shape[axis + 1 :]
        if data.shape[axis] == 0 and 0 not in rest:
            raise EvaluationError(f"axis {axis} is empty, where at least one element is wanted")
        lines = widen(data) if data.size else np.zeros((*data.shape[:axis], 1, *data.shape[axis + 1 :]))
        found = located(lines, axis, find, bool(select_last_index))
        return np.expand_dims(found, axis) if keepdims else found

    return evaluate


def located(x: Array, axis: int, find: Callable[[Array, int], Array], last: bool) -> Array:
    if not last:
        return np.asarray(find(x, axis), np.int64)
    return np.asarray(x.shape[axis] - 1 - find(np.flip(x, axis), axis), np.int64)


def from_the_other_end(c: Change) -> Converted:
    """From version 12 to 11, which finds the first of equal elements: of the lines turned round."""
    if not c.t.integer("select_last_index"):
        return c.same(drop=("select_last_index",))
    axis = c.t.integer("axis")
    last = [c.integers([n]) for n in (-1, -END - 1, axis, -1)]
    kept = c.same([c.Slice(c.input(0), *last)], drop=("select_last_index",))
    (found,) = c.add(kept.op_type, kept.inputs, dict(kept.attributes), 1)
    size = c.Gather(c.Shape(c.input(0)), c.integers(c.axis()))
    return c.Sub(c.Sub(size, c.integers(1)), found)


arg_max = Operator("ArgMax", about="where along an axis the largest element is.")
arg_max.infer(*VERSIONS)(infer)
arg_max.eval(*VERSIONS)(finder(np.argmax))

arg_min = Operator("ArgMin", about="where along an axis the smallest element is.")
arg_min.infer(*VERSIONS)(infer)
arg_min.eval(*VERSIONS)(finder(np.argmin))

for op in (arg_max, arg_min):
    op.convert((12, 11))(from_the_other_end)
    op.convert((11, 1))(from_the_front)
