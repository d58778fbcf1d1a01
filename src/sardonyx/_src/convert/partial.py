"""What cannot be converted, kept as it is: as the body of a function that goes by its own operator set."""

from __future__ import annotations

from collections.abc import Mapping

from sardonyx._src.ir.clone import Copier
from sardonyx._src.ir.graph import Attribute, Function, Graph, Model, Node, Value
from sardonyx._src.ir.names import Names
from sardonyx._src.ir.walk import captured, nodes

DOMAIN = "sardonyx.kept"


def set_apart(model: Model, node: Node, imports: Mapping[str, int], names: Names) -> None:
    """Makes a node a call of a function that holds it, under the imports that give it its meaning.

    What its subgraphs read of graphs around becomes an input, and parameters of a function around go on as parameters.
    The caller sees to it that the calls are imported.
    """
    graph = node.graph
    assert graph is not None, f"{node!r} is in no graph"
    given = read_by(node)
    function = holding(node, given, imports, free_name(model, node.op_type))
    model.functions[function.key] = function
    results = [v for v in node.outputs if v.name]
    call = Node(
        function.name,
        given,
        [Value(names.fresh(v.name)) for v in results],
        {
            name: Attribute(name, parameter.type, None, ref=name)
            for name, parameter in parameters(node).items()
        },
        domain=DOMAIN,
        name=node.name,
    )
    graph.insert_before(node, call)
    for slot, value in enumerate(results):
        call.take_output(slot, value)
    graph.remove(node)


def read_by(node: Node) -> list[Value]:
    """What the node and its subgraphs read, each value once."""
    outer = (v for graph in node.subgraphs for v in captured(graph))
    return list(dict.fromkeys((*(v for v in node.inputs if v is not None), *outer)))


def parameters(node: Node) -> dict[str, Attribute]:
    """The references to parameters of a function around, by the parameter's name."""
    within = (node, *(n for graph in node.subgraphs for n in nodes(graph)))
    return {a.ref: a for n in within for a in n.attributes.values() if a.ref}


def free_name(model: Model, op_type: str) -> str:
    count = len(model.functions)
    while (DOMAIN, f"{op_type}_{count}", "") in model.functions:
        count += 1
    return f"{op_type}_{count}"


def holding(node: Node, given: list[Value], imports: Mapping[str, int], name: str) -> Function:
    """A function whose body is a copy of the node; its values have no types, which only later IR versions can say."""
    body = Graph(name)
    copier = Copier()
    formals = Names([])
    for value in given:
        copier.values[value] = body.add_input(Value(formals.fresh(value.name)))
    inner = body.append(copier.node(node))
    body.outputs = [v for v in inner.outputs if v.name]
    for value in inner.outputs:
        value.type = None
    result = Function(DOMAIN, name, body)
    result.attributes = dict.fromkeys(parameters(node))
    result.opset_imports = {n.domain: imports[n.domain] for n in nodes(body) if n.domain in imports}
    return result
