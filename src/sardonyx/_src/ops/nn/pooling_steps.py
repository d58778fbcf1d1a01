"""Conversions of the pooling operators: rules for the number of windows, and padding that is counted.

Windows that `ceil_mode` lets reach over the end are those of a longer padding that is not counted.  What has to count
as zeros is padded before.
"""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.dims import known_equal
from sardonyx._src.ir.graph import Attribute, Value
from sardonyx._src.ir.types import Shape
from sardonyx._src.ops.change import Change, Converted
from sardonyx._src.ops.nn.windows import automatic, per_axis, window_count
from sardonyx._src.ops.widening import cast, through

Sizes = tuple[int, ...]


def counting_anew(c: Change) -> Converted:
    """Up to the version that lets no window start in the padding at the end."""
    return c.same() if counts_agree(c) else with_floor(c, end=[s - 1 for s in strides(c)])


def counting_as_before(c: Change, drop: tuple[str, ...] = ()) -> Converted:
    """Down from the version that lets no window start in the padding at the end."""
    return c.same(drop=drop) if counts_agree(c) else with_floor(c, end=ends_inside(c), drop=drop)


def without_ceil_mode(c: Change) -> Converted:
    """Down to a version before `ceil_mode`, from one that lets windows start anywhere."""
    drop = ("ceil_mode", *undilated(c))
    if not rounds_up(c):
        return c.same(drop=drop)
    return with_floor(c, end=[s - 1 for s in strides(c)], drop=drop)


def undilated(c: Change) -> tuple[str, ...]:
    """The name of an attribute that says nothing; refused where elements are left out between those of a window."""
    if any(d != 1 for d in c.t.integers("dilations") or ()):
        c.refuse("windows have no dilations there")
    return ("dilations",)


def in_wider_floats(c: Change) -> Converted:
    """Between Casts, with as many windows there as here."""
    if not counts_agree(c):
        c.refuse("windows are counted in another way there, and elements are of another type")
    dtype = c.dtype(0)
    if dtype not in (DataType.INT8, DataType.UINT8):
        return through(c, DataType.FLOAT)
    least = -128 if dtype is DataType.INT8 else 0  # of a window of nothing but padding
    return through(c, DataType.FLOAT, lambda c, top: c.Max(top, c.constant(least, DataType.FLOAT)))


def whole_p(c: Change) -> Converted:
    """Up to version 2 of a norm, whose p is an integer: elements to another power are summed with a p of 1."""
    p = c.t.attributes["p"]
    assert isinstance(p, float), f"p of {c.node.op_type}-1 is {p!r}"
    if p.is_integer():
        return c.same(p=int(p))
    own = c.dtype(0)
    wide = DataType.DOUBLE if own is DataType.DOUBLE else DataType.FLOAT
    x = c.Abs(cast(c, c.input(0), wide))
    kept = c.same([c.Pow(x, c.constant(p, wide), broadcast=1)], p=1)
    (sums,) = c.add(kept.op_type, kept.inputs, dict(kept.attributes), 1)
    return cast(c, c.Pow(sums, c.constant(1 / p, wide), broadcast=1), own)


def real_p(c: Change) -> Converted:
    """Down to version 1 of a norm, whose p is a float."""
    return c.same(p=float(c.t.integer("p")))


# --- what the node says ----------------------------------------------------------------------


def kernel(c: Change) -> Sizes:
    found = c.t.integers("kernel_shape")
    if found is None:
        c.refuse("kernel_shape is missing, and nothing else tells the size of the windows")
    return per_axis_of(c, "kernel_shape", len(found), least=1)


def strides(c: Change) -> Sizes:
    return per_axis_of(c, "strides", len(kernel(c)), least=1)


def spans(c: Change) -> Sizes:
    dilations = per_axis_of(c, "dilations", len(kernel(c)), least=1)
    return tuple(d * (k - 1) + 1 for k, d in zip(kernel(c), dilations, strict=True))


def pads(c: Change) -> tuple[Sizes, Sizes]:
    """The padding before and behind, where it is written out."""
    rank = len(kernel(c))
    both = per_axis_of(c, "pads", 2 * rank, least=0)
    return both[:rank], both[rank:]


def per_axis_of(c: Change, name: str, count: int, *, least: int) -> Sizes:
    """An attribute with `count` entries; refused where it has others."""
    try:
        return per_axis(name, c.t.integers(name), count, least=least)
    except EvaluationError as error:
        c.refuse(error.why)


def spatial(c: Change) -> Shape:
    """The spatial dims of input 0, None for what is not known."""
    rank, shape = len(kernel(c)), c.t.shape(0)
    if shape is None:
        return (None,) * rank
    if len(shape) != rank + 2:
        c.refuse(f"the kernel has {rank} spatial axes, the input is of rank {len(shape)}")
    return shape[2:]


def known(c: Change) -> Sizes:
    """The spatial sizes of input 0, which have to be known."""
    shape = c.shape(0)
    return shape[len(shape) - len(spatial(c)) :]


def auto_pad(c: Change) -> str:
    return str(c.t.attributes.get("auto_pad", "NOTSET"))


def rounds_up(c: Change) -> bool:
    return bool(c.t.integer("ceil_mode", 0)) and auto_pad(c) == "NOTSET"


def counts_agree(c: Change) -> bool:
    """Whether no window would start in the padding at the end, or all sizes tell that they are as many without."""
    if not rounds_up(c):
        return True
    axes = zip(spatial(c), spans(c), strides(c), *pads(c), strict=True)
    return all(
        after + stride <= span
        or known_equal(
            window_count(n, span, stride, before, after, "ceil"),
            window_count(n, span, stride, before, after, "ceil-inside"),
        )
        for n, span, stride, before, after in axes
    )


def ends_inside(c: Change) -> list[int]:
    """How far the windows that start inside reach beyond the padding at the end; less than 0 where they end in it."""
    result: list[int] = []
    for n, span, stride, before, after in zip(known(c), spans(c), strides(c), *pads(c), strict=True):
        count = window_count(n, span, stride, before, after, "ceil-inside")
        assert isinstance(count, int), "numbers have a number of windows"
        result.append((count - 1) * stride + span - n - before - after)
    return result


# --- what is said instead --------------------------------------------------------------------


def with_floor(c: Change, end: list[int], drop: tuple[str, ...] = ()) -> Converted:
    """The node without ceil_mode, and with `end` more elements of padding behind (fewer where it is negative)."""
    before, after = pads(c)
    if c.t.integer("count_include_pad", 0):
        cut = [max(a + min(e, 0), 0) for a, e in zip(after, end, strict=True)]
        x = padded(c, before, tuple(cut))
        more = [0] * len(end) + [max(e, 0) for e in end]
        return c.same([x], drop=(*drop, "ceil_mode", "count_include_pad"), pads=integers("pads", more))
    longer = [*before, *(max(a + e, 0) for a, e in zip(after, end, strict=True))]
    return c.same(drop=(*drop, "ceil_mode"), pads=integers("pads", longer))


def integers(name: str, values: Sequence[int]) -> Attribute:
    """An attribute of integers, of which there may be none."""
    return Attribute(name, AttributeType.INTS, tuple(values))


def without_counted_pads(c: Change) -> Converted:
    """Down to a version before `count_include_pad`."""
    if not c.t.integer("count_include_pad"):
        return c.same(drop=("count_include_pad",))
    before, after = pads(c)
    if auto_pad(c) != "NOTSET":
        axes = zip(known(c), kernel(c), strides(c), strict=True)
        both = [automatic(n, k, s, 1, auto_pad(c)) for n, k, s in axes]
        before, after = tuple(b for b, _ in both), tuple(a for _, a in both)
    return c.same([padded(c, before, after)], drop=("count_include_pad", "auto_pad", "pads"))


def padded(c: Change, before: Sizes, after: Sizes) -> Value:
    """Input 0 with zeros around its spatial axes."""
    x = c.input(0)
    if not any((*before, *after)):
        return x
    widths = [0, 0, *before, 0, 0, *after]
    if c.imports.get("", 0) >= 11:
        zero = c.constant(0, c.dtype(0))
        return c.Pad(x, c.integers(widths), zero)
    name = "pads" if c.imports.get("", 0) >= 2 else "paddings"
    return c.Pad(x, **{name: widths})
