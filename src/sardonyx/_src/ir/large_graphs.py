"""Quick construction and disposal of graphs with many nodes."""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.ir.graph import Graph
from sardonyx._src.ir.node import COMMON_NON_GRAPH_TYPES, Attribute, Node
from sardonyx._src.ir.value import Value

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
    value._uses = {}
    node.op_type, node.domain, node.name = op_type, domain, name
    node.overload = node.doc = ""
    node.attributes = attributes
    node.device_configurations = ()
    node.details = node._metadata = node._next = None
    node._inputs = tuple(inputs)
    node._outputs = (value,)
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


def dismantle(graph: Graph) -> None:
    """Cuts the references between the nodes and values of a graph that is no longer used.

    Reference counts then free them at once; the cycle collector would need several times as long.
    """
    for value in (*graph.inputs, *graph.initializers.values()):
        value._uses.clear()
    node = graph._first
    graph._first = graph._last = graph._positions = graph.parent = None
    graph.outputs = []
    while node is not None:
        for inner in node.subgraphs:
            dismantle(inner)
        for value in node._outputs:
            value._uses.clear()
        node._inputs = node._outputs = ()
        following, node._previous, node._next = node._next, None, None
        node = following
