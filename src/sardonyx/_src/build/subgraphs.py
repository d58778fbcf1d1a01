"""Subgraphs of If, Loop and Scan, built by calling Python functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from sardonyx._src.arguments import items_of, shown
from sardonyx._src.build.calls import add_call, convert_operands
from sardonyx._src.build.operand import Operand
from sardonyx._src.build.state import BuilderState
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import InputError
from sardonyx._src.infer.merge import join_types
from sardonyx._src.ir import Graph, Node, TensorType, Type, Value

COUNTER = TensorType(DataType.INT64, ())
CONDITION = TensorType(DataType.BOOL, ())
MAX_ATTEMPTS = 8  # calls of a body until the types of carried values no longer change


def add_if(
    state: BuilderState,
    condition: object,
    then_branch: Callable[[], object] | None,
    else_branch: Callable[[], object] | None,
) -> Node:
    branches = {
        "then_branch": build_graph(state, "then_branch", then_branch, []),
        "else_branch": build_graph(state, "else_branch", else_branch, []),
    }
    counts = {name: len(graph.outputs) for name, graph in branches.items()}
    if len(set(counts.values())) > 1:
        raise InputError(f"the branches must return equally many values; got {counts}", name="else_branch")
    return add_call(state, "If", [condition], counts["then_branch"], "", "", branches)


def add_loop(
    state: BuilderState,
    body: Callable[..., object],
    carried: Sequence[object],
    trip_count: object,
    condition: object,
) -> Node:
    initial = convert_operands(state, "Loop", None, carried)
    types = [None if value is None else value.type for value in initial]

    def build(types: Sequence[Type | None]) -> Graph:
        return build_graph(state, "body", body, [COUNTER, CONDITION, *types])

    graph = settle_types(build, types, 1)
    if len(graph.outputs) < 1 + len(initial):
        raise InputError(
            f"body must return the condition and {len(initial)} carried values; got {len(graph.outputs)} values",
            name="body",
        )
    count = len(graph.outputs) - 1
    if not count:
        raise InputError(
            "a loop must carry values or return scan outputs; its body returns the condition only",
            name="body",
        )
    trips = None if trip_count is None else convert_operands(state, "Loop", None, [trip_count])[0]
    first = first_condition(state, graph, condition)
    return add_call(state, "Loop", [trips, first, *initial], count, "", "", {"body": graph})


def first_condition(state: BuilderState, body: Graph, condition: object) -> Value | None:
    """The condition before the first iteration.

    By default it is true if the body computes conditions: a Loop without an initial condition ignores them.
    """
    if condition is None:
        result = body.outputs[0]
        copied = result.producer is not None and result.producer.op_type == "Identity"
        source = result.producer.inputs[0] if copied and result.producer is not None else result
        if source is body.inputs[1] or (source is not None and source.initializer is not None):
            return None
        condition = True
    return convert_operands(state, "Loop", None, [condition])[0]


def add_scan(
    state: BuilderState,
    body: Callable[..., object],
    carried: Sequence[object],
    scan_inputs: Sequence[object],
    attributes: Mapping[str, object],
) -> Node:
    initial = convert_operands(state, "Scan", None, carried)
    sequences, slices = scan_operands(state, scan_inputs, attributes)
    types = [None if value is None else value.type for value in initial]

    def build(types: Sequence[Type | None]) -> Graph:
        return build_graph(state, "body", body, [*types, *slices])

    graph = settle_types(build, types, 0)
    return add_call(
        state,
        "Scan",
        [*initial, *sequences],
        len(graph.outputs),
        "",
        "",
        {"body": graph, "num_scan_inputs": len(sequences), **attributes},
    )


def scan_operands(
    state: BuilderState, scan_inputs: Sequence[object], attributes: Mapping[str, object]
) -> tuple[list[Value | None], list[Type | None]]:
    """The scanned values, and the types of their slices."""
    if state.model.opset_imports[""] < 9:
        raise InputError("b.scan needs operator set 9; Scan-8 has another form: use b.op", name="opset")
    items = items_of("scan_inputs", scan_inputs, object, "operands")
    sequences = convert_operands(state, "Scan", None, items)
    axes = attributes.get("scan_input_axes")
    axes = axes if isinstance(axes, Sequence) else [0] * len(sequences)
    return sequences, [slice_type(value, axis) for value, axis in zip(sequences, axes, strict=False)]


def slice_type(value: Value | None, axis: object) -> Type | None:
    """The type of a slice of a scanned value: without the scanned axis."""
    type = None if value is None else value.type
    if not isinstance(type, TensorType) or type.shape is None:
        return type
    if not isinstance(axis, int) or not -len(type.shape) <= axis < len(type.shape):
        raise InputError(f"scan_input_axes must be axes of {type}; got {shown(axis)}", name="scan_input_axes")
    dims = list(type.shape)
    del dims[axis]
    return replace(type, shape=tuple(dims), dim_denotations=(), dim_placeholders=())


def settle_types(
    build: Callable[[Sequence[Type | None]], Graph], types: Sequence[Type | None], first: int
) -> Graph:
    """The body for types of the carried values that hold before and after every iteration.

    build: builds the body for types of its carried values.
    types: the types of the initial carried values.
    first: the position of the first carried value among the results of the body.
    """
    types = list(types)
    for _ in range(MAX_ATTEMPTS):
        graph = build(types)
        results = [value.type for value in graph.outputs[first : first + len(types)]]
        joined = [join_types(a, b) for a, b in zip(types, results, strict=False)] + types[len(results) :]
        if joined == types:
            return graph
        graph.clear()
        types = joined
    return build([None] * len(types))


def build_graph(
    state: BuilderState, name: str, function: Callable[..., object] | None, types: Sequence[Type | None]
) -> Graph:
    """The subgraph with the nodes that a function appends; types: the types of its operands, the inputs of the subgraph."""
    append = require_function(name, function, len(types))
    graph = new_graph(state, name, types)
    try:
        with state.scopes.enter(graph):
            add_results(state, graph, name, append(*graph.inputs))
    except BaseException:
        graph.clear()  # the values of enclosing graphs must not count the discarded nodes as uses
        raise
    return graph


def build_untaken_graph(
    state: BuilderState, name: str, function: Callable[..., object], types: Sequence[Type | None]
) -> Graph:
    """As `build_graph`, for a subgraph that no run takes: its values get no types, so that no operator is rejected."""
    before, state.is_typing = state.is_typing, False
    try:
        return build_graph(state, name, function, types)
    finally:
        state.is_typing = before


def new_graph(state: BuilderState, name: str, types: Sequence[Type | None]) -> Graph:
    """An empty subgraph with inputs of these types."""
    graph = Graph(state.fresh_name(name))
    for i, type in enumerate(types):
        graph.add_input(Operand(state.owner, state.fresh_name(f"{name}_input_{i}"), type))
    return graph


def require_function(name: str, function: object, count: int) -> Callable[..., object]:
    """Raises TypeError for anything but a function that takes `count` operands."""
    if callable(function):
        try:
            inspect.signature(function).bind(*range(count))
        except (TypeError, ValueError):
            pass
        else:
            return function
    raise TypeError(f"{name} must be a function of {count} operands; got {shown(function)}")


def add_results(state: BuilderState, graph: Graph, name: str, results: object) -> None:
    """Makes the operands that a function returned the outputs of its graph; operands of other graphs are copied into it."""
    items = list(results) if isinstance(results, tuple | list) else [results]
    if not items or any(item is None for item in items):
        raise InputError(f"{name} must return an operand or a tuple of them; got {shown(results)}", name=name)
    for value in convert_operands(state, name, None, items):
        assert value is not None, "results have been checked"
        if value.producer is None or value.owner is not graph or value in graph.outputs:
            value = add_call(state, "Identity", [value], None, "", "", {}).outputs[0]
        graph.outputs.append(value)
