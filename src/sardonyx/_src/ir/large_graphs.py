"""Quick construction and disposal of graphs with many nodes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import TypeAlias, cast

from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.graph import Graph
from sardonyx._src.ir.node import COMMON_NON_GRAPH_TYPES, Attribute, AttributeValue, Node
from sardonyx._src.ir.value import Value

AttributeFields: TypeAlias = tuple[str, AttributeType, AttributeValue]
# Operator, domain and attributes of a node; an attribute is made from its fields for each node.
Call: TypeAlias = tuple[str, str, Sequence["AttributeFields | Attribute"]]
new = object.__new__


def append_node(
    graph: Graph,
    op_type: str,
    domain: str,
    name: str,
    inputs: Sequence[Value | None],
    output: str,
    attributes: dict[str, Attribute],
) -> Node:
    """Adds a new node with one new output at the end of a graph, as `Node`, `Value` and `Graph.append` do.

    Reading or copying a graph of many small nodes is mostly the construction of these objects.  Setting their fields
    here, without calls of constructors, halves the time.  The fields must be those that the constructors set
    (`tests/ir/test_graph.py` compares them).
    """
    value, node = new(Value), new(Node)
    value.name = output
    value.type = value.initializer = value.graph = value.details = value._metadata = None
    value.producer = node
    value.index = 0
    value.doc = ""
    node.op_type, node.domain, node.name = op_type, domain, name
    node.overload = node.doc = ""
    node.attributes = attributes
    node.device_configurations = ()
    node.details = node._metadata = node._next = None
    node._inputs = tuple(inputs)
    node._outputs = (value,)
    if graph._deferred_uses is not None:
        graph._deferred_uses.append(value)
    else:
        value._uses = {}
        slot = 0
        for read in inputs:
            if read is not None:
                read._uses[node, slot] = None
            slot += 1
    if attributes:
        for attribute in attributes.values():
            if type(attribute.value) not in COMMON_NON_GRAPH_TYPES:
                for subgraph in attribute.graphs:
                    subgraph.parent = node
    node.graph = graph
    node._previous = last = graph._last
    if last is None:
        graph._first = node
    else:
        last._next = node
    graph._last = node
    graph._count += 1
    return node


def append_nodes(
    graph: Graph, values: dict[str, Value], counts: Iterable[int], names: Iterable[str], calls: Iterable[Call]
) -> None:
    """Appends new nodes with one new output each, as `append_node` does, in one loop for speed.

    values: those that nodes may read, by name; the outputs are added.
    counts: the number of inputs of each node.
    names: for each node the names of its inputs, "" for one that is left out, of its output and of the node itself.
    Raises KeyError for a node that reads another name; the nodes before it are in the graph then.  That each output has a
    new name must be checked by the caller.  Uses are deferred if the graph defers any (`defer_uses`).
    """
    deferred = graph._deferred_uses
    last, count = graph._last, graph._count
    take = iter(names).__next__
    known = cast("dict[str, Value | None]", values)
    known[""] = None
    # Objects from `map` take a third less time than from calls.
    rows = zip(counts, calls, map(new, repeat(Value)), map(new, repeat(Node)), strict=False)
    try:
        for inputs, (op_type, domain, attributes), value, node in rows:
            if inputs == 1:
                reads: tuple[Value | None, ...] = (known[take()],)
            elif inputs == 2:
                reads = (known[take()], known[take()])
            else:
                reads = tuple([known[take()] for _ in range(inputs)])
            value.name = output = take()
            value.type = value.initializer = value.graph = value.details = value._metadata = None
            value.producer = node
            value.index = 0
            value.doc = ""
            node.op_type, node.domain, node.name = op_type, domain, take()
            node.overload = node.doc = ""
            node.attributes = make_attributes(node, attributes) if attributes else {}
            node.device_configurations = ()
            node.details = node._metadata = node._next = None
            node._inputs = reads
            node._outputs = (value,)
            node.graph = graph
            node._previous = last
            if last is None:
                graph._first = node
            else:
                last._next = node
            last = node
            count += 1
            known[output] = value
            if deferred is not None:
                deferred.append(value)
            else:
                value._uses = {}
                for slot, read in enumerate(reads):
                    if read is not None:
                        read._uses[node, slot] = None
    finally:
        del known[""]
        graph._last, graph._count = last, count


def make_attributes(node: Node, parts: Sequence[AttributeFields | Attribute]) -> dict[str, Attribute]:
    """The attributes of a node, new ones from their fields."""
    result = {}
    for part in parts:
        if isinstance(part, Attribute):
            result[part.name] = part
            for subgraph in part.graphs:
                subgraph.parent = node
        else:
            result[part[0]] = Attribute(*part)
    return result


def append_call(graph: Graph, node: Node, inputs: Sequence[Value | None]) -> Node:
    """Appends a new node without inputs, which is then given them; uses are deferred if the graph defers any."""
    graph.append(node)
    if graph._deferred_uses is None:
        node.set_inputs(inputs)
    else:
        node._inputs = tuple(inputs)
        defer_uses(graph, node._outputs)
    return node


def defer_uses(graph: Graph, values: Iterable[Value]) -> None:
    """Lets the uses of values of a graph be recorded at the first query of one (`Value.uses`), not node by node.

    No node may read the values yet, and until that query, `append_node` and `append_nodes` only may make nodes that do.
    """
    deferred = graph._deferred_uses = [] if graph._deferred_uses is None else graph._deferred_uses
    for value in values:
        assert not value._uses, f"{value!r} must have no uses"
        del value._uses
        deferred.append(value)


def dismantle(graph: Graph) -> None:
    """Cuts the references between the nodes and values of a graph that is no longer used.

    Reference counts then free them at once; the cycle collector would need several times as long.
    """
    has_uses = graph._deferred_uses is None
    graph._deferred_uses = None
    if has_uses:
        for value in (*graph.inputs, *graph.initializers.values()):
            value._uses.clear()
    node = graph._first
    graph._first = graph._last = graph._positions = graph.parent = None
    graph.outputs = []
    while node is not None:
        for inner in node.subgraphs:
            dismantle(inner)
        if has_uses:
            for value in node._outputs:
                value._uses.clear()
        node._inputs = node._outputs = ()
        following, node._previous, node._next = node._next, None, None
        node = following
