"""Operators on bits before they came, by arithmetic."""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.graph import Value
from sardonyx._src.ops.change import Change, Converted
from sardonyx._src.ops.widening import SMALL_INTEGERS, cast

UNSIGNED = {
    DataType.INT8: DataType.UINT8,
    DataType.INT16: DataType.UINT16,
    DataType.INT32: DataType.UINT32,
    DataType.INT64: DataType.UINT64,
}
LOGIC = {"BitwiseAnd": "And", "BitwiseOr": "Or", "BitwiseXor": "Xor"}


def integers(c: Change) -> DataType:
    """The element type of input 0, which is one of integers."""
    own = c.dtype(0)
    if not own.is_integer:
        c.refuse(f"the elements are of {own.text}, which is no type of integers")
    return own


def bit_by_bit(c: Change) -> Converted:
    """Logic on bits before version 18: both operands as truth values along an axis of their own."""
    own = integers(c)
    bits = [truths(c, c.input(i), own) for i in (0, 1)]
    found = c.op(LOGIC[c.node.op_type], *bits)
    weights = np.left_shift(np.uint64(1), np.arange(own.numpy.itemsize * 8, dtype=np.uint64))
    values = c.Mul(c.Cast(found, to=int(DataType.UINT64)), c.constant(weights))
    return c.Cast(c.ReduceSum(values, c.integers([-1]), keepdims=0), to=int(own))


def truths(c: Change, value: Value, own: DataType) -> Value:
    """The bits of integers [...] as truth values [..., bits], the least one first."""
    wide = c.Unsqueeze(c.Cast(value, to=int(DataType.UINT64)), c.integers([-1]))
    places = c.constant(np.arange(own.numpy.itemsize * 8, dtype=np.uint64))
    moved = c.BitShift(wide, places, direction="RIGHT")
    return c.Cast(c.Mod(moved, c.constant(2, DataType.UINT64)), to=int(DataType.BOOL))


def turned_over(c: Change) -> Converted:
    """BitwiseNot before version 18: all bits set, less the integer; of signed ones, minus one less it."""
    own = integers(c)
    most = int(np.iinfo(own.numpy).max) if own not in UNSIGNED else -1
    return c.Sub(c.constant(most, own), c.input(0))


def shifted_as_unsigned(c: Change) -> Converted:
    """BitShift from version 28 to 11, which shifts unsigned integers, and does not say what too far is."""
    X, Y, own = c.input(0), c.input(1), integers(c)
    unsigned = UNSIGNED.get(own)
    if unsigned is None:
        return c.same()
    out = c.Or(c.Less(Y, c.constant(0, own)), c.GreaterOrEqual(Y, c.constant(own.numpy.itemsize * 8, own)))
    places = c.Cast(c.Where(out, c.constant(0, own), Y), to=int(unsigned))

    def moved(value: Value) -> Value:
        kept = dict(c.node.attributes)
        (found,) = c.add("BitShift", [c.Cast(value, to=int(unsigned)), places], kept, 1)
        return c.Where(out, c.constant(0, own), c.Cast(found, to=int(own)))

    if c.t.attributes["direction"] == "LEFT":
        return moved(X)
    is_negative = c.Less(X, c.constant(0, own))
    return c.Where(is_negative, c.BitwiseNot(moved(c.BitwiseNot(X))), moved(X))


def by_powers_of_two(c: Change) -> Converted:
    """BitShift before version 11: products with and quotients by powers of 2, which are 0 beyond the number of bits."""
    X, Y, own = c.input(0), c.input(1), integers(c)
    wide = SMALL_INTEGERS.get(own, own)
    bits = c.constant(own.numpy.itemsize * 8, own)
    is_out = c.Not(c.Less(Y, bits))
    places = cast(c, c.Where(is_out, c.constant(0, own), Y), DataType.DOUBLE)
    power = cast(c, c.Pow(c.constant(2, DataType.DOUBLE), places), wide)
    combine = "Mul" if c.t.attributes["direction"] == "LEFT" else "Div"
    number = X if wide is own else cast(c, X, wide)
    found = c.op(combine, number, power)
    found = found if wide is own else cast(c, found, own)
    return c.Where(is_out, c.constant(0, own), found)
