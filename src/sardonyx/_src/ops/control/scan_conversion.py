"""Version adapters of Scan, which has a batch axis only in version 8, and negative axes only from version 11."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sardonyx._src.ir import Attribute, Graph, Node, TensorType, Type, Value
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ops.control.scan import op
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter


@op.convert((8, 9))
def to_9(adapter: Adapter) -> AdaptedNode:
    """A Scan over the batch axis, whose body is a Scan over the sequence axis."""
    if adapter.optional(0) is not None:
        adapter.refuse("the target version has no sequence_lens: it scans every sequence to its end")
    body, count = adapter.take_graph("body"), adapter.inference.integer("num_scan_inputs")
    inputs = [value for value in adapter.node.inputs[1:] if value is not None]
    outer = Graph(adapter.fresh("batch"))
    formals = [outer.add_input(Value(adapter.fresh(f"{v.name}_row"), without_first(v.type))) for v in inputs]
    types = [without_first(v.type) for v in adapter.node.outputs] + [None] * len(body.outputs)
    results = [
        Value(adapter.fresh(f"{v.name}_row"), type) for v, type in zip(body.outputs, types, strict=False)
    ]
    attributes = [integer("num_scan_inputs", count), Attribute("body", AttributeType.GRAPH, body)]
    if (directions := adapter.rename_attribute("directions", "scan_input_directions")) is not None:
        attributes.append(directions)
    outer.append(Node("Scan", formals, results, {a.name: a for a in attributes}))
    outer.outputs = results
    return adapter.ops("Scan", *inputs, outputs=len(results), body=outer, num_scan_inputs=len(inputs))[
        : len(adapter.node.outputs)
    ]


@op.convert((11, 9))
def to_front_axes(adapter: Adapter) -> AdaptedNode:
    """Axes must be counted from the front before version 11."""
    body = adapter.node.attributes["body"].value
    assert isinstance(body, Graph), "the body of Scan is a graph"
    count = adapter.inference.integer("num_scan_inputs")
    states = len(adapter.node.inputs) - count
    axes, out_axes = (adapter.inference.integers(f"scan_{end}_axes") for end in ("input", "output"))
    return adapter.same(
        scan_input_axes=from_front(adapter, axes, lambda i: adapter.rank(states + i)),
        scan_output_axes=from_front(
            adapter, out_axes, lambda i: stacked_rank(adapter, body.outputs[states + i].type)
        ),
    )


def from_front(adapter: Adapter, axes: Sequence[int] | None, rank: Callable[[int], int]) -> list[int] | None:
    """The axes counted from the front; None if none is negative."""
    if axes is None or min(axes, default=0) >= 0:
        return None
    return [axis if axis >= 0 else adapter.inference.axis(axis, rank(i)) for i, axis in enumerate(axes)]


@op.convert((9, 8))
def to_8(adapter: Adapter) -> AdaptedNode:
    """The node with a batch axis of size 1, followed by the scanned axis."""
    if any(adapter.inference.integers("scan_output_directions") or ()):
        adapter.refuse("the target version cannot prepend to scan outputs")
    body, count = adapter.take_graph("body"), adapter.inference.integer("num_scan_inputs")
    inputs = [value for value in adapter.node.inputs if value is not None]
    if not 1 <= count <= len(inputs):
        adapter.refuse(f"num_scan_inputs must be at most {len(inputs)}, the number of inputs; got {count}")
    states, scans = inputs[:-count], inputs[-count:]
    axes = adapter.inference.integers("scan_input_axes") or (0,) * count
    if len(axes) != count:
        adapter.refuse(f"scan_input_axes must have {count} entries; got {len(axes)}")
    first = [
        to_front(adapter, value, axis, len(states) + i)
        for i, (value, axis) in enumerate(zip(scans, axes, strict=True))
    ]
    batch = [adapter.Unsqueeze(value, axes=[0]) for value in (*states, *first)]
    directions = adapter.inference.integers("scan_input_directions")
    results = adapter.ops(
        "Scan",
        None,
        *batch,
        outputs=len(body.outputs),
        body=body,
        num_scan_inputs=count,
        directions=list(directions) if directions else None,
    )
    plain = [adapter.Squeeze(value, axes=[0]) for value in results]
    out_axes = (0,) * len(states) + (adapter.inference.integers("scan_output_axes") or ())
    return [
        move_scan_axis(adapter, value, axis, body.outputs[i].type) if axis else value
        for i, (value, axis) in enumerate(zip(plain, out_axes + (0,) * len(plain), strict=False))
    ][: len(adapter.node.outputs)]


def to_front(adapter: Adapter, value: Value, axis: int, i: int) -> Value:
    """Input i with the scanned axis moved to the front."""
    if axis == 0:
        return value
    rank = adapter.rank(i)
    along = adapter.inference.axis(axis, rank)
    return adapter.Transpose(value, perm=[along, *(n for n in range(rank) if n != along)])


def move_scan_axis(adapter: Adapter, value: Value, axis: int, element: Type | None) -> Value:
    """A scan output with its first axis moved to `axis`."""
    rank = stacked_rank(adapter, element)
    order: Sequence[int] = list(range(1, rank))
    along = adapter.inference.axis(axis, rank)
    return adapter.Transpose(value, perm=[*order[:along], 0, *order[along:]])


def stacked_rank(adapter: Adapter, element: Type | None) -> int:
    """The rank of a scan output with elements of this type."""
    if not isinstance(element, TensorType) or element.shape is None:
        adapter.refuse("the rank of a scan output must be known if its scan axis is not the first one")
    return len(element.shape) + 1


def without_first(type: Type | None) -> Type | None:
    if not isinstance(type, TensorType) or type.shape is None:
        return type
    return TensorType(type.dtype, type.shape[1:])


def integer(name: str, value: int) -> Attribute:
    return Attribute(name, AttributeType.INT, value)
