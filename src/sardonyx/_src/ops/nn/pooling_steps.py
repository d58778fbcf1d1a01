"""Version adapters of the pooling operators: window counting rules and padding included in averages.

With `ceil_mode`, the last window may extend past the padded input.  Older versions let it start anywhere, newer ones
only before the padding at the end.  Where the two rules, or the lack of `ceil_mode`, matter, the node loses `ceil_mode`
and gets as much padding at the end as gives the same windows.  Where an average counts padding (`count_include_pad`),
the original padding becomes a Pad node before the operator, and the additional padding is not counted.
"""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Attribute, Shape, Value
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.dims import known_equal
from sardonyx._src.ops.nn.windows import auto_pad_amounts, values_per_axis, window_count
from sardonyx._src.ops.support.promotion import cast, compute_in
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter

Sizes = tuple[int, ...]


def upgrade_window_count(adapter: Adapter) -> AdaptedNode:
    """Upgrade to the first version in which no window starts in the padding at the end."""
    return (
        adapter.same()
        if counts_agree(adapter)
        else replace_ceil_mode(adapter, end=[s - 1 for s in strides(adapter)])
    )


def downgrade_window_count(adapter: Adapter, drop: tuple[str, ...] = ()) -> AdaptedNode:
    """Downgrade from the first version in which no window starts in the padding at the end."""
    return (
        adapter.same(drop=drop)
        if counts_agree(adapter)
        else replace_ceil_mode(adapter, end=ends_inside(adapter), drop=drop)
    )


def remove_ceil_mode(adapter: Adapter) -> AdaptedNode:
    """Downgrade to a version without `ceil_mode`, from one that lets windows start anywhere."""
    drop = ("ceil_mode", *reject_dilations(adapter))
    if not rounds_up(adapter):
        return adapter.same(drop=drop)
    return replace_ceil_mode(adapter, end=[s - 1 for s in strides(adapter)], drop=drop)


def reject_dilations(adapter: Adapter) -> tuple[str, ...]:
    """`dilations` as an attribute to drop; refuses the conversion where a dilation is not 1."""
    if any(d != 1 for d in adapter.inference.integers("dilations") or ()):
        adapter.refuse("dilations must be 1 for the target version, which has no such attribute")
    return ("dilations",)


def convert_through_float(adapter: Adapter) -> AdaptedNode:
    """Wrap the operator in Casts to and from float; refuses where the target version counts windows differently."""
    if not counts_agree(adapter):
        adapter.refuse("the target version lacks the element type and counts windows differently")
    dtype = adapter.dtype(0)
    if dtype not in (DataType.INT8, DataType.UINT8):
        return compute_in(adapter, DataType.FLOAT)
    minimum = -128 if dtype is DataType.INT8 else 0  # the result of a window with only padding
    return compute_in(
        adapter,
        DataType.FLOAT,
        lambda adapter, top: adapter.Max(top, adapter.constant(minimum, DataType.FLOAT)),
    )


def convert_p_to_int(adapter: Adapter) -> AdaptedNode:
    """Upgrade a norm to version 2, whose p is an integer: for a fractional p, sum powers with p=1 and take the root."""
    p = adapter.inference.attributes["p"]
    assert isinstance(p, float), f"p of {adapter.node.op_type}-1 is {p!r}"
    if p.is_integer():
        return adapter.same(p=int(p))
    own = adapter.dtype(0)
    wide = DataType.DOUBLE if own is DataType.DOUBLE else DataType.FLOAT
    x = adapter.Abs(cast(adapter, adapter.input(0), wide))
    replacement = adapter.same([adapter.Pow(x, adapter.constant(p, wide), broadcast=1)], p=1)
    (sums,) = adapter.add(replacement.op_type, replacement.inputs, dict(replacement.attributes), 1)
    return cast(adapter, adapter.Pow(sums, adapter.constant(1 / p, wide), broadcast=1), own)


def convert_p_to_float(adapter: Adapter) -> AdaptedNode:
    """Downgrade a norm to version 1, whose p is a float."""
    return adapter.same(p=float(adapter.inference.integer("p")))


# --- queries ---------------------------------------------------------------------------------


def kernel_of(adapter: Adapter) -> Sizes:
    kernel_shape = adapter.inference.integers("kernel_shape")
    if kernel_shape is None:
        adapter.refuse("kernel_shape must be given: it alone defines the window size")
    return per_axis_of(adapter, "kernel_shape", len(kernel_shape), minimum=1)


def strides(adapter: Adapter) -> Sizes:
    return per_axis_of(adapter, "strides", len(kernel_of(adapter)), minimum=1)


def spans(adapter: Adapter) -> Sizes:
    dilations = per_axis_of(adapter, "dilations", len(kernel_of(adapter)), minimum=1)
    return tuple(d * (k - 1) + 1 for k, d in zip(kernel_of(adapter), dilations, strict=True))


def pads(adapter: Adapter) -> tuple[Sizes, Sizes]:
    """The explicit padding before and after each spatial axis."""
    rank = len(kernel_of(adapter))
    both = per_axis_of(adapter, "pads", 2 * rank, minimum=0)
    return both[:rank], both[rank:]


def per_axis_of(adapter: Adapter, name: str, count: int, *, minimum: int) -> Sizes:
    """An attribute with `count` entries; refuses the conversion for any other count."""
    try:
        return values_per_axis(name, adapter.inference.integers(name), count, minimum=minimum)
    except EvaluationError as error:
        adapter.refuse(error.why)


def spatial(adapter: Adapter) -> Shape:
    """The spatial dims of input 0; None for unknown ones."""
    rank, shape = len(kernel_of(adapter)), adapter.inference.shape(0)
    if shape is None:
        return (None,) * rank
    if len(shape) != rank + 2:
        adapter.refuse(
            f"the input must have rank {rank + 2} for {rank} entries of kernel_shape; got rank {len(shape)}"
        )
    return shape[2:]


def known_spatial(adapter: Adapter) -> Sizes:
    """The spatial sizes of input 0; refuses the conversion where they are unknown."""
    shape = adapter.shape(0)
    return shape[len(shape) - len(spatial(adapter)) :]


def auto_pad(adapter: Adapter) -> str:
    return str(adapter.inference.attributes.get("auto_pad", "NOTSET"))


def rounds_up(adapter: Adapter) -> bool:
    """Whether the node has `ceil_mode` and it has an effect: with any auto_pad but NOTSET it has none."""
    return bool(adapter.inference.integer("ceil_mode", 0)) and auto_pad(adapter) == "NOTSET"


def counts_agree(adapter: Adapter) -> bool:
    """Whether both counting rules provably give the same number of windows."""
    if not rounds_up(adapter):
        return True
    axes = zip(spatial(adapter), spans(adapter), strides(adapter), *pads(adapter), strict=True)
    return all(
        after + stride <= span
        or known_equal(
            window_count(n, span, stride, before, after, "ceil"),
            window_count(n, span, stride, before, after, "ceil-inside"),
        )
        for n, span, stride, before, after in axes
    )


def ends_inside(adapter: Adapter) -> list[int]:
    """How far the windows that start inside extend past the padding at the end; negative where they end in it."""
    result: list[int] = []
    for n, span, stride, before, after in zip(
        known_spatial(adapter), spans(adapter), strides(adapter), *pads(adapter), strict=True
    ):
        count = window_count(n, span, stride, before, after, "ceil-inside")
        assert isinstance(count, int), "integer sizes give an integer window count"
        result.append((count - 1) * stride + span - n - before - after)
    return result


# --- replacements ----------------------------------------------------------------------------


def replace_ceil_mode(adapter: Adapter, end: list[int], drop: tuple[str, ...] = ()) -> AdaptedNode:
    """The node without ceil_mode and with `end` more elements of padding at the end of each axis (fewer if negative)."""
    before, after = pads(adapter)
    if adapter.inference.integer("count_include_pad", 0):
        cut = [max(a + min(e, 0), 0) for a, e in zip(after, end, strict=True)]
        x = insert_padding(adapter, before, tuple(cut))
        more = [0] * len(end) + [max(e, 0) for e in end]
        return adapter.same([x], drop=(*drop, "ceil_mode", "count_include_pad"), pads=integers("pads", more))
    longer = [*before, *(max(a + e, 0) for a, e in zip(after, end, strict=True))]
    return adapter.same(drop=(*drop, "ceil_mode"), pads=integers("pads", longer))


def integers(name: str, values: Sequence[int]) -> Attribute:
    """An attribute of integers, possibly empty."""
    return Attribute(name, AttributeType.INTS, tuple(values))


def remove_counted_pads(adapter: Adapter) -> AdaptedNode:
    """Downgrade to a version without `count_include_pad`."""
    if not adapter.inference.integer("count_include_pad"):
        return adapter.same(drop=("count_include_pad",))
    before, after = pads(adapter)
    if auto_pad(adapter) != "NOTSET":
        axes = zip(known_spatial(adapter), kernel_of(adapter), strides(adapter), strict=True)
        both = [auto_pad_amounts(n, k, s, 1, auto_pad(adapter)) for n, k, s in axes]
        before, after = tuple(b for b, _ in both), tuple(a for _, a in both)
    return adapter.same(
        [insert_padding(adapter, before, after)], drop=("count_include_pad", "auto_pad", "pads")
    )


def insert_padding(adapter: Adapter, before: Sizes, after: Sizes) -> Value:
    """Input 0 with zeros around its spatial axes."""
    x = adapter.input(0)
    if not any((*before, *after)):
        return x
    widths = [0, 0, *before, 0, 0, *after]
    if adapter.imports.get("", 0) >= 11:
        zero = adapter.constant(0, adapter.dtype(0))
        return adapter.Pad(x, adapter.integers(widths), zero)
    name = "pads" if adapter.imports.get("", 0) >= 2 else "paddings"
    return adapter.Pad(x, **{name: widths})
