"""Outlining: a node that cannot be converted moves into a new function, which imports the node's old operator sets."""

from __future__ import annotations

from collections.abc import Mapping

from sardonyx._src.ir import Attribute, Function, Graph, Model, Node, Value
from sardonyx._src.ir.copier import Copier
from sardonyx._src.ir.names import FreshNames, first_free
from sardonyx._src.ir.walk import captures, nodes

OUTLINE_DOMAIN = "sardonyx.kept"  # the domain of functions that keep nodes in their old version


def outline_node(model: Model, node: Node, imports: Mapping[str, int], names: FreshNames) -> None:
    """Replace a node by a call of a new function that contains it, with the node's imports.

    Captures of its subgraphs become inputs; references to attributes of an enclosing function become attributes.  The
    caller must import the domain of the call.
    """
    graph = node.graph
    assert graph is not None, f"{node!r} is in no graph"
    inputs = read_values(node)
    function = outlined_function(node, inputs, imports, free_name(model, node.op_type))
    model.functions[function.key] = function
    results = [v for v in node.outputs if v.name]
    call = Node(
        function.name,
        inputs,
        [Value(names.fresh(v.name)) for v in results],
        {
            name: Attribute(name, parameter.type, None, ref=name)
            for name, parameter in parameters(node).items()
        },
        domain=OUTLINE_DOMAIN,
        name=node.name,
    )
    graph.insert_before(node, call)
    for slot, value in enumerate(results):
        call.take_output(slot, value)
    graph.remove(node)


def read_values(node: Node) -> list[Value]:
    """The values that the node and its subgraphs read, each once."""
    outer = (v for graph in node.subgraphs for v in captures(graph))
    return list(dict.fromkeys((*(v for v in node.inputs if v is not None), *outer)))


def parameters(node: Node) -> dict[str, Attribute]:
    """The references to attributes of the enclosing function, by name."""
    within = (node, *(n for graph in node.subgraphs for n in nodes(graph)))
    return {a.ref: a for n in within for a in n.attributes.values() if a.ref}


def free_name(model: Model, op_type: str) -> str:
    functions = model.functions
    return first_free(op_type, lambda name: (OUTLINE_DOMAIN, name, "") in functions, start=len(functions))


def outlined_function(node: Node, inputs: list[Value], imports: Mapping[str, int], name: str) -> Function:
    """A function with a copy of the node as its body; its values are untyped, since types need IR version 10."""
    body = Graph(name)
    copier = Copier()
    formals = FreshNames()
    for value in inputs:
        copier.values[value] = body.add_input(Value(formals.fresh(value.name)))
    inner = body.append(copier.node(node))
    body.outputs = [v for v in inner.outputs if v.name]
    for value in inner.outputs:
        value.type = None
    result = Function(OUTLINE_DOMAIN, name, body)
    result.attributes = dict.fromkeys(parameters(node))
    result.opset_imports = {n.domain: imports[n.domain] for n in nodes(body) if n.domain in imports}
    return result
