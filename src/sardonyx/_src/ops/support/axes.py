"""Version adapters for axes: negative axes, which versions before 11 do not allow, and axes as an attribute or an input."""

from __future__ import annotations

from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter


def normalize_axis(adapter: Adapter) -> AdaptedNode:
    """The node with attribute `axis` counted from the front, as versions before 11 require."""
    return (
        adapter.same(axis=adapter.axis())
        if adapter.node.attributes.get("axis") is not None
        else adapter.same()
    )


def normalize_axes(adapter: Adapter) -> AdaptedNode:
    """The node with attribute `axes` counted from the front, as versions before 11 require."""
    axes = adapter.inference.integers("axes")
    if axes is None or min(axes, default=0) >= 0:
        return adapter.same()
    return adapter.same(axes=[adapter.inference.axis(axis, adapter.rank(0)) for axis in axes])


def move_axes_to_input(adapter: Adapter) -> AdaptedNode:
    """Attribute `axes` becomes input 1."""
    axes = adapter.as_input("axes")
    return adapter.same([adapter.input(0), axes], drop=("axes",))


def move_axes_to_attribute(adapter: Adapter) -> AdaptedNode:
    """Input 1, which must be constant, becomes attribute `axes`."""
    return adapter.same([adapter.input(0)], axes=adapter.as_attribute(1, "axes", AttributeType.INTS))
