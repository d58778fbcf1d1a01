"""Random data-movement nodes for `random_graphs`: views, Concat, Gather, Scatter, Pad and the like."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from compile.random_graphs import I64, F, RandomGraphBuilder, RandomValue

GenerateNode = Callable[[RandomGraphBuilder], object]  # may add nodes, or none if no value fits


def add_transpose(g: RandomGraphBuilder) -> object:
    x = g.pick_value(lambda m: m.rank > 1)
    perm = None if x is None else [int(i) for i in g.rng.permutation(x.rank)]
    return x and g.add_node("Transpose", x, perm=perm, exact=True)


def add_reshape(g: RandomGraphBuilder) -> object:
    """Merges adjacent dims or splits one; dynamic dims are 0 or -1."""
    x = g.pick_value(lambda m: m.rank > 0)
    if x is None:
        return None
    axis = g.draw_int(x.rank - 1)
    dims = [0] * x.rank
    if x.rank > 1 and axis + 1 < x.rank and g.flip():
        dims = [*x.shape[:axis], -1, *x.shape[axis + 2 :]]
    else:
        factors = [n for n in (2, 3, 4, 5, 8) if x.shape[axis] and x.shape[axis] % n == 0]
        n = g.choose(factors) if factors else 1
        pair = (n, -1) if g.flip() else (-1, n)
        dims = [*dims[:axis], *pair, *x.shape[axis + 1 :]]
    return g.add_node("Reshape", x, g.add_ints(*dims), exact=True)


def add_reshape_to_computed_shape(g: RandomGraphBuilder) -> object:
    """Reshape to a shape computed by Shape and Concat, as exporters write it."""
    x = g.pick_value(lambda m: m.rank > 1)
    if x is None:
        return None
    shape = g.add_node("Shape", x, end=1, exact=True)
    if shape is None:
        return None
    target = g.add_node("Concat", shape[0], g.add_ints(-1), axis=0, exact=True)
    return target and g.add_node("Reshape", x, target[0], exact=True)


def add_flatten(g: RandomGraphBuilder) -> object:
    x = g.pick_value()
    return x and g.add_node("Flatten", x, axis=g.draw_int(x.rank), exact=True)


def add_squeeze(g: RandomGraphBuilder) -> object:
    x = g.pick_value(lambda m: any(f and d == 1 for f, d in zip(m.fixed, m.shape, strict=True)))
    if x is None:
        return None
    ones = [i for i, (f, d) in enumerate(zip(x.fixed, x.shape, strict=True)) if f and d == 1]
    return g.add_node("Squeeze", x, g.add_ints(g.choose(ones)), exact=True)


def add_unsqueeze(g: RandomGraphBuilder) -> object:
    x = g.pick_value(lambda m: m.rank < 5)
    return x and g.add_node("Unsqueeze", x, g.add_ints(g.draw_int(x.rank)), exact=True)


def add_slice(g: RandomGraphBuilder) -> object:
    x = g.pick_value(lambda m: m.rank > 0)
    if x is None:
        return None
    axis = g.draw_int(x.rank - 1)
    start, end = (g.choose((-50, -7, -2, -1, 0, 1, 2, 3, 5, 9, 2**31)) for _ in range(2))
    if g.flip(0.6):
        start, end = g.choose((0, 1, 2)), g.choose((2**62, -1, -2))
    step = g.choose((1, 1, 1, 2, 3, -1, -2))
    if step < 0 and g.flip(0.8):
        start, end = g.choose((-1, 2**31)), -(2**31)
    bounds = [g.add_ints(n) for n in (start, end, axis - x.rank * g.flip())]
    return g.add_node("Slice", x, *bounds, *([] if step == 1 else [g.add_ints(step)]), exact=True)


def add_split(g: RandomGraphBuilder) -> object:
    x = g.pick_value(lambda m: any(f and d > 1 for f, d in zip(m.fixed, m.shape, strict=True)))
    if x is None:
        return None
    axis = g.choose([i for i, (f, d) in enumerate(zip(x.fixed, x.shape, strict=True)) if f and d > 1])
    if g.flip():
        return g.add_node("Split", x, outputs=2, axis=axis, num_outputs=2, exact=True)
    first = g.draw_int(x.shape[axis])
    second = g.draw_int(x.shape[axis] - first)
    sizes = g.add_ints(first, second, x.shape[axis] - first - second)
    return g.add_node("Split", x, sizes, outputs=3, axis=axis, exact=True)


def add_expand(g: RandomGraphBuilder) -> object:
    x = g.pick_value(lambda m: m.rank < 5)
    if x is None:
        return None
    dims = [
        g.draw_size() if f and d == 1 and g.flip(0.7) else 1 for f, d in zip(x.fixed, x.shape, strict=True)
    ]
    lead = [g.draw_size()] if g.flip(0.4) else []
    return g.add_node("Expand", x, g.add_ints(*lead, *dims), exact=True)


def add_concat(g: RandomGraphBuilder) -> object:
    """Values that differ in at most one dim, with repetitions."""
    x = g.pick_value(lambda m: m.rank > 0)
    if x is None:
        return None
    axis = 1 if x.rank > 2 and g.flip(0.6) else g.draw_int(x.rank - 1)
    others = [m for m in g.values if m.dtype is F and can_concatenate(m, x, axis)]
    parts = [others[g.draw_int(len(others) - 1)] for _ in range(1 + g.draw_int(4))]
    if g.flip(0.7):
        parts = list(dict.fromkeys(parts))
    return g.add_node("Concat", *parts, axis=axis - x.rank * g.flip(0.2), exact=True)


def can_concatenate(a: RandomValue, b: RandomValue, axis: int) -> bool:
    if a.rank != b.rank:
        return False
    pairs = zip(a.arrays, b.arrays, strict=True)
    return all(np.delete(p.shape, axis).tolist() == np.delete(q.shape, axis).tolist() for p, q in pairs)


def add_tile(g: RandomGraphBuilder) -> object:
    x = g.pick_value(lambda m: 0 < m.rank < 5)
    return x and g.add_node(
        "Tile",
        x,
        g.add_ints(*(g.choose((1, 1, 2, 3, 0 if g.flip(0.1) else 1)) for _ in range(x.rank))),
        exact=True,
    )


def add_pad(g: RandomGraphBuilder) -> object:
    x = g.pick_value(lambda m: m.rank > 0)
    if x is None:
        return None
    mode = g.choose_name("constant", "constant", "edge", "reflect", "wrap")
    counts = g.add_ints(*(g.choose((0, 0, 1, 2, -1, 3)) for _ in range(2 * x.rank)))
    value = [g.add_constant(0.5)] if mode == "constant" and g.flip() else []
    return g.add_node("Pad", x, counts, *value, mode=mode, exact=True)


def min_dim(x: RandomValue, axis: int) -> int:
    return min(int(a.shape[axis]) for a in x.arrays)


def add_gather(g: RandomGraphBuilder) -> object:
    x = g.pick_value(lambda m: m.rank > 0)
    if x is None:
        return None
    axis = g.draw_int(x.rank - 1)
    n = min_dim(x, axis)
    shape = [g.choose((0, 1, 2, 3, 5)) if g.flip(0.15) else g.choose((1, 2, 4)) for _ in range(g.draw_int(2))]
    indices = g.rng.integers(-n, n, shape) if n else np.zeros((0,), np.int64)
    return g.add_node("Gather", x, g.add_constant(indices, choose_index_type(g)), axis=axis, exact=True)


def choose_index_type(g: RandomGraphBuilder) -> type:
    return np.int64 if g.flip() else np.int32


def add_gather_elements(g: RandomGraphBuilder) -> object:
    x = g.pick_value(lambda m: m.rank > 0 and m.arrays[0].size > 0)
    if x is None:
        return None
    axis = g.draw_int(x.rank - 1)
    shape = [g.draw_int(min_dim(x, i)) for i in range(x.rank)]
    n = max(min_dim(x, axis), 1)
    return g.add_node(
        "GatherElements",
        x,
        g.add_constant(g.rng.integers(-n, n, shape), choose_index_type(g)),
        axis=axis,
        exact=True,
    )


def add_gather_nd(g: RandomGraphBuilder) -> object:
    x = g.pick_value(lambda m: m.rank > 0 and min(a.size for a in m.arrays) > 0)
    if x is None:
        return None
    depth, count = 1 + g.draw_int(x.rank - 1), g.choose((1, 2, 3))
    columns = [g.rng.integers(-min_dim(x, i), min_dim(x, i), count) for i in range(depth)]
    return g.add_node("GatherND", x, g.add_constant(np.stack(columns, -1), np.int64), exact=True)


def add_scatter_elements(g: RandomGraphBuilder) -> object:
    x = g.pick_value(lambda m: m.rank > 0 and min(a.size for a in m.arrays) > 0)
    if x is None:
        return None
    axis = g.draw_int(x.rank - 1)
    shape = [g.draw_int(min(min_dim(x, i), 3)) for i in range(x.rank)]
    indices = g.add_constant(g.rng.integers(-min_dim(x, axis), min_dim(x, axis), shape), choose_index_type(g))
    updates = g.add_constant(g.draw_normal(shape))
    reduction = g.choose_name("none", "none", "max", "min")
    return g.add_node("ScatterElements", x, indices, updates, axis=axis, reduction=reduction, exact=True)


def add_scatter_nd(g: RandomGraphBuilder) -> object:
    x = g.pick_value(lambda m: m.rank > 0 and all(m.fixed) and m.arrays[0].size > 0)
    if x is None:
        return None
    depth, count = 1 + g.draw_int(x.rank - 1), g.choose((1, 2, 3))
    columns = [g.rng.integers(-x.shape[i], x.shape[i], count) for i in range(depth)]
    updates = g.add_constant(g.draw_normal((count, *x.shape[depth:])))
    return g.add_node("ScatterND", x, g.add_constant(np.stack(columns, -1), np.int64), updates, exact=True)


def add_space_depth(g: RandomGraphBuilder) -> object:
    x = g.pick_value(lambda m: m.rank == 4)
    if x is None:
        return None
    if g.flip():
        return g.add_node(
            "DepthToSpace", x, blocksize=g.choose((1, 2, 2, 3)), mode=g.choose_name("DCR", "CRD"), exact=True
        )
    return g.add_node("SpaceToDepth", x, blocksize=g.choose((1, 2, 2, 3)), exact=True)


def add_fallback(g: RandomGraphBuilder) -> object:
    """Fallback operations, and operators whose results may be views."""
    x = g.pick_value(lambda m: m.rank > 1)
    if x is None:
        return None
    match g.choose_name("Trilu", "ReverseSequence", "Identity", "Compress", "TopK", "Unique"):
        case "Trilu":
            return g.add_node("Trilu", x, upper=int(g.flip()), exact=True)
        case "ReverseSequence":
            lengths = g.add_constant([max(min_dim(x, 0), 0)] * x.shape[1], np.int64)
            return g.add_node("ReverseSequence", x, lengths, exact=True)
        case "Compress":
            chosen = g.add_constant(g.rng.random(x.shape[0]) < 0.5, np.bool_)
            return g.add_node("Compress", x, chosen, axis=0, exact=True)
        case "TopK":
            return (
                x.is_exact
                and not g.has_special_values
                and g.add_node("TopK", x, g.add_ints(min(min_dim(x, -1), 3)), outputs=2, exact=True)
            )
        case "Unique":
            return x.is_exact and not g.has_special_values and g.add_node("Unique", x, exact=True)
    return g.add_node("Identity", x, exact=True)


def add_shape_of(g: RandomGraphBuilder) -> object:
    x = g.pick_value()
    return x and g.add_node(g.choose_name("Shape", "Size"), x, exact=True)


def add_one_hot(g: RandomGraphBuilder) -> object:
    x = g.pick_value(lambda m: m.rank < 4, I64)
    return x and g.add_node("OneHot", x, g.add_ints(5), g.add_constant([0.5, 2.0]), axis=-1, exact=True)


DATA_MOVEMENT: tuple[GenerateNode, ...] = (
    add_transpose,
    add_transpose,
    add_reshape,
    add_reshape,
    add_reshape_to_computed_shape,
    add_flatten,
    add_squeeze,
    add_unsqueeze,
    add_slice,
    add_slice,
    add_split,
    add_expand,
    add_concat,
    add_concat,
    add_concat,
    add_tile,
    add_pad,
    add_gather,
    add_gather_elements,
    add_gather_nd,
    add_scatter_elements,
    add_scatter_nd,
    add_space_depth,
    add_fallback,
    add_shape_of,
    add_one_hot,
)
