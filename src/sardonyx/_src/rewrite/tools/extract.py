"""A part of a model as a model of its own."""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.errors import InferenceError, InputError
from sardonyx._src.infer.walk import infer
from sardonyx._src.ir.clone import clone
from sardonyx._src.ir.graph import Graph, Model, Node, Note, QuantizationAnnotation, TrainingInfo, Value
from sardonyx._src.ir.names import Names
from sardonyx._src.ir.walk import captured, graphs, values
from sardonyx._src.rewrite.tools.calls import drop_uncalled, main_graphs
from sardonyx._src.rewrite.tools.lookup import refuse_twice, value_named
from sardonyx._src.rewrite.tools.reach import Reach
from sardonyx._src.rewrite.tools.relabel import relabel_values


def extract(
    model: Model, *, inputs: Sequence[str] | None = None, outputs: Sequence[str] | None = None
) -> Model:
    """The part of the model that computes `outputs` from `inputs`, as a copy.

    Either may name any value of the main graph; inner values get the types that inference finds.  Without `inputs` the
    part has those of the model's inputs that it needs, without `outputs` the model's.  Inputs with defaults stay as
    they are when they are needed and not named; an initializer that is named becomes an input without default.  Nodes,
    initializers, functions, quantization annotations and training steps stay where all that they need stays; metadata,
    texts, imports and device configurations stay.  What was left out of the last three stands on `notes`.

    Raises InputError for a name that the main graph does not have, for outputs that need an input that is not given,
    and for an inner value as an input whose type nobody knows.
    """
    result = clone(model)
    graph = result.graph
    names = [v.name for v in graph.outputs] if outputs is None else list(outputs)
    refuse_twice(names, "output")
    if not names:
        raise InputError("no output is named; name at least one value to compute", name="outputs")
    wanted = [value_named(graph, name) for name in names]
    refuse_twice(inputs or (), "input")
    given = graph.inputs if inputs is None else [value_named(graph, name) for name in inputs]
    type_borders(model, [*given, *wanted])
    reach = Reach(given)
    reach.add(wanted)
    reach.refuse_missing(graph)
    keep_annotations(result, reach)
    unused = [v.name for v in given if v not in reach.values]
    kept = [v for v in given if inputs is not None or v in reach.values]
    drop_training(result, reach)
    cut(graph, kept, wanted, reach)
    keep_inputs_visible(result)
    if inputs is not None:
        result.notes += [Note("graph.input", f"{name!r} reaches none of the outputs") for name in unused]
    result.notes += [
        Note("functions", f"{label} is called no more: left out") for label in drop_uncalled(result)
    ]
    return result


def type_borders(model: Model, borders: Sequence[Value]) -> None:
    """Gives inputs and outputs of the part the types that inference finds, where the model declares none."""
    untyped = [v for v in borders if v.type is None]
    if not untyped:
        return
    errors: list[InferenceError] = []
    types = {v.name: v.type for v in values(infer(clone(model), errors=errors).graph)}
    for value in untyped:
        value.type = types[value.name]
        if value.type is None:
            why = f", since the model contradicts itself ({errors[0]})" if errors else ""
            what = f"nothing is known of the type of {value.name!r}{why}"
            raise InputError(f"{what}; declare it in value_info, or cut elsewhere", name=value.name)


def cut(graph: Graph, given: Sequence[Value], wanted: Sequence[Value], reach: Reach) -> None:
    """Makes the graph compute the wanted values from the given ones, with nothing in it that this does not need."""
    before = graph.inputs
    graph.outputs = list(wanted)
    for value in given:
        detach(graph, value, keeps_default=value in before)
    for node in reversed(list(graph.nodes)):
        if node not in reach.nodes:
            graph.remove(node)
    for value in before:
        graph.remove_input(value)
    named = set(given)
    for value in given:
        graph.add_input(value)
    for value in before:
        if value in reach.values and value not in named:
            graph.add_input(value)
    for value in list(graph.initializers.values()):
        if value not in reach.values and value not in named:
            graph.remove_initializer(value)


def keep_inputs_visible(model: Model) -> None:
    """Renames values of subgraphs that have the name of an input, which they may not hide (IR.md, "Nodes")."""
    taken = {value.name for value in model.graph.inputs}
    inner = [g for g in graphs(model.graph) if g is not model.graph]
    hiding = [v for g in inner for v in values(g) if v.name in taken]
    if hiding:
        names = Names(main_graphs(model))
        relabel_values(main_graphs(model), {v: names.fresh(v.name) for v in hiding})


def detach(graph: Graph, value: Value, *, keeps_default: bool) -> None:
    """Takes a value from what makes it; readers and whatever else refers to it stay with it."""
    if value.producer is not None:
        Node("", (), [Value("")]).take_output(0, value)  # leaves the producer an output that nobody wanted
        value.producer, value.index = None, 0
    elif value.initializer is not None and not keeps_default:
        graph.remove_initializer(value)


def keep_annotations(model: Model, reach: Reach) -> None:
    """Keeps annotations about values that stay, with the initializers that they name."""
    for annotation in model.graph.quantization_annotations:
        if annotation.tensor in reach.values:
            parameters = annotation.parameters.values()
            reach.add([v for v in parameters if isinstance(v, Value) and v.initializer is not None])
    gone = set(values(model.graph)) - reach.values
    for graph in graphs(model.graph):
        kept = []
        for annotation in graph.quantization_annotations:
            if not refers(annotation, gone):
                kept.append(annotation)
            elif annotation.tensor in reach.values:
                what = f"that of {name_of(annotation)!r} names values that are left out: left out too"
                model.notes.append(Note("quantization_annotation", what))
        graph.quantization_annotations = kept


def refers(annotation: QuantizationAnnotation, gone: set[Value]) -> bool:
    return any(v in gone for v in (annotation.tensor, *annotation.parameters.values()))


def name_of(annotation: QuantizationAnnotation) -> str:
    return annotation.tensor.name if isinstance(annotation.tensor, Value) else annotation.tensor


def drop_training(model: Model, reach: Reach) -> None:
    """Leaves out the training steps that need values which are left out; a step that stays keeps its initializers."""
    kept = []
    main = set(values(model.graph))
    for i, step in enumerate(model.training):
        needed = [v for v in read_by(step) if v in main]
        lost = [v for v in needed if v not in reach.values and v.initializer is None]
        if not lost:
            reach.add(needed)
            kept.append(step)
            continue
        what = f"needs {lost[0].name!r}, which is left out: left out too"
        model.notes.append(Note(f"training_info[{i}]", what))
        for graph in (step.initialization, step.algorithm):
            if graph is not None:
                graph.release()
    model.training = kept


def read_by(step: TrainingInfo) -> list[Value]:
    """The values that a training step takes from elsewhere, and those that it binds."""
    read = [] if step.algorithm is None else captured(step.algorithm)
    return read + [v for pair in (*step.initialization_binding, *step.update_binding) for v in pair]
