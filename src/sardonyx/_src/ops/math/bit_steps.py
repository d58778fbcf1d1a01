"""Bitwise operators decomposed into arithmetic and logic, for operator sets without them."""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Value
from sardonyx._src.ops.support.promotion import SMALL_INTEGERS, cast
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter

UNSIGNED = {
    DataType.INT8: DataType.UINT8,
    DataType.INT16: DataType.UINT16,
    DataType.INT32: DataType.UINT32,
    DataType.INT64: DataType.UINT64,
}
LOGIC_OPERATORS = {"BitwiseAnd": "And", "BitwiseOr": "Or", "BitwiseXor": "Xor"}


def integer_type(adapter: Adapter) -> DataType:
    """The element type of input 0; refused unless it is an integer type."""
    own = adapter.dtype(0)
    if not own.is_integer:
        adapter.refuse(f"input 0 must have an integer type; got {own.text}")
    return own


def decompose_logic(adapter: Adapter) -> AdaptedNode:
    """Bitwise logic before version 18: the logic operator on the bits of both operands, as bools along a new axis."""
    own = integer_type(adapter)
    bits = [unpack_bits(adapter, adapter.input(i), own) for i in (0, 1)]
    result_bits = adapter.op(LOGIC_OPERATORS[adapter.node.op_type], *bits)
    weights = np.left_shift(np.uint64(1), np.arange(own.numpy.itemsize * 8, dtype=np.uint64))
    values = adapter.Mul(adapter.Cast(result_bits, to=int(DataType.UINT64)), adapter.constant(weights))
    return adapter.Cast(adapter.ReduceSum(values, adapter.integers([-1]), keepdims=0), to=int(own))


def unpack_bits(adapter: Adapter, value: Value, own: DataType) -> Value:
    """The bits of integers [...] as bools [..., bits], least significant first."""
    wide = adapter.Unsqueeze(adapter.Cast(value, to=int(DataType.UINT64)), adapter.integers([-1]))
    bit_numbers = adapter.constant(np.arange(own.numpy.itemsize * 8, dtype=np.uint64))
    shifted = adapter.BitShift(wide, bit_numbers, direction="RIGHT")
    return adapter.Cast(adapter.Mod(shifted, adapter.constant(2, DataType.UINT64)), to=int(DataType.BOOL))


def decompose_not(adapter: Adapter) -> AdaptedNode:
    """BitwiseNot before version 18: the integer of which all bits are 1, minus x; for signed types it is -1."""
    own = integer_type(adapter)
    all_ones = int(np.iinfo(own.numpy).max) if own not in UNSIGNED else -1
    return adapter.Sub(adapter.constant(all_ones, own), adapter.input(0))


def adapt_signed_shift(adapter: Adapter) -> AdaptedNode:
    """BitShift from version 28 to 11, which shifts only unsigned integers and leaves shifts out of range undefined.

    Unsigned types are unchanged, since we read 11 as 28 does: zero out of range (docs/rulings.md).
    A negative X is inverted, shifted to the right and inverted again, so that ones enter from the left.
    """
    X, Y, own = adapter.input(0), adapter.input(1), integer_type(adapter)
    unsigned = UNSIGNED.get(own)
    if unsigned is None:
        return adapter.same()
    out = adapter.Or(
        adapter.Less(Y, adapter.constant(0, own)),
        adapter.GreaterOrEqual(Y, adapter.constant(own.numpy.itemsize * 8, own)),
    )
    count = adapter.Cast(adapter.Where(out, adapter.constant(0, own), Y), to=int(unsigned))

    def shift(value: Value) -> Value:
        attributes = dict(adapter.node.attributes)
        (shifted,) = adapter.add("BitShift", [adapter.Cast(value, to=int(unsigned)), count], attributes, 1)
        return adapter.Where(out, adapter.constant(0, own), adapter.Cast(shifted, to=int(own)))

    if adapter.inference.attributes["direction"] == "LEFT":
        return shift(X)
    is_negative = adapter.Less(X, adapter.constant(0, own))
    return adapter.Where(is_negative, adapter.BitwiseNot(shift(adapter.BitwiseNot(X))), shift(X))


def decompose_shift(adapter: Adapter) -> AdaptedNode:
    """BitShift before version 11: multiplication or division by a power of 2; 0 for shifts out of range.

    X is unsigned: the step from version 28 to 11 comes first.  The power is of doubles, since Pow has no integers before 12.
    """
    X, Y, own = adapter.input(0), adapter.input(1), integer_type(adapter)
    wide = SMALL_INTEGERS.get(own, own)
    bits = adapter.constant(own.numpy.itemsize * 8, own)
    is_out = adapter.Not(adapter.Less(Y, bits))
    count = cast(adapter, adapter.Where(is_out, adapter.constant(0, own), Y), DataType.DOUBLE)
    power = cast(adapter, adapter.Pow(adapter.constant(2, DataType.DOUBLE), count), wide)
    combine = "Mul" if adapter.inference.attributes["direction"] == "LEFT" else "Div"
    number = X if wide is own else cast(adapter, X, wide)
    result = adapter.op(combine, number, power)
    result = result if wide is own else cast(adapter, result, own)
    return adapter.Where(is_out, adapter.constant(0, own), result)
