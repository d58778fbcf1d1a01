"""Conversions of comparisons and choices to operator sets that compare fewer element types."""

from __future__ import annotations

import math

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.graph import Value
from sardonyx._src.ir.types import Shape
from sardonyx._src.ops.change import Change, Converted
from sardonyx._src.ops.shapes import broadcast
from sardonyx._src.ops.widening import INTEGERS_IN_DOUBLE, cast, through

HALF = 1 << 32
MOST = 1 << 20  # elements for which a table of places is written down


def neither_less_nor_greater(c: Change) -> Converted:
    """Equal from version 11 to 7, which compares truth values and integers of 32 and 64 bits alone."""
    dtype, A, B = c.dtype(0), c.input(0), c.input(1)
    if dtype in (DataType.BOOL, DataType.INT32, DataType.INT64):
        return c.same()
    equal = c.Not(c.Or(c.Less(A, B), c.Greater(A, B)))
    if dtype.is_integer:
        return equal
    return c.And(equal, c.Not(c.Or(c.IsNaN(A), c.IsNaN(B))))


def integers_by_halves(c: Change) -> Converted:
    """Less and Greater from version 9 to 7, which compare floats alone.

    Integers of 64 bits are compared by what 2^32 goes into them, and where that is the same by what is left over.
    """
    dtype = c.t.dtype(0)
    if dtype is None or not dtype.is_integer:
        return c.same()
    if dtype in INTEGERS_IN_DOUBLE:
        return through(c, INTEGERS_IN_DOUBLE[dtype])
    high, low = zip(*(halves(c, c.input(i), dtype) for i in (0, 1)), strict=True)
    real = [[cast(c, half, DataType.DOUBLE) for half in pair] for pair in (high, low)]
    differ = c.op(c.node.op_type, *real[0])
    same = c.Equal(*(cast(c, half, DataType.INT64) for half in high))
    return c.Or(differ, c.And(same, c.op(c.node.op_type, *real[1])))


def halves(c: Change, value: Value, dtype: DataType) -> tuple[Value, Value]:
    base = c.constant(HALF, dtype)
    high = c.Div(value, base)
    return high, c.Sub(value, c.Mul(high, base))


def is_nan(c: Change, X: Value, dtype: DataType) -> Value:
    """Where X is neither below 1 nor above 0."""
    is_number = c.Or(c.Less(X, c.constant(1, dtype)), c.Greater(X, c.constant(0, dtype)))
    return c.Not(is_number)


# --- choices ---------------------------------------------------------------------------------


def greatest_integers(c: Change) -> Converted:
    """Max and Min from version 12 to 8, which take floats alone; what is said here of integers is exact."""
    dtype = c.t.dtype(0)
    if dtype is None or not dtype.is_integer:
        return c.same()
    values = [c.input(i) for i in range(len(c.node.inputs))]
    result = values[0]
    for value in values[1:]:
        result = pick(c, c.node.op_type, result, value)
    return c.Identity(result) if len(values) == 1 else result


def pick(c: Change, op_type: str, a: Value, b: Value) -> Value:
    """The greater ("Max") or lesser of two integers."""
    return c.Where(c.op("Less" if op_type == "Max" else "Greater", a, b), b, a)


def without_where(c: Change) -> Converted:
    """Where before version 9: truth values by logic, integers by arithmetic, others out of a table of known size."""
    condition, X, Y = (c.input(i) for i in range(3))
    dtype = c.t.dtype(1) or c.dtype(2)
    if dtype is DataType.BOOL:
        return c.Or(c.And(condition, X), c.And(c.Not(condition), Y))
    if dtype in (DataType.INT32, DataType.INT64, DataType.UINT32, DataType.UINT64):
        chosen, other = cast(c, condition, dtype), cast(c, c.Not(condition), dtype)
        return c.Add(c.Mul(chosen, X), c.Mul(other, Y))
    shape = known_shape(c)
    count = math.prod(shape)
    if count > MOST:
        c.refuse(f"choosing {count} elements of {dtype.text} one by one would take too large a table")
    size = c.integers(shape)
    pool = c.Concat(*(c.Reshape(c.Expand(v, size), c.integers([-1])) for v in (X, Y)), axis=0)
    places = c.constant(np.arange(count, 2 * count).reshape(shape))
    back = c.Mul(c.Cast(condition, to=int(DataType.INT64)), c.integers(count))
    return c.Gather(pool, c.Sub(places, back))


def known_shape(c: Change) -> tuple[int, ...]:
    shape: Shape | None = broadcast(c.t, [c.t.shape(i) for i in range(3)])
    if shape is None or not all(isinstance(d, int) for d in shape):
        c.refuse("floats are chosen by their places, for which the shapes have to be known")
    return tuple(d for d in shape if isinstance(d, int))
