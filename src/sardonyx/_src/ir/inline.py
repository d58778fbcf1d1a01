"""A call replaced by the body of the function that it calls."""

from __future__ import annotations

from collections.abc import Mapping

from sardonyx._src.ir.clone import Copier
from sardonyx._src.ir.graph import Attribute, Function, Graph, Node, Value
from sardonyx._src.ir.names import Names
from sardonyx._src.ir.walk import graphs, nodes


def inline(node: Node, function: Function, names: Names) -> list[Node]:
    """Puts the body of the function where the node stands; hands out the new nodes.

    The outputs of the call become results of the body and keep names, types and readers.  Attributes of the call, or else defaults, stand for
    references in the body; a reference to an attribute that has neither is left out.  New values and nodes get names
    that are free in `names`.  The caller sees to it that both go by the same operators.
    """
    graph = node.graph
    assert graph is not None, f"{node!r} is in no graph"
    copier = Copier(actual_inputs(node, function), actual_attributes(node, function))
    made = []
    for value in function.body.initializers.values():
        copy = copier.value(value)
        copy.name = names.fresh(copy.name)
        graph.add_initializer(copy)
    for inner in function.body.nodes:
        copied = graph.insert_before(node, copier.node(inner))
        rename(copied, node, names)
        made.append(copied)
    results = [copier.values.get(v, v) for v in function.body.outputs]
    made += hand_over(node, results, graph)
    graph.remove(node)
    return made


def actual_inputs(node: Node, function: Function) -> Mapping[Value, Value | None]:
    inputs = [*node.inputs, *[None] * len(function.body.inputs)]
    return dict(zip(function.body.inputs, inputs, strict=False))


def actual_attributes(node: Node, function: Function) -> Mapping[str, Attribute | None]:
    """The function's attributes as the call fills them; parameters without value or default are None."""
    return {name: node.attributes.get(name, default) for name, default in function.attributes.items()}


def rename(made: Node, call: Node, names: Names) -> None:
    """Gives what a body defines names of its own, inside subgraphs too."""
    for one in (made, *(n for g in made.subgraphs for n in nodes(g))):
        if one.name or call.name:
            one.name = names.fresh("/".join(filter(None, (call.name, one.name or one.op_type))))
        for value in one.outputs:
            if value.name:
                value.name = names.fresh(value.name)
    for inner in (g for sub in made.subgraphs for g in graphs(sub)):
        for value in dict.fromkeys((*inner.inputs, *inner.initializers.values())):
            if value.initializer is None:
                value.name = names.fresh(value.name)


def hand_over(call: Node, results: list[Value | None], graph: Graph) -> list[Node]:
    """Makes the call's outputs those of the nodes that make the body's results.

    A result that is an input of the call, or two outputs at once, goes through an Identity.
    """
    made: list[Node] = []
    taken: dict[Value, Value] = {}
    for output, result in zip(call.outputs, results, strict=False):
        if not output.name:
            continue
        assert result is not None, f"{call!r} gives nothing for {output!r}"
        if result in taken or result.producer is None or result in call.inputs:
            copy = Node("Identity", [taken.get(result, result)], [Value(output.name)])
            made.append(graph.insert_before(call, copy))
            result = copy.outputs[0]
        taken[result] = output
        assert result.producer is not None, f"{result!r} is made by a node of the body"
        if output.type is None:
            output.type = result.type
        result.producer.take_output(result.index, output)
    return made
