"""Loop, where everything that it carries has the same dims in every iteration and all inside is native."""

from __future__ import annotations

import numpy as np

from sardonyx._src.compile.body import source
from sardonyx._src.compile.control.loop import Repeated
from sardonyx._src.compile.control.scope import attempted, insist, there
from sardonyx._src.compile.control.turns import Trips
from sardonyx._src.compile.lower.range import number
from sardonyx._src.compile.lowering import Lowering
from sardonyx._src.compile.nodes import Call
from sardonyx._src.compile.registry import lowers
from sardonyx._src.compile.status import LOOPED
from sardonyx._src.compile.tensor import Tensor, product
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.graph import Graph, Value


@lowers("Loop", 25)
def loop(call: Call, at: Lowering) -> bool:
    return attempted(at, lambda: put_down(call, at))


def put_down(call: Call, at: Lowering) -> None:
    body, initial = call.attribute("body", Graph), call.node.inputs[2:]
    count = len(initial)
    insist(len(body.inputs) == 2 + count and not any(v.initializer for v in body.inputs))
    insist(len(body.outputs) >= 1 + max(count, len(call.node.outputs)))
    repeated = Repeated(at, body)
    if is_read(body.inputs[0]):
        bind_number(repeated, body.inputs[0])
    for i, value in enumerate(initial):
        repeated.carry(body.inputs[2 + i], there(value), body.outputs[1 + i], wanted(call, i))
    first, goes = conditions(call, repeated)
    repeated.scope.lower()
    trips = trips_of(at, call.input(0))
    for i in range(count, len(call.node.outputs)):
        output = wanted(call, i)
        if output is not None and at.shape(output) is None:
            repeated.collect(body.outputs[1 + i], output)
        elif output is not None:
            trips = repeated.leave(body.outputs[1 + i], output)
    repeated.close(trips, LOOPED, first, goes)


def wanted(call: Call, index: int) -> Value | None:
    return call.node.outputs[index] if call.wanted(index) else None


def is_read(value: Value) -> bool:
    return bool(value.uses) or value.is_graph_output


def bind_number(repeated: Repeated, formal: Value) -> None:
    """The number of the iteration, of rank 0 or 1."""
    shape = there(repeated.scope.shape(formal))
    insist(repeated.scope.dtype_of(formal) is DataType.INT64 and shape in ((), (1,)))
    repeated.scope.bind(formal, repeated.number(shape))


def trips_of(at: Lowering, value: Value | None) -> Trips | None:
    """How often a loop runs at most; None if nothing is said of that."""
    if value is None:
        return None
    insist(is_one(at, value, DataType.INT64))
    found = number(at, value)
    return at.dense(value) if found is None else found


def is_one(at: Lowering, value: Value, dtype: DataType) -> bool:
    """Whether a value has one element, of this type."""
    shape = at.shape(value)
    return shape is not None and product(shape) == 1 and at.is_native(value) and at.dtype_of(value) is dtype


def conditions(call: Call, repeated: Repeated) -> tuple[Tensor | None, Tensor | None]:
    """Whether there is a first iteration, and another behind each; None for what is known to be so.

    Without the input nobody asks what the body says, but the body itself may.
    """
    at, scope, given = repeated.at, repeated.scope, call.input(1)
    formal, result = repeated.body.inputs[1], repeated.body.outputs[0]
    insist(given is None or is_one(at, given, DataType.BOOL))
    first = at.constant_tensor(np.ones((), np.bool_)) if given is None else at.dense(given)
    starts = given is None or is_true(at, given)
    shape = there(scope.shape(formal)) if is_read(formal) else ()
    insist(shape in ((), (1,)))
    if source(result) is formal or (starts and is_true(scope, source(result))):
        scope.bind(formal, first.reshaped(shape))
        return (None if starts else first), None
    if given is None and not is_read(formal):
        return None, None
    insist(product(there(scope.shape(result))) == 1 and scope.dtype_of(result) is DataType.BOOL)
    state = at.temporary(DataType.BOOL, shape, "condition")
    repeated.begin(formal, first.reshaped(shape), result, state)
    return (None if starts else first), (None if given is None else state)


def is_true(at: Lowering, value: Value) -> bool:
    """Whether a value is known to be a truth."""
    found = at.constant(value)
    return found is not None and found.dtype == np.bool_ and bool(found.all())
