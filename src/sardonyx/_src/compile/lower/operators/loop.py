"""Loop: the body inlined into the program between two loop steps.

Falls back if a loop-carried value changes its dims or type, or a node of the body has no lowering.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.compile.executor.status import LOOP_LIMIT
from sardonyx._src.compile.lower.control_flow.inline_subgraph import require, require_value, try_lower
from sardonyx._src.compile.lower.control_flow.jumps import TripCount
from sardonyx._src.compile.lower.control_flow.loop_lowering import LoopLowering
from sardonyx._src.compile.lower.lowering import Lowering
from sardonyx._src.compile.lower.operators.range import known_scalar
from sardonyx._src.compile.lower.registry import lowers
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.prepare.outlining import resolve_identity
from sardonyx._src.compile.program.tensor import TensorView
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import dim_product
from sardonyx._src.ir.graph import Graph, Value


@lowers("Loop", 25)
def lower_loop(op: BoundNode, lowering: Lowering) -> bool:
    return try_lower(lowering, lambda: emit_loop(op, lowering))


def emit_loop(op: BoundNode, lowering: Lowering) -> None:
    body, initial = op.attribute("body", Graph), op.node.inputs[2:]
    count = len(initial)
    require(len(body.inputs) == 2 + count and not any(v.initializer for v in body.inputs))
    require(len(body.outputs) >= 1 + max(count, len(op.node.outputs)))
    loop_lowering = LoopLowering(lowering, body)
    if is_read(body.inputs[0]):
        bind_iteration_number(loop_lowering, body.inputs[0])
    for i, value in enumerate(initial):
        loop_lowering.carry_state(
            body.inputs[2 + i], require_value(value), body.outputs[1 + i], used_output(op, i)
        )
    first_condition, condition = loop_conditions(op, loop_lowering)
    loop_lowering.body_lowering.lower()
    max_trip_count = trip_count(lowering, op.input(0))
    for i in range(count, len(op.node.outputs)):
        output = used_output(op, i)
        if output is not None and lowering.shape(output) is None:
            loop_lowering.accumulate_output(body.outputs[1 + i], output)
        elif output is not None:
            max_trip_count = loop_lowering.write_scan_output(body.outputs[1 + i], output)
    loop_lowering.emit_loop(max_trip_count, LOOP_LIMIT, first_condition, condition)


def used_output(op: BoundNode, index: int) -> Value | None:
    return op.node.outputs[index] if op.is_output_used(index) else None


def is_read(value: Value) -> bool:
    return bool(value.uses) or value.is_graph_output


def bind_iteration_number(loop_lowering: LoopLowering, formal: Value) -> None:
    """Binds the body's iteration number, of rank 0 or 1, to the loop counter."""
    shape = require_value(loop_lowering.body_lowering.shape(formal))
    require(loop_lowering.body_lowering.dtype_of(formal) is DataType.INT64 and shape in ((), (1,)))
    loop_lowering.body_lowering.bind(formal, loop_lowering.counter_tensor(shape))


def trip_count(lowering: Lowering, value: Value | None) -> TripCount | None:
    """The maximum trip count: a dim or a tensor; None if it is omitted."""
    if value is None:
        return None
    require(has_one_element(lowering, value, DataType.INT64))
    constant = known_scalar(lowering, value)
    return lowering.dense(value) if constant is None else constant


def has_one_element(lowering: Lowering, value: Value, dtype: DataType) -> bool:
    """Whether a value is native and has one element, of this type."""
    shape = lowering.shape(value)
    return (
        shape is not None
        and dim_product(shape) == 1
        and lowering.is_native(value)
        and lowering.dtype_of(value) is dtype
    )


def loop_conditions(
    op: BoundNode, loop_lowering: LoopLowering
) -> tuple[TensorView | None, TensorView | None]:
    """The conditions of the first iteration and of each next one; None for a condition that is always true.

    If the node omits its condition, the body's condition output does not end the loop, but the body may still read it.
    """
    lowering, body_lowering, condition_value = (
        loop_lowering.lowering,
        loop_lowering.body_lowering,
        op.input(1),
    )
    formal, result = loop_lowering.body.inputs[1], loop_lowering.body.outputs[0]
    require(condition_value is None or has_one_element(lowering, condition_value, DataType.BOOL))
    first_condition = (
        lowering.constant_tensor(np.ones((), np.bool_))
        if condition_value is None
        else lowering.dense(condition_value)
    )
    always_starts = condition_value is None or is_known_true(lowering, condition_value)
    shape = require_value(body_lowering.shape(formal)) if is_read(formal) else ()
    require(shape in ((), (1,)))
    if resolve_identity(result) is formal or (
        always_starts and is_known_true(body_lowering, resolve_identity(result))
    ):
        body_lowering.bind(formal, first_condition.reshape(shape))
        return (None if always_starts else first_condition), None
    if condition_value is None and not is_read(formal):
        return None, None
    require(
        dim_product(require_value(body_lowering.shape(result))) == 1
        and body_lowering.dtype_of(result) is DataType.BOOL
    )
    state = lowering.temporary(DataType.BOOL, shape, "condition")
    loop_lowering.init_state(formal, first_condition.reshape(shape), result, state)
    return (None if always_starts else first_condition), (None if condition_value is None else state)


def is_known_true(lowering: Lowering, value: Value) -> bool:
    """Whether a bool is known to be true at compile time."""
    elements = lowering.constant(value)
    return elements is not None and elements.dtype == np.bool_ and bool(elements.all())
