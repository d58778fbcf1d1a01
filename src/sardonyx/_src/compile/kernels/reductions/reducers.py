"""Reducers: for each reduction operator its identity, the map of each element, the combine and the final operation.

reduce(x) = finish(combine(transform(x[0]), transform(x[1]), ..., identity), n)

What is combined is a *state*: of most operators a value, of ArgMax the best element and its index, of a range the minimum and
the maximum.  A kernel keeps several independent accumulators, to hide the latency of the operation, and combines them pairwise at the
end.  The order of the operations depends on the sizes alone, so that results are reproducible.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

from sardonyx._src.compile.codegen import Element, LLVMType, LLVMValue, MemoryLocation
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.loops.lanes import shuffle
from sardonyx._src.compile.kernels.tuning import ReductionTuning
from sardonyx._src.dataclass import dataclass
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
State: TypeAlias = tuple[LLVMValue, ...]
Accumulator: TypeAlias = tuple[MemoryLocation, ...]  # a vector of states
Operation: TypeAlias = Callable[[KernelBuilder, LLVMValue, LLVMValue], LLVMValue]


def each(*operations: Operation) -> Callable[[KernelBuilder, State, State], State]:
    """An operation for each value of a state."""
    return lambda b, x, y: tuple(f(b, p, q) for f, p, q in zip(operations, x, y, strict=True))


@dataclass(frozen=True, slots=True)
class Reducer:
    """A reduction operator, as functions that emit the operations on scalars or vectors.

    identity: the initial state.  combine: of a state and one of later elements, associative up to rounding.
    transform: of each element before it is combined.  finish: of the state and the number of elements (in the element
    type).  merge: of states of any elements, if that is another operation.
    has_index: whether the last value of a state is an index, int64; the others have the type of the elements.
    """

    identity: tuple[float, ...]
    combine: Callable[[KernelBuilder, State, State], State]
    transform: Callable[[KernelBuilder, LLVMValue], LLVMValue] = lambda b, x: x
    finish: Operation = lambda b, x, count: x
    merge: Callable[[KernelBuilder, State, State], State] | None = None
    has_index: bool = False


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
    combine = each(lambda b, x, y: b.call_intrinsic(intrinsic, x, y))
    return Reducer((worst_value(element, is_max=is_max),), combine)


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


def emit_exp(b: KernelBuilder, x: LLVMValue) -> LLVMValue:
    """exp(x), in float32 flushed to 0 below EXP_UNDERFLOW; float64 has subnormal results.

    Lanes whose result is 0 are replaced before the call of `exp` too: intermediate results that are subnormal cost about
    a hundred cycles.
    """
    # Lazy: only the text of a kernel needs it.
    from sardonyx._src.compile.codegen.math.double_functions import UNDERFLOW

    limit = UNDERFLOW if x.type.element == "double" else EXP_UNDERFLOW
    underflows, zero = x < limit, b.constant(0, x.type)
    return b.select(underflows, zero, b.emit_operation("exp", b.select(underflows, zero, x)))


def emit_log(b: KernelBuilder, x: LLVMValue, count: LLVMValue) -> LLVMValue:
    return b.emit_operation("log", x)


SUM = Reducer((0,), each(add))
MAX_OF_NUMBERS = Reducer((NEG_INFINITY,), each(max_or_first))  # of the elements that are not NaN
REDUCERS: Mapping[str, Reducer] = {
    "sum": SUM,
    "mean": replace(SUM, finish=lambda b, x, count: x / count),
    "prod": Reducer((1,), each(lambda b, x, y: x * y)),
    "l1": replace(SUM, transform=lambda b, x: b.fabs(x)),
    "l2": replace(SUM, transform=square, finish=lambda b, x, count: b.call_intrinsic("sqrt", x)),
    "sum_square": replace(SUM, transform=square),
    "log_sum": replace(SUM, finish=emit_log),
    "log_sum_exp": replace(SUM, transform=emit_exp, finish=emit_log),  # of elements minus their maximum
    "any": Reducer((0,), each(lambda b, x, y: x | y)),
    "all": Reducer((1,), each(lambda b, x, y: x & y)),
}


# --- accumulators ----------------------------------------------------------------------------


def new_slots(
    b: KernelBuilder, vector_type: LLVMType, value: float, count: int | None = None
) -> list[MemoryLocation]:
    """Vectors with a value in every lane."""
    slots = [b.new_slot("part", vector_type) for _ in range(count or ReductionTuning.row_unroll)]
    for slot in slots:
        b.store(slot, b.constant(value, vector_type))
    return slots


def new_accumulators(
    b: KernelBuilder, vector_type: LLVMType, reducer: Reducer, count: int | None = None
) -> list[Accumulator]:
    """Accumulators with the identity in every lane: `count`, or one for each vector of an iteration."""
    types = [vector_type] * len(reducer.identity)
    if reducer.has_index:
        types[-1] = LLVMType("i64", vector_type.lanes)
    slots = [new_slots(b, *pair, count) for pair in zip(types, reducer.identity, strict=True)]
    return list(zip(*slots, strict=True))


def accumulate(
    b: KernelBuilder, accumulator: Accumulator, reducer: Reducer, element: State, mask: LLVMValue | None
) -> None:
    """Combines an accumulator with a vector of elements, those in the mask if there is one."""
    element = (reducer.transform(b, element[0]), *element[1:])
    if mask is not None:
        pairs = zip(element, reducer.identity, strict=True)
        element = tuple(b.select(mask, value, b.constant(identity, value.type)) for value, identity in pairs)
    store_state(b, accumulator, reducer.combine(b, load_state(b, accumulator), element))


def load_state(b: KernelBuilder, accumulator: Accumulator) -> State:
    return tuple(map(b.load, accumulator))


def store_state(b: KernelBuilder, accumulator: Accumulator, state: State) -> None:
    for slot, value in zip(accumulator, state, strict=True):
        b.store(slot, value)


def reduce_accumulators(b: KernelBuilder, reducer: Reducer, accumulators: Sequence[Accumulator]) -> State:
    """Merges accumulators, then the lanes of the result: a scalar state."""
    return reduce_lanes(b, reducer, merge_accumulators(b, reducer, accumulators))


def merge_accumulators(b: KernelBuilder, reducer: Reducer, accumulators: Sequence[Accumulator]) -> State:
    """Merges accumulators pairwise; their number is a power of two."""
    merge, states = reducer.merge or reducer.combine, [load_state(b, slots) for slots in accumulators]
    while len(states) > 1:
        states = [merge(b, x, y) for x, y in zip(states[::2], states[1::2], strict=True)]
    return states[0]


def reduce_lanes(b: KernelBuilder, reducer: Reducer, state: State) -> State:
    """Merges the lanes of a state by halving: a scalar state."""
    merge = reducer.merge or reducer.combine
    while (lanes := state[0].type.lanes) > 1:
        halves = range(lanes // 2), range(lanes // 2, lanes)
        state = merge(b, *(tuple(shuffle(b, value, value, half) for value in state) for half in halves))
    return state
