"""Version adapters of comparisons and selections for operator sets that compare fewer element types."""

from __future__ import annotations

import math

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Shape, Value
from sardonyx._src.ops.support.promotion import INTEGERS_IN_DOUBLE, cast, compute_in
from sardonyx._src.ops.support.shapes import broadcast
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter

LOW_WORD_RANGE = 1 << 32  # a 64-bit integer is high * LOW_WORD_RANGE + low
MAX_TABLE_ELEMENTS = 1 << 20  # the largest index table of a Gather, which is a constant in the model


def decompose_equal(adapter: Adapter) -> AdaptedNode:
    """Equal from version 11 to 7, which compares only bool and integers of 32 and 64 bits."""
    dtype, A, B = adapter.dtype(0), adapter.input(0), adapter.input(1)
    if dtype in (DataType.BOOL, DataType.INT32, DataType.INT64):
        return adapter.same()
    equal = adapter.Not(adapter.Or(adapter.Less(A, B), adapter.Greater(A, B)))
    if dtype.is_integer:
        return equal
    return adapter.And(equal, adapter.Not(adapter.Or(adapter.IsNaN(A), adapter.IsNaN(B))))


def compare_integers(adapter: Adapter) -> AdaptedNode:
    """Less and Greater from version 9 to 7, which compare only floats: integers are compared as doubles.

    Integers of 64 bits, which double does not hold, are compared by their high words, then by their low words.
    """
    dtype = adapter.inference.dtype(0)
    if dtype is None or not dtype.is_integer:
        return adapter.same()
    if dtype in INTEGERS_IN_DOUBLE:
        return compute_in(adapter, INTEGERS_IN_DOUBLE[dtype])
    high, low = zip(*(split_words(adapter, adapter.input(i), dtype) for i in (0, 1)), strict=True)
    real = [[cast(adapter, half, DataType.DOUBLE) for half in pair] for pair in (high, low)]
    differ = adapter.op(adapter.node.op_type, *real[0])
    same = adapter.Equal(*(cast(adapter, half, DataType.INT64) for half in high))
    return adapter.Or(differ, adapter.And(same, adapter.op(adapter.node.op_type, *real[1])))


def split_words(adapter: Adapter, value: Value, dtype: DataType) -> tuple[Value, Value]:
    """The high and the low word; value = high * LOW_WORD_RANGE + low, and both have the sign of the value."""
    base = adapter.constant(LOW_WORD_RANGE, dtype)
    high = adapter.Div(value, base)
    return high, adapter.Sub(value, adapter.Mul(high, base))


def is_nan(adapter: Adapter, X: Value, dtype: DataType) -> Value:
    """Where X is NaN: every number is below 1 or above 0."""
    is_number = adapter.Or(
        adapter.Less(X, adapter.constant(1, dtype)), adapter.Greater(X, adapter.constant(0, dtype))
    )
    return adapter.Not(is_number)


# --- selections ------------------------------------------------------------------------------


def decompose_integer_extremes(adapter: Adapter) -> AdaptedNode:
    """Max and Min from version 12 to 8, which accept only floats: Less, Greater and Where select integers."""
    dtype = adapter.inference.dtype(0)
    if dtype is None or not dtype.is_integer:
        return adapter.same()
    values = [adapter.input(i) for i in range(len(adapter.node.inputs))]
    result = values[0]
    for value in values[1:]:
        result = select_extreme(adapter, adapter.node.op_type, result, value)
    return adapter.Identity(result) if len(values) == 1 else result


def select_extreme(adapter: Adapter, op_type: str, a: Value, b: Value) -> Value:
    """The greater ("Max") or lesser of two integers."""
    return adapter.Where(adapter.op("Less" if op_type == "Max" else "Greater", a, b), b, a)


def decompose_where(adapter: Adapter) -> AdaptedNode:
    """Where before version 9: bool by logic, integers by arithmetic.

    Other types are selected by a Gather from the elements of X, followed by those of Y.  Its indices are constants, so
    the shapes must be known.
    """
    condition, X, Y = (adapter.input(i) for i in range(3))
    dtype = adapter.inference.dtype(1) or adapter.dtype(2)
    if dtype is DataType.BOOL:
        return adapter.Or(adapter.And(condition, X), adapter.And(adapter.Not(condition), Y))
    if dtype in (DataType.INT32, DataType.INT64, DataType.UINT32, DataType.UINT64):
        chosen, other = cast(adapter, condition, dtype), cast(adapter, adapter.Not(condition), dtype)
        return adapter.Add(adapter.Mul(chosen, X), adapter.Mul(other, Y))
    shape = known_shape(adapter)
    count = math.prod(shape)
    if count > MAX_TABLE_ELEMENTS:
        adapter.refuse(f"selecting {count} elements of {dtype.text} one by one takes too large a table")
    size = adapter.integers(shape)
    pool = adapter.Concat(
        *(adapter.Reshape(adapter.Expand(v, size), adapter.integers([-1])) for v in (X, Y)), axis=0
    )
    y_indices = adapter.constant(np.arange(count, 2 * count).reshape(shape))
    distance = adapter.Mul(adapter.Cast(condition, to=int(DataType.INT64)), adapter.integers(count))
    return adapter.Gather(pool, adapter.Sub(y_indices, distance))


def known_shape(adapter: Adapter) -> tuple[int, ...]:
    """The broadcast shape of the three inputs; refused unless all of its sizes are known."""
    shape: Shape | None = broadcast(adapter.inference, [adapter.inference.shape(i) for i in range(3)])
    if shape is None or not all(isinstance(d, int) for d in shape):
        adapter.refuse("the shapes must be known, as floats are selected by index in the target version")
    return tuple(d for d in shape if isinstance(d, int))
