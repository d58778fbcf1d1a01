"""Conversions of the reductions: `axes` as attribute or input, and element types that a version lacks."""

from __future__ import annotations

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ops.change import Change, Converted
from sardonyx._src.ops.widening import through

UNCHANGED = {
    "ReduceSum",
    "ReduceMean",
    "ReduceProd",
    "ReduceMax",
    "ReduceMin",
    "ReduceLogSumExp",
}  # over no axes


def axes_as_input(c: Change) -> Converted:
    """Attribute `axes` becomes input 1; one that is empty means the same as none."""
    axes = c.node.attributes.get("axes")
    given = None if axes is None or axes.value == () else c.as_input("axes")
    return c.same([c.input(0), given], drop=("axes",))


def axes_as_attribute(c: Change) -> Converted:
    """Input 1, which has to be constant, becomes attribute `axes`; where no axis is reduced there is no attribute."""
    given = c.as_attribute(1, "axes", AttributeType.INTS)
    if given is not None and (given.ref or given.value):
        return c.same([c.input(0)], drop=("noop_with_empty_axes",), axes=given)
    if not c.t.integer("noop_with_empty_axes"):
        return c.same([c.input(0)], drop=("noop_with_empty_axes",))
    if c.node.op_type not in UNCHANGED:
        c.refuse("no axes are reduced, for which there is no attribute there")
    return c.Identity(c.input(0))


def integers_as_double(c: Change) -> Converted:
    """From version 18 to 28 of a logarithm, which takes no integers any more: theirs is rounded toward zero."""
    dtype = c.t.dtype(0)
    return through(c, DataType.DOUBLE) if dtype is not None and dtype.is_integer else c.same()


def bytes_as_floats(c: Change) -> Converted:
    """From version 12 to 11 of an extreme, which has no 8-bit integers; of nothing it is still their own extreme."""
    dtype = c.t.dtype(0)
    if dtype not in (DataType.INT8, DataType.UINT8):
        return c.same()
    low, high = (-128, 127) if dtype is DataType.INT8 else (0, 255)
    found, end = ("Max", low) if c.node.op_type == "ReduceMax" else ("Min", high)
    return through(
        c, DataType.FLOAT, lambda c, reduced: c.op(found, reduced, c.constant(end, DataType.FLOAT))
    )


def truths_as_bytes(c: Change) -> Converted:
    """From version 20 to 18 of an extreme, which has no truth values."""
    if c.t.dtype(0) is not DataType.BOOL:
        return c.same()
    return through(c, DataType.UINT8)
