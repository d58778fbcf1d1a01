"""Random nodes whose results have sizes that are fed to a run as tensors.

Most of them can keep the shape of what they read, so that their results meet values whose sizes are known before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from compile.random_graphs import RUNS, RandomValue
from compile.unkind_graphs import UnkindGraphBuilder

Nodes = list[RandomValue] | None
# Adds a node that reads a value of rank 1 or more.
ChangeSizes = Callable[[UnkindGraphBuilder, RandomValue], Nodes]


def shapes_of(x: RandomValue) -> list[list[int]]:
    """The shape for each set of feeds."""
    return [list(a.shape) for a in x.arrays]


def add_sizes(
    g: UnkindGraphBuilder, sizes: Sequence[Sequence[int]], like: RandomValue | None = None
) -> RandomValue:
    """A vector of sizes, which are given for each set of feeds.

    It is constant if they are always the same, or fed; or its first elements are the sizes of the value `like`, and the
    rest is fed.
    """
    vectors = [np.array(row, np.int64) for row in sizes]
    if len({v.tobytes() for v in vectors}) == 1 and g.flip(0.2):
        return g.add_ints(*map(int, vectors[0]))
    fed = g.add_fed(vectors, [len(vectors[0])] if g.flip(0.9) else None)
    count = 0 if like is None else min(like.rank, len(vectors[0]) - 1)
    if like is None or count < 1 or g.flip(0.7):
        return fed
    count = 1 + g.draw_int(count - 1)
    pairs = zip(like.arrays, vectors, strict=True)
    is_like = all(list(a.shape[:count]) == list(v[:count]) for a, v in pairs)
    return (is_like and join_shape(g, like, fed, count)) or fed


def join_shape(g: UnkindGraphBuilder, like: RandomValue, fed: RandomValue, count: int) -> RandomValue | None:
    """The first `count` sizes of a value, and the other elements of a fed vector."""
    shape = g.add_node("Shape", like, end=count, exact=True)
    rest = g.add_node("Slice", fed, *map(g.add_ints, (count, fed.shape[0], 0)), exact=True)
    joined = shape and rest and g.add_node("Concat", shape[0], rest[0], axis=0, exact=True)
    return joined[0] if joined else None


def changed_shapes(g: UnkindGraphBuilder, x: RandomValue, axes: Sequence[int]) -> list[list[int]]:
    """The shapes of a value, now and then with other lengths of one of these axes."""
    shapes = shapes_of(x)
    if axes and g.flip(0.4):
        axis = g.choose(axes)
        lengths = g.draw_lengths(g.sizes) if g.flip() else (g.draw_size(),) * RUNS
        for shape, length in zip(shapes, lengths, strict=True):
            shape[axis] = length
    return shapes


# --- the operators ---------------------------------------------------------------------------


def reshape(g: UnkindGraphBuilder, x: RandomValue) -> Nodes:
    shapes = shapes_of(x)
    match g.choose_name("same", "same", "same", "exchanged", "merged", "open"):
        case "exchanged" if x.rank > 1:
            i, j = (int(n) for n in g.rng.permutation(x.rank)[:2])
            for shape in shapes:
                shape[i], shape[j] = shape[j], shape[i]
        case "merged" if x.rank > 1:
            axis = g.draw_int(x.rank - 2)
            shapes = [[*s[:axis], s[axis] * s[axis + 1], *s[axis + 2 :]] for s in shapes]
        case "open" if all(a.size for a in x.arrays):
            shapes = [[*s[:-1], -1] for s in shapes]
    return g.add_node("Reshape", x, add_sizes(g, shapes, x), exact=True)


def expand(g: UnkindGraphBuilder, x: RandomValue) -> Nodes:
    ones = [i for i in range(x.rank) if all(a.shape[i] == 1 for a in x.arrays)]
    return g.add_node("Expand", x, add_sizes(g, changed_shapes(g, x, ones), x), exact=True)


def resize(g: UnkindGraphBuilder, x: RandomValue) -> Nodes:
    if x.rank < 3:
        return None
    mode, coordinates = g.choose_from(
        (*[("nearest", "asymmetric")] * 4, ("linear", "half_pixel"), ("linear", "align_corners"))
    )
    attributes = {"mode": mode, "coordinate_transformation_mode": coordinates, "nearest_mode": "floor"}
    if g.flip(0.2):
        scales = [1, 1, *(g.choose((1, 1, 2, 3)) for _ in range(x.rank - 2))]
        operands = [None, g.add_fed([np.array(scales, np.float32)] * RUNS, [x.rank])]
    else:
        operands = [None, None, add_sizes(g, changed_shapes(g, x, range(2, x.rank)), x)]
    return g.add_node("Resize", x, *operands, exact=mode == "nearest", extra_attributes=attributes)


def slice_axis(g: UnkindGraphBuilder, x: RandomValue) -> Nodes:
    axis = g.draw_int(x.rank - 1)
    lengths = [a.shape[axis] for a in x.arrays]
    starts = [g.draw_int(n) if g.flip(0.3) else 0 for n in lengths]
    ends = [n if g.flip(0.7) else g.draw_int(n) for n in lengths]
    first = g.add_ints(0) if not any(starts) and g.flip() else add_sizes(g, [[n] for n in starts])
    return g.add_node("Slice", x, first, add_sizes(g, [[n] for n in ends]), g.add_ints(axis), exact=True)


def tile(g: UnkindGraphBuilder, x: RandomValue) -> Nodes:
    repeats = [1] * x.rank
    if g.flip():
        repeats[g.draw_int(x.rank - 1)] = g.choose((2, 3, 0))
    return g.add_node("Tile", x, add_sizes(g, [repeats] * RUNS), exact=True)


def pad(g: UnkindGraphBuilder, x: RandomValue) -> Nodes:
    counts = [0] * (2 * x.rank)
    for _ in range(g.draw_int(2)):
        counts[g.draw_int(len(counts) - 1)] = g.choose((1, 2, -1))
    mode = g.choose_name("constant", "constant", "edge", "reflect")
    return g.add_node("Pad", x, add_sizes(g, [counts] * RUNS), mode=mode, exact=True)


def center_crop_pad(g: UnkindGraphBuilder, x: RandomValue) -> Nodes:
    shapes = changed_shapes(g, x, range(x.rank))
    return g.add_node("CenterCropPad", x, add_sizes(g, shapes, x), exact=True)


def split(g: UnkindGraphBuilder, x: RandomValue) -> Nodes:
    axis = g.draw_int(x.rank - 1)
    firsts = [g.draw_int(a.shape[axis]) for a in x.arrays]
    parts = [[n, a.shape[axis] - n] for n, a in zip(firsts, x.arrays, strict=True)]
    return g.add_node("Split", x, add_sizes(g, parts), axis=axis, outputs=2, exact=True)


def top_k(g: UnkindGraphBuilder, x: RandomValue) -> Nodes:
    if not x.is_exact:
        return None
    axis = g.draw_int(x.rank - 1)
    counts = [[a.shape[axis] if g.flip(0.7) else g.draw_int(a.shape[axis])] for a in x.arrays]
    return g.add_node("TopK", x, add_sizes(g, counts), axis=axis, outputs=2, exact=True)


def constant_of_shape(g: UnkindGraphBuilder, x: RandomValue) -> Nodes:
    three = np.array([3], np.float32)
    return g.add_node("ConstantOfShape", add_sizes(g, shapes_of(x), x), value=three, exact=True)


FED_SIZES: tuple[ChangeSizes, ...] = (
    reshape, reshape, reshape,
    resize, resize, resize,
    slice_axis, slice_axis,
    expand, tile, pad, center_crop_pad, split, top_k, constant_of_shape,
)  # fmt: skip
