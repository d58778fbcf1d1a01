"""Inlining: replacement of a call by the body of the function that it calls."""

from __future__ import annotations

from collections.abc import Mapping

from sardonyx._src.errors import InvalidModel
from sardonyx._src.ir import Function, Graph, Node, Value
from sardonyx._src.ir.copier import Copier
from sardonyx._src.ir.names import FreshNames
from sardonyx._src.ir.parameters import bind_parameters
from sardonyx._src.ir.walk import graphs, location, nodes


def inline(call: Node, function: Function, names: FreshNames) -> list[Node]:
    """Replaces a call by a copy of the function's body; returns the new nodes.

    The outputs of the call become results of the body and keep names, types and uses.  References to attribute
    parameters are replaced by attributes of the call, or else by defaults; a reference to a parameter with neither is
    left out.  If the function returns an input that the call omits, the output is omitted from all nodes that use it.
    New values and nodes get names that are free in `names`.

    The caller makes sure that call and body use the same operator-set versions, and that no default of the function is
    undecided (`undecided_defaults`).

    Raises InvalidModel if the function returns an input that the call omits, and the result is a graph output.
    """
    graph = call.graph
    assert graph is not None, f"{call!r} is in no graph"
    copier = Copier(actual_inputs(call, function), bind_parameters(function, call.attributes))
    new_nodes = []
    for value in function.body.initializers.values():
        copy = copier.value(value)
        copy.name = names.fresh(copy.name)
        graph.add_initializer(copy)
    for inner in function.body.nodes:
        node = graph.insert_before(call, copier.node(inner))
        rename_definitions(node, call, names)
        new_nodes.append(node)
    results = [copier.values.get(v, v) for v in function.body.outputs]
    new_nodes += transfer_outputs(call, results, graph)
    graph.remove(call)
    return new_nodes


def actual_inputs(call: Node, function: Function) -> Mapping[Value, Value | None]:
    inputs = [*call.inputs, *[None] * len(function.body.inputs)]
    return dict(zip(function.body.inputs, inputs, strict=False))


def rename_definitions(copy: Node, call: Node, names: FreshNames) -> None:
    """Gives unused names to the nodes and values that a copied node and its subgraphs define."""
    for node in (copy, *(n for g in copy.subgraphs for n in nodes(g))):
        if node.name or call.name:
            node.name = names.fresh("/".join(filter(None, (call.name, node.name or node.op_type))))
        for value in node.outputs:
            if value.name:
                value.name = names.fresh(value.name)
    for inner in (g for sub in copy.subgraphs for g in graphs(sub)):
        for value in dict.fromkeys((*inner.inputs, *inner.initializers.values())):
            if value.initializer is None:
                value.name = names.fresh(value.name)


def omitted_outputs(call: Node, function: Function) -> list[Value]:
    """The outputs of a call for which the function returns an input that the call omits."""
    inputs = actual_inputs(call, function)
    pairs = zip(call.outputs, function.body.outputs, strict=False)
    return [output for output, result in pairs if inputs.get(result, output) is None]


def omit_value(value: Value, call: Node) -> None:
    """Omits a value from the nodes that use it: an output of the call for which the function returns an omitted input."""
    if value.is_graph_output:
        what = f"{value.name!r} is an output of the graph and an input of the function, which the call omits"
        raise InvalidModel(f"{what}; give that input", location=location(call))
    for node, slot in value.uses:
        node.set_input(slot, None)


def transfer_outputs(call: Node, results: list[Value | None], graph: Graph) -> list[Node]:
    """Makes the nodes that produce the body's results the producers of the call's outputs.

    A result that is an input of the call, or that becomes two outputs, is copied by an Identity; returns the Identity
    nodes.
    """
    copies: list[Node] = []
    transferred: dict[Value, Value] = {}
    for output, result in zip(call.outputs, results, strict=False):
        if not output.name:
            continue
        if result is None:
            omit_value(output, call)
            continue
        if result in transferred or result.producer is None or result in call.inputs:
            copy = Node("Identity", [transferred.get(result, result)], [Value(output.name)])
            copies.append(graph.insert_before(call, copy))
            result = copy.outputs[0]
        transferred[result] = output
        assert result.producer is not None, f"{result!r} is made by a node of the body"
        if output.type is None:
            output.type = result.type
        result.producer.take_output(result.index, output)
    return copies
