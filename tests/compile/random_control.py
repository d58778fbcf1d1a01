"""Branches and loops, chosen by chance: bodies of a few operators, which look at values around them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from compile.random_graphs import F, Growing, Made, evaluated, rows
from compile.random_moves import Move
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import SardonyxError
from sardonyx._src.ir.build import Builder
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ir.graph import Graph, Value

Bodies = Callable[[Sequence[Value], DataType], Mapping[str, object]]
EXACT = ("Relu", "Neg", "Abs")
ROUNDED = ("Tanh", "Sigmoid", "Softsign", "Sin")
BOTH = ("Add", "Sub", "Max", "Min")


@dataclass
class Chain:
    """A few operators one after another, from a value to one of the same shape.

    steps: an operator, and for one of two operands which of the values around it is the other.
    """

    steps: list[tuple[str, int | None]]

    @property
    def is_exact(self) -> bool:
        return all(op in EXACT or op in BOTH for op, _ in self.steps)

    def put(self, b: Builder, x: Value, around: Sequence[Value]) -> Value:
        for op, other in self.steps:
            given = [x] if other is None else [x, around[other]]
            x = b.op(op, *given, outputs=[f"{b.graph.name}_{len(list(b.graph.nodes))}"])
        return x


def chain(g: Growing, x: Made, around: Sequence[Made]) -> Chain:
    """Operators that keep the shape of x under all feeds, whatever they find around."""
    fitting = [i for i, one in enumerate(around) if stretches(one, x)]
    steps: list[tuple[str, int | None]] = []
    for _ in range(1 + g.up_to(3)):
        if fitting and g.coin(0.6):
            steps.append((g.word(*BOTH), g.one(fitting)))
        else:
            steps.append((g.word(*EXACT, *ROUNDED) if g.coin(0.7) else g.word(*EXACT), None))
    return Chain(steps)


def stretches(one: Made, x: Made) -> bool:
    """Whether a value broadcasts to another one's shape."""
    return all(fits(a.shape, b.shape) for a, b in zip(one.arrays, x.arrays, strict=True))


def fits(a: Sequence[int], b: Sequence[int]) -> bool:
    pairs = zip(reversed(a), reversed(b), strict=False)
    return len(a) <= len(b) and all(m in (n, 1) for m, n in pairs)


def graph(
    name: str, inputs: Mapping[str, tuple[DataType, Sequence[Dim | str] | None]]
) -> tuple[Builder, list[Value]]:
    """A body in the making, and its inputs, whose types may be left open."""
    b = Builder(1, graph=Graph(name))
    return b, [b.input(f"{name}_{word}", dtype, dims) for word, (dtype, dims) in inputs.items()]


def put(
    g: Growing,
    op_type: str,
    inputs: Sequence[Made | None],
    around: Sequence[Made],
    bodies: Bodies,
    outputs: int = 1,
    *,
    exact: bool,
    how: Mapping[str, object],
) -> list[Made] | None:
    """`Growing.op` for a node whose bodies look at values around it."""
    exact = exact and all(made is None or made.is_exact for made in (*inputs, *around))
    count = len(inputs)

    def made_by(row: Sequence[np.ndarray | None], dtype: DataType) -> list[np.ndarray]:
        return evaluated(
            op_type, row[:count], outputs, lambda values: {**how, **bodies(values, dtype)}, row[count:]
        )

    try:
        with np.errstate(all="ignore"):
            plain = [made_by(row, F) for row in rows((*inputs, *around), "arrays")]
            precise = [made_by(row, DataType.DOUBLE) for row in rows((*inputs, *around), "precise")]
    except SardonyxError:
        return None
    attributes = {**how, **bodies([one.value for one in around], F)}
    return g.keep(op_type, inputs, attributes, plain, precise, exact=exact)


def picked(g: Growing, count: int) -> list[Made]:
    """Values that bodies may look at."""
    found = [g.pick() for _ in range(count)]
    return list(dict.fromkeys(one for one in found if one is not None))


# --- the operators ---------------------------------------------------------------------------


def condition(g: Growing, x: Made) -> Made | None:
    """A truth that differs from feeds to feeds where sizes do."""
    size = g.op("Size", x, exact=True)
    left = size and g.op("Mod", size[0], g.constant(2, np.int64), exact=True)
    found = left and g.op("Equal", left[0], g.constant(g.up_to(1), np.int64), exact=True)
    return found[0] if found else None


def branches(g: Growing) -> object:
    x, around = g.pick(), picked(g, 3)
    test = x and condition(g, x)
    if x is None or test is None:
        return None
    if x not in around:
        around.append(x)
    others = [i for i, one in enumerate(around) if one.rank == x.rank]
    starts = [around.index(x), g.one(others) if g.coin(0.3) else around.index(x)]
    chains = [chain(g, around[i], around) for i in starts]

    def bodies(values: Sequence[Value], dtype: DataType) -> Mapping[str, object]:
        found: dict[str, object] = {}
        for name, start, one in zip(("then_branch", "else_branch"), starts, chains, strict=True):
            b, _ = graph(f"{name}{len(g.values)}", {})
            b.output(one.put(b, values[start], values))
            found[name] = b.graph
        return found

    exact = all(one.is_exact for one in chains)
    return put(g, "If", [test], around, bodies, exact=exact, how={})


def trips(g: Growing, x: Made) -> Made | None:
    """How often a loop runs: a number, or one that sizes of feeds decide."""
    if g.coin():
        return g.constant(g.one((0, 1, 2, 3, 5)), np.int64)
    size = g.op("Size", x, exact=True)
    found = size and g.op("Mod", size[0], g.constant(4, np.int64), exact=True)
    return found[0] if found else None


def dims_of(g: Growing, x: Made) -> Sequence[int] | None:
    """What a body says of a value: its dims, if they are always the same, or nothing."""
    return x.shape if all(x.fixed) and g.coin() else None


def loop(g: Growing) -> object:
    """A state that is carried on, and all that it was; it may end before its count."""
    x, around = g.pick(), picked(g, 2)
    count = x and trips(g, x)
    if x is None or count is None:
        return None
    one, dims, last, scans = chain(g, x, around), dims_of(g, x), g.one((1, 2, 9)), g.coin()
    start = g.constant(g.coin(0.9), np.bool_) if g.coin() else None

    def bodies(values: Sequence[Value], dtype: DataType) -> Mapping[str, object]:
        name = f"loop{len(g.values)}"
        b, (i, _, state) = graph(
            name, {"i": (DataType.INT64, ()), "go": (DataType.BOOL, ()), "state": (dtype, dims)}
        )
        limit = b.constant(f"{name}_limit", np.array(last, np.int64))
        b.output(b.op("Less", i, limit, outputs=[f"{name}_on"]))
        made = one.put(b, state, values)
        b.output(made)
        if scans:
            b.output(b.op("Identity", made, outputs=[f"{name}_all"]))
        return {"body": b.graph}

    return put(g, "Loop", [count, start, x], around, bodies, 1 + scans, exact=one.is_exact, how={})


def scan(g: Growing) -> object:
    """A state that is carried through slices of a value, and one result for each of them."""
    y = g.pick(lambda m: m.rank > 0)
    if y is None:
        return None
    axis = g.up_to(y.rank - 1)
    found = g.op("ReduceMax", y, g.ints(axis), keepdims=0, exact=True)
    if not found:
        return None
    first, around = found[0], picked(g, 2)
    state_chain, slice_chain = chain(g, first, around), chain(g, first, around)
    join, out_axis, dims = g.word("Add", "Max", "Sub"), g.up_to(first.rank), dims_of(g, first)

    def bodies(values: Sequence[Value], dtype: DataType) -> Mapping[str, object]:
        b, (state, part) = graph(f"scan{len(g.values)}", {"state": (dtype, dims), "slice": (dtype, dims)})
        joined = b.op(join, state, part, outputs=[f"{b.graph.name}_joined"])
        b.output(state_chain.put(b, joined, values))
        b.output(slice_chain.put(b, joined, values))
        return {"body": b.graph}

    how = {
        "num_scan_inputs": 1,
        "scan_input_axes": [axis - y.rank * g.coin(0.3)],
        "scan_input_directions": [int(g.coin(0.3))],
        "scan_output_axes": [out_axis],
        "scan_output_directions": [int(g.coin(0.3))],
    }
    exact = state_chain.is_exact and slice_chain.is_exact
    return put(g, "Scan", [first, y], around, bodies, 2, exact=exact, how=how)


CONTROL: tuple[Move, ...] = (branches, loop, scan)
