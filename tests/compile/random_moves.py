"""Operators that move elements, chosen by chance: views, joins, picks and their kin."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from compile.random_graphs import I64, F, Growing, Made

Move = Callable[[Growing], object]


def transpose(g: Growing) -> object:
    x = g.pick(lambda m: m.rank > 1)
    perm = None if x is None else [int(i) for i in g.chance.permutation(x.rank)]
    return x and g.op("Transpose", x, perm=perm, exact=True)


def reshape(g: Growing) -> object:
    """Neighbouring dims merged, or one dim split; 0 and -1 for what may vary."""
    x = g.pick(lambda m: m.rank > 0)
    if x is None:
        return None
    at = g.up_to(x.rank - 1)
    wanted = [0] * x.rank
    if x.rank > 1 and at + 1 < x.rank and g.coin():
        wanted = [*x.shape[:at], -1, *x.shape[at + 2 :]]
    else:
        factors = [n for n in (2, 3, 4, 5, 8) if x.shape[at] and x.shape[at] % n == 0]
        n = g.one(factors) if factors else 1
        pair = (n, -1) if g.coin() else (-1, n)
        wanted = [*wanted[:at], *pair, *x.shape[at + 1 :]]
    return g.op("Reshape", x, g.ints(*wanted), exact=True)


def reshape_as_computed(g: Growing) -> object:
    """Dims of a value put together again, as exporters write it."""
    x = g.pick(lambda m: m.rank > 1)
    if x is None:
        return None
    shape = g.op("Shape", x, end=1, exact=True)
    if shape is None:
        return None
    joined = g.op("Concat", shape[0], g.ints(-1), axis=0, exact=True)
    return joined and g.op("Reshape", x, joined[0], exact=True)


def flatten(g: Growing) -> object:
    x = g.pick()
    return x and g.op("Flatten", x, axis=g.up_to(x.rank), exact=True)


def squeeze(g: Growing) -> object:
    x = g.pick(lambda m: any(f and d == 1 for f, d in zip(m.fixed, m.shape, strict=True)))
    if x is None:
        return None
    ones = [i for i, (f, d) in enumerate(zip(x.fixed, x.shape, strict=True)) if f and d == 1]
    return g.op("Squeeze", x, g.ints(g.one(ones)), exact=True)


def unsqueeze(g: Growing) -> object:
    x = g.pick(lambda m: m.rank < 5)
    return x and g.op("Unsqueeze", x, g.ints(g.up_to(x.rank)), exact=True)


def slice_(g: Growing) -> object:
    x = g.pick(lambda m: m.rank > 0)
    if x is None:
        return None
    axis = g.up_to(x.rank - 1)
    start, end = (g.one((-50, -7, -2, -1, 0, 1, 2, 3, 5, 9, 2**31)) for _ in range(2))
    if g.coin(0.6):
        start, end = g.one((0, 1, 2)), g.one((2**62, -1, -2))
    step = g.one((1, 1, 1, 2, 3, -1, -2))
    if step < 0 and g.coin(0.8):
        start, end = g.one((-1, 2**31)), -(2**31)
    given = [g.ints(n) for n in (start, end, axis - x.rank * g.coin())]
    return g.op("Slice", x, *given, *([] if step == 1 else [g.ints(step)]), exact=True)


def split(g: Growing) -> object:
    x = g.pick(lambda m: any(f and d > 1 for f, d in zip(m.fixed, m.shape, strict=True)))
    if x is None:
        return None
    axis = g.one([i for i, (f, d) in enumerate(zip(x.fixed, x.shape, strict=True)) if f and d > 1])
    if g.coin():
        return g.op("Split", x, outputs=2, axis=axis, num_outputs=2, exact=True)
    first = g.up_to(x.shape[axis])
    second = g.up_to(x.shape[axis] - first)
    sizes = g.ints(first, second, x.shape[axis] - first - second)
    return g.op("Split", x, sizes, outputs=3, axis=axis, exact=True)


def expand(g: Growing) -> object:
    x = g.pick(lambda m: m.rank < 5)
    if x is None:
        return None
    dims = [g.size() if f and d == 1 and g.coin(0.7) else 1 for f, d in zip(x.fixed, x.shape, strict=True)]
    lead = [g.size()] if g.coin(0.4) else []
    return g.op("Expand", x, g.ints(*lead, *dims), exact=True)


def concat(g: Growing) -> object:
    """Values that differ in one dim at most, one of them perhaps several times."""
    x = g.pick(lambda m: m.rank > 0)
    if x is None:
        return None
    axis = 1 if x.rank > 2 and g.coin(0.6) else g.up_to(x.rank - 1)
    others = [m for m in g.values if m.dtype is F and fits_beside(m, x, axis)]
    parts = [others[g.up_to(len(others) - 1)] for _ in range(1 + g.up_to(4))]
    if g.coin(0.7):
        parts = list(dict.fromkeys(parts))
    return g.op("Concat", *parts, axis=axis - x.rank * g.coin(0.2), exact=True)


def fits_beside(a: Made, b: Made, axis: int) -> bool:
    if a.rank != b.rank:
        return False
    pairs = zip(a.arrays, b.arrays, strict=True)
    return all(np.delete(p.shape, axis).tolist() == np.delete(q.shape, axis).tolist() for p, q in pairs)


def tile(g: Growing) -> object:
    x = g.pick(lambda m: 0 < m.rank < 5)
    return x and g.op(
        "Tile", x, g.ints(*(g.one((1, 1, 2, 3, 0 if g.coin(0.1) else 1)) for _ in range(x.rank))), exact=True
    )


def pad(g: Growing) -> object:
    x = g.pick(lambda m: m.rank > 0)
    if x is None:
        return None
    mode = g.word("constant", "constant", "edge", "reflect", "wrap")
    counts = g.ints(*(g.one((0, 0, 1, 2, -1, 3)) for _ in range(2 * x.rank)))
    value = [g.constant(0.5)] if mode == "constant" and g.coin() else []
    return g.op("Pad", x, counts, *value, mode=mode, exact=True)


def least(x: Made, axis: int) -> int:
    return min(int(a.shape[axis]) for a in x.arrays)


def gather(g: Growing) -> object:
    x = g.pick(lambda m: m.rank > 0)
    if x is None:
        return None
    axis = g.up_to(x.rank - 1)
    n = least(x, axis)
    shape = [g.one((0, 1, 2, 3, 5)) if g.coin(0.15) else g.one((1, 2, 4)) for _ in range(g.up_to(2))]
    indices = g.chance.integers(-n, n, shape) if n else np.zeros((0,), np.int64)
    return g.op("Gather", x, g.constant(indices, index(g)), axis=axis, exact=True)


def index(g: Growing) -> type:
    return np.int64 if g.coin() else np.int32


def gather_elements(g: Growing) -> object:
    x = g.pick(lambda m: m.rank > 0 and m.arrays[0].size > 0)
    if x is None:
        return None
    axis = g.up_to(x.rank - 1)
    shape = [g.up_to(least(x, i)) for i in range(x.rank)]
    n = max(least(x, axis), 1)
    return g.op(
        "GatherElements", x, g.constant(g.chance.integers(-n, n, shape), index(g)), axis=axis, exact=True
    )


def gather_nd(g: Growing) -> object:
    x = g.pick(lambda m: m.rank > 0 and min(a.size for a in m.arrays) > 0)
    if x is None:
        return None
    depth, count = 1 + g.up_to(x.rank - 1), g.one((1, 2, 3))
    columns = [g.chance.integers(-least(x, i), least(x, i), count) for i in range(depth)]
    return g.op("GatherND", x, g.constant(np.stack(columns, -1), np.int64), exact=True)


def scatter_elements(g: Growing) -> object:
    x = g.pick(lambda m: m.rank > 0 and min(a.size for a in m.arrays) > 0)
    if x is None:
        return None
    axis = g.up_to(x.rank - 1)
    shape = [g.up_to(min(least(x, i), 3)) for i in range(x.rank)]
    indices = g.constant(g.chance.integers(-least(x, axis), least(x, axis), shape), index(g))
    updates = g.constant(g.normal(shape))
    reduction = g.word("none", "none", "max", "min")
    return g.op("ScatterElements", x, indices, updates, axis=axis, reduction=reduction, exact=True)


def scatter_nd(g: Growing) -> object:
    x = g.pick(lambda m: m.rank > 0 and all(m.fixed) and m.arrays[0].size > 0)
    if x is None:
        return None
    depth, count = 1 + g.up_to(x.rank - 1), g.one((1, 2, 3))
    columns = [g.chance.integers(-x.shape[i], x.shape[i], count) for i in range(depth)]
    updates = g.constant(g.normal((count, *x.shape[depth:])))
    return g.op("ScatterND", x, g.constant(np.stack(columns, -1), np.int64), updates, exact=True)


def blocks(g: Growing) -> object:
    x = g.pick(lambda m: m.rank == 4)
    if x is None:
        return None
    if g.coin():
        return g.op("DepthToSpace", x, blocksize=g.one((1, 2, 2, 3)), mode=g.word("DCR", "CRD"), exact=True)
    return g.op("SpaceToDepth", x, blocksize=g.one((1, 2, 2, 3)), exact=True)


def on_the_host(g: Growing) -> object:
    """Moves without a lowering, or with results that are views."""
    x = g.pick(lambda m: m.rank > 1)
    if x is None:
        return None
    match g.word("Trilu", "ReverseSequence", "Identity", "Compress", "TopK", "Unique"):
        case "Trilu":
            return g.op("Trilu", x, upper=int(g.coin()), exact=True)
        case "ReverseSequence":
            lengths = g.constant([max(least(x, 0), 0)] * x.shape[1], np.int64)
            return g.op("ReverseSequence", x, lengths, exact=True)
        case "Compress":
            chosen = g.constant(g.chance.random(x.shape[0]) < 0.5, np.bool_)
            return g.op("Compress", x, chosen, axis=0, exact=True)
        case "TopK":
            return (
                x.is_exact
                and not g.is_wild
                and g.op("TopK", x, g.ints(min(least(x, -1), 3)), outputs=2, exact=True)
            )
        case "Unique":
            return x.is_exact and not g.is_wild and g.op("Unique", x, exact=True)
    return g.op("Identity", x, exact=True)


def shape_of(g: Growing) -> object:
    x = g.pick()
    return x and g.op(g.word("Shape", "Size"), x, exact=True)


def one_hot(g: Growing) -> object:
    x = g.pick(lambda m: m.rank < 4, I64)
    return x and g.op("OneHot", x, g.ints(5), g.constant([0.5, 2.0]), axis=-1, exact=True)


MOVES: tuple[Move, ...] = (
    transpose,
    transpose,
    reshape,
    reshape,
    reshape_as_computed,
    flatten,
    squeeze,
    unsqueeze,
    slice_,
    slice_,
    split,
    expand,
    concat,
    concat,
    concat,
    tile,
    pad,
    gather,
    gather_elements,
    gather_nd,
    scatter_elements,
    scatter_nd,
    blocks,
    on_the_host,
    shape_of,
    one_hot,
)
