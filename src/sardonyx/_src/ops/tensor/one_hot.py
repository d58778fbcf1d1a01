"""OneHot: for each index a line of off values with the on value at its place.

Spec: ai.onnx OneHot-9, -11, -28.  In 9 an index in [0, depth) has a place, from 11 on also one in [-depth, 0), which
counts from the back; the line of any other is all off.  11 says that a negative `axis` counts from the back, which it
does here in all versions; 28 adds an element type.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import Shape, TensorType
from sardonyx._src.ops.api import Call, Operator, claim
from sardonyx._src.ops.change import Change, Converted
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.shapes import axis_of, check_single

op = Operator("OneHot")


@op.infer(9, 11, 28)
def infer(t: Inference) -> Result:
    values, shape = t.tensor(2), t.shape(0)
    check_single(t, 1, "depth")
    if values is None:
        return None
    if shape is None:
        return TensorType(values.dtype)
    if values.shape is not None and not may_be(values.shape, (2,)):
        t.fail(f"values are {values}, where two elements, off and on, are wanted")
    axis = t.axis(t.integer("axis"), len(shape) + 1)
    return TensorType(values.dtype, (*shape[:axis], depth_dim(t), *shape[axis:]))


def may_be(shape: Shape, wanted: tuple[int, ...]) -> bool:
    """Whether a shape is the wanted one, for all that is known."""
    return len(shape) == len(wanted) and all(
        n == m for n, m in zip(shape, wanted, strict=True) if isinstance(n, int)
    )


def depth_dim(t: Inference) -> Dim:
    dims = t.dims(1)
    depth = dims[0] if dims is not None and len(dims) == 1 else None
    if isinstance(depth, int) and depth < 0:
        t.fail(f"depth is {depth}")
    return depth


@op.eval(9, 11, 28)
def evaluate(indices: Array, depth: Array, values: Array, *, axis: int, call: Call) -> Array:
    """indices: any shape; depth: one element; values: [off, on]; result: a new axis of size `depth` at `axis`.

    Indices and depths of floating-point types are cut off to integers.
    """
    if depth.size != 1 or values.shape != (2,):
        what = f"depth has {depth.size} elements and values shape {list(values.shape)}, where one and [2] are wanted"
        raise EvaluationError(what)
    count = int(depth.reshape(()))
    if count < 0:
        raise EvaluationError(f"depth is {count}, where a size is wanted")
    axis = axis_of(axis, indices.ndim + 1)
    shape = (*indices.shape[:axis], count, *indices.shape[axis:])
    claim(call, shape, values.dtype, "OneHot result")
    places = placed(indices, count, negative=call.version >= 11)
    line = np.arange(count).reshape(-1, *[1] * (indices.ndim - axis))
    return np.where(np.expand_dims(places, axis) == line, values[1:], values[:1])


op.convert((11, 28), (28, 11))(lambda c: c.same())


@op.convert((9, 11))
def to_11(c: Change) -> Converted:
    """From 11 on a negative index counts from the back; in 9 its line is all off."""
    indices = c.t.constant(0)
    if (indices is not None and (indices >= 0).all()) or c.dtype(0).numpy.kind == "u":
        return c.same()
    wide = DataType.INT64 if c.dtype(0).is_integer else DataType.DOUBLE  # which hold every depth
    places, depth = c.Cast(c.input(0), to=wide), c.Cast(c.Reshape(c.input(1), c.integers([])), to=wide)
    counts_from_front = c.Greater(places, c.constant(-1, wide))  # what lies above -1 is cut off to 0
    return c.same([c.Where(counts_from_front, places, depth), *c.node.inputs[1:]])


@op.convert((11, 9))
def to_9(c: Change) -> Converted:
    indices = c.t.constant(0)
    if not ((indices is not None and (indices >= 0).all()) or c.dtype(0).numpy.kind == "u"):
        c.refuse("an index that counts from the back has no place there, and the indices are not known")
    return with_front_axis(c)


def with_front_axis(c: Change) -> Converted:
    """The axis of the result counted from the front, but for -1, which 9 knows as the last."""
    axis = c.t.integer("axis")
    return c.same() if axis >= -1 else c.same(axis=c.t.axis(axis, c.rank(0) + 1))


def placed(indices: Array, count: int, *, negative: bool) -> Array:
    """The place of each index in [0, count), int64; -1 where it has none."""
    whole = np.trunc(indices.astype(np.float64)) if indices.dtype.kind == "f" else indices
    inside = (whole >= (-count if negative else 0)) & (whole < count)
    places = np.where(inside, whole, 0).astype(np.int64)
    return np.where(inside, np.where(places < 0, places + count, places), -1)
