"""Scan: a loop over slices of scan inputs and outputs, with the same kind of region as a Loop.

Falls back to the reference kernel if a state changes its dims or type, the dims of a slice are unknown, or a node of
the body is not native.
"""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.compile.executor.status import SCAN_LIMIT
from sardonyx._src.compile.lower.control_flow.loop_region import (
    InlinedLoop,
    LoopMatcher,
    ScanSlice,
    is_read,
    used_output,
)
from sardonyx._src.compile.partition import Region, Scope, matches
from sardonyx._src.compile.partition.regions.requirements import require, require_value
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.ir import Graph, Value
from sardonyx._src.ir.dims import Known


@matches("Scan", 25)
def match_scan(op: BoundNode, scope: Scope) -> Region[InlinedLoop]:
    body, operands = op.attribute("body", Graph), [v for v in op.node.inputs if v is not None]
    count = len(operands) - op.attribute("num_scan_inputs", int)
    require(0 <= count < len(operands) == len(op.node.inputs) == len(body.inputs))
    require(len(body.outputs) == len(op.node.outputs) >= count)
    inputs = [
        ScanSlice(formal, value, match_axis(scope, value, axis), backward)
        for formal, value, axis, backward in zip(
            body.inputs[count:],
            operands[count:],
            *directions(op, "input", len(operands) - count),
            strict=True,
        )
    ]
    trip_count = sequence_length(scope, inputs)
    loop = LoopMatcher(scope, body)
    for i in range(count):
        loop.carry_state(body.inputs[i], operands[i], body.outputs[i], used_output(op, i))
    for part in inputs:
        if is_read(part.value):
            loop.slice_input(part)
    match_scan_outputs(op, loop, count)
    return loop.region(op.node, trip_count, SCAN_LIMIT)


def match_scan_outputs(op: BoundNode, loop: LoopMatcher, count: int) -> None:
    """Adds the scan outputs that are used.  count: the number of states, whose outputs come first."""
    axes, backward = directions(op, "output", len(op.node.outputs) - count)
    for i, (axis, is_backward) in enumerate(zip(axes, backward, strict=True), count):
        output = used_output(op, i)
        if output is not None:
            axis = match_axis(loop.scope, output, axis)
            loop.write_scan_output(ScanSlice(loop.graph.outputs[i], output, axis, is_backward))


def directions(op: BoundNode, name: str, count: int) -> tuple[tuple[int, ...], tuple[bool, ...]]:
    """The axis of each scan input or output, and whether it is scanned backward; forward along axis 0 by default."""
    axes, backward = (op.ints(f"scan_{name}_{suffix}") for suffix in ("axes", "directions"))
    axes, backward = (0,) * count if axes is None else axes, (0,) * count if backward is None else backward
    require(len(axes) == len(backward) == count and set(backward) <= {0, 1})
    return axes, tuple(direction == 1 for direction in backward)


def match_axis(scope: Scope, value: Value, axis: int) -> int:
    """An axis of a value, counted from the first one."""
    rank = len(require_value(scope.shape(value)))
    require(-rank <= axis < rank)
    return axis % rank


def sequence_length(scope: Scope, inputs: Sequence[ScanSlice]) -> Known:
    """The sequence length, equal for all scan inputs; guarded."""
    require(all(scope.is_native(part.sequence) for part in inputs))
    first, *others = (scope.known_shape(part.sequence)[part.axis] for part in inputs)
    require(all(scope.guard_equal(first, other) for other in others))
    return first
