"""Loop: the body inlined into the program between two loop steps.

Falls back to the reference kernel if a loop-carried value changes its dims or type, or a node of the body is
not native.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx._src.compile.executor.status import LOOP_LIMIT
from sardonyx._src.compile.layouts.constants import ConstantPool
from sardonyx._src.compile.layouts.laid_out import LaidOutBody
from sardonyx._src.compile.layouts.registry import lays_out_bodies
from sardonyx._src.compile.lower import LaidOutRegion, Lowering, lowers
from sardonyx._src.compile.lower.control_flow.loop_lowering import LoopLowering
from sardonyx._src.compile.lower.control_flow.loop_region import (
    InlinedLoop,
    LoopCondition,
    LoopMatcher,
    LoopState,
    ScanSlice,
    has_one_element,
    is_read,
    used_output,
)
from sardonyx._src.compile.lower.control_flow.loop_tensors import lay_out_loop
from sardonyx._src.compile.lower.operators.range import known_scalar
from sardonyx._src.compile.partition import Region, Scope, matches
from sardonyx._src.compile.partition.regions.requirements import require, require_value
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.prepare.outlining import resolve_identity
from sardonyx._src.compile.program.steps.program import Action
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Graph, Value
from sardonyx._src.ir.dims import Known, dim_product


@matches("Loop", 25)
def match_loop(op: BoundNode, scope: Scope) -> Region[InlinedLoop]:
    body, initial = op.attribute("body", Graph), op.node.inputs[2:]
    count = len(initial)
    require(len(body.inputs) == 2 + count and len(body.outputs) >= 1 + max(count, len(op.node.outputs)))
    loop = LoopMatcher(scope, body)
    if is_read(body.inputs[0]):
        loop.iteration = match_iteration_number(loop, body.inputs[0])
    for i, value in enumerate(initial):
        loop.carry_state(body.inputs[2 + i], require_value(value), body.outputs[1 + i], used_output(op, i))
    loop.condition = match_condition(loop, op.input(1))
    trip_count = match_trip_count(scope, op.input(0))
    for i in range(count, len(op.node.outputs)):
        output = used_output(op, i)
        if output is not None and (scope.shape(output) is None or scope.data_dependent_axes(output)):
            loop.accumulate_output(ScanSlice(body.outputs[1 + i], output))
        elif output is not None:
            loop.write_scan_output(ScanSlice(body.outputs[1 + i], output))
            trip_count = scope.known_shape(output)[0]
    return loop.region(op.node, trip_count, LOOP_LIMIT)


def match_iteration_number(loop: LoopMatcher, formal: Value) -> Value:
    """The body's iteration number, of rank 0 or 1."""
    require(loop.body.dtype_of(formal) is DataType.INT64 and loop.body.shape(formal) in ((), (1,)))
    return formal


def match_trip_count(scope: Scope, value: Value | None) -> Known | Value | None:
    """The maximum trip count: a dim or a value; None if it is omitted."""
    if value is None:
        return None
    require(has_one_element(scope, value, DataType.INT64))
    constant = known_scalar(scope, value)
    return value if constant is None else constant


def match_condition(loop: LoopMatcher, value: Value | None) -> LoopCondition:
    """The conditions of a loop; adds a state for a condition that the body computes.

    If the node omits its condition, the condition output of the body does not end the loop; the next
    iteration may still read it.
    """
    formal, result = loop.graph.inputs[1], loop.graph.outputs[0]
    require(value is None or has_one_element(loop.scope, value, DataType.BOOL))
    shape = require_value(loop.body.shape(formal)) if is_read(formal) else ()
    require(shape in ((), (1,)))
    first = None if value is None or is_known_true(loop.scope, value) else value
    source = resolve_identity(result)
    if source is formal or (first is None and is_known_true(loop.body, source)):
        return LoopCondition(first, invariant=formal if is_read(formal) else None)
    if value is None and not is_read(formal):
        return LoopCondition()
    require(dim_product(require_value(loop.body.shape(result))) == 1)
    require(loop.body.dtype_of(result) is DataType.BOOL)
    loop.states.append(LoopState(formal, result, shape, first))
    return LoopCondition(first, is_carried=value is not None)


def is_known_true(scope: Scope, value: Value) -> bool:
    """Whether a bool is known to be true at compile time."""
    elements = scope.constant(value)
    return elements is not None and elements.dtype == np.bool_ and bool(elements.all())


@lays_out_bodies("InlinedLoop")
def lay_out_loops(region: LaidOutRegion[InlinedLoop], constants: ConstantPool) -> Sequence[LaidOutBody]:
    """The body of a Loop or a Scan."""
    return (lay_out_loop(region, constants),)


@lowers("InlinedLoop")
def lower_loop(region: LaidOutRegion[InlinedLoop], lowering: Lowering) -> Sequence[Action]:
    """The steps of a Loop or a Scan."""
    return LoopLowering(region, lowering).lower()
