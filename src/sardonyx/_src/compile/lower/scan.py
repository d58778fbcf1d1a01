"""Scan, where states and slices have known dims and all inside is native."""

from __future__ import annotations

from sardonyx._src.compile.control.loop import Repeated
from sardonyx._src.compile.control.scope import attempted, insist, there
from sardonyx._src.compile.lower.loop import is_read, wanted
from sardonyx._src.compile.lowering import Lowering
from sardonyx._src.compile.nodes import Call
from sardonyx._src.compile.registry import lowers
from sardonyx._src.compile.status import SCANNED
from sardonyx._src.ir.dims import Known
from sardonyx._src.ir.graph import Graph, Value


@lowers("Scan", 25)
def scan(call: Call, at: Lowering) -> bool:
    return attempted(at, lambda: put_down(call, at))


def put_down(call: Call, at: Lowering) -> None:
    body, given = call.attribute("body", Graph), [v for v in call.node.inputs if v is not None]
    count = len(given) - call.attribute("num_scan_inputs", int)
    insist(0 <= count < len(given) == len(call.node.inputs) == len(body.inputs))
    insist(
        len(body.outputs) == len(call.node.outputs) >= count and not any(v.initializer for v in body.inputs)
    )
    axes, backward = (
        flags(call, f"scan_input_{word}", len(given) - count) for word in ("axes", "directions")
    )
    trips = length(at, given[count:], axes)
    repeated = Repeated(at, body)
    for i in range(count):
        repeated.carry(body.inputs[i], given[i], body.outputs[i], wanted(call, i))
    for formal, value, axis, back in zip(body.inputs[count:], given[count:], axes, backward, strict=True):
        if is_read(formal):
            repeated.take(formal, value, axis % len(at.known_shape(value)), backward=back == 1)
    repeated.scope.lower()
    put_down_outputs(call, at, repeated, count)
    repeated.close(trips, SCANNED)


def put_down_outputs(call: Call, at: Lowering, repeated: Repeated, count: int) -> None:
    outputs = call.node.outputs[count:]
    axes, backward = (flags(call, f"scan_output_{word}", len(outputs)) for word in ("axes", "directions"))
    for i, (output, axis, back) in enumerate(zip(outputs, axes, backward, strict=True), count):
        if call.wanted(i):
            rank = len(there(at.shape(output)))
            insist(-rank <= axis < rank)
            repeated.leave(repeated.body.outputs[i], output, axis % rank, backward=back == 1)


def flags(call: Call, name: str, count: int) -> tuple[int, ...]:
    """One number for each of so many inputs or outputs, zeros where none are given."""
    found = call.ints(name)
    insist(found is None or len(found) == count)
    return found or (0,) * count


def length(at: Lowering, values: list[Value], axes: tuple[int, ...]) -> Known:
    """How many slices there are, of each of the values."""
    found: list[Known] = []
    for value, axis in zip(values, axes, strict=True):
        insist(at.is_native(value))
        shape = at.known_shape(value)
        insist(-len(shape) <= axis < len(shape))
        found.append(shape[axis])
    insist(all(at.agree(found[0], one) for one in found[1:]))
    return found[0]
