"""Reducers: for each reduction operator its identity, the map of each element, the combine and the final operation.

reduce(x) = finish(combine(transform(x[0]), transform(x[1]), ..., identity), n)

A kernel keeps several independent accumulators, to hide the latency of the operation, and combines them pairwise at the
end.  The order of the operations depends on the sizes alone, so that results are reproducible.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeAlias

from sardonyx._src.compile.codegen.blocks import StackSlot
from sardonyx._src.compile.codegen.builder import Element, LLVMType, LLVMValue
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.codegen.math.double_functions import UNDERFLOW
from sardonyx._src.compile.kernels.lanes import reduce_to_scalar
from sardonyx._src.compile.kernels.tuning import ReductionTuning
from sardonyx._src.dtypes import DataType

ReduceOp = Literal[
    "sum", "mean", "max", "min", "prod", "l1", "l2", "sum_square", "log_sum", "log_sum_exp", "any", "all"
]  # fmt: skip
# The element types that kernels of TopK and scatter reductions exist for.
NUMERIC_ELEMENTS: dict[DataType, Element] = {
    DataType.FLOAT: "float",
    DataType.DOUBLE: "double",
    DataType.INT32: "i32",
    DataType.INT64: "i64",
}
# Those of reductions; bools are bytes of 0 and 1 in memory.
REDUCED_ELEMENTS: dict[DataType, Element] = {
    **NUMERIC_ELEMENTS,
    DataType.UINT32: "u32",
    DataType.UINT64: "u64",
    DataType.INT8: "i8",
    DataType.UINT8: "u8",
    DataType.BOOL: "u8",
}
INTEGER_OPS = ("sum", "max", "min", "prod", "sum_square", "any", "all")  # the only ones with integer kernels
OF_BOOLS: dict[ReduceOp, ReduceOp] = {"max": "any", "min": "all"}
EXP_UNDERFLOW = -104.0  # below this, exp rounds to 0 in float32
NEG_INFINITY = -math.inf
Combine: TypeAlias = Callable[[KernelBuilder, LLVMValue, LLVMValue], LLVMValue]


@dataclass(frozen=True, slots=True)
class Reducer:
    """A reduction operator, as functions that emit the operations on scalars or vectors.

    identity: the initial value of an accumulator.  combine: of two accumulators, associative up to rounding.
    transform: of each element before it is combined.  finish: of the accumulator and the number of elements (in the
    element type).
    """

    identity: float
    combine: Combine
    transform: Callable[[KernelBuilder, LLVMValue], LLVMValue] = lambda b, x: x
    finish: Callable[[KernelBuilder, LLVMValue, LLVMValue], LLVMValue] = lambda b, x, count: x


def find_reducer(op: ReduceOp, element: Element) -> Reducer | None:
    """The reducer of an operator for an element type; None if there is no kernel."""
    if not LLVMType(element).is_float and op not in INTEGER_OPS:
        return None
    if op in ("max", "min"):
        return min_max_reducer(op, element)
    return REDUCERS[op]


def min_max_reducer(op: str, element: Element) -> Reducer:
    """The maximum or minimum, NaN if any element is NaN; of no elements the opposite bound of the type."""
    is_max, type_ = op == "max", LLVMType(element)
    intrinsic = f"{op}imum" if type_.is_float else f"{'u' if type_.is_unsigned else 's'}{op}"
    return Reducer(worst_value(element, is_max=is_max), lambda b, x, y: b.call_intrinsic(intrinsic, x, y))


def worst_value(element: Element, *, is_max: bool) -> float:
    """The value of an element type that is never greater than another one, or, if not `is_max`, never less."""
    type_ = LLVMType(element)
    if type_.is_float:
        return -math.inf if is_max else math.inf
    lowest = 0 if type_.is_unsigned else -(1 << type_.bits - 1)
    return lowest if is_max else lowest + (1 << type_.bits) - 1


# --- operations ------------------------------------------------------------------------------


def add(b: KernelBuilder, x: LLVMValue, y: LLVMValue) -> LLVMValue:
    return x + y


def square(b: KernelBuilder, x: LLVMValue) -> LLVMValue:
    return x * x


def max_or_first(b: KernelBuilder, x: LLVMValue, y: LLVMValue) -> LLVMValue:
    """The maximum; x if either is NaN, so that an accumulator x skips NaN."""
    return b.select(y > x, y, x)


def max_or_second(b: KernelBuilder, x: LLVMValue, y: LLVMValue) -> LLVMValue:
    """The maximum; y if either is NaN, as x86 `maxps` does."""
    return b.select(x > y, x, y)


def emit_exp(b: KernelBuilder, x: LLVMValue) -> LLVMValue:
    """exp(x), in float32 flushed to 0 below EXP_UNDERFLOW; float64 has subnormal results.

    Lanes whose result is 0 are replaced before the call of `exp` too: intermediate results that are subnormal cost about
    a hundred cycles.
    """
    limit = UNDERFLOW if x.type.element == "double" else EXP_UNDERFLOW
    underflows, zero = x < limit, b.constant(0, x.type)
    return b.select(underflows, zero, b.emit_operation("exp", b.select(underflows, zero, x)))


def emit_log(b: KernelBuilder, x: LLVMValue, count: LLVMValue) -> LLVMValue:
    return b.emit_operation("log", x)


SUM = Reducer(0, add)
MAX_OF_NUMBERS = Reducer(NEG_INFINITY, max_or_first)  # of the elements that are not NaN
REDUCERS: Mapping[str, Reducer] = {
    "sum": SUM,
    "mean": Reducer(0, add, finish=lambda b, x, count: x / count),
    "prod": Reducer(1, lambda b, x, y: x * y),
    "l1": Reducer(0, add, lambda b, x: b.fabs(x)),
    "l2": Reducer(0, add, square, lambda b, x, count: b.call_intrinsic("sqrt", x)),
    "sum_square": Reducer(0, add, square),
    "log_sum": Reducer(0, add, finish=emit_log),
    "log_sum_exp": Reducer(0, add, emit_exp, emit_log),  # of elements minus their maximum
    "any": Reducer(0, lambda b, x, y: x | y),
    "all": Reducer(1, lambda b, x, y: x & y),
}


# --- accumulators ----------------------------------------------------------------------------


def new_accumulators(
    b: KernelBuilder, vector_type: LLVMType, identity: float, count: int | None = None
) -> list[StackSlot]:
    """Vector accumulators with the identity in every lane: `count`, or one for each vector of an iteration."""
    slots = [b.new_slot("part", vector_type) for _ in range(count or ReductionTuning.row_unroll)]
    for slot in slots:
        b.store(slot, b.constant(identity, vector_type))
    return slots


def accumulate(
    b: KernelBuilder, accumulator: StackSlot, reducer: Reducer, value: LLVMValue, mask: LLVMValue | None
) -> None:
    """Combines an accumulator with a vector of elements, those in the mask if there is one."""
    value = reducer.transform(b, value)
    if mask is not None:
        value = b.select(mask, value, b.constant(reducer.identity, value.type))
    b.store(accumulator, reducer.combine(b, b.load(accumulator), value))


def reduce_accumulators(b: KernelBuilder, combine: Combine, accumulators: Sequence[StackSlot]) -> LLVMValue:
    """Combines accumulators pairwise, then the lanes of the result: a scalar.  Their number is a power of two."""
    values = [b.load(slot) for slot in accumulators]
    while len(values) > 1:
        values = [combine(b, x, y) for x, y in zip(values[::2], values[1::2], strict=True)]
    return reduce_to_scalar(b, partial(combine, b), values[0])
