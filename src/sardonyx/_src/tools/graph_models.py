"""A graph of a model by itself: a nested graph, a training graph or the body of a function as a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sardonyx._src.infer.walk import infer_partially
from sardonyx._src.ir import Function, Graph, Model, Node
from sardonyx._src.ir.copier import Copier
from sardonyx._src.ir.model import clone
from sardonyx._src.ir.parameters import bind_parameters
from sardonyx._src.ir.walk import captures, graphs, nodes, roots
from sardonyx._src.tools.calls import callee, main_graphs, reachable_functions, remove_uncalled


def graph_model(model: Model, graph: Graph) -> Model:
    """A model whose main graph is a copy of a graph of `model`, with the types that inference finds.

    Values of enclosing graphs that the graph reads become additional inputs; if they are initializers, they become
    initializers.  The body of a function has the types and attributes of the first call of the function; without a call, it
    has the default attributes, and its inputs have no types.
    """
    if graph is model.graph:
        return clone(model)
    typed = infer_partially(clone(model)).model
    twin = dict(zip(every_graph(model), every_graph(typed), strict=True))[graph]
    root = root_of(twin)
    if root.function is None:
        return model_of(twin, typed, typed.opset_imports, Copier())
    body = function_model(typed, root.function)
    if twin is root:
        return body
    inner = [*graphs(body.graph)][[*graphs(root)].index(twin)]
    return graph_model(body, inner)


def every_graph(model: Model) -> Iterator[Graph]:
    """All graphs of a model, in an order that is the same for copies of the model."""
    for root in roots(model):
        yield from graphs(root)


def root_of(graph: Graph) -> Graph:
    """The graph itself, or the outermost graph around a nested one."""
    while graph.parent is not None and graph.parent.graph is not None:
        graph = graph.parent.graph
    return graph


def function_model(model: Model, function: Function) -> Model:
    """The body of a function as a model, with the types and attributes of the first call."""
    call = first_call(model, function)
    copier = Copier(bindings=bind_parameters(function, {} if call is None else call.attributes))
    result = model_of(function.body, model, function.opset_imports, copier)
    for formal, actual in zip(result.graph.inputs, () if call is None else call.inputs, strict=False):
        formal.type = None if actual is None else actual.type
    return infer_partially(result).model


def first_call(model: Model, function: Function) -> Node | None:
    """The first call of a function, in the main graph and the training graphs if there is one."""
    bodies = (f.body for f in reachable_functions(model))
    calls = (node for graph in (*main_graphs(model), *bodies) for node in nodes(graph))
    return next((node for node in calls if callee(node, model) is function), None)


def model_of(graph: Graph, model: Model, imports: Mapping[str, int], copier: Copier) -> Model:
    """A model of a copy of the graph, with the values that it captures as inputs or initializers."""
    captured = [(value, copier.value(value)) for value in captures(graph)]
    copy = copier.graph(graph)
    for value, own in captured:
        if value.initializer is None:
            copy.add_input(own)
        else:
            copy.add_initializer(own)
    result = Model(copy, ir_version=model.ir_version, opset_imports=dict(imports))
    result.functions = clone(model).functions
    remove_uncalled(result)
    return result
