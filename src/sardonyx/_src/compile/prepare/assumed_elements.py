"""Elements of inputs that a program is specialized for: nodes read constants instead of the inputs."""

from __future__ import annotations

from collections.abc import Iterable

from sardonyx._src.compile.program.steps.assumptions import ElementsObserved
from sardonyx._src.errors import InvalidModel
from sardonyx._src.ir import Model, Tensor, TensorType, Value
from sardonyx._src.ir.names import FreshNames


def assume_elements(model: Model, assumed: Iterable[ElementsObserved]) -> None:
    """Replaces the uses of inputs by constants; the inputs stay.

    Raises InvalidModel if the model has no such input.
    """
    names = FreshNames.of_graphs([model.graph])
    inputs = {value.name: value for value in model.graph.inputs}
    for elements in assumed:
        value = inputs.get(elements.input)
        if value is None:
            raise InvalidModel(f"the prepared model must have an input {elements.input!r}")
        tensor = Tensor.of(elements.array)
        constant = Value(
            names.fresh(f"elements of {value.name}"), TensorType(tensor.dtype, tensor.shape), tensor
        )
        model.graph.add_initializer(constant)
        for node, slot in tuple(value.uses):
            node.set_input(slot, constant)
