"""Layers that are slower here in integers, measured alone, and models that are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from sardonyx._src.ir import Array, Model
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.quantize.activations.layers import ProductLayer
from sardonyx._src.quantize.layers_measured_alone import TOLERANCE, slower_alone
from sardonyx._src.quantize.report.latency import latencies
from sardonyx._src.quantize.report.report import KeptLayer
from sardonyx._src.tools.extract import extract

# A layer alone, in floats, with its operand: the layer in integers, and its feeds.
IntegerForm = Callable[[Model, ProductLayer, Array], tuple[Model, Mapping[str, RuntimeValue]]]


def slower_layers(
    model: Model, layers: Sequence[ProductLayer], feeds: Mapping[str, RuntimeValue], form: IntegerForm
) -> Iterator[tuple[ProductLayer, KeptLayer]]:
    """The layers that take longer in integers, for operands as those of a run with these feeds.

    Layers of equal operators, attributes and shapes are measured once.
    """
    operands = {layer: layer.operand.name for layer in layers}
    return slower_alone(model, operands, feeds, signature_of, partial(time_ratio, model, form))


def signature_of(layer: ProductLayer) -> object:
    attributes = sorted((name, repr(attribute.value)) for name, attribute in layer.node.attributes.items())
    return layer.node.op_type, tuple(attributes), layer.tensor.shape, layer.bias is None


def time_ratio(model: Model, form: IntegerForm, layer: ProductLayer, operand: Array) -> float:
    """The time of a layer in integers, of that in floats."""
    alone = extract(model, inputs=[layer.operand.name], outputs=[layer.key])
    integer, feeds = form(alone, layer, operand)
    before, after = latencies((alone, integer), ({layer.operand.name: operand}, feeds))
    return after / before


def slower_model(model: Model, changed: Model, feeds: Mapping[str, RuntimeValue]) -> str:
    """Why no layer of a model is quantized: the result is slower; "" if it is not."""
    before, after = latencies((model, changed), (feeds, feeds))
    return (
        f"the whole model is slower here: {before / after:.2f} times as fast"
        if after > TOLERANCE * before
        else ""
    )
