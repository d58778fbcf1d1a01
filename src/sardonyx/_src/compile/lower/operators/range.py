"""Range of integers that the sizes of inputs determine, and Range of any numbers that a run computes.

If inference does not know the number of elements, a step counts them, and the count binds the size of the result.
Falls back to the reference kernel if the rank of an operand is unknown, and for counted results in subgraphs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from sardonyx._src.compile.codegen.element_types import LLVM_ELEMENTS
from sardonyx._src.compile.codegen.expressions import Apply, Cast, Local, Number, Scalar, Select
from sardonyx._src.compile.kernels.data_movement.arange import ARANGE_ELEMENTS, arange_step
from sardonyx._src.compile.kernels.elementwise.elementwise import elementwise_step
from sardonyx._src.compile.kernels.elementwise.nonzero_check import nonzero_check_step
from sardonyx._src.compile.lower import LaidOutRegion, Lowering, lowers
from sardonyx._src.compile.partition import Read, Region, Scope, Write, matches
from sardonyx._src.compile.partition.regions.counted_value import CountedValue, bind_count, counted_value
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program import DENSE, Step
from sardonyx._src.compile.program.steps.program import Action
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Value
from sardonyx._src.ir.dims import Expr, Known

START, LIMIT, DELTA = Local("i0"), Local("i1"), Local("i2")
MAX_BOUND = 1 << 62  # of integer start and limit, so that their difference does not overflow
MAX_COUNT = 1 << 40


@dataclass(frozen=True, slots=True)
class Progression:
    """The numbers start, start + delta, and so on."""

    start: Known
    delta: int


@dataclass(frozen=True, slots=True)
class ComputedProgression:
    """A progression whose start, limit and delta are read.

    dtype: the type of the computation.
    counted: the result, if a run counts its elements.
    """

    dtype: DataType
    counted: CountedValue | None


@matches("Range", 27)
def match_range(op: BoundNode, scope: Scope) -> Region[Progression] | Region[ComputedProgression] | None:
    start, delta = (known_scalar(scope, op.input(i)) for i in (0, 2))
    shape, dtype = scope.shape(op.output), scope.dtype_of(op.output)
    if shape is None or dtype is None:
        return None
    counted = counted_value(scope, op.output)
    if counted is not None and not scope.binds_in_python:
        return None  # a subgraph reserves memory for the greatest length, and this length has no limit
    if counted is None and start is not None and isinstance(delta, int) and dtype in ARANGE_ELEMENTS:
        return Region("Range", (op.node,), Progression(start, delta), (), (Write(op.output),))
    return match_computed(op, scope, dtype, counted)


def match_computed(
    op: BoundNode, scope: Scope, dtype: DataType, counted: CountedValue | None
) -> Region[ComputedProgression] | None:
    values = [value for value in op.node.inputs if value is not None]
    type_ = dtype if dtype.is_integer else computation_type(op, dtype)
    if type_ is None or dtype not in LLVM_ELEMENTS or not all(map(scope.is_native, values)):
        return None
    if any(dim != 1 for value in values for dim in scope.known_shape(value)):
        return None
    config = ComputedProgression(DataType.INT64 if dtype.is_integer else type_, counted)
    reads, writes = tuple(Read(value, DENSE) for value in values), (Write(op.output),)
    return Region("ComputedRange", (op.node,), config, reads, writes, binds_sizes=counted is not None)


def computation_type(op: BoundNode, dtype: DataType) -> DataType | None:
    """The type in which floats are computed; None if kernels have no arithmetic in it."""
    if dtype in (DataType.FLOAT, DataType.DOUBLE):
        return dtype
    stash = op.attribute("stash_type", int)
    return next((t for t in (DataType.FLOAT, DataType.DOUBLE) if t.value == stash), None)


@lowers("Range")
def lower_range(region: LaidOutRegion[Progression], lowering: Lowering) -> Step:
    return arange_step(region.results[0], region.config.start, region.config.delta)


@lowers("ComputedRange")
def lower_computed_range(region: LaidOutRegion[ComputedProgression], lowering: Lowering) -> Sequence[Action]:
    (y,), dtype, counted = region.results, region.config.dtype, region.config.counted
    operands = [operand.reshape((1,)) for operand in region.operands]
    actions = list[Action]()
    if counted is not None:
        valid = lowering.temporary(DataType.BOOL, (1,), f"{region.name}.valid")
        count = lowering.temporary(DataType.INT64, (1,), f"{region.name}.count")
        number, is_valid = counting(dtype)
        actions = [
            elementwise_step((is_valid,), operands, valid),
            nonzero_check_step(valid, lowering.status),
            elementwise_step((number,), operands, count),
            bind_count(counted, y.rank, count),
        ]
    positions = lowering.temporary(DataType.INT64, y.shape, f"{region.name}.places")
    terms = Apply("mul", (Cast(dtype, Local("i3")), Cast(dtype, DELTA)))
    value = Cast(y.dtype, Apply("add", (Cast(dtype, START), terms)))
    return *actions, arange_step(positions, 0, 1), elementwise_step(value, [*operands, positions], y)


def counting(dtype: DataType) -> tuple[Scalar, Scalar]:
    """Expressions for the number of elements, and for whether it is valid; an invalid number is 0."""
    start, limit, delta = (Cast(dtype, operand) for operand in (START, LIMIT, DELTA))
    distance = Apply("sub", (limit, start))
    quotient = Apply("div", (distance, delta))
    if dtype is not DataType.INT64:
        is_valid = Apply("lt", (Apply("abs", (quotient,)), Number(MAX_COUNT)))
        steps = Apply("max", (Apply("ceil", (quotient,)), Number(0)))
        return Cast(
            DataType.INT64, Select("lt", Apply("abs", (quotient,)), Number(MAX_COUNT), steps, Number(0))
        ), is_valid
    rest = Apply("sub", (distance, Apply("mul", (quotient, delta))))
    rounds_up = Apply("and", (is_nonzero(rest), Apply("le", (Number(0), Apply("xor", (rest, delta))))))
    steps = Apply("add", (quotient, Cast(DataType.INT64, rounds_up)))
    is_small = [
        Apply("lt", (Apply("abs", (Apply("div", (x, Number(2))),)), Number(MAX_BOUND >> 1)))
        for x in (start, limit)
    ]
    return Apply("max", (steps, Number(0))), Apply("and", (is_nonzero(delta), Apply("and", tuple(is_small))))


def is_nonzero(value: Scalar) -> Scalar:
    return Apply("not", (Apply("eq", (value, Number(0))),))


def known_scalar(scope: Scope, value: Value | None) -> Known | None:
    """The element of a one-element value, if the sizes of inputs determine it."""
    elements = scope.elements(value)
    if elements is None or elements.size != 1:
        return None
    element = elements.reshape(-1)[0]
    if isinstance(element, Expr):
        return element if scope.is_size(element) else None
    return int(element) if element is not None and math.isfinite(element) else None
