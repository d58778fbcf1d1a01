"""Operations across the lanes of vectors: shuffles, transpositions and horizontal reductions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sardonyx._src.compile.codegen import LLVMType, LLVMValue
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder


def shuffle(b: KernelBuilder, low: LLVMValue, high: LLVMValue, lanes: Sequence[int]) -> LLVMValue:
    """The given lanes of the concatenation of two vectors; a scalar if only one lane is given."""
    result_type = LLVMType(low.type.element, len(lanes))
    if result_type.lanes == 1:
        return b.emit(result_type, f"extractelement {low}, i64 {lanes[0]}")
    indices = ", ".join(f"i32 {lane}" for lane in lanes)
    return b.emit(result_type, f"shufflevector {low}, {high}, <{result_type.lanes} x i32> <{indices}>")


def exchange_lanes(
    b: KernelBuilder, even: LLVMValue, odd: LLVMValue, distance: int
) -> tuple[LLVMValue, LLVMValue]:
    """Swaps the odd runs of `distance` lanes of vector `even` with the even runs of vector `odd`.

    This is one butterfly of a transposition.
    """
    lanes = even.type.lanes
    low = [lanes + j - distance if j & distance else j for j in range(lanes)]
    high = [lanes + j if j & distance else j + distance for j in range(lanes)]
    return shuffle(b, even, odd, low), shuffle(b, even, odd, high)


def swap_lanes(b: KernelBuilder, value: LLVMValue, distance: int) -> LLVMValue:
    """A vector in which lane i is lane i ^ distance of `value`; distance: a power of two."""
    return shuffle(b, value, value, [i ^ distance for i in range(value.type.lanes)])


def transpose(b: KernelBuilder, rows: list[LLVMValue]) -> list[LLVMValue]:
    """Transposes n vectors of n lanes each, in log2(n) rounds of butterflies."""
    rows, distance = list(rows), 1
    while distance < len(rows):
        for i in range(len(rows)):
            if i & distance == 0:
                rows[i], rows[i + distance] = exchange_lanes(b, rows[i], rows[i + distance], distance)
        distance *= 2
    return rows


def sum_each(b: KernelBuilder, rows: list[LLVMValue]) -> LLVMValue:
    """The sums of n vectors, n a power of two and at most their lanes, in a vector of n lanes: lane i is the sum of row i.

    Each sum adds neighboring lanes first, then neighboring sums of these, whatever n is.
    """
    count, distance = len(rows), 1
    while len(rows) > 1:
        pairs = [exchange_lanes(b, *pair, distance) for pair in zip(rows[::2], rows[1::2], strict=True)]
        rows = [low + high for low, high in pairs]
        distance *= 2
    total = rows[0]
    while total.type.lanes > count:
        even = [lane for lane in range(total.type.lanes) if lane & count == 0]
        odd = [lane + count for lane in even]
        total = shuffle(b, total, total, even) + shuffle(b, total, total, odd)
    return total


def reduce_to_all_lanes(b: KernelBuilder, op: str, value: LLVMValue) -> LLVMValue:
    """Reduces the lanes of a vector by an operation, in log2(lanes) steps; the result is in every lane."""
    distance = value.type.lanes // 2
    while distance:
        value = b.emit_operation(op, value, swap_lanes(b, value, distance))
        distance //= 2
    return value


def reduce_to_scalar(
    b: KernelBuilder, combine: Callable[[LLVMValue, LLVMValue], LLVMValue], value: LLVMValue
) -> LLVMValue:
    """Reduces a vector to a scalar by halving: lane i is combined with lane i + lanes / 2.

    The order of the operations is fixed, so that floating-point results are reproducible.
    """
    while value.type.lanes > 1:
        half = value.type.lanes // 2
        low, high = range(half), range(half, 2 * half)
        value = combine(shuffle(b, value, value, low), shuffle(b, value, value, high))
    return value
