"""Scan with a batch axis (version 8) and without one (version 9)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.graph import Attribute, Graph, Node, Value
from sardonyx._src.ir.types import TensorType, Type
from sardonyx._src.ops.change import Change, Converted
from sardonyx._src.ops.control.scan import op


@op.convert((8, 9))
def to_9(c: Change) -> Converted:
    """A Scan over the batch, whose states are slices, too, around the one over the sequence."""
    if c.optional(0) is not None:
        c.refuse("sequence_lens are given, and every sequence is scanned to its end there")
    body, count = c.take_graph("body"), c.t.integer("num_scan_inputs")
    inputs = [value for value in c.node.inputs[1:] if value is not None]
    outer = Graph(c.fresh("batch"))
    formals = [outer.add_input(Value(c.fresh(f"{v.name}_row"), without_first(v.type))) for v in inputs]
    types = [without_first(v.type) for v in c.node.outputs] + [None] * len(body.outputs)
    results = [Value(c.fresh(f"{v.name}_row"), type) for v, type in zip(body.outputs, types, strict=False)]
    attributes = [integer("num_scan_inputs", count), Attribute("body", AttributeType.GRAPH, body)]
    if (directions := c.renamed("directions", "scan_input_directions")) is not None:
        attributes.append(directions)
    outer.append(Node("Scan", formals, results, {a.name: a for a in attributes}))
    outer.outputs = results
    return c.ops("Scan", *inputs, outputs=len(results), body=outer, num_scan_inputs=len(inputs))[
        : len(c.node.outputs)
    ]


@op.convert((11, 9))
def to_front_axes(c: Change) -> Converted:
    """Axes count from the front before 11."""
    body = c.node.attributes["body"].value
    assert isinstance(body, Graph), "the body of Scan is a graph"
    count = c.t.integer("num_scan_inputs")
    states = len(c.node.inputs) - count
    axes, out_axes = (c.t.integers(f"scan_{end}_axes") for end in ("input", "output"))
    return c.same(
        scan_input_axes=from_front(c, axes, lambda i: c.rank(states + i)),
        scan_output_axes=from_front(c, out_axes, lambda i: stacked_rank(c, body.outputs[states + i].type)),
    )


def from_front(c: Change, axes: Sequence[int] | None, rank: Callable[[int], int]) -> list[int] | None:
    """The same axes counted from the front; None where they count so already."""
    if axes is None or min(axes, default=0) >= 0:
        return None
    return [axis if axis >= 0 else c.t.axis(axis, rank(i)) for i, axis in enumerate(axes)]


@op.convert((9, 8))
def to_8(c: Change) -> Converted:
    """A batch of one; what is scanned comes first behind it."""
    if any(c.t.integers("scan_output_directions") or ()):
        c.refuse("scan outputs cannot be put together backwards there")
    body, count = c.take_graph("body"), c.t.integer("num_scan_inputs")
    inputs = [value for value in c.node.inputs if value is not None]
    if not 1 <= count <= len(inputs):
        c.refuse(f"num_scan_inputs is {count}, and {len(inputs)} inputs are given")
    states, scans = inputs[:-count], inputs[-count:]
    axes = c.t.integers("scan_input_axes") or (0,) * count
    if len(axes) != count:
        c.refuse(f"scan_input_axes has {len(axes)} entries, where {count} are wanted")
    first = [
        to_front(c, value, axis, len(states) + i)
        for i, (value, axis) in enumerate(zip(scans, axes, strict=True))
    ]
    batch = [c.Unsqueeze(value, axes=[0]) for value in (*states, *first)]
    directions = c.t.integers("scan_input_directions")
    found = c.ops(
        "Scan",
        None,
        *batch,
        outputs=len(body.outputs),
        body=body,
        num_scan_inputs=count,
        directions=list(directions) if directions else None,
    )
    plain = [c.Squeeze(value, axes=[0]) for value in found]
    out_axes = (0,) * len(states) + (c.t.integers("scan_output_axes") or ())
    return [
        moved(c, value, axis, body.outputs[i].type) if axis else value
        for i, (value, axis) in enumerate(zip(plain, out_axes + (0,) * len(plain), strict=False))
    ][: len(c.node.outputs)]


def to_front(c: Change, value: Value, axis: int, i: int) -> Value:
    """Input i with the axis that is scanned in front."""
    if axis == 0:
        return value
    rank = c.rank(i)
    along = c.t.axis(axis, rank)
    return c.Transpose(value, perm=[along, *(n for n in range(rank) if n != along)])


def moved(c: Change, value: Value, axis: int, element: Type | None) -> Value:
    """A scan output with its first axis moved."""
    rank = stacked_rank(c, element)
    order: Sequence[int] = list(range(1, rank))
    along = c.t.axis(axis, rank)
    return c.Transpose(value, perm=[*order[:along], 0, *order[along:]])


def stacked_rank(c: Change, element: Type | None) -> int:
    """The rank of a scan output made of such slices."""
    if not isinstance(element, TensorType) or element.shape is None:
        c.refuse("the rank of a scan output is not known, whose slices do not come first")
    return len(element.shape) + 1


def without_first(type: Type | None) -> Type | None:
    if not isinstance(type, TensorType) or type.shape is None:
        return type
    return TensorType(type.dtype, type.shape[1:])


def integer(name: str, value: int) -> Attribute:
    return Attribute(name, AttributeType.INT, value)
