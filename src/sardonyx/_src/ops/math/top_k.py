"""TopK: the k largest or smallest elements along an axis, and their indices.

Spec: ai.onnx TopK-1, -10, -11, -24.  k is an attribute in 1 and an input from 10 on; 11 adds `largest`, `sorted` and
integers, 24 bfloat16.  Of equal elements the one with the lower index comes first.  Results are sorted even with
`sorted` 0.  The specification does not mention NaN; here it counts as larger than all numbers.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType, Value
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.support.arithmetic import promote_to_float32
from sardonyx._src.ops.support.promotion import NARROW_FLOATS, cast, promote_input
from sardonyx._src.ops.support.shapes import axis_of
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter

op = Operator("TopK", exact_in_half=True, computes_in_float32=True, parameters=(1,))
OUT_OF_RANGE = 1e300  # beyond the range of float


@op.infer(1, 10, 11, 24)
def infer(inference: Inference) -> Result:
    x, k = inference.tensor(0), k_of(inference)
    shape = None
    if isinstance(k, int) and k < 0:
        inference.fail(f"k must not be negative; got {k}")
    if x is not None and x.shape is not None:
        axis = inference.axis(inference.integer("axis"), len(x.shape))
        size = x.shape[axis]
        if isinstance(k, int) and isinstance(size, int) and k > size:
            inference.fail(f"k must be at most {size}, the size of axis {axis}; got {k}")
        shape = (*x.shape[:axis], inference.new_dim() if k is None else k, *x.shape[axis + 1 :])
    return (None if x is None else TensorType(x.dtype, shape), TensorType(DataType.INT64, shape))


def k_of(inference: Inference) -> Dim:
    """k, an attribute in version 1, later an input; None if it is not known."""
    if inference.version == 1:
        return inference.integer("k")
    dims, shape = inference.dims(1), inference.shape(1)
    if shape is not None and (len(shape) != 1 or (isinstance(shape[0], int) and shape[0] != 1)):
        inference.fail(f"k must be a vector of one element; got {inference.type(1)}")
    return None if dims is None else dims[0]


op.convert((24, 11))(promote_input(NARROW_FLOATS))


@op.convert((1, 10))
def convert_1_to_10(adapter: Adapter) -> AdaptedNode:
    """k becomes an input, a vector of one element."""
    attribute = adapter.node.attributes["k"]
    k = (
        adapter.Reshape(adapter.parameter(attribute), adapter.integers([1]))
        if attribute.ref
        else adapter.integers([adapter.inference.integer("k")])
    )
    return adapter.same([adapter.input(0), k], drop=("k",))


@op.convert((10, 1))
def convert_10_to_1(adapter: Adapter) -> AdaptedNode:
    return adapter.same([adapter.input(0)], k=adapter.as_attribute(1, "k", AttributeType.INT))


@op.convert((11, 10))
def convert_11_to_10(adapter: Adapter) -> AdaptedNode:
    """Version 10 selects the largest elements of floats only.

    Integers of up to 32 bits are selected as doubles.  The smallest elements are the largest ones of the negated data.
    """
    dtype, largest = adapter.dtype(0), bool(adapter.inference.integer("largest"))
    if largest and not dtype.is_integer:
        return adapter.same(drop=("largest", "sorted"))
    if dtype in (DataType.INT64, DataType.UINT64, DataType.DOUBLE):
        adapter.refuse(f"selecting from {dtype.text} takes a wider float type than double")
    X = cast(adapter, adapter.input(0), DataType.DOUBLE)
    node = adapter.same([X if largest else negate(adapter, X), adapter.input(1)], drop=("largest", "sorted"))
    values, indices = adapter.add("TopK", node.inputs, dict(node.attributes), 2)
    return [cast(adapter, values if largest else restore_negated(adapter, values), dtype), indices]


def negate(adapter: Adapter, X: Value) -> Value:
    """The negated numbers in double; NaN, the largest element, becomes -inf, the smallest.

    Infinities are clamped to OUT_OF_RANGE, so that they differ from a NaN.
    """
    far = adapter.constant(OUT_OF_RANGE, DataType.DOUBLE)
    bounded = adapter.Max(adapter.Min(X, far), adapter.Neg(far))
    return adapter.Where(adapter.IsNaN(X), adapter.constant(-np.inf, DataType.DOUBLE), adapter.Neg(bounded))


def restore_negated(adapter: Adapter, values: Value) -> Value:
    """The inverse of `negate`; clamped infinities become infinite again in the Cast."""
    is_nan = adapter.Less(values, adapter.constant(-2 * OUT_OF_RANGE, DataType.DOUBLE))
    return adapter.Where(is_nan, adapter.constant(np.nan, DataType.DOUBLE), adapter.Neg(values))


@op.eval(1)
def eval_1(X: Array, *, axis: int, k: int) -> tuple[Array, Array]:
    return select_top(X, k, axis, largest=True)


@op.eval(10, 11, 24, ignores=("sorted",))
def evaluate(X: Array, K: Array, *, axis: int, largest: int = 1) -> tuple[Array, Array]:
    """X: [..., n, ...], K: [1] int64; Values, Indices: [..., k, ...] of the type of X and int64."""
    if K.shape != (1,):
        raise EvaluationError(f"k must have shape [1]; got {list(K.shape)}")
    return select_top(X, int(K[0]), axis, largest=bool(largest))


def select_top(x: Array, k: int, axis: int, *, largest: bool) -> tuple[Array, Array]:
    axis = axis_of(axis, x.ndim)
    if not 0 <= k <= x.shape[axis]:
        raise EvaluationError(f"k must be in [0, {x.shape[axis]}], up to the size of axis {axis}; got {k}")
    order = (
        descending(promote_to_float32(x), axis)
        if largest
        else np.argsort(promote_to_float32(x), axis, kind="stable")
    )
    indices = order[(slice(None),) * axis + (slice(k),)].astype(np.int64, copy=False)
    return np.take_along_axis(x, indices, axis), indices


def descending(x: Array, axis: int) -> Array:
    """The indices that sort each line in descending order, stably."""
    backwards = np.argsort(np.flip(x, axis), axis, kind="stable")
    return x.shape[axis] - 1 - np.flip(backwards, axis)
