"""Random Concats, residuals and skips across nodes whose sizes are known late, and necks of networks made of them."""

from __future__ import annotations

from compile.random_data_movement import can_concatenate
from compile.random_graphs import F, RandomValue
from compile.unkind_anchors import IMAGE_ANCHORS, add_elementwise, has_channels, have_equal_shapes
from compile.unkind_counted_sizes import COUNTED_SIZES
from compile.unkind_fed_sizes import FED_SIZES, Nodes, add_sizes, shapes_of
from compile.unkind_graphs import UnkindGraphBuilder


def add_concat(g: UnkindGraphBuilder, x: RandomValue | None = None) -> Nodes:
    """Values that differ in one dim only, mostly the channels; rarely with repetitions."""
    x = x or g.pick_value(lambda m: m.rank > 0)
    if x is None:
        return None
    axis = 1 if x.rank > 2 and g.flip(0.75) else g.draw_int(x.rank - 1)
    others = [m for m in g.values if m.dtype is F and m is not x and can_concatenate(m, x, axis)]
    parts = [x]
    for _ in range(1 + g.draw_int(2) if others else 0):
        distance = min(g.draw_int(len(others) - 1) for _ in range(2))
        parts.append(others[-1 - distance])
    if g.flip(0.9):
        parts = list(dict.fromkeys(parts))
    order = [parts[int(i)] for i in g.rng.permutation(len(parts))]
    return g.add_node("Concat", *order, axis=axis - x.rank * g.flip(0.1), exact=True)


def add_skip(g: UnkindGraphBuilder) -> Nodes:
    """A value, another one of its sizes that are known late, and the Concat or sum of both, each after a further node."""
    early = g.pick_value(lambda m: m.rank > 1)
    if early is None:
        return None
    late = change_sizes(g, early)
    late = process(g, late) if g.flip(0.6) else late
    early = process(g, early) if g.flip(0.4) else early
    if late is None or early is None:
        return None
    if have_equal_shapes(late, early) and g.flip(0.25):
        return g.add_node("Add", late, early, exact=True)
    return add_concat(g, late)


def change_sizes(g: UnkindGraphBuilder, x: RandomValue) -> RandomValue | None:
    """A value with sizes that are known late."""
    results = g.choose_from(COUNTED_SIZES if g.flip(0.35) else FED_SIZES)(g, x)
    return None if results is None else g.choose_from(results)


def process(g: UnkindGraphBuilder, x: RandomValue | None) -> RandomValue | None:
    """The result of a node that keeps the sizes of an image where it can."""
    if x is None or not has_channels(x) or g.flip(0.25):
        results = x and add_elementwise(g, x)
    else:
        results = g.choose_from(IMAGE_ANCHORS)(g, x)
    return results[0] if results else None


# --- necks -----------------------------------------------------------------------------------


def add_neck(g: UnkindGraphBuilder) -> Nodes:
    """A part of a U-Net or of a feature pyramid: an image is halved, its sizes are made late, and it is doubled again and
    concatenated with what it was."""
    x = g.pick_value(lambda m: has_channels(m) and m.rank == 4)
    skip = process(g, x) if g.flip(0.7) else x
    if skip is None or not has_channels(skip):
        return None
    residual = process(g, skip) if g.flip(0.4) else None
    trunk = add_residual_to(g, residual, skip) if residual is not None else skip
    down = halve(g, trunk)
    for _ in range(g.draw_int(2)):
        late = None if down is None else change_sizes(g, down)
        if late is not None and down is not None:
            down = add_residual_to(g, process(g, late) or late, down)
    up = None if down is None else double(g, down, skip)
    if up is not None and g.flip():
        up = process(g, up) or up
    return None if up is None else add_concat(g, up)


def add_residual_to(g: UnkindGraphBuilder, x: RandomValue, y: RandomValue) -> RandomValue:
    """The sum of two values if their shapes are equal, else the first."""
    results = g.add_node("Add", x, y, exact=True) if have_equal_shapes(x, y) and g.flip(0.7) else None
    return results[0] if results else x


def halve(g: UnkindGraphBuilder, x: RandomValue) -> RandomValue | None:
    """An image of half the height and width."""
    attributes: dict[str, object] = {"strides": [2, 2], "kernel_shape": [2, 2]}
    if g.flip():
        attributes |= {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
    if g.flip(0.4):
        results = g.add_node("MaxPool", x, exact=True, extra_attributes=attributes)
    else:
        weights = g.add_constant(g.draw_signs((x.shape[1], x.shape[1], *attributes["kernel_shape"])))  # type: ignore[misc]  # a list
        results = g.add_sum("Conv", x, weights, **attributes)
    return results[0] if results else None


def double(g: UnkindGraphBuilder, x: RandomValue, like: RandomValue) -> RandomValue | None:
    """An image of twice the height and width, or those of another image."""
    attributes = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    if x.rank != 4 or not has_channels(x):
        return None
    match g.choose_name("scales", "scales", "sizes", "transposed"):
        case "scales":
            operands = [None, g.add_initializer([1, 1, 2, 2])]
        case "sizes":
            sizes = [
                [*a, *b[2:]] for a, b in zip((s[:2] for s in shapes_of(x)), shapes_of(like), strict=True)
            ]
            operands = [None, None, add_sizes(g, sizes, x)]
        case _:
            weights = g.add_constant(g.draw_signs((x.shape[1], g.draw_channels(), 2, 2)))
            results = g.add_sum("ConvTranspose", x, weights, strides=[2, 2])
            return results[0] if results else None
    results = g.add_node("Resize", x, *operands, exact=True, extra_attributes=attributes)
    return results[0] if results else None
