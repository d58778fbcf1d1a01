"""Loop: a subgraph iterated with loop-carried values.

Spec: ai.onnx Loop-1, -11, -13, -16, -19, -21, -23, -24, -25.  Since version 11 a loop need not have carried values; since 13
they may be sequences, and since 16 optionals; the other versions added element types.  Without the input `cond`, the
condition that the body returns is ignored.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError, LimitError
from sardonyx._src.ir import Array, Graph, OptionalType, Tensor, TensorType, Type, Value
from sardonyx._src.ir.dims import Dim, dim_max
from sardonyx._src.ops.api import GraphCall, Operator, RunContext, RuntimeValue, tensor_type
from sardonyx._src.ops.control.bodies import (
    ScanOutput,
    bind_body,
    head_shapes,
    head_types,
    set_element_types,
)
from sardonyx._src.ops.control.joins import drop_shape, join, name_dims
from sardonyx._src.ops.control.unrolled import unroll_loop
from sardonyx._src.ops.inference import Inference, Result

LOOP_VERSIONS = (1, 11, 13, 16, 19, 21, 23, 24, 25)

op = Operator("Loop", size_rule="loop_states", body_inputs=lambda inputs: max(inputs, 2))


@op.infer(*LOOP_VERSIONS)
def infer(inference: Inference) -> Result:
    """The types of carried values hold before and after every iteration; the first dim of a scan output is the trip count.

    A loop with a small known trip count is unrolled, which gives exact types and known elements.
    """
    carried = list(inference.inputs[2:])
    exact = unroll_loop(inference)
    trips = exact.count if exact is not None else trip_count(inference)
    before, results = find_fixed_point(inference, carried)
    if results is None:
        return [drop_shape(x) for x in before] + [None] * max(inference.outputs - len(carried), 0)
    elements = results[1 + len(carried) :]
    if exact is not None:
        inference.set_output_elements([*exact.known, *exact.stack()])
        final = exact.types
        elements = exact.element_types(inference) if trips else elements
    else:
        final = final_types(before, results[1 : 1 + len(carried)], carried, trips)
    return [name_dims(inference, x) for x in final] + [
        scan_output_type(inference, x, trips) for x in elements
    ]


def final_types(
    before: list[Type | None], after: list[Type | None], carried: list[Type | None], trips: Dim
) -> list[Type | None]:
    """The types of the final carried values, from the types of the initial ones and those before and after any iteration."""
    if isinstance(trips, int):  # it is known whether there is an iteration
        return carried if trips == 0 else after
    # An optional that the body fills is of one type without an iteration, and of another with one.
    return [a if b is None or isinstance(b, type(a)) else None for a, b in zip(before, after, strict=True)]


def find_fixed_point(
    inference: Inference, carried: list[Type | None]
) -> tuple[list[Type | None], list[Type | None] | None]:
    """Types of the carried values that hold in every iteration (a fixed point), and the body's output types for them.

    A size that an iteration changes becomes unknown in the next one, until nothing changes.
    """
    heads = head_types(inference.attributes["body"])
    while True:
        results = inference.subgraph("body", [*heads, *carried])
        if results is None:
            return carried, None
        if len(results) < 1 + max(inference.outputs, len(carried)):
            inference.fail(
                f"the body must have {1 + max(inference.outputs, len(carried))} outputs; got {len(results)}"
            )
        pairs = zip(carried, results[1 : 1 + len(carried)], strict=True)
        joined = [carried_type(inference, a, b, f"carried value {i}") for i, (a, b) in enumerate(pairs)]
        if joined == carried:
            return carried, results
        carried = joined


def carried_type(inference: Inference, before: Type | None, after: Type | None, what: str) -> Type | None:
    """The join of a carried value's types before and after an iteration; the body may fill an optional."""
    if isinstance(before, OptionalType) and after is not None and not isinstance(after, OptionalType):
        after = OptionalType(after)
    return join(inference, before, after, what)


def scan_output_type(inference: Inference, element: Type | None, trips: Dim) -> Type | None:
    if element is None:
        return None
    if not isinstance(element, TensorType):
        inference.fail(f"a scan output must be a tensor; got {element}")
    result = TensorType(element.dtype, None if element.shape is None else (trips, *element.shape))
    return name_dims(inference, result)


def trip_count(inference: Inference) -> Dim:
    """The number of iterations if M and the condition determine it, otherwise a new symbol."""
    condition = inference.constant(1)
    if condition is not None and condition.size == 1 and not condition.item():
        return 0
    trips = inference.dims(0) if inference.has(0) else None
    if trips is not None and len(trips) == 1 and trips[0] is not None:
        count = dim_max(trips[0], 0)
        if (
            count == 0
            or not inference.has(1)
            or (condition is not None and keeps_going(inference.attributes["body"]))
        ):
            return count
    return inference.new_dim()


def keeps_going(body: object) -> bool:
    """Whether the body returns its condition unchanged, or a constant true."""
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
    return (
        isinstance(constant, Tensor)
        and constant.dtype is DataType.BOOL
        and constant.numpy().tolist() in (True, [True])
    )


@op.eval(*LOOP_VERSIONS)
def evaluate(
    M: Array | None = None,
    cond: Array | None = None,
    *v_initial: RuntimeValue,
    body: Graph,
    context: RunContext,
) -> tuple[RuntimeValue, ...]:
    """M: one int64; cond: one bool; either may be omitted.  Results: the final carried values, followed by the scan outputs.

    Without any iteration a scan output has length 0, with the element type and the other sizes that a first iteration would
    give.  Raises LimitError after `limits.iterations` iterations, or before the first one if it is known that more would follow.
    """
    trips = None if M is None else single(M, "M")
    condition: RuntimeValue = np.array(True) if cond is None else cond
    going, done = bool(single(condition, "cond")), 0
    carried, count = list(v_initial), len(v_initial)
    number_shape, condition_shape = head_shapes(body)
    scans = [
        ScanOutput(context, v) if w else None
        for v, w in zip(body.outputs[1 + count :], context.requested_outputs[count:], strict=False)
    ]
    limit = context.limits.iterations
    ends_by_count = cond is None or keeps_going(body)
    call: GraphCall | None = None
    while going and (trips is None or done < trips):
        if done >= limit or (ends_by_count and (trips is None or trips > limit)):
            raise LimitError(f"the loop exceeds {limit} iterations", limit="limits.iterations")
        call = call or bind_body(context, body, 2 + count, 1 + max(count, len(context.requested_outputs)))
        number = np.array(done if number_shape == () else [done], np.int64)
        if not ends_by_count or not done:
            condition = reshape_condition(condition, condition_shape)
        condition, *results = call([number, condition, *carried])
        carried = results[:count]
        if scans:
            for scan, element in zip(scans, results[count:], strict=False):
                if scan is not None:
                    scan.add(element)
        done += 1
        going = ends_by_count or bool(single(condition, "the body's condition"))
    if not done:
        set_element_types(context, body, scans, [*head_types(body), *map(tensor_type, carried)])
    return *carried, *(None if scan is None else scan.stack() for scan in scans)


def reshape_condition(condition: RuntimeValue, shape: tuple[int, ...]) -> RuntimeValue:
    if not isinstance(condition, np.ndarray) or condition.shape == shape or condition.size != 1:
        return condition
    return condition.reshape(shape)


def single(x: RuntimeValue, what: str) -> int:
    if not isinstance(x, np.ndarray) or x.size != 1:
        raise EvaluationError(f"{what} must have one element; got {x!r}")
    return int(x.item())
