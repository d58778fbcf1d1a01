"""The model that computes the loss and metrics of a training step in inference mode, without an update."""

from __future__ import annotations

from collections.abc import Collection

from sardonyx._src.errors import InputError
from sardonyx._src.ir import Attribute, Model, Node, TensorType, Value
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.model import TrainingInfo
from sardonyx._src.ir.walk import nodes
from sardonyx._src.tools.extract import extract
from sardonyx._src.train.prepare.training_mode import BATCH_NORM, DROPOUT
from sardonyx._src.train.training_models import algorithm_model


def metric_outputs(step: TrainingInfo) -> list[Value]:
    """The outputs of an algorithm that are floating-point scalars and that no binding assigns: the loss and other metrics."""
    bound = {source for _, source in step.update_binding}
    outputs = () if step.algorithm is None else step.algorithm.outputs
    return [
        v
        for v in outputs
        if v not in bound
        and isinstance(v.type, TensorType)
        and v.type.dtype.is_float
        and v.type.shape is not None
        and all(d == 1 for d in v.type.shape)
    ]


def evaluation_model(model: Model, step: TrainingInfo, states: Collection[Value]) -> Model:
    """A model that computes the metrics of a step, with the state as inputs; raises InputError if the step has no metrics."""
    names = [v.name for v in metric_outputs(step)]
    if not names:
        raise InputError(
            "the training step must have an output that is a floating-point scalar, such as a loss; it has none",
            name="source",
        )
    result = extract(algorithm_model(model, step, states), outputs=names)
    for node in nodes(result.graph):
        if node.op_type == DROPOUT and not node.domain and len(node.inputs) > 2:
            node.set_inputs(node.inputs[:2])
        elif node.op_type == BATCH_NORM and not node.domain:
            use_running_statistics(node)
    return result


def use_running_statistics(node: Node) -> None:
    """Puts a BatchNormalization into inference mode, unless something reads its new statistics."""
    if not any(value.uses for value in node.outputs[1:]):
        node.set_attribute(Attribute("training_mode", AttributeType.INT, 0))
        node.drop_outputs(1)
