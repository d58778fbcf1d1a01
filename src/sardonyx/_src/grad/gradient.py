"""`gradient`: a model that also computes gradients."""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.arguments import require_text, texts_of
from sardonyx._src.errors import InputError
from sardonyx._src.grad.active import carries_gradient
from sardonyx._src.grad.gradient_nodes import prepare
from sardonyx._src.grad.preparation import expand_path, infer_types
from sardonyx._src.grad.reverse import BackwardNodes, ReverseSweep
from sardonyx._src.io.loading.load import ModelSource, resolve_model
from sardonyx._src.ir import Graph, Model, Node, TensorType, Value
from sardonyx._src.ir.names import FreshNames
from sardonyx._src.ir.walk import values
from sardonyx._src.ops.backward_step import fill_like
from sardonyx._src.suggestions import suggest


def gradient(model: ModelSource, of: str, wrt: str | Sequence[str]) -> Model:
    """A copy of a model with more outputs: the gradients of the value `of` with respect to the values `wrt`.

    The gradient of a tensor is the derivative of the sum of the elements of `of` with respect to each element, and has
    the tensor's shape and element type; it is called `x_gradient` for a value `x`, and is 0 where `of` does not depend
    on it.  All are values of the main graph: inputs, initializers or results of nodes.  The copy uses standard operators
    in their newest versions; calls of functions are inlined, and training information is left out.

    Raises InputError for a name that is no floating-point tensor of the main graph; DifferentiationError for a node
    through which a gradient would have to flow and that has none; ConversionError for a model that cannot be converted
    to the newest operator sets.
    """
    model = resolve_model(model)
    require_text("of", of)
    names = [wrt] if isinstance(wrt, str) else texts_of("wrt", wrt)
    result = prepare(model)
    infer_types(result)
    target = find_value(result.graph, of, "of")
    sources = [find_value(result.graph, name, "wrt") for name in names]
    append_gradients(result, target, sources)
    infer_types(result)
    return result


def find_value(graph: Graph, name: str, argument: str) -> Value:
    """The floating-point tensor of a name; raises InputError for another one."""
    by_name = {value.name: value for value in values(graph)}
    value = by_name.get(name)
    if value is None:
        raise InputError(
            f"the main graph has no value {name!r}{suggest(name, sorted(by_name), 'values')}", name=argument
        )
    if value.type is not None and not (isinstance(value.type, TensorType) and carries_gradient(value.type)):
        raise InputError(
            f"{argument} must name floating-point tensors; got {name!r} of type {value.type}", name=argument
        )
    return value


def append_gradients(model: Model, target: Value, sources: Sequence[Value]) -> None:
    """Adds the gradients of the sources to the graph and to its outputs."""
    graph = model.graph
    path = expand_path(model, sources, target)
    elements = infer_types(model).elements
    names = FreshNames.of_graphs([graph])
    outputs = [Value(names.fresh(f"{source.name}_gradient"), source.type) for source in sources]
    backward = BackwardNodes(graph, names, model.opset_imports, elements)
    results = ReverseSweep(backward).run(path, sources, {target: fill_like(backward, target, 1)})
    for source, result, output in zip(sources, results, outputs, strict=True):
        value = fill_like(backward, source, 0) if result is None else result
        graph.append(Node("Identity", [value], [output]))
        graph.outputs.append(output)
