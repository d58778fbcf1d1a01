"""`extract`: a subgraph of a model as a separate model."""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.errors import InputError
from sardonyx._src.infer.walk import infer_partially
from sardonyx._src.ir import Graph, Model, Node, Value
from sardonyx._src.ir.graph import QuantizationAnnotation
from sardonyx._src.ir.model import Note, TrainingInfo, clone
from sardonyx._src.ir.names import FreshNames
from sardonyx._src.ir.walk import captures, graphs, values
from sardonyx._src.tools.calls import main_graphs, remove_uncalled
from sardonyx._src.tools.graph_labels import find_graph
from sardonyx._src.tools.graph_models import graph_model
from sardonyx._src.tools.lookup import find_value, refuse_duplicates
from sardonyx._src.tools.reachability import BackwardSlice
from sardonyx._src.tools.relabel import relabel_values


def extract(
    model: Model,
    *,
    inputs: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    graph: str | None = None,
) -> Model:
    """Return a copy of the subgraph that computes `outputs` from `inputs`.

    inputs: names of values of the graph; by default the inputs of the graph that are needed.  Needed inputs with defaults are
        kept even if they are not named.  A named initializer becomes an input without default.
    outputs: names of values of the graph; by default its outputs.
    graph: the graph; by default the main graph.  A function is named by `domain.name`, a nested graph by node and attribute,
        as in `loop.body`, or either by its own name.  Values that a nested graph captures become inputs; a function has the
        types and attributes of its first call.

    Inner values receive their inferred types.  Nodes, initializers, functions, quantization annotations and training steps
    are kept if everything that they need is kept; metadata, doc strings, imports and device configurations are kept.
    `notes` lists removed functions, annotations and training steps.

    Raises InputError for a name that the graph or the model lacks, for outputs that need an input that is not given, and for
    an inner value of unknown type as an input.
    """
    if graph is not None:
        model = graph_model(model, find_graph(model, graph))
    return extract_main(model, inputs, outputs)


def extract_main(model: Model, inputs: Sequence[str] | None, outputs: Sequence[str] | None) -> Model:
    """`extract` for values of the main graph."""
    result = clone(model)
    graph = result.graph
    names = [v.name for v in graph.outputs] if outputs is None else list(outputs)
    refuse_duplicates(names, "output")
    if not names:
        raise InputError("outputs must name at least one value; got none", name="outputs")
    targets = [find_value(graph, name) for name in names]
    refuse_duplicates(inputs or (), "input")
    sources = graph.inputs if inputs is None else [find_value(graph, name) for name in inputs]
    type_borders(model, [*sources, *targets])
    needed = BackwardSlice(sources)
    needed.add(targets)
    needed.refuse_missing(graph)
    keep_annotations(result, needed)
    unused = [v.name for v in sources if v not in needed.values]
    used_sources = [v for v in sources if inputs is not None or v in needed.values]
    drop_training(result, needed)
    restrict_graph(graph, used_sources, targets, needed, FreshNames.of_graphs(main_graphs(result)))
    keep_inputs_visible(result)
    if inputs is not None:
        result.notes += [Note("graph.input", f"{name!r} reaches none of the outputs") for name in unused]
    result.notes += [
        Note("functions", f"{label} is no longer called: removed") for label in remove_uncalled(result)
    ]
    return result


def type_borders(model: Model, borders: Sequence[Value]) -> None:
    """Set inferred types on inputs and outputs of the subgraph for which the model declares none."""
    untyped = [v for v in borders if v.type is None]
    if not untyped:
        return
    inference = infer_partially(clone(model))
    types = {v.name: v.type for v in values(inference.model.graph)}
    for value in untyped:
        value.type = types[value.name]
        if value.type is None:
            why = f", since the model is inconsistent ({inference.errors[0]})" if inference.errors else ""
            what = f"the type of {value.name!r} is unknown{why}"
            raise InputError(f"{what}; declare it in value_info, or choose another value", name=value.name)


def restrict_graph(
    graph: Graph, sources: Sequence[Value], targets: Sequence[Value], needed: BackwardSlice, names: FreshNames
) -> None:
    """Reduce the graph to the computation of `targets` from `sources`; names: the source of names for unread outputs of nodes."""
    before = graph.inputs
    graph.outputs = list(targets)
    for value in sources:
        detach(graph, value, names, keeps_default=value in before)
    for node in reversed(list(graph.nodes)):
        if node not in needed.nodes:
            graph.remove(node)
    for value in before:
        graph.remove_input(value)
    named = set(sources)
    for value in sources:
        graph.add_input(value)
    for value in before:
        if value in needed.values and value not in named:
            graph.add_input(value)
    for value in list(graph.initializers.values()):
        if value not in needed.values and value not in named:
            graph.remove_initializer(value)


def keep_inputs_visible(model: Model) -> None:
    """Rename values of subgraphs that would shadow an input, which is not allowed (IR.md, "Nodes")."""
    taken = {value.name for value in model.graph.inputs}
    inner = [g for g in graphs(model.graph) if g is not model.graph]
    hiding = [v for g in inner for v in values(g) if v.name in taken]
    if hiding:
        names = FreshNames.of_graphs(main_graphs(model))
        relabel_values(main_graphs(model), {v: names.fresh(v.name) for v in hiding})


def detach(graph: Graph, value: Value, names: FreshNames, *, keeps_default: bool) -> None:
    """Detach a value from its producer or initializer; its uses and other references stay.

    The producer gets another named output instead, since the operator may require that output.
    """
    if value.producer is not None:
        producer, index = value.producer, value.index
        Node("", (), [Value("")]).take_output(0, value)
        producer.outputs[index].name, producer.outputs[index].type = names.fresh(value.name), value.type
        value.producer, value.index = None, 0
    elif value.initializer is not None and not keeps_default:
        graph.remove_initializer(value)


def keep_annotations(model: Model, needed: BackwardSlice) -> None:
    """Keep annotations of kept values, with the initializers that they name."""
    for annotation in model.graph.quantization_annotations:
        if annotation.tensor in needed.values:
            parameters = annotation.parameters.values()
            needed.add([v for v in parameters if isinstance(v, Value) and v.initializer is not None])
    removed = set(values(model.graph)) - needed.values
    for graph in graphs(model.graph):
        annotations = []
        for annotation in graph.quantization_annotations:
            if not refers(annotation, removed):
                annotations.append(annotation)
            elif annotation.tensor in needed.values:
                what = f"that of {name_of(annotation)!r} names removed values: removed too"
                model.notes.append(Note("quantization_annotation", what))
        graph.quantization_annotations = annotations


def refers(annotation: QuantizationAnnotation, removed: set[Value]) -> bool:
    return any(v in removed for v in (annotation.tensor, *annotation.parameters.values()))


def name_of(annotation: QuantizationAnnotation) -> str:
    return annotation.tensor.name if isinstance(annotation.tensor, Value) else annotation.tensor


def drop_training(model: Model, needed: BackwardSlice) -> None:
    """Remove the training steps that need removed values; a kept step keeps its initializers."""
    steps = []
    main = set(values(model.graph))
    for i, step in enumerate(model.training):
        step_inputs = [v for v in read_by(step) if v in main]
        lost = [v for v in step_inputs if v not in needed.values and v.initializer is None]
        if not lost:
            needed.add(step_inputs)
            steps.append(step)
            continue
        what = f"needs {lost[0].name!r}, which is removed: removed too"
        model.notes.append(Note(f"training_info[{i}]", what))
        for graph in (step.initialization, step.algorithm):
            if graph is not None:
                graph.release()
    model.training = steps


def read_by(step: TrainingInfo) -> list[Value]:
    """The values that a training step reads from outside, and those that it binds."""
    read = [] if step.algorithm is None else captures(step.algorithm)
    return read + [v for pair in (*step.initialization_binding, *step.update_binding) for v in pair]
