"""Gradient nodes of ai.onnx.preview.training, replaced by standard operators.

The attributes `xs`, `zs` and `y` name values of the graph that the node is in, or of one around it; they define a
function of the independent variables `xs` and `zs`, and the inputs of the node are the point at which it is
differentiated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sardonyx._src.convert.outline import read_values
from sardonyx._src.errors import InvalidModel
from sardonyx._src.grad.detection import has_gradient_nodes, is_gradient
from sardonyx._src.grad.preparation import expand_path, infer_sizes_anew, infer_types, inline_calls, update
from sardonyx._src.grad.reverse import BackwardNodes, ReverseSweep
from sardonyx._src.ir import Graph, Model, Node, Value
from sardonyx._src.ir.copier import Copier
from sardonyx._src.ir.inline import rename_definitions, transfer_outputs
from sardonyx._src.ir.names import FreshNames
from sardonyx._src.ir.walk import location, nodes, roots, values
from sardonyx._src.ops.backward_step import fill_like


def expand_gradients(model: Model) -> Model:
    """A copy of a model with its Gradient nodes replaced by standard operators; the model itself if it has none.

    The copy uses the newest operator sets, and its calls are inlined.  Raises what `gradient` raises.
    """
    if not has_gradient_nodes(model):
        return model
    result = prepare(model)
    infer_types(result)
    return result


def prepare(model: Model) -> Model:
    """A copy of a model in the newest operator sets, without calls and without Gradient nodes."""
    result = update(model)
    if has_gradient_nodes(result):
        link_named_values(result)
    inline_calls(result)
    infer_sizes_anew(result)
    while (node := next(filter(is_gradient, nodes(result.graph)), None)) is not None:
        replace_gradient_node(result, node)
    return result


def link_named_values(model: Model) -> None:
    """Appends the values that Gradient nodes name in attributes to their inputs.

    Inlining of calls renames values and updates inputs, but not names in attributes.
    """
    for root in roots(model):
        for node in filter(is_gradient, nodes(root)):
            variables = [*strings(node, "xs"), *strings(node, "zs")]
            if len(node.inputs) != len(variables) or None in node.inputs:
                count = sum(value is not None for value in node.inputs)
                what = f"Gradient must have {len(variables)} inputs, one for each of xs and zs; got {count}"
                raise InvalidModel(what, location=location(node))
            targets = strings(node, "y") or [""]
            node.set_inputs([*node.inputs, *(visible_value(node, name) for name in [*variables, *targets])])


def replace_gradient_node(model: Model, node: Node) -> None:
    """Replaces a Gradient node with its named values as inputs by nodes that compute the gradients."""
    graph = node.graph
    assert graph is not None, f"{node!r} is in no graph"
    *operands, target = [value for value in node.inputs if value is not None]
    point, variables = operands[: len(operands) // 2], operands[len(operands) // 2 :]
    if point != variables:
        names = FreshNames.of_graphs([model.graph])
        variables, target = copy_function(node, point, variables, target, names)
    count = len(strings(node, "xs"))
    sources, constants = variables[:count], variables[count:]
    path = expand_path(model, sources, target, constants)
    elements = infer_types(model).elements
    names = FreshNames.of_graphs([model.graph])
    backward = BackwardNodes(graph, names, model.opset_imports, elements, node)
    gradients = ReverseSweep(backward).run(path, sources, {target: fill_like(backward, target, 1)})
    results: list[Value | None] = [
        fill_like(backward, source, 0) if gradient is None else gradient
        for source, gradient in zip(sources, gradients, strict=True)
    ]
    transfer_outputs(node, results, graph)
    graph.remove(node)


def strings(node: Node, name: str) -> list[str]:
    """The names in an attribute of type STRING or STRINGS."""
    attribute = node.attributes.get(name)
    value = () if attribute is None else attribute.value
    parts = value if isinstance(value, tuple) else (value,)
    return [part.decode() for part in parts if isinstance(part, bytes)]


def visible_value(node: Node, name: str) -> Value:
    """The value that a name means at a node: of the node's graph or, if that has none, of the next enclosing graph."""
    graph: Graph | None = node.graph
    while graph is not None:
        for value in values(graph):
            if value.name == name:
                return value
        graph = graph.parent.graph if graph.parent is not None else None
    raise InvalidModel(f"Gradient names {name!r}, which is no value of the graph", location=location(node))


def copy_function(
    node: Node, point: Sequence[Value], variables: Sequence[Value], target: Value, names: FreshNames
) -> tuple[list[Value], Value]:
    """Copies the nodes that compute the target from the variables before the node, at another point.

    Returns the variables and the target of the copy.
    """
    graph = node.graph
    assert graph is not None, f"{node!r} is in no graph"
    fed: dict[Value, Value | None] = {}
    for variable, value in zip(variables, point, strict=True):
        copy = Node("Identity", [value], [Value(names.fresh(f"{variable.name}_fed"))])
        fed[variable] = graph.insert_before(node, copy).outputs[0]
    copier = Copier(fed)
    for original in computing_nodes(target, fed):
        copy = graph.insert_before(node, copier.node(original))
        rename_definitions(copy, node, names)
    return [copier.resolve(variable) for variable in variables], copier.resolve(target)


def computing_nodes(target: Value, variables: Mapping[Value, object]) -> list[Node]:
    """The nodes of the target's graph that compute it from the variables, in their order."""
    graph = target.owner
    assert graph is not None, f"{target!r} is in no graph"
    needed: set[Node] = set()
    pending = [target]
    while pending:
        value = pending.pop()
        producer = None if value in variables else value.producer
        if producer is not None and producer.graph is graph and producer not in needed:
            needed.add(producer)
            pending += read_values(producer)
    return [node for node in graph.nodes if node in needed]
