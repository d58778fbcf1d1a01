"""Version adapters of the reductions: `axes` as attribute or input, and element types that a version lacks."""

from __future__ import annotations

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ops.support.promotion import compute_in
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter

UNCHANGED = {
    "ReduceSum",
    "ReduceMean",
    "ReduceProd",
    "ReduceMax",
    "ReduceMin",
    "ReduceLogSumExp",
}  # over no axes


def axes_as_input(adapter: Adapter) -> AdaptedNode:
    """Attribute `axes` becomes input 1; an empty list means the same as none."""
    axes = adapter.node.attributes.get("axes")
    axes_input = None if axes is None or axes.value == () else adapter.as_input("axes")
    return adapter.same([adapter.input(0), axes_input], drop=("axes",))


def axes_as_attribute(adapter: Adapter) -> AdaptedNode:
    """Input 1, which must be constant, becomes attribute `axes`; a reduction over no axes has no counterpart."""
    axes = adapter.as_attribute(1, "axes", AttributeType.INTS)
    if axes is not None and (axes.ref or axes.value):
        return adapter.same([adapter.input(0)], drop=("noop_with_empty_axes",), axes=axes)
    if not adapter.inference.integer("noop_with_empty_axes"):
        return adapter.same([adapter.input(0)], drop=("noop_with_empty_axes",))
    if adapter.node.op_type not in UNCHANGED:
        adapter.refuse("the target version has no attribute that reduces no axes")
    return adapter.Identity(adapter.input(0))


def integers_as_double(adapter: Adapter) -> AdaptedNode:
    """From version 18 to 28 of a logarithm, which takes no integers: computed as double and truncated."""
    dtype = adapter.inference.dtype(0)
    return compute_in(adapter, DataType.DOUBLE) if dtype is not None and dtype.is_integer else adapter.same()


def bytes_as_floats(adapter: Adapter) -> AdaptedNode:
    """From version 12 to 11 of an extreme, which has no 8-bit integers; of an empty set it is that of their type."""
    dtype = adapter.inference.dtype(0)
    if dtype not in (DataType.INT8, DataType.UINT8):
        return adapter.same()
    low, high = (-128, 127) if dtype is DataType.INT8 else (0, 255)
    combine, end = ("Max", low) if adapter.node.op_type == "ReduceMax" else ("Min", high)
    return compute_in(
        adapter,
        DataType.FLOAT,
        lambda adapter, reduced: adapter.op(combine, reduced, adapter.constant(end, DataType.FLOAT)),
    )


def truths_as_bytes(adapter: Adapter) -> AdaptedNode:
    """From version 20 to 18 of an extreme, which has no bool."""
    if adapter.inference.dtype(0) is not DataType.BOOL:
        return adapter.same()
    return compute_in(adapter, DataType.UINT8)
