"""ArgMax, ArgMin: the index of the largest or the smallest element along an axis.

Spec: ai.onnx ArgMax-1, -11, -12, -13 and ArgMin-1, -11, -12, -13.  Of equal elements the first one is selected, or since
version 12 the last one if `select_last_index` is set; 13 adds bfloat16.  The specification does not mention NaN; here both
operators select a NaN as the extreme element.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.support.arithmetic import promote_to_float32
from sardonyx._src.ops.support.axes import normalize_axis
from sardonyx._src.ops.support.body_text import SLICE_END
from sardonyx._src.ops.support.shapes import axis_of
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter

ARG_REDUCTION_VERSIONS = (1, 11, 12, 13)


def infer(inference: Inference) -> Result:
    shape = inference.shape(0)
    if shape is None:
        return TensorType(DataType.INT64)
    axis = inference.axis(inference.integer("axis"), len(shape))
    rest = shape[:axis] + shape[axis + 1 :]
    if shape[axis] == 0 and all(isinstance(n, int) and n > 0 for n in rest):
        inference.fail(f"axis {axis} must have at least one element; got an empty axis")
    reduced_dim = (1,) if inference.integer("keepdims") else ()
    return TensorType(DataType.INT64, shape[:axis] + reduced_dim + shape[axis + 1 :])


def make_kernel(find: Callable[[Array, int], Array]) -> Callable[..., Array]:
    """The kernel for `find(x, axis)`, which returns the first of equal elements."""

    def evaluate(data: Array, *, axis: int, keepdims: int, select_last_index: int = 0) -> Array:
        """data: [..., n, ...], n > 0; result: int64 [..., 1, ...], without that axis if keepdims is 0."""
        axis = axis_of(axis, data.ndim)
        rest = data.shape[:axis] + data.shape[axis + 1 :]
        if data.shape[axis] == 0 and 0 not in rest:
            raise EvaluationError(f"axis {axis} must have at least one element; got an empty axis")
        lines = (
            promote_to_float32(data)
            if data.size
            else np.zeros((*data.shape[:axis], 1, *data.shape[axis + 1 :]))
        )
        indices = locate(lines, axis, find, bool(select_last_index))
        return np.expand_dims(indices, axis) if keepdims else indices

    return evaluate


def locate(x: Array, axis: int, find: Callable[[Array, int], Array], last: bool) -> Array:
    """The index that `find` gives for each line; with `last`, the last one of equal elements."""
    if not last:
        return np.asarray(find(x, axis), np.int64)
    return np.asarray(x.shape[axis] - 1 - find(np.flip(x, axis), axis), np.int64)


def adapt_select_last_index(adapter: Adapter) -> AdaptedNode:
    """From version 12 to 11, which selects the first of equal elements.

    With select_last_index, the node gets reversed lines, and its index is counted from the end of the line.
    """
    if not adapter.inference.integer("select_last_index"):
        return adapter.same(drop=("select_last_index",))
    axis = adapter.inference.integer("axis")
    last = [adapter.integers([n]) for n in (-1, -SLICE_END - 1, axis, -1)]
    reversed_node = adapter.same([adapter.Slice(adapter.input(0), *last)], drop=("select_last_index",))
    (index,) = adapter.add(reversed_node.op_type, reversed_node.inputs, dict(reversed_node.attributes), 1)
    size = adapter.Gather(adapter.Shape(adapter.input(0)), adapter.integers(adapter.axis()))
    return adapter.Sub(adapter.Sub(size, adapter.integers(1)), index)


arg_max = Operator(
    "ArgMax", about="the index of the largest element along an axis.", computes_in_float32=True
)
arg_max.infer(*ARG_REDUCTION_VERSIONS)(infer)
arg_max.eval(*ARG_REDUCTION_VERSIONS)(make_kernel(np.argmax))

arg_min = Operator(
    "ArgMin", about="the index of the smallest element along an axis.", computes_in_float32=True
)
arg_min.infer(*ARG_REDUCTION_VERSIONS)(infer)
arg_min.eval(*ARG_REDUCTION_VERSIONS)(make_kernel(np.argmin))

for op in (arg_max, arg_min):
    op.convert((12, 11))(adapt_select_last_index)
    op.convert((11, 1))(normalize_axis)
