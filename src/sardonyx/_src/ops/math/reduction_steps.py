"""Version adapters of the reductions: `axes` as attribute or input, and element types that a version lacks."""

from __future__ import annotations

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ops.support.promotion import compute_in
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter

# Reductions that return their input if they reduce no axes; the others still compute a square, magnitude or logarithm.
IDENTITY_WITHOUT_AXES = {
    "ReduceSum",
    "ReduceMean",
    "ReduceProd",
    "ReduceMax",
    "ReduceMin",
    "ReduceLogSumExp",
}


def axes_as_input(adapter: Adapter) -> AdaptedNode:
    """Attribute `axes` becomes input 1, which is omitted for an empty list: it means the same as no list."""
    axes = adapter.node.attributes.get("axes")
    axes_input = None if axes is None or axes.value == () else adapter.as_input("axes")
    return adapter.same([adapter.input(0), axes_input], drop=("axes",))


def axes_as_attribute(adapter: Adapter) -> AdaptedNode:
    """Input 1, which must be constant, becomes attribute `axes`.

    The target version cannot express a reduction over no axes: it becomes an Identity, or is refused.
    """
    axes = adapter.as_attribute(1, "axes", AttributeType.INTS)
    if axes is not None and (axes.ref or axes.value):
        return adapter.same([adapter.input(0)], drop=("noop_with_empty_axes",), axes=axes)
    if not adapter.inference.integer("noop_with_empty_axes"):
        return adapter.same([adapter.input(0)], drop=("noop_with_empty_axes",))
    if adapter.node.op_type not in IDENTITY_WITHOUT_AXES:
        adapter.refuse("the target version has no attribute that reduces no axes")
    return adapter.Identity(adapter.input(0))


def integers_as_double(adapter: Adapter) -> AdaptedNode:
    """Adapts a logarithm of version 18 to 28, which rejects integers: they are computed as double and truncated."""
    dtype = adapter.inference.dtype(0)
    return compute_in(adapter, DataType.DOUBLE) if dtype is not None and dtype.is_integer else adapter.same()


def bytes_as_floats(adapter: Adapter) -> AdaptedNode:
    """Adapts a maximum or minimum of version 12 to 11, which lacks 8-bit integers: they are computed as float.

    The extreme of an empty set, an infinity in float, is limited to the range of the 8-bit type.
    """
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


def bools_as_bytes(adapter: Adapter) -> AdaptedNode:
    """Adapts a maximum or minimum of version 20 to 18, which lacks bool: it is computed as uint8."""
    if adapter.inference.dtype(0) is not DataType.BOOL:
        return adapter.same()
    return compute_in(adapter, DataType.UINT8)
