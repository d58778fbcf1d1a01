"""Random If, Loop and Scan nodes for `random_graphs`: bodies of a few operators that capture outer values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from compile.random_data_movement import GenerateNode
from compile.random_graphs import F, RandomGraphBuilder, RandomValue, evaluate, rows
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import SardonyxError
from sardonyx._src.ir import Array, Graph, Value
from sardonyx._src.ir.build import GraphBuilder
from sardonyx._src.ir.dims import Dim

MakeBodies = Callable[[Sequence[Value], DataType], Mapping[str, object]]
EXACT = ("Relu", "Neg", "Abs")
ROUNDED = ("Tanh", "Sigmoid", "Softsign", "Sin")
BINARY = ("Add", "Sub", "Max", "Min")
MAX_SCAN_LENGTH = (
    500  # iterations of a Scan, each of which takes a tenth of a millisecond on the reference engine
)


@dataclass
class Chain:
    """A chain of operators from a value to one of the same shape.

    steps: an operator and, if it is binary, the index of the captured value that is its other operand.
    """

    steps: list[tuple[str, int | None]]

    @property
    def is_exact(self) -> bool:
        return all(op in EXACT or op in BINARY for op, _ in self.steps)

    def append_to(self, b: GraphBuilder, x: Value, captured: Sequence[Value]) -> Value:
        for op, other in self.steps:
            operands = [x] if other is None else [x, captured[other]]
            x = b.op(op, *operands, outputs=[f"{b.graph.name}_{len(list(b.graph.nodes))}"])
        return x


def draw_chain(g: RandomGraphBuilder, x: RandomValue, captured: Sequence[RandomValue]) -> Chain:
    """Draws operators that preserve the shape of x with all feeds; captured: values for binary operators."""
    operands = [i for i, value in enumerate(captured) if broadcasts_to(value, x)]
    steps: list[tuple[str, int | None]] = []
    for _ in range(1 + g.draw_int(3)):
        if operands and g.flip(0.6):
            steps.append((g.choose_name(*BINARY), g.choose(operands)))
        else:
            steps.append((g.choose_name(*EXACT, *ROUNDED) if g.flip(0.7) else g.choose_name(*EXACT), None))
    return Chain(steps)


def broadcasts_to(value: RandomValue, x: RandomValue) -> bool:
    """Whether a value broadcasts to another one's shape."""
    return all(is_broadcastable(a.shape, b.shape) for a, b in zip(value.arrays, x.arrays, strict=True))


def is_broadcastable(a: Sequence[int], b: Sequence[int]) -> bool:
    pairs = zip(reversed(a), reversed(b), strict=False)
    return len(a) <= len(b) and all(m in (n, 1) for m, n in pairs)


def start_body(
    name: str, inputs: Mapping[str, tuple[DataType, Sequence[Dim | str] | None]]
) -> tuple[GraphBuilder, list[Value]]:
    """Starts a body: its builder and its inputs, whose shapes may be unknown."""
    b = GraphBuilder(1, graph=Graph(name))
    return b, [b.input(f"{name}_{word}", dtype, dims) for word, (dtype, dims) in inputs.items()]


def add_control_node(
    g: RandomGraphBuilder,
    op_type: str,
    inputs: Sequence[RandomValue | None],
    captured: Sequence[RandomValue],
    bodies: MakeBodies,
    outputs: int = 1,
    *,
    exact: bool,
    attributes: Mapping[str, object],
) -> list[RandomValue] | None:
    """`RandomGraphBuilder.add_node` for a node whose bodies capture values."""
    exact = exact and all(x is None or x.is_exact for x in (*inputs, *captured))

    def evaluate_in(which: str, dtype: DataType) -> list[list[Array]]:
        return evaluate(
            op_type,
            rows((*inputs, *captured), which),
            outputs,
            lambda values: {**attributes, **bodies(values, dtype)},
            len(captured),
            opset=g.opset,
        )

    try:
        with np.errstate(all="ignore"):
            plain = evaluate_in("arrays", F)
            precise = plain if exact else evaluate_in("precise", DataType.DOUBLE)
    except SardonyxError:
        return None
    attributes = {**attributes, **bodies([value.value for value in captured], F)}
    return g.add_if_well_conditioned(op_type, inputs, attributes, plain, precise, exact=exact)


def pick_captured(g: RandomGraphBuilder, count: int) -> list[RandomValue]:
    """Values for bodies to capture."""
    picks = [g.pick_value() for _ in range(count)]
    return list(dict.fromkeys(value for value in picks if value is not None))


# --- the operators ---------------------------------------------------------------------------


def add_condition(g: RandomGraphBuilder, x: RandomValue) -> RandomValue | None:
    """Adds a bool that differs between feeds if sizes do."""
    size = g.add_node("Size", x, exact=True)
    remainder = size and g.add_node("Mod", size[0], g.add_constant(2, np.int64), exact=True)
    is_equal = remainder and g.add_node(
        "Equal", remainder[0], g.add_constant(g.draw_int(1), np.int64), exact=True
    )
    return is_equal[0] if is_equal else None


def add_if(g: RandomGraphBuilder) -> object:
    x, captured = g.pick_value(), pick_captured(g, 3)
    is_taken = x and add_condition(g, x)
    if x is None or is_taken is None:
        return None
    if x not in captured:
        captured.append(x)
    others = [i for i, value in enumerate(captured) if value.rank == x.rank]
    starts = [captured.index(x), g.choose(others) if g.flip(0.3) else captured.index(x)]
    chains = [draw_chain(g, captured[i], captured) for i in starts]

    def bodies(values: Sequence[Value], dtype: DataType) -> Mapping[str, object]:
        branch_graphs: dict[str, object] = {}
        for name, start, operators in zip(("then_branch", "else_branch"), starts, chains, strict=True):
            b, _ = start_body(f"{name}{len(g.values)}", {})
            b.output(operators.append_to(b, values[start], values))
            branch_graphs[name] = b.graph
        return branch_graphs

    exact = all(operators.is_exact for operators in chains)
    return add_control_node(g, "If", [is_taken], captured, bodies, exact=exact, attributes={})


def add_trip_count(g: RandomGraphBuilder, x: RandomValue) -> RandomValue | None:
    """Adds the trip count of a loop: a constant, or a function of the feeds' sizes."""
    if g.flip():
        return g.add_constant(g.choose((0, 1, 2, 3, 5)), np.int64)
    size = g.add_node("Size", x, exact=True)
    remainder = size and g.add_node("Mod", size[0], g.add_constant(4, np.int64), exact=True)
    return remainder[0] if remainder else None


def declared_dims(g: RandomGraphBuilder, x: RandomValue) -> Sequence[int] | None:
    """The shape that a body declares for a value, if it is fixed, or None."""
    return x.shape if all(x.fixed) and g.flip() else None


def add_loop(g: RandomGraphBuilder) -> object:
    """A loop-carried state, and maybe its values as a scan output; the condition may end the loop early."""
    x, captured = g.pick_value(), pick_captured(g, 2)
    count = x and add_trip_count(g, x)
    if x is None or count is None:
        return None
    operators, dims, last, has_scan = (
        draw_chain(g, x, captured),
        declared_dims(g, x),
        g.choose((1, 2, 9)),
        g.flip(),
    )
    start = g.add_constant(g.flip(0.9), np.bool_) if g.flip() else None

    def bodies(values: Sequence[Value], dtype: DataType) -> Mapping[str, object]:
        name = f"loop{len(g.values)}"
        b, (i, _, state) = start_body(
            name, {"i": (DataType.INT64, ()), "go": (DataType.BOOL, ()), "state": (dtype, dims)}
        )
        limit = b.constant(f"{name}_limit", np.array(last, np.int64))
        b.output(b.op("Less", i, limit, outputs=[f"{name}_on"]))
        result = operators.append_to(b, state, values)
        b.output(result)
        if has_scan:
            b.output(b.op("Identity", result, outputs=[f"{name}_all"]))
        return {"body": b.graph}

    return add_control_node(
        g, "Loop", [count, start, x], captured, bodies, 1 + has_scan, exact=operators.is_exact, attributes={}
    )


def add_scan(g: RandomGraphBuilder) -> object:
    """A state, and a scan output with one element per slice of a value."""
    y = g.pick_value(lambda m: m.rank > 0)
    if y is None:
        return None
    axis = g.draw_int(y.rank - 1)
    if max(a.shape[axis] for a in y.arrays) > MAX_SCAN_LENGTH:
        return None
    maxima = g.add_node("ReduceMax", y, g.add_ints(axis), keepdims=0, exact=True)
    if not maxima:
        return None
    first, captured = maxima[0], pick_captured(g, 2)
    state_chain, slice_chain = draw_chain(g, first, captured), draw_chain(g, first, captured)
    join_op, out_axis, dims = (
        g.choose_name("Add", "Max", "Sub"),
        g.draw_int(first.rank),
        declared_dims(g, first),
    )

    def bodies(values: Sequence[Value], dtype: DataType) -> Mapping[str, object]:
        b, (state, element) = start_body(
            f"scan{len(g.values)}", {"state": (dtype, dims), "slice": (dtype, dims)}
        )
        combined = b.op(join_op, state, element, outputs=[f"{b.graph.name}_joined"])
        b.output(state_chain.append_to(b, combined, values))
        b.output(slice_chain.append_to(b, combined, values))
        return {"body": b.graph}

    attributes = {
        "num_scan_inputs": 1,
        "scan_input_axes": [axis - y.rank * g.flip(0.3)],
        "scan_input_directions": [int(g.flip(0.3))],
        "scan_output_axes": [out_axis],
        "scan_output_directions": [int(g.flip(0.3))],
    }
    exact = state_chain.is_exact and slice_chain.is_exact
    return add_control_node(g, "Scan", [first, y], captured, bodies, 2, exact=exact, attributes=attributes)


CONTROL: tuple[GenerateNode, ...] = (add_if, add_loop, add_scan)
