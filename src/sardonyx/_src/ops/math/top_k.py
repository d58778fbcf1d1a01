"""TopK: the k largest or smallest elements along an axis, and where they were.

Spec: ai.onnx TopK-1, -10, -11, -24.  k is an attribute in 1 and an input from 10 on; 11 adds `largest`, `sorted` and
integers, 24 bfloat16.  Of equal elements the one with the lower index comes first.  Elements that need not be sorted
are sorted all the same; NaN, of which the text says nothing, counts as larger than all numbers.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ir.graph import Value
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.arithmetic import widen
from sardonyx._src.ops.change import Change, Converted
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.shapes import axis_of
from sardonyx._src.ops.widening import NARROW_FLOATS, cast, widening

op = Operator("TopK")
FAR = 1e300  # beyond every number of the narrower floats


@op.infer(1, 10, 11, 24)
def infer(t: Inference) -> Result:
    x, k = t.tensor(0), wanted(t)
    shape = None
    if isinstance(k, int) and k < 0:
        t.fail(f"k is {k}, where no negative number is wanted")
    if x is not None and x.shape is not None:
        axis = t.axis(t.integer("axis"), len(x.shape))
        size = x.shape[axis]
        if isinstance(k, int) and isinstance(size, int) and k > size:
            t.fail(f"k is {k}, where axis {axis} has {size} elements")
        shape = (*x.shape[:axis], t.new_dim() if k is None else k, *x.shape[axis + 1 :])
    return (None if x is None else TensorType(x.dtype, shape), TensorType(DataType.INT64, shape))


def wanted(t: Inference) -> Dim:
    if t.version == 1:
        return t.integer("k")
    dims, shape = t.dims(1), t.shape(1)
    if shape is not None and (len(shape) != 1 or (isinstance(shape[0], int) and shape[0] != 1)):
        t.fail(f"k is {t.type(1)}, where a vector of one element is wanted")
    return None if dims is None else dims[0]


op.convert((24, 11))(widening(NARROW_FLOATS))


@op.convert((1, 10))
def to_10(c: Change) -> Converted:
    """k becomes an input of one axis."""
    given = c.node.attributes["k"]
    k = c.Reshape(c.parameter(given), c.integers([1])) if given.ref else c.integers([c.t.integer("k")])
    return c.same([c.input(0), k], drop=("k",))


@op.convert((10, 1))
def to_1(c: Change) -> Converted:
    return c.same([c.input(0)], k=c.as_attribute(1, "k", AttributeType.INT))


@op.convert((11, 10))
def down_to_10(c: Change) -> Converted:
    """Integers of up to 32 bits are chosen from as doubles; the least elements are the largest of their opposites."""
    dtype, largest = c.dtype(0), bool(c.t.integer("largest"))
    if largest and not dtype.is_integer:
        return c.same(drop=("largest", "sorted"))
    if dtype in (DataType.INT64, DataType.UINT64, DataType.DOUBLE):
        c.refuse(f"elements of {dtype.text} would have to be chosen from as numbers of a wider float type")
    X = cast(c, c.input(0), DataType.DOUBLE)
    kept = c.same([X if largest else opposite(c, X), c.input(1)], drop=("largest", "sorted"))
    values, indices = c.add("TopK", kept.inputs, dict(kept.attributes), 2)
    return [cast(c, values if largest else same_again(c, values), dtype), indices]


def opposite(c: Change, X: Value) -> Value:
    """The numbers with the other sign, in double, infinities as great numbers, and NaN below them."""
    far = c.constant(FAR, DataType.DOUBLE)
    bounded = c.Max(c.Min(X, far), c.Neg(far))
    return c.Where(c.IsNaN(X), c.constant(-np.inf, DataType.DOUBLE), c.Neg(bounded))


def same_again(c: Change, values: Value) -> Value:
    """What `opposite` was made of, with great numbers that a Cast makes infinities."""
    is_nan = c.Less(values, c.constant(-2 * FAR, DataType.DOUBLE))
    return c.Where(is_nan, c.constant(np.nan, DataType.DOUBLE), c.Neg(values))


@op.eval(1)
def eval_1(X: Array, *, axis: int, k: int) -> tuple[Array, Array]:
    return chosen(X, k, axis, largest=True)


@op.eval(10, 11, 24, ignores=("sorted",))
def evaluate(X: Array, K: Array, *, axis: int, largest: int = 1) -> tuple[Array, Array]:
    """X: [..., n, ...], K: [1] int64; Values, Indices: [..., k, ...] of the type of X and int64."""
    if K.shape != (1,):
        raise EvaluationError(f"k has shape {list(K.shape)}, where a vector of one element is wanted")
    return chosen(X, int(K[0]), axis, largest=bool(largest))


def chosen(x: Array, k: int, axis: int, *, largest: bool) -> tuple[Array, Array]:
    axis = axis_of(axis, x.ndim)
    if not 0 <= k <= x.shape[axis]:
        raise EvaluationError(f"k is {k}, where axis {axis} has {x.shape[axis]} elements to choose from")
    order = descending(widen(x), axis) if largest else np.argsort(widen(x), axis, kind="stable")
    indices = order[(slice(None),) * axis + (slice(k),)].astype(np.int64, copy=False)
    return np.take_along_axis(x, indices, axis), indices


def descending(x: Array, axis: int) -> Array:
    """Where the elements of each line are from the largest to the smallest, the first of equals first."""
    backwards = np.argsort(np.flip(x, axis), axis, kind="stable")
    return x.shape[axis] - 1 - np.flip(backwards, axis)
