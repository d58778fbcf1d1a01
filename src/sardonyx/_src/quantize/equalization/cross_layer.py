"""Cross-layer equalization: the channels between two layers get weights of equal ranges on both sides.

Nagel et al., "Data-Free Quantization Through Weight Equalization and Bias Correction", 2019: with r1 and r2 the greatest
magnitudes of a channel's weights in the first and in the second layer, its output is divided by sqrt(r1 / r2).  Between the
layers there is nothing, or an operator f with f(s x) = s f(x) for positive s.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sardonyx._src.ir import Array, Model
from sardonyx._src.quantize.activations.choice import layers_of_keys
from sardonyx._src.quantize.activations.layers import BIAS, WEIGHT, ProductLayer
from sardonyx._src.quantize.activations.parameters import along
from sardonyx._src.quantize.equalization.scaling import (
    by_input_channel,
    layers_that_read,
    replace_constant,
    replace_weight,
    scale_inputs,
)
from sardonyx._src.rewrite.engine.edit import Edit

HOMOGENEOUS = ("Relu", "LeakyRelu", "MaxPool")
SWEEPS = 10  # over all pairs: layers of a chain are in two of them
LEAST_CHANGE = 0.01  # of any factor in a sweep, at which the ranges are equal enough
FACTORS = (1e-3, 1e3)  # channels that hardly have weights are not scaled beyond


def equalize_cross_layer(model: Model, keys: list[str]) -> Model:
    """A copy that computes the same, whose neighboring layers of these keys have weights of equal ranges."""
    result = model.copy()
    for _ in range(SWEEPS):
        edit = Edit(result)
        pairs = list(neighbors(edit, layers_of_keys(edit, keys)))
        changes = [equalize_pair(edit, first, second) for first, second in pairs]
        if max(changes, default=0.0) < LEAST_CHANGE:
            break
    return result


def neighbors(edit: Edit, layers: list[ProductLayer]) -> Iterator[tuple[ProductLayer, ProductLayer]]:
    """Pairs of layers, of which the second one alone reads the first one's results."""
    firsts = {layer.node.outputs[0]: layer for layer in layers}
    for second in layers:
        value = second.operand
        while (
            edit.has_one_use(value) and value.producer is not None and value.producer.op_type in HOMOGENEOUS
        ):
            source = value.producer.inputs[0]
            assert source is not None, "the operator has an operand"
            value = source
        first = firsts.get(value)
        if first is None or not edit.has_one_use(value):
            continue
        if layers_that_read(layers, second.operand) == [second] and has_channels(first, second):
            yield first, second


def has_channels(first: ProductLayer, second: ProductLayer) -> bool:
    """Whether the constants of both layers can be scaled along the channels between them."""
    has_open_bias = (
        len(first.node.inputs) > BIAS and first.node.inputs[BIAS] is not None and first.bias is None
    )
    return first.is_convolution == second.is_convolution and not has_open_bias


def equalize_pair(edit: Edit, first: ProductLayer, second: ProductLayer) -> float:
    """Scales both weights; returns the greatest change of a factor."""
    weight, other = current(edit, first, WEIGHT), current(edit, second, WEIGHT)
    assert weight is not None and other is not None, "layers have constant weights"
    others = tuple(i for i in range(weight.ndim) if i != first.axis)
    before, after = np.abs(weight).max(axis=others), by_input_channel(edit, second, other)
    if before.shape != after.shape:
        return 0.0
    is_used = (before > 0) & (after > 0)
    ratios = np.divide(before, after, out=np.ones_like(before), where=is_used)
    factors = np.clip(np.sqrt(ratios), *FACTORS).astype(np.float32)
    replace_weight(edit, first, weight / along(factors, weight.ndim, first.axis))
    bias = current(edit, first, BIAS)
    if bias is not None:
        replace_constant(edit, first.node, BIAS, bias / factors)
    replace_weight(edit, second, scale_inputs(edit, second, other, factors))
    return float(np.abs(factors - 1).max())


def current(edit: Edit, layer: ProductLayer, slot: int) -> Array | None:
    """The constant that a layer reads now: an earlier pair may have scaled it."""
    return edit.constant(layer.node.inputs[slot]) if len(layer.node.inputs) > slot else None
