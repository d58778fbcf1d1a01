"""Version adapters of Resize."""

from __future__ import annotations

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Value
from sardonyx._src.ops.image.resize.resize import op
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter, keep


@op.convert((10, 0))
def to_upsample(adapter: Adapter) -> AdaptedNode:
    """Convert to Upsample, which only enlarges."""
    scales = adapter.inference.constant(1)
    if scales is None or (scales < 1).any():
        adapter.refuse("scales must be known and >= 1 for Upsample")
    return adapter.same(op_type="Upsample")


@op.convert((10, 11))
def convert_10_to_11(adapter: Adapter) -> AdaptedNode:
    """State the asymmetric coordinates and the rounding of version 10.

    Its nearest mode rounds positions up along axes that shrink, and down along the others, but version 11 has one
    nearest_mode for all axes: where axes of both kinds are possible, a first Resize shrinks and a second one enlarges.
    """
    none = empty(adapter)
    known, mode = adapter.inference.constant(1), adapter.inference.attributes["mode"]
    if adapter.rank(0) == 0:
        return adapter.input(0)  # empty scales mean omitted scales in version 11
    options = {"mode": str(mode), "coordinate_transformation_mode": "asymmetric"}
    x, scales = adapter.input(0), adapter.input(1)
    if mode != "nearest" or (known is not None and (known >= 1).all()):
        return adapter.same(
            [x, none, scales], nearest_mode="floor", coordinate_transformation_mode="asymmetric"
        )
    if known is not None and (known <= 1).all():
        return adapter.same(
            [x, none, scales], nearest_mode="ceil", coordinate_transformation_mode="asymmetric"
        )
    ones = adapter.constant(1.0, DataType.FLOAT)
    shrunk = adapter.Resize(x, none, adapter.Min(scales, ones), nearest_mode="ceil", **options)
    return adapter.Resize(shrunk, none, adapter.Max(scales, ones), nearest_mode="floor", **options)


@op.convert((11, 10))
def convert_11_to_10(adapter: Adapter) -> AdaptedNode:
    """Refuse what version 10 cannot express: other coordinates, modes and rounding, and sizes."""
    attributes = adapter.inference.attributes
    scales = adapter.inference.constant(2)
    if (
        attributes["mode"] not in ("nearest", "linear")
        or attributes["coordinate_transformation_mode"] != "asymmetric"
    ):
        adapter.refuse("mode must be nearest or linear and coordinates asymmetric for Resize-10")
    if scales is None or scales.size == 0:
        adapter.refuse("scales must be known for Resize-10")
    rounding = {"floor": (scales >= 1).all(), "ceil": (scales <= 1).all()}
    if attributes["mode"] == "nearest" and not rounding.get(str(attributes["nearest_mode"]), False):
        adapter.refuse(
            f"nearest_mode must be that of Resize-10 for these scales; got {attributes['nearest_mode']!r}"
        )
    others = tuple(name for name in adapter.node.attributes if name != "mode")
    return adapter.same([adapter.input(0), adapter.input(2)], drop=others)


@op.convert((11, 13))
def convert_11_to_13(adapter: Adapter) -> AdaptedNode:
    return adapter.same()


@op.convert((13, 11))
def convert_13_to_11(adapter: Adapter) -> AdaptedNode:
    """Replace omitted inputs by empty tensors: version 11 requires roi and scales."""
    roi, scales = (adapter.optional(i) or empty(adapter) for i in (1, 2))
    return adapter.same([adapter.input(0), roi, scales, adapter.optional(3)])


@op.convert((13, 18))
def convert_13_to_18(adapter: Adapter) -> AdaptedNode:
    """Replace tf_half_pixel_for_nn, which 18 lacks.

    Its positions rounded down equal those of half_pixel, which are lower by 0.5, rounded to nearest with ties up.
    """
    if adapter.inference.attributes["coordinate_transformation_mode"] != "tf_half_pixel_for_nn":
        return adapter.same()
    if (
        adapter.inference.attributes["mode"] != "nearest"
        or adapter.inference.attributes["nearest_mode"] != "floor"
    ):
        adapter.refuse(
            "mode must be nearest and nearest_mode floor to replace tf_half_pixel_for_nn in Resize-18"
        )
    return adapter.same(coordinate_transformation_mode="half_pixel", nearest_mode="round_prefer_ceil")


@op.convert((18, 13))
def convert_18_to_13(adapter: Adapter) -> AdaptedNode:
    """Refuse antialiasing and aspect ratio policies that have an effect; state roi, scales and sizes for all axes."""
    scales, policy = adapter.inference.constant(2), adapter.inference.attributes["keep_aspect_ratio_policy"]
    if adapter.inference.integer("antialias") and (scales is None or scales.size == 0 or (scales < 1).any()):
        adapter.refuse("antialias must be 0 for Resize-13 unless no axis shrinks")
    if policy != "stretch" and has_elements(adapter, 3):
        adapter.refuse(f"keep_aspect_ratio_policy must be 'stretch' for Resize-13; got {policy!r}")
    drop = ("antialias", "axes", "keep_aspect_ratio_policy")
    axes = adapter.inference.integers("axes")
    return adapter.same(drop=drop) if axes is None else adapter.same(for_all_axes(adapter, axes), drop=drop)


op.convert((18, 19))(keep)


@op.convert((19, 18))
def convert_19_to_18(adapter: Adapter) -> AdaptedNode:
    if adapter.inference.attributes["coordinate_transformation_mode"] == "half_pixel_symmetric":
        adapter.refuse("coordinate_transformation_mode must not be half_pixel_symmetric for Resize-18")
    return adapter.same()


def for_all_axes(adapter: Adapter, axes: tuple[int, ...]) -> list[Value | None]:
    """The inputs with an entry for every axis; axes not in `axes` get their own size, scale 1 and the full region."""
    rank = adapter.rank(0)
    resized = [adapter.inference.axis(axis, rank) for axis in axes]
    count = len(resized)
    roi, scales, sizes = (adapter.optional(i) if has_elements(adapter, i) else None for i in (1, 2, 3))
    if roi is not None:
        longer = adapter.op("Concat", roi, adapter.constant([0, 1], adapter.dtype(1)), axis=0)
        starts = [resized.index(i) if i in resized else 2 * count for i in range(rank)]
        ends = [count + resized.index(i) if i in resized else 2 * count + 1 for i in range(rank)]
        roi = adapter.Gather(longer, adapter.integers(starts + ends))
    if scales is not None:
        longer = adapter.op("Concat", scales, adapter.constant([1.0], DataType.FLOAT), axis=0)
        scales = adapter.Gather(
            longer, adapter.integers([resized.index(i) if i in resized else count for i in range(rank)])
        )
    if sizes is not None:
        longer = adapter.op("Concat", sizes, adapter.Shape(adapter.input(0)), axis=0)
        positions = [resized.index(i) if i in resized else count + i for i in range(rank)]
        sizes = adapter.Gather(longer, adapter.integers(positions))
    return [adapter.input(0), roi, scales, sizes]


def has_elements(adapter: Adapter, i: int) -> bool:
    """Whether input i is given and not empty."""
    return adapter.optional(i) is not None and adapter.inference.shape(i) != (0,)


def empty(adapter: Adapter) -> Value:
    """A float tensor without elements, which stands for an omitted input."""
    return adapter.constant([], DataType.FLOAT)
