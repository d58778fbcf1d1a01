"""Models that a training session runs: the graphs of a training model, with its state as inputs.

The state of a training model consists of the initializers that bindings assign to.  These are not constants of the models
here: each run is fed with their present values, and returns the values that bindings assign to them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from sardonyx._src.errors import InputError
from sardonyx._src.ir import Graph, Model, Tensor, TensorType, Value
from sardonyx._src.ir.copier import Copier
from sardonyx._src.ir.model import TrainingInfo, clone_function


def state_values(model: Model) -> list[Value]:
    """The initializers that bindings of the model assign to, each once, in the order of the bindings."""
    bindings = (b for step in model.training for b in (*step.initialization_binding, *step.update_binding))
    states = list(dict.fromkeys(state for state, _ in bindings))
    for state in states:
        if not isinstance(state.initializer, Tensor):
            raise InputError(
                f"the state variable {state.name!r} must be a dense initializer", name=state.name
            )
    return states


def inference_model(model: Model, states: Collection[Value]) -> Model:
    """The inference graph, with the state that it owns as inputs."""
    return build_model(model, [model.graph], states, model.graph.outputs)


def algorithm_model(
    model: Model, step: TrainingInfo, states: Collection[Value], *, inference_outputs: bool = True
) -> Model:
    """The inference graph followed by the algorithm as one model, with the values that update bindings assign as outputs, too.

    inference_outputs: whether the outputs of the inference graph are outputs of the model.
    """
    graphs = [model.graph] if step.algorithm is None else [model.graph, step.algorithm]
    outputs = [
        *(v for graph in graphs[0 if inference_outputs else 1 :] for v in graph.outputs),
        *(source for _, source in step.update_binding),
    ]
    return build_model(model, graphs, states, list(dict.fromkeys(outputs)))


def initialization_model(model: Model, step: TrainingInfo) -> Model | None:
    """The initialization graph as a model; None if the step has none.  It reads no values of the inference graph."""
    graph = step.initialization
    return None if graph is None else build_model(model, [graph], (), graph.outputs)


def build_model(
    model: Model, graphs: Sequence[Graph], states: Collection[Value], outputs: Iterable[Value]
) -> Model:
    """A model of copies of these graphs, one after the other, in which the states are inputs."""
    copier, result = Copier(), Graph(graphs[0].name)
    for graph in graphs:
        for value in dict.fromkeys((*graph.inputs, *graph.initializers.values())):
            add_definition(
                result, copier.value(value), is_state=value in states, is_input=value in graph.inputs
            )
        for node in graph.nodes:
            result.append(copier.node(node))
    result.outputs = [copier.resolve(value) for value in outputs]
    joined = Model(result, ir_version=model.ir_version, opset_imports=dict(model.opset_imports))
    joined.functions = {key: clone_function(function) for key, function in model.functions.items()}
    return joined


def add_definition(graph: Graph, value: Value, *, is_state: bool, is_input: bool) -> None:
    """Adds an input or an initializer to a graph; a state variable becomes an input without default."""
    if is_state:
        assert isinstance(value.initializer, Tensor), f"{value!r} has no tensor"
        value.type = TensorType(value.initializer.dtype, value.initializer.shape)
        value.initializer = None
    if is_state or is_input:
        graph.add_input(value)
    if value.initializer is not None:
        graph.add_initializer(value)
