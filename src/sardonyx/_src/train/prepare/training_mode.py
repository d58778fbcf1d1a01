"""The forward computation in training mode: Dropout that drops, and BatchNormalization with the statistics of the batch.

The inference graph stays as it is.  Nodes that compute something else in training, and all nodes that depend on them, are
copied into the training step; the step shares the rest with the inference graph.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field

from sardonyx._src.convert.outline import read_values
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Attribute, Function, Graph, Model, Node, Tensor, TensorType, Value
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.copier import Copier
from sardonyx._src.ir.inline import inline, rename_definitions
from sardonyx._src.ir.model import Note
from sardonyx._src.ir.walk import location, nodes
from sardonyx._src.tools.reachability import BackwardSlice
from sardonyx._src.train.algorithm_builder import AlgorithmBuilder

DROPOUT, BATCH_NORM = "Dropout", "BatchNormalization"


@dataclass(slots=True)
class TrainingForward:
    """The values of the main graph as they are in training.

    copier: maps values of the main graph to their copies in the training step.
    statistics: the new value of each running statistic.
    """

    copier: Copier = field(default_factory=Copier)
    statistics: dict[Value, Value] = field(default_factory=dict)


def build_training_forward(
    model: Model, b: AlgorithmBuilder, prediction: Value, trainable: Collection[Value]
) -> TrainingForward:
    """Copies the nodes that compute the prediction in another way in training into the builder's graph; adds notes to the model.

    A BatchNormalization stays in inference mode if neither its scale nor its bias is trained: it belongs to a frozen part.
    """
    result = TrainingForward()
    switched = [n for n in model.graph.nodes if changes_mode(n, model, trainable)]
    note_nested(model)
    for node in affected_nodes(model.graph, switched, prediction):
        copy = b.graph.append(result.copier.node(node))
        # The copy comes from no call, whose name would be a prefix of the new names.
        rename_definitions(copy, Node(node.op_type), b.fresh_names)
        for inner in inline_switched(copy, model, b):
            switch_mode(inner, b, result, trainable)
    return result


def affected_nodes(graph: Graph, switched: Collection[Node], prediction: Value) -> list[Node]:
    """The switched nodes, and the nodes that compute the prediction from their results."""
    needed = BackwardSlice(())
    needed.add([prediction])
    changed: set[Value] = set()
    affected: list[Node] = []
    switched = set(switched)
    for node in graph.nodes:
        if node in switched or any(value in changed for value in read_values(node)):
            changed.update(node.outputs)
            if node in needed.nodes:
                affected.append(node)
    return affected


def changes_mode(node: Node, model: Model, trainable: Collection[Value]) -> bool:
    """Whether a node, or one in the function that it calls, computes something else in training.

    A function is inlined to change its nodes, so it must import the operator set of the model.
    """
    function = called_function(node, model)
    if function is not None:
        return function.opset_imports.get("") == model.opset_imports.get("") and any(
            changes_mode(inner, model, ()) for inner in function.body.nodes
        )
    return is_idle_dropout(node) or is_trained_norm(node, trainable)


def called_function(node: Node, model: Model) -> Function | None:
    return model.functions.get((node.domain, node.op_type, node.overload))


def is_idle_dropout(node: Node) -> bool:
    """Whether a node is a Dropout that no input of a run puts into training mode.

    A constant mode counts as none: it is the mode in inference, for which the graph was written.
    """
    if node.op_type != DROPOUT or node.domain:
        return False
    mode = node.inputs[2] if len(node.inputs) > 2 else None
    return mode is None or is_constant(mode)


def is_constant(value: Value) -> bool:
    """Whether a value is the result of a Constant, or an initializer that no input overrides."""
    if value.producer is not None:
        return value.producer.op_type == "Constant" and not value.producer.domain
    owner = value.owner
    return isinstance(value.initializer, Tensor) and owner is not None and not owner.has_input(value)


def is_trained_norm(node: Node, trainable: Collection[Value]) -> bool:
    """Whether a node is a BatchNormalization in inference mode whose scale or bias is trained or computed."""
    if node.op_type != BATCH_NORM or node.domain:
        return False
    mode = node.attributes.get("training_mode")
    if mode is not None and mode.value:
        return False
    return any(v in trainable or (v is not None and v.initializer is None) for v in node.inputs[1:3])


def note_nested(model: Model) -> None:
    """Notes Dropout and BatchNormalization nodes of subgraphs, which stay in inference mode."""
    for node in model.graph.nodes:
        for inner in (n for graph in node.subgraphs for n in nodes(graph)):
            if inner.op_type in (DROPOUT, BATCH_NORM) and not inner.domain:
                text = "stays in inference mode, since it is in a subgraph of a control-flow operator"
                model.notes.append(Note(location(inner), text))


def inline_switched(copy: Node, model: Model, b: AlgorithmBuilder) -> Sequence[Node]:
    """The copy itself or, if it calls a function with nodes to switch, the inlined nodes of that function."""
    function = called_function(copy, model)
    if function is None or not changes_mode(copy, model, ()):
        return [copy]
    inlined = inline(copy, function, b.fresh_names)
    return [inner for node in inlined for inner in inline_switched(node, model, b)]


def switch_mode(
    node: Node, b: AlgorithmBuilder, forward: TrainingForward, trainable: Collection[Value]
) -> None:
    """Puts a copied node into training mode, if it has one."""
    if is_idle_dropout(node):
        ratio = node.inputs[1] if len(node.inputs) > 1 else None
        inputs = [node.inputs[0], ratio, b.scalar(1, DataType.BOOL)]
        extend_node(node, b, inputs, node.attributes, ["mask"])  # the gradient of Dropout reads the mask
    elif is_trained_norm(node, trainable):
        use_batch_statistics(node, b, forward)


def use_batch_statistics(node: Node, b: AlgorithmBuilder, forward: TrainingForward) -> None:
    """Makes a BatchNormalization use the statistics of the batch, and return new running statistics."""
    mode = Attribute("training_mode", AttributeType.INT, 1)
    attributes, statistics = {**node.attributes, mode.name: mode}, node.inputs[3:5]
    new_values = extend_node(node, b, node.inputs, attributes, ["mean", "variance"])
    for statistic, new in zip(statistics, new_values, strict=True):
        # If nodes share a statistic, the first of them updates it.  Its type is stated, since it is the type of a state.
        tensor = None if statistic is None else statistic.initializer
        if statistic is not None and isinstance(tensor, Tensor) and statistic not in forward.statistics:
            new.type = TensorType(tensor.dtype, tensor.shape)
            forward.statistics[statistic] = new


def extend_node(
    node: Node,
    b: AlgorithmBuilder,
    inputs: Sequence[Value | None],
    attributes: Mapping[str, Attribute],
    extra: Sequence[str],
) -> Sequence[Value]:
    """Replaces a node by one with these inputs and attributes and with more outputs.

    extra: suffixes for the names of the outputs after the first one; those that the node has already stay.  Returns
        these outputs.
    """
    graph, old = node.graph, node.outputs
    assert graph is not None, f"{node!r} is in no graph"
    new = [Value(b.fresh_names.fresh(f"{old[0].name}_{suffix}")) for suffix in extra]
    replacement = Node(node.op_type, inputs, [Value(old[0].name), *new], dict(attributes), name=node.name)
    graph.insert_before(node, replacement)
    for i, output in enumerate(old):
        if output.name:  # an omitted output has none; the new node needs it
            replacement.take_output(i, output)
    node.set_inputs(())
    graph.remove(node)
    return replacement.outputs[1:]
