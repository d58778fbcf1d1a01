"""Joined calls: a vector function of several vectors as one call with a vector as long as all of them.

LLVM splits each operation of such a call into registers, so that the vectors are interleaved operation by operation: the
latencies of their dependency chains overlap, and a constant is loaded once for all of them.  Calls of the function one
after the other are scheduled as they are written, and each loads its constants where there are 16 registers.  The lanes
have the same bits either way.
"""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.compile.codegen.builder import FunctionBuilder, LLVMType, LLVMValue
from sardonyx._src.compile.codegen.expressions import FUNCTION_CALLS

MAX_JOINED = 4  # vectors of a call: more do not fit into 16 registers
# Not those that permute a table of coefficients by the lanes of a register, which LLVM cannot split.
JOINED_FUNCTIONS = FUNCTION_CALLS - {"gelu"}


def joins_calls(operation: str, operand: LLVMType) -> bool:
    """Whether an operation is a call that is joined for several operands of this type."""
    return operation in JOINED_FUNCTIONS and operand.element == "float" and operand.lanes > 1


def group_sizes(count: int) -> list[int]:
    """The numbers of vectors of the calls for `count` vectors: powers of two, since LLVM pads other lengths."""
    sizes = []
    while count:
        sizes.append(min(MAX_JOINED, 1 << count.bit_length() - 1))
        count -= sizes[-1]
    return sizes


def join_vectors(b: FunctionBuilder, vectors: Sequence[LLVMValue]) -> LLVMValue:
    """The lanes of vectors of one type, one vector after the other; their number is a power of two."""
    if len(vectors) == 1:
        return vectors[0]
    half = len(vectors) // 2
    low, high = join_vectors(b, vectors[:half]), join_vectors(b, vectors[half:])
    return shuffle(b, low, high, range(2 * low.type.lanes))


def split_vector(b: FunctionBuilder, joined: LLVMValue, count: int) -> list[LLVMValue]:
    """The `count` vectors of which a vector was joined."""
    if count == 1:
        return [joined]
    lanes = joined.type.lanes // count
    return [shuffle(b, joined, joined, range(i * lanes, (i + 1) * lanes)) for i in range(count)]


def shuffle(b: FunctionBuilder, low: LLVMValue, high: LLVMValue, lanes: range) -> LLVMValue:
    result_type = LLVMType(low.type.element, len(lanes))
    indices = ", ".join(f"i32 {lane}" for lane in lanes)
    return b.emit(result_type, f"shufflevector {low}, {high}, <{len(lanes)} x i32> <{indices}>")
