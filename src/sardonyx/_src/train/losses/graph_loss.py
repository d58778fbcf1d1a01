"""A loss given as an ONNX model."""

from __future__ import annotations

from dataclasses import dataclass

from sardonyx._src.convert.conversion import convert
from sardonyx._src.errors import InputError
from sardonyx._src.infer.walk import infer
from sardonyx._src.ir import Graph, Model, Node, TensorType, Value
from sardonyx._src.ir.copier import Copier
from sardonyx._src.ir.inline import rename_definitions
from sardonyx._src.ir.model import clone, clone_function
from sardonyx._src.train.losses.base import Loss, LossContext, LossValues


@dataclass(frozen=True)
class GraphLoss(Loss):
    """The loss that a model computes as its first output, a floating-point scalar.

    An input that has the name of a value of the main graph reads that value as it is in training; the other inputs become
    inputs of the training step.  Functions of the loss model are added to the training model.
    """

    source: Model

    def build(self, context: LossContext) -> LossValues:
        loss_model = self.in_versions_of(context.model)
        names = context.b.fresh_names
        copier = Copier(
            {v: context.values[v.name] for v in loss_model.graph.inputs if v.name in context.values}
        )
        add_inputs(loss_model.graph, copier, context)
        for value in loss_model.graph.initializers.values():
            if value not in copier.values:
                copy = copier.value(value)
                copy.name = names.fresh(copy.name)
                context.b.graph.add_initializer(copy)
        for node in loss_model.graph.nodes:
            copy_node = context.b.graph.append(copier.node(node))
            rename_definitions(copy_node, Node(node.op_type), names)
        for key, function in loss_model.functions.items():
            if key in context.model.functions:
                raise InputError(
                    f"the loss and the model must not both define the function {function.label}", name="loss"
                )
            context.model.functions[key] = clone_function(function)
        return LossValues(
            context.b.Reshape(copier.resolve(self.result(loss_model, context)), context.b.integers([]))
        )

    def in_versions_of(self, model: Model) -> Model:
        """The loss in the operator sets of the model, with inferred types."""
        shared = self.source.opset_imports.keys() & model.opset_imports.keys()
        sets = {domain: model.opset_imports[domain] for domain in shared}
        result = convert(self.source, sets=sets) if sets else clone(self.source)
        for domain, version in result.opset_imports.items():
            model.opset_imports.setdefault(domain, version)
        return infer(result)

    def result(self, loss_model: Model, context: LossContext) -> Value:
        """The first output; raises InputError unless it is a scalar of the element type of the prediction."""
        output = next(iter(loss_model.graph.outputs), None)
        type = None if output is None else output.type
        if (
            output is None
            or not isinstance(type, TensorType)
            or type.dtype is not context.dtype
            or (type.shape is not None and any(d != 1 for d in type.shape))
        ):
            raise InputError(
                f"the first output of the loss must be a scalar of type {context.dtype.text}; got {type}",
                name="loss",
            )
        return output


def add_inputs(graph: Graph, copier: Copier, context: LossContext) -> None:
    """Adds those inputs of the loss to the training step that are not values of the main graph."""
    for value in graph.inputs:
        known = context.values.get(value.name)
        if known is not None:
            check_same_type(value, context)
            continue
        if not isinstance(value.type, TensorType) or value.type.shape is None:
            raise InputError(f"input {value.name!r} of the loss must be a tensor of known rank", name="loss")
        if value.name in context.b.fresh_names.taken:
            raise InputError(
                f"input {value.name!r} of the loss must not have a name that the training step uses",
                name="loss",
            )
        if value.initializer is None:
            context.b.fresh_names.taken.add(value.name)
            context.b.graph.add_input(copier.value(value))


def check_same_type(value: Value, context: LossContext) -> None:
    """Raises InputError unless an input of the loss has the element type of the value of the main graph."""
    actual, expected = context.types.get(value.name), value.type
    if isinstance(actual, TensorType) and isinstance(expected, TensorType):
        if actual.dtype is expected.dtype:
            return
        raise InputError(
            f"input {value.name!r} of the loss must be {actual.dtype.text}; got {expected.dtype.text}",
            name="loss",
        )
