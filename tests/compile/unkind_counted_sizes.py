"""Random nodes whose results have sizes that a run counts, or that control flow decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from compile.random_control_flow import add_control_node, start_body
from compile.random_graphs import I64, RUNS, B, F, RandomValue
from compile.unkind_fed_sizes import FED_SIZES, ChangeSizes, Nodes
from compile.unkind_graphs import UnkindGraphBuilder
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Graph, Value

MAX_TRIPS = 5


def add_bools(g: UnkindGraphBuilder, lengths: Sequence[int]) -> RandomValue:
    """A fed vector of bools; half of them are true throughout."""
    share = 1.0 if g.flip() else 0.6
    return g.add_fed([g.rng.random(n) < share for n in lengths])


def compress(g: UnkindGraphBuilder, x: RandomValue) -> Nodes:
    if g.flip(0.1):
        return g.add_node("Compress", x, add_bools(g, [a.size for a in x.arrays]), exact=True)
    axis = 1 if x.rank > 2 and g.flip() else g.draw_int(x.rank - 1)
    lengths = [a.shape[axis] for a in x.arrays]
    if g.flip(0.8):
        return g.add_node("Compress", x, add_bools(g, lengths), axis=axis, exact=True)
    condition = g.rng.random(min(lengths)) < 0.7
    return g.add_node("Compress", x, g.add_constant(condition, np.bool_), axis=axis, exact=True)


def nonzero(g: UnkindGraphBuilder, x: RandomValue) -> Nodes:
    """The positive elements, or their indices."""
    positive = x.is_exact and g.add_node("Relu", x, exact=True)
    indices = positive and g.add_node("NonZero", positive[0], exact=True)
    if not indices:
        return None
    if g.flip(0.3):
        return g.add_node("Cast", indices[0], to=F, exact=True)
    positions = g.add_node("Transpose", indices[0], perm=[1, 0], exact=True)
    return positions and g.add_node("GatherND", x, positions[0], exact=True)


def unique(g: UnkindGraphBuilder, x: RandomValue) -> Nodes:
    if not x.is_exact:
        return None
    attributes = {"axis": g.draw_int(x.rank - 1)} if g.flip() else {}
    return g.add_node("Unique", x, exact=True, extra_attributes={**attributes, "sorted": int(g.flip())})


def non_max_suppression(g: UnkindGraphBuilder, x: RandomValue) -> Nodes:
    """Of fed boxes, one for each element of the last axis, with the greatest elements as scores."""
    if not x.is_exact or not all(a.size for a in x.arrays):
        return None
    scores = g.add_node("Reshape", x, g.add_ints(1, -1, 0), exact=True) if x.rank == 3 else None
    if scores is None:
        return None
    scores = g.add_node("ReduceMax", scores[0], g.add_ints(1), keepdims=1, exact=True)
    boxes = g.add_fed([g.draw_normal((1, a.shape[-1], 4)) for a in x.arrays], [1, "boxes", 4])
    limit, overlap = g.add_constant(g.choose((1, 3, 20)), np.int64), g.add_constant(0.5)
    chosen = scores and g.add_node("NonMaxSuppression", boxes, scores[0], limit, overlap, exact=True)
    return chosen and g.add_node("Cast", chosen[0], to=F, exact=True)


def number_range(g: UnkindGraphBuilder, x: RandomValue) -> Nodes:
    """As many numbers as the last axis has elements, or others."""
    lengths = [a.shape[-1] for a in x.arrays] if g.flip(0.7) else g.draw_lengths(g.sizes)
    end = g.add_fed([np.array(n, np.int64) for n in lengths])
    start, step = (g.add_constant(n, np.int64) for n in (0, 1))
    numbers = g.add_node("Range", start, end, step, exact=True)
    return numbers and g.add_node("Cast", numbers[0], to=F, exact=True)


# --- control flow ----------------------------------------------------------------------------


def choose_branch(g: UnkindGraphBuilder, x: RandomValue) -> Nodes:
    """An If with a fed condition; branches keep the shape, or halve or double an axis."""
    condition = g.add_fed([np.array(g.flip()) for _ in range(RUNS)])
    kinds = [g.choose_name("Relu", "Neg", "Relu", "Neg", "Slice", "Concat") for _ in range(2)]
    axis = 1 if x.rank > 2 else 0

    def bodies(values: Sequence[Value], _: DataType) -> Mapping[str, object]:
        names = ("then_branch", "else_branch")
        return {
            name: branch(f"{name}{len(g.values)}", kind, values[0], axis)
            for name, kind in zip(names, kinds, strict=True)
        }

    return add_control_node(g, "If", [condition], [x], bodies, exact=True, attributes={})


def branch(name: str, op_type: str, x: Value, axis: int) -> Graph:
    """A branch of one node: every second element of an axis, all of them twice, or a function of each element."""
    b, _ = start_body(name, {})
    operands = [x]
    if op_type == "Slice":
        bounds = (0, 1 << 40, axis, 2)
        operands += [b.constant(f"{name}_{i}", np.array([n], np.int64)) for i, n in enumerate(bounds)]
    if op_type == "Concat":
        b.output(b.op("Concat", x, x, axis=axis, outputs=[f"{name}_y"]))
    else:
        b.output(b.op(op_type, *operands, outputs=[f"{name}_y"]))
    return b.graph


def collect_slices(g: UnkindGraphBuilder, x: RandomValue) -> Nodes:
    """A Loop with a fed trip count, whose scan output has the shape of x for each iteration, or one axis of them all."""
    trips = g.add_fed([np.array(g.draw_int(MAX_TRIPS), np.int64) for _ in range(RUNS)])
    name = f"loop{len(g.values)}"

    def bodies(values: Sequence[Value], dtype: DataType) -> Mapping[str, object]:
        b, (_, go, state) = start_body(name, {"i": (I64, ()), "go": (B, ()), "state": (dtype, None)})
        b.output(b.op("Identity", go, outputs=[f"{name}_on"]))
        following = b.output(b.op("Max", state, values[0], outputs=[f"{name}_next"]))
        b.output(b.op("Neg", following, outputs=[f"{name}_slice"]))
        return {"body": b.graph}

    results = add_control_node(g, "Loop", [trips, None, x], [x], bodies, 2, exact=True, attributes={})
    if results is None or not all(x.fixed[1:]) or 0 in x.shape[1:] or g.flip(0.3):
        return results
    return g.add_node("Reshape", results[1], g.add_ints(-1, *x.shape[1:]), exact=True)


COUNTED_SIZES: tuple[ChangeSizes, ...] = (
    compress, compress, compress, nonzero, unique, non_max_suppression, number_range, choose_branch, collect_slices,
)  # fmt: skip


def add_late_sizes(g: UnkindGraphBuilder) -> Nodes:
    """A node whose result has sizes that are known only in a run, of any value, and probably of a recent one."""
    x = g.pick_value(lambda m: m.rank > 0)
    family = COUNTED_SIZES if g.flip(0.35) else FED_SIZES
    return None if x is None else g.choose_from(family)(g, x)
