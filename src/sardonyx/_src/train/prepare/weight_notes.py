"""Notes on how an exporter changed the weights: constants that are not trained, and equal weights merged to one initializer."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sardonyx._src.ir import Model, Tensor, Value
from sardonyx._src.ir.model import Note
from sardonyx._src.tools.reachability import BackwardSlice
from sardonyx._src.train.prepare.parameters import ParameterFinder
from sardonyx._src.train.prepare.weight_positions import is_quantization_parameter, is_running_statistic

MAX_NAMES = 3  # initializers that a note names


def note_weights(model: Model, prediction: Value, weights: Collection[Value]) -> None:
    """Adds the notes on the initializers of the main graph that the prediction depends on."""
    needed, finder = BackwardSlice(()), ParameterFinder(model)
    needed.add([prediction])
    constants = [
        value
        for value in model.graph.initializers.values()
        if value in needed.values and value not in weights and is_large_float(value)
        and not any(is_running_statistic(*use) or is_quantization_parameter(*use) for use in value.uses)
        and not finder.is_parameter(value)
    ]  # fmt: skip
    if constants:
        text = f"{names_of(constants)} taken for constants, not for weights; give their names as trainable to train them"
        model.notes.append(Note("graph", text))
    merged = [value for value in weights if is_merged(value)]
    if merged:
        text = (
            f"{names_of(merged)} read by several layers and uniform: an exporter writes equal weights as one, and training "
            "keeps them equal; to train them apart, export the model in training mode"
        )
        model.notes.append(Note("graph", text))


def is_large_float(value: Value) -> bool:
    """Whether an initializer has more than one floating-point element."""
    tensor = value.initializer
    return isinstance(tensor, Tensor) and tensor.dtype.is_float and tensor.size > 1


def is_merged(value: Value) -> bool:
    """Whether an exporter may have merged weights: several nodes read one whose elements are equal, as new norms have them."""
    tensor = value.initializer
    if not isinstance(tensor, Tensor) or tensor.size < 2 or len(value.uses) < 2:
        return False
    elements = tensor.numpy().reshape(-1)
    return bool((elements == elements[0]).all())


def names_of(values: Sequence[Value]) -> str:
    """The number of values and the names of the first ones, as the subject of a sentence."""
    names = ", ".join(repr(value.name) for value in values[:MAX_NAMES])
    more = ", ..." if len(values) > MAX_NAMES else ""
    return f"{len(values)} initializers ({names}{more}) are" if len(values) > 1 else f"initializer {names} is"
