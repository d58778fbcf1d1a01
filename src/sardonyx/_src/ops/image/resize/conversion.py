"""Resize in other versions of its operator set."""

from __future__ import annotations

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.graph import Value
from sardonyx._src.ops.change import Change, Converted
from sardonyx._src.ops.image.resize.resize import op


@op.convert((10, 0))
def to_upsample(c: Change) -> Converted:
    """Upsample, which only enlarges."""
    scales = c.t.constant(1)
    if scales is None or (scales < 1).any():
        c.refuse("only scales of at least 1 can be said there, and those of the node are not known to be")
    return c.same(op_type="Upsample")


@op.convert((10, 11))
def to_11(c: Change) -> Converted:
    """The first elements on one another; nearest rounds down, and up on axes that shrink, which come first."""
    none = empty(c)
    known, mode = c.t.constant(1), c.t.attributes["mode"]
    if c.rank(0) == 0:
        return c.input(0)  # no scales are empty scales, which there are scales left out
    options = {"mode": str(mode), "coordinate_transformation_mode": "asymmetric"}
    x, scales = c.input(0), c.input(1)
    if mode != "nearest" or (known is not None and (known >= 1).all()):
        return c.same([x, none, scales], nearest_mode="floor", coordinate_transformation_mode="asymmetric")
    if known is not None and (known <= 1).all():
        return c.same([x, none, scales], nearest_mode="ceil", coordinate_transformation_mode="asymmetric")
    one = c.constant(1.0, DataType.FLOAT)
    shrunk = c.Resize(x, none, c.Min(scales, one), nearest_mode="ceil", **options)
    return c.Resize(shrunk, none, c.Max(scales, one), nearest_mode="floor", **options)


@op.convert((11, 10))
def to_10(c: Change) -> Converted:
    t = c.t.attributes
    scales = c.t.constant(2)
    if t["mode"] not in ("nearest", "linear") or t["coordinate_transformation_mode"] != "asymmetric":
        c.refuse("there are the modes nearest and linear alone there, and coordinates are asymmetric")
    if scales is None or scales.size == 0:
        c.refuse("scales are wanted there, and those of the node are not known")
    rounding = {"floor": (scales >= 1).all(), "ceil": (scales <= 1).all()}
    if t["mode"] == "nearest" and not rounding.get(str(t["nearest_mode"]), False):
        c.refuse(f"nearest_mode {t['nearest_mode']!r} is not what these scales mean there")
    others = tuple(name for name in c.node.attributes if name != "mode")
    return c.same([c.input(0), c.input(2)], drop=others)


@op.convert((11, 13))
def to_13(c: Change) -> Converted:
    return c.same()


@op.convert((13, 11))
def to_11_again(c: Change) -> Converted:
    """What is left out is empty there."""
    roi, scales = (c.optional(i) or empty(c) for i in (1, 2))
    return c.same([c.input(0), roi, scales, c.optional(3)])


@op.convert((13, 18))
def to_18(c: Change) -> Converted:
    """Positions of tf_half_pixel_for_nn, rounded down, are those of half_pixel to the nearest, ties up."""
    if c.t.attributes["coordinate_transformation_mode"] != "tf_half_pixel_for_nn":
        return c.same()
    if c.t.attributes["mode"] != "nearest" or c.t.attributes["nearest_mode"] != "floor":
        c.refuse("there is no tf_half_pixel_for_nn there, and only rounding down can be said otherwise")
    return c.same(coordinate_transformation_mode="half_pixel", nearest_mode="round_prefer_ceil")


@op.convert((18, 13))
def to_13_again(c: Change) -> Converted:
    scales, policy = c.t.constant(2), c.t.attributes["keep_aspect_ratio_policy"]
    if c.t.integer("antialias") and (scales is None or scales.size == 0 or (scales < 1).any()):
        c.refuse("there is no antialias there, and an axis may shrink")
    if policy != "stretch" and given(c, 3):
        c.refuse(f"there is no keep_aspect_ratio_policy there, and the node has {policy!r}")
    drop = ("antialias", "axes", "keep_aspect_ratio_policy")
    axes = c.t.integers("axes")
    return c.same(drop=drop) if axes is None else c.same(for_all_axes(c, axes), drop=drop)


op.convert((18, 19))(lambda c: c.same())


@op.convert((19, 18))
def to_18_again(c: Change) -> Converted:
    if c.t.attributes["coordinate_transformation_mode"] == "half_pixel_symmetric":
        c.refuse("there is no half_pixel_symmetric there")
    return c.same()


def for_all_axes(c: Change, axes: tuple[int, ...]) -> list[Value | None]:
    """The inputs with an entry for every axis: those that are not resized keep size, scale and whole extent."""
    rank = c.rank(0)
    chosen = [c.t.axis(axis, rank) for axis in axes]
    count = len(chosen)
    roi, scales, sizes = (c.optional(i) if given(c, i) else None for i in (1, 2, 3))
    if roi is not None:
        whole = c.op("Concat", roi, c.constant([0, 1], c.dtype(1)), axis=0)
        starts = [chosen.index(i) if i in chosen else 2 * count for i in range(rank)]
        ends = [count + chosen.index(i) if i in chosen else 2 * count + 1 for i in range(rank)]
        roi = c.Gather(whole, c.integers(starts + ends))
    if scales is not None:
        longer = c.op("Concat", scales, c.constant([1.0], DataType.FLOAT), axis=0)
        scales = c.Gather(
            longer, c.integers([chosen.index(i) if i in chosen else count for i in range(rank)])
        )
    if sizes is not None:
        longer = c.op("Concat", sizes, c.Shape(c.input(0)), axis=0)
        places = [chosen.index(i) if i in chosen else count + i for i in range(rank)]
        sizes = c.Gather(longer, c.integers(places))
    return [c.input(0), roi, scales, sizes]


def given(c: Change, i: int) -> bool:
    """Whether input i is there; an empty one is one left out."""
    return c.optional(i) is not None and c.t.shape(i) != (0,)


def empty(c: Change) -> Value:
    return c.constant([], DataType.FLOAT)
