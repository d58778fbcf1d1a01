"""QuantizeLinear and DequantizeLinear as values of one element, and where their scales lie."""

from __future__ import annotations

from sardonyx._src.compile.elementwise.given import Given, apply
from sardonyx._src.compile.loops.ir import Apply, Cast, Number, Scalar
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Known
from sardonyx._src.ir.graph import Node

NARROW = frozenset({DataType.UINT8, DataType.INT8, DataType.UINT16, DataType.INT16})
LIMITS = {
    t: (-(1 << t.bits - 1), (1 << t.bits - 1) - 1) if t.is_signed else (0, (1 << t.bits) - 1) for t in NARROW
}
AUTOMATIC = (0, DataType.FLOAT.value)  # of attributes that name a type: that of the scale, or float
Shape = tuple[Known, ...]


def rounded(x: Scalar, scale: Scalar, zero_point: Scalar | None, to: DataType) -> Cast:
    """A float as a number of an integer type: x / scale to the nearest, ties to even, moved and saturated.

    zero_point: a float; NaN becomes the lowest number.
    """
    whole: Scalar = apply("round", apply("div", x, scale))
    if zero_point is not None and zero_point != Number(0):
        whole = apply("add", whole, zero_point)
    return Cast(to, apply("clamp", whole, *LIMITS[to]))


def quantized(given: Given) -> Scalar | None:
    """To integers of at most 16 bits, of floats by float scales."""
    zero_point, named = given.optional(2), given.attributes["output_dtype"]
    to = given.types[2] if zero_point is not None else None
    if to is None:
        assert isinstance(named, int), f"output_dtype is {named!r}"
        to = DataType.numbered(named) if named else DataType.UINT8
    if to not in NARROW or not is_of_floats(given, "precision"):
        return None
    return rounded(given.x, given.all[1], None if zero_point is None else as_float(zero_point), to)


def dequantized(given: Given) -> Scalar | None:
    """From integers of at most 16 bits, whose differences are exact in float, or of 32 without a zero point."""
    zero_point = given.optional(2)
    if not is_of_floats(given, "output_dtype"):
        return None
    if given.dtype not in NARROW and zero_point not in (None, Number(0)):
        return None
    x = as_float(given.x)
    if zero_point is not None and zero_point != Number(0):
        x = apply("sub", x, as_float(zero_point))
    return apply("mul", x, given.all[1])


def is_of_floats(given: Given, attribute: str) -> bool:
    """Whether scales are floats, and so is the type that an attribute names."""
    return given.types[1] is DataType.FLOAT and given.attributes[attribute] in AUTOMATIC


def as_float(value: Scalar) -> Scalar:
    """An integer as a float; one that has just been made of a float is that one again."""
    match value:
        case Number():
            return value
        case Cast(value=Apply(op="clamp", args=(whole, *_)) as held) if is_whole(whole):
            return held
    return Cast(DataType.FLOAT, value)


def is_whole(value: Scalar) -> bool:
    """Whether a float, if it is none of those that `clamp` changes, has no fraction."""
    match value:
        case Apply(op="round"):
            return True
        case Apply(op="add", args=(a, b)):
            return is_whole(a) and is_integer(b)
    return False


def is_integer(value: Scalar) -> bool:
    match value:
        case Number():
            return value.value == int(value.value)
        case Cast(dtype=DataType.FLOAT):
            return True  # of a zero point, which is an integer
    return False


def placed(node: Node, shape: Shape, whole: Shape) -> Shape | None:
    """The dims of a scale or zero point beside those of what it belongs to; None where there is one for each block."""
    if all(dim == 1 for dim in shape):
        return ()
    axis, blocks = (integer(node, name, default) for name, default in (("axis", 1), ("block_size", 0)))
    if len(shape) != 1 or (blocks > 0 and len(whole) == 1):
        return None
    along = 0 if len(whole) == 1 else axis % len(whole)
    return (*shape, *(1 for _ in whole[along + 1 :]))


def integer(node: Node, name: str, default: int) -> int:
    attribute = node.attributes.get(name)
    found = default if attribute is None else attribute.value
    assert isinstance(found, int), f"{name} is {found!r}"
    return found
