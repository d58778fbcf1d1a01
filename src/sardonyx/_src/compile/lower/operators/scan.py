"""Scan: the body inlined into the program between two loop steps, which slice the scan inputs and outputs.

Falls back if a state changes its dims or type, the dims of a slice are unknown, or a node of the body has no lowering.
"""

from __future__ import annotations

from sardonyx._src.compile.executor.status import SCAN_LIMIT
from sardonyx._src.compile.lower.control_flow.inline_subgraph import require, require_value, try_lower
from sardonyx._src.compile.lower.control_flow.loop_lowering import LoopLowering
from sardonyx._src.compile.lower.lowering import Lowering
from sardonyx._src.compile.lower.operators.loop import is_read, used_output
from sardonyx._src.compile.lower.registry import lowers
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.ir.dims import Known
from sardonyx._src.ir.graph import Graph, Value


@lowers("Scan", 25)
def lower_scan(op: BoundNode, lowering: Lowering) -> bool:
    return try_lower(lowering, lambda: emit_scan(op, lowering))


def emit_scan(op: BoundNode, lowering: Lowering) -> None:
    body, operands = op.attribute("body", Graph), [v for v in op.node.inputs if v is not None]
    count = len(operands) - op.attribute("num_scan_inputs", int)
    require(0 <= count < len(operands) == len(op.node.inputs) == len(body.inputs))
    require(
        len(body.outputs) == len(op.node.outputs) >= count and not any(v.initializer for v in body.inputs)
    )
    axes, backward = (
        ints_per_operand(op, f"scan_input_{suffix}", len(operands) - count)
        for suffix in ("axes", "directions")
    )
    trip_count = sequence_length(lowering, operands[count:], axes)
    loop_lowering = LoopLowering(lowering, body)
    for i in range(count):
        loop_lowering.carry_state(body.inputs[i], operands[i], body.outputs[i], used_output(op, i))
    for formal, value, axis, is_backward in zip(
        body.inputs[count:], operands[count:], axes, backward, strict=True
    ):
        if is_read(formal):
            loop_lowering.slice_input(
                formal, value, axis % len(lowering.known_shape(value)), backward=is_backward == 1
            )
    loop_lowering.body_lowering.lower()
    emit_scan_outputs(op, lowering, loop_lowering, count)
    loop_lowering.emit_loop(trip_count, SCAN_LIMIT)


def emit_scan_outputs(op: BoundNode, lowering: Lowering, loop_lowering: LoopLowering, count: int) -> None:
    outputs = op.node.outputs[count:]
    axes, backward = (
        ints_per_operand(op, f"scan_output_{suffix}", len(outputs)) for suffix in ("axes", "directions")
    )
    for i, (output, axis, is_backward) in enumerate(zip(outputs, axes, backward, strict=True), count):
        if op.is_output_used(i):
            rank = len(require_value(lowering.shape(output)))
            require(-rank <= axis < rank)
            loop_lowering.write_scan_output(
                loop_lowering.body.outputs[i], output, axis % rank, backward=is_backward == 1
            )


def ints_per_operand(op: BoundNode, name: str, count: int) -> tuple[int, ...]:
    """An attribute with one integer for each scan input or output; zeros if it is omitted."""
    values = op.ints(name)
    require(values is None or len(values) == count)
    return values or (0,) * count


def sequence_length(lowering: Lowering, values: list[Value], axes: tuple[int, ...]) -> Known:
    """The sequence length, equal for all scan inputs; guarded."""
    lengths: list[Known] = []
    for value, axis in zip(values, axes, strict=True):
        require(lowering.is_native(value))
        shape = lowering.known_shape(value)
        require(-len(shape) <= axis < len(shape))
        lengths.append(shape[axis])
    require(all(lowering.guard_equal(lengths[0], other) for other in lengths[1:]))
    return lengths[0]
