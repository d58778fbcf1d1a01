"""Axes in conversions: counted from the front for versions before 11, an attribute or an input by version."""

from __future__ import annotations

from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ops.change import Change, Converted


def from_the_front(c: Change) -> Converted:
    """The same with attribute `axis` counted from the front, as versions before 11 want it."""
    return c.same(axis=c.axis()) if c.node.attributes.get("axis") is not None else c.same()


def all_from_the_front(c: Change) -> Converted:
    """The same with attribute `axes` counted from the front, as versions before 11 want it."""
    axes = c.t.integers("axes")
    if axes is None or min(axes, default=0) >= 0:
        return c.same()
    return c.same(axes=[c.t.axis(axis, c.rank(0)) for axis in axes])


def axes_as_input(c: Change) -> Converted:
    """Attribute `axes` becomes input 1."""
    axes = c.as_input("axes")
    return c.same([c.input(0), axes], drop=("axes",))


def axes_as_attribute(c: Change) -> Converted:
    """Input 1, which has to be constant, becomes attribute `axes`."""
    return c.same([c.input(0)], axes=c.as_attribute(1, "axes", AttributeType.INTS))
