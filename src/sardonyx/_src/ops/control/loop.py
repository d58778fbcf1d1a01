"""Loop: a subgraph run again and again, with values carried from one iteration to the next.

Spec: ai.onnx Loop-1, -11, -13, -16, -19, -21, -23, -24, -25.  Version 11 made carried values optional, 13 lets them be
sequences, 16 optionals; the others added element types.  Without the input `cond`, what the body says of the
condition is ignored.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError, LimitError
from sardonyx._src.ir.dims import Dim, dim_max
from sardonyx._src.ir.graph import Graph, Value
from sardonyx._src.ir.tensors import Array, Tensor
from sardonyx._src.ir.types import OptionalType, TensorType, Type
from sardonyx._src.ops.api import Call, Operator, RuntimeValue
from sardonyx._src.ops.control.bodies import ScanOutput, head_shapes, head_types, run_body
from sardonyx._src.ops.control.joins import join, named_dims, shapeless
from sardonyx._src.ops.control.unrolled import unrolled
from sardonyx._src.ops.inference import Inference, Result

VERSIONS = (1, 11, 13, 16, 19, 21, 23, 24, 25)

op = Operator("Loop")


@op.infer(*VERSIONS)
def infer(t: Inference) -> Result:
    """Carried values: what holds before and after every iteration; scan outputs: the trip count leads their shape.

    A few known iterations are looked at one by one, which tells exact types, and elements.
    """
    carried = list(t.inputs[2:])
    exact = unrolled(t)
    trips = exact.count if exact is not None else trip_count(t)
    before, results = settled(t, carried)
    if results is None:
        return [shapeless(x) for x in before] + [None] * max(t.outputs - len(carried), 0)
    elements = results[1 + len(carried) :]
    if exact is not None:
        t.tell([*exact.known, *exact.stacked()])
        final = exact.types
        elements = exact.element_types(t) if trips else elements
    else:
        final = finals(before, results[1 : 1 + len(carried)], carried, trips)
    return [named_dims(t, x) for x in final] + [scanned(t, x, trips) for x in elements]


def finals(
    before: list[Type | None], after: list[Type | None], carried: list[Type | None], trips: Dim
) -> list[Type | None]:
    """Types of the carried values that come out, of which the first and those before and after any iteration are known."""
    if isinstance(trips, int):  # then it is known which of them comes out
        return carried if trips == 0 else after
    # An optional that the body fills is of one kind without any trip, of another with one.
    return [a if b is None or isinstance(b, type(a)) else None for a, b in zip(before, after, strict=True)]


def settled(t: Inference, carried: list[Type | None]) -> tuple[list[Type | None], list[Type | None] | None]:
    """Types of the carried values that hold at the start of every iteration, and the body's output types for them.

    A size that an iteration changes is no longer known in the next one; this goes on until nothing changes.
    """
    heads = head_types(t.attributes["body"])
    while True:
        results = t.subgraph("body", [*heads, *carried])
        if results is None:
            return carried, None
        if len(results) < 1 + max(t.outputs, len(carried)):
            t.fail(f"the body has {len(results)} outputs, {1 + max(t.outputs, len(carried))} are wanted")
        pairs = zip(carried, results[1 : 1 + len(carried)], strict=True)
        joined = [carried_type(t, a, b, f"carried value {i}") for i, (a, b) in enumerate(pairs)]
        if joined == carried:
            return carried, results
        carried = joined


def carried_type(t: Inference, before: Type | None, after: Type | None, what: str) -> Type | None:
    """The type of a value that starts as one and goes on as the other; an optional may be filled on the way."""
    if isinstance(before, OptionalType) and after is not None and not isinstance(after, OptionalType):
        after = OptionalType(after)
    return join(t, before, after, what)


def scanned(t: Inference, element: Type | None, trips: Dim) -> Type | None:
    if element is None:
        return None
    if not isinstance(element, TensorType):
        t.fail(f"a scan output is {element}; only tensors can be stacked")
    found = TensorType(element.dtype, None if element.shape is None else (trips, *element.shape))
    return named_dims(t, found)


def trip_count(t: Inference) -> Dim:
    """The number of iterations where M and the condition tell it, else a new symbol."""
    condition = t.constant(1)
    if condition is not None and condition.size == 1 and not condition.item():
        return 0
    trips = t.dims(0) if t.has(0) else None
    if trips is not None and len(trips) == 1 and trips[0] is not None:
        most = dim_max(trips[0], 0)
        if most == 0 or not t.has(1) or (condition is not None and keeps_going(t.attributes["body"])):
            return most
    return t.new_dim()


def keeps_going(body: object) -> bool:
    """Whether the body hands on the condition that it got, or is true by itself."""
    if not isinstance(body, Graph) or len(body.inputs) < 2 or not body.outputs:
        return False
    value: Value | None = body.outputs[0]
    while value is not None and value.producer is not None and value.producer.op_type == "Identity":
        value = value.producer.inputs[0]
    if value is None or value is body.inputs[1]:
        return value is not None
    constant = value.initializer
    if value.producer is not None and value.producer.op_type == "Constant":
        attribute = value.producer.attributes.get("value")
        constant = attribute.value if attribute is not None and isinstance(attribute.value, Tensor) else None
    return isinstance(constant, Tensor) and constant.dtype is DataType.BOOL and bool(constant.numpy().all())


@op.eval(*VERSIONS)
def evaluate(
    M: Array | None = None, cond: Array | None = None, *v_initial: RuntimeValue, body: Graph, call: Call
) -> tuple[RuntimeValue, ...]:
    """M: one int64; cond: one bool; either may be left out.  Results: final carried values, then scan outputs.

    Without any iteration a scan output has length 0 and the element type and sizes that the body declares for it.
    Raises LimitError after `limits.iterations` iterations.
    """
    trips = None if M is None else single(M, "M")
    condition: RuntimeValue = np.array(True) if cond is None else cond
    going, done = bool(single(condition, "cond")), 0
    carried, count = list(v_initial), len(v_initial)
    number_shape, condition_shape = head_shapes(body)
    scans = [
        ScanOutput(call, v) if w else None
        for v, w in zip(body.outputs[1 + count :], call.wanted[count:], strict=False)
    ]
    while going and (trips is None or done < trips):
        if done >= call.limits.iterations:
            raise LimitError(f"the loop has run {done} times", limit="limits.iterations")
        heads = [np.full(number_shape, done, np.int64), reshaped(condition, condition_shape)]
        condition, *results = run_body(call, body, [*heads, *carried], 1 + max(count, len(call.wanted)))
        carried = results[:count]
        for scan, element in zip(scans, results[count:], strict=False):
            if scan is not None:
                scan.add(element)
        done += 1
        going = cond is None or bool(single(condition, "the body's condition"))
    return *carried, *(None if scan is None else scan.stacked() for scan in scans)


def reshaped(condition: RuntimeValue, shape: tuple[int, ...]) -> RuntimeValue:
    return (
        condition.reshape(shape) if isinstance(condition, np.ndarray) and condition.size == 1 else condition
    )


def single(x: RuntimeValue, what: str) -> int:
    if not isinstance(x, np.ndarray) or x.size != 1:
        raise EvaluationError(f"{what} is {x!r}; one element is wanted")
    return int(x.item())
