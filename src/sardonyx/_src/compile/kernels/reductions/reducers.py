"""Reducers: for each reduction operator its identity, the map of each element, the combine and the final operation.

reduce(x) = finish(combine(transform(x[0]), transform(x[1]), ..., identity), n)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from sardonyx._src.compile.codegen.builder import Element, LLVMValue
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.dtypes import DataType

ReduceOp = Literal[
    "sum", "mean", "max", "min", "prod", "l1", "l2", "sum_square", "log_sum", "log_sum_exp"
]  # fmt: skip
# The element types that kernels of reductions, TopK and scatter reductions exist for.
NUMERIC_ELEMENTS: dict[DataType, Element] = {
    DataType.FLOAT: "float",
    DataType.DOUBLE: "double",
    DataType.INT32: "i32",
    DataType.INT64: "i64",
}
INTEGER_ELEMENTS = ("i32", "i64")
INTEGER_OPS = ("sum", "max", "min", "prod", "sum_square")  # the only ones with integer kernels
FLOAT32_OPS = ("log_sum", "log_sum_exp")  # with float32 kernels only
EXP_UNDERFLOW = -104.0  # below this, exp rounds to 0 in float32
MIN_INTEGERS: dict[Element, int] = {"i32": -(2**31), "i64": -(2**63)}


@dataclass(frozen=True, slots=True)
class Reducer:
    """A reduction operator, as functions that emit the operations on scalars or vectors.

    identity: the initial value of an accumulator.  combine: of two accumulators, associative up to rounding.
    transform: of each element before it is combined.  finish: of the accumulator and the number of elements (in the
    element type).
    """

    identity: float
    combine: Callable[[KernelBuilder, LLVMValue, LLVMValue], LLVMValue]
    transform: Callable[[KernelBuilder, LLVMValue], LLVMValue] = lambda emitter, x: x
    finish: Callable[[KernelBuilder, LLVMValue, LLVMValue], LLVMValue] = lambda emitter, x, count: x


def find_reducer(op: ReduceOp, element: Element) -> Reducer | None:
    """The reducer of an operator for an element type; None if there is no kernel."""
    if (element in INTEGER_ELEMENTS and op not in INTEGER_OPS) or (element != "float" and op in FLOAT32_OPS):
        return None
    if op in ("max", "min"):
        return min_max_reducer(op, element)
    return REDUCERS[op]


def min_max_reducer(op: str, element: Element) -> Reducer:
    """The maximum or minimum, NaN if any element is NaN; of no elements the opposite bound of the type."""
    is_max = op == "max"
    if element in INTEGER_ELEMENTS:
        lowest = MIN_INTEGERS[element]
        intrinsic = "smax" if is_max else "smin"
        identity: float = lowest if is_max else -lowest - 1
    else:
        intrinsic = "maximum" if is_max else "minimum"
        identity = -math.inf if is_max else math.inf
    return Reducer(identity, lambda emitter, a, b: emitter.call_intrinsic(intrinsic, a, b))


def add(emitter: KernelBuilder, a: LLVMValue, b: LLVMValue) -> LLVMValue:
    return a + b


def square(emitter: KernelBuilder, x: LLVMValue) -> LLVMValue:
    return x * x


def emit_exp(emitter: KernelBuilder, x: LLVMValue) -> LLVMValue:
    """exp(x), flushed to 0 below EXP_UNDERFLOW.

    Such lanes are replaced before the call of `exp` too: subnormal results cost about a hundred cycles.
    """
    underflows = x < EXP_UNDERFLOW
    zero = emitter.constant(0, x.type)
    return emitter.select(
        underflows, zero, emitter.emit_operation("exp", emitter.select(underflows, zero, x))
    )


def emit_log(emitter: KernelBuilder, x: LLVMValue, count: LLVMValue) -> LLVMValue:
    return emitter.emit_operation("log", x)


REDUCERS: Mapping[str, Reducer] = {
    "sum": Reducer(0, add),
    "mean": Reducer(0, add, finish=lambda emitter, x, count: x / count),
    "prod": Reducer(1, lambda emitter, a, b: a * b),
    "l1": Reducer(0, add, lambda emitter, x: emitter.fabs(x)),
    "l2": Reducer(0, add, square, lambda emitter, x, count: emitter.call_intrinsic("sqrt", x)),
    "sum_square": Reducer(0, add, square),
    "log_sum": Reducer(0, add, finish=emit_log),
    "log_sum_exp": Reducer(0, add, emit_exp, emit_log),  # of elements minus their maximum
}
