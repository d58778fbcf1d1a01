"""What cannot be converted, kept as it is: as the body of a function that goes by its own operator set."""

from __future__ import annotations

from collections.abc import Mapping

from sardonyx.errors import ConversionError
from sardonyx.ir.clone import Copier
from sardonyx.ir.graph import Function, Graph, Model, Node, Value
from sardonyx.ir.names import Names
from sardonyx.ir.walk import captured, location

DOMAIN = "sardonyx.kept"


def set_apart(model: Model, node: Node, imports: Mapping[str, int], names: Names) -> None:
    """Makes a node a call of a function that holds it, under the imports that give it its meaning."""
    graph = node.graph
    assert graph is not None, f"{node!r} is in no graph"
    outer = [v for g in node.subgraphs for v in captured(g)]
    refs = [a.ref for a in node.attributes.values() if a.ref]
    if outer or refs:
        what = (
            f"{outer[0].name!r} of the graph around"
            if outer
            else f"attribute {refs[0]!r} of the function around"
        )
        raise ConversionError(f"it cannot stand apart, as it reads {what}", location=location(node))
    function = holding(node, imports, len(model.functions))
    model.functions[function.key] = function
    model.opset_imports.setdefault(DOMAIN, 1)
    call = Node(
        function.name,
        list(dict.fromkeys(v for v in node.inputs if v is not None)),
        [Value(names.fresh(v.name)) for v in node.outputs if v.name],
        domain=DOMAIN,
        name=node.name,
    )
    graph.insert_before(node, call)
    for slot, value in enumerate([v for v in node.outputs if v.name]):
        call.take_output(slot, value)
    graph.remove(node)


def holding(node: Node, imports: Mapping[str, int], count: int) -> Function:
    """A function whose body is a copy of the node."""
    given = list(dict.fromkeys(v for v in node.inputs if v is not None))
    body = Graph(f"{node.op_type}_{count}")
    copier = Copier()
    for value in given:
        body.add_input(copier.value(value))
        copier.found(value).initializer = None
    inner = body.append(copier.node(node))
    body.outputs = [v for v in inner.outputs if v.name]
    result = Function(DOMAIN, body.name, body)
    result.opset_imports = {node.domain: imports[node.domain]}
    return result
