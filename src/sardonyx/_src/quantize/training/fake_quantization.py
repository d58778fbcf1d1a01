"""Fake quantization: a model in floats that computes with the rounded weights and activations of a quantized one.

A weight, and with "int8" the operand of a layer, is read through QuantizeLinear and DequantizeLinear, whose gradients go
straight through rounding, and are 0 for what the integers do not reach (Bengio et al., "Estimating or propagating gradients
through stochastic neurons", 2013; Jacob et al., "Quantization and training of neural networks for efficient
integer-arithmetic-only inference", 2018).  Training changes the floats so that the rounded ones become good weights.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from sardonyx._src.arguments import require_choice, texts_of
from sardonyx._src.errors import InputError
from sardonyx._src.io.loading.load import ModelSource, resolve_model
from sardonyx._src.ir import Model, Node, Value
from sardonyx._src.quantize.activations.choice import choose_layers, layers_of_keys
from sardonyx._src.quantize.activations.constants import replace_input
from sardonyx._src.quantize.activations.layers import WEIGHT
from sardonyx._src.quantize.activations.parameters import integer_weight
from sardonyx._src.quantize.activations.rewriting import insert_pairs
from sardonyx._src.quantize.calibration import CalibrationData, CalibrationSource, calibration_data
from sardonyx._src.quantize.calibration_columns import ColumnMap
from sardonyx._src.quantize.observation import observe_operands
from sardonyx._src.quantize.preparation import prepare
from sardonyx._src.quantize.schemes import int8, weights
from sardonyx._src.quantize.schemes.int8_options import StaticOptions
from sardonyx._src.quantize.schemes.scheme import LayerPatterns, SchemeSettings
from sardonyx._src.quantize.schemes.table import SCHEMES
from sardonyx._src.quantize.weights.layers import first_in_root
from sardonyx._src.quantize.weights.rewriting import parameters_of
from sardonyx._src.quantize.weights.rounding import WeightRounding
from sardonyx._src.rewrite.engine.edit import Edit
from sardonyx._src.rewrite.engine.view import View
from sardonyx._src.rewrite.optimize import optimize

BITS = {"int4": 4, "int8-weights": 8}  # of the schemes of weights alone
FAKE_SCHEMES = (*BITS, "int8")
# The algorithms that choose scales; others choose integers, which training moves.
ROUNDINGS = ("nearest", "clipped", "hqq")


def add_fake_quantization(
    model: ModelSource,
    scheme: str = "int8",
    *,
    data: CalibrationSource | None = None,
    columns: ColumnMap | None = None,
    algorithm: str | None = None,
    block: int | None = None,
    symmetric: bool | None = None,
    ranges: str | None = None,
    activations: str | None = None,
    nodes: Iterable[str] = (),
    exclude: Iterable[str] = (),
    seed: int = 0,
    dims: Mapping[str, int] | None = None,
) -> Model:
    """A copy of a model whose layers compute with the numbers that integers stand for, and whose weights can be trained.

    `sx.train.prepare` and `sx.train.fit` train it, and `fold_fake_quantization` makes the quantized model of the result.

    scheme: "int4" or "int8-weights": weights of 4 or 8 bits; "int8": weights and activations of 8 bits.
    data, columns, block, symmetric, ranges, activations, nodes, exclude, seed, dims: as for `sx.quantize`.  Scales and zero
        points are those of the calibration data; training leaves them, unless their names are given as `trainable`: then they
        are learned (Esser et al., "Learned step size quantization", 2020).
    algorithm: "nearest", "clipped" (the default) or "hqq", which choose the scales.

    Weights of subgraphs and functions stay as they are, and so do biases.  For "int8" the model is optimized before, which
    folds BatchNormalization into convolutions.
    Raises InputError for wrong arguments and data, for a model without a layer that can be quantized, and what sessions raise.
    """
    require_choice("scheme", scheme, FAKE_SCHEMES)
    patterns = LayerPatterns(texts_of("nodes", nodes), texts_of("exclude", exclude))
    if algorithm is not None:
        require_choice("algorithm", algorithm, ROUNDINGS)
    settings = SchemeSettings(
        scheme,
        patterns,
        True,
        lambda done, total: None,
        algorithm=algorithm,
        block=block,
        symmetric=symmetric,
        ranges=ranges,
        activations=activations,
    )
    prepared = prepare(resolve_model(model), SCHEMES[scheme].operator_set)
    runs = calibration_data(prepared, data, seed, dims, columns)
    if scheme == "int8":
        return fake_activations(optimize(prepared), runs, settings)
    return fake_weights(prepared, runs, weights.rounding_of(settings, BITS[scheme]), patterns)


def fake_weights(
    model: Model, data: CalibrationData, rounding: WeightRounding, patterns: LayerPatterns
) -> Model:
    """A copy whose layers read their weights through pairs."""
    result = model.copy()
    edit = Edit(result)
    layers, _ = weights.choose_layers(edit, patterns, rounding)
    graph = result.graph
    own = [layer for layer in layers if all(node.graph is graph for node in layer.readers)]
    require_layers(own)
    for layer, statistics in observe_operands(model, own, data, with_moments=False):
        quantized = rounding.round(layer, statistics).weight
        first = first_in_root(layer.readers)
        grid = rounding.grid
        constants = parameters_of(edit, layer, quantized, grid, first, with_zero_points=True)
        block = None if layer.is_per_channel else quantized.block
        value = pair_of(edit, layer.weight, constants, {"axis": layer.axis, "block_size": block}, first)
        for reader in layer.readers:
            edit.update(reader, inputs=[value if old is layer.weight else old for old in reader.inputs])
    return result


def fake_activations(model: Model, data: CalibrationData, settings: SchemeSettings) -> Model:
    """A copy whose layers read their operands and weights through pairs."""
    chosen, _ = choose_layers(View(model), settings.patterns)
    require_layers(chosen)
    subject = int8.observe(model, chosen, data, StaticOptions.of(settings, is_random=data.is_random))
    edit = Edit(model.copy())
    layers = layers_of_keys(edit, subject.keys)
    parameters = insert_pairs(edit, layers, subject.plan, ())
    for layer in layers:
        numbers, name = layer.tensor.numpy(), layer.weight.name
        bias = None if layer.bias is None else layer.bias.numpy()
        scales = integer_weight(numbers, layer.axis, bias, parameters[layer.operand]).scales
        zero_points = np.zeros(scales.shape, np.int8)
        constants = [
            edit.make_constant(scales, f"{name}_scale", before=layer.node),
            edit.make_constant(zero_points, f"{name}_zero_point", before=layer.node),
        ]
        value = pair_of(edit, layer.weight, constants, {"axis": layer.axis}, layer.node)
        replace_input(edit, layer.node, WEIGHT, value)
    return edit.model


def pair_of(
    edit: Edit,
    value: Value,
    constants: Sequence[Value],
    attributes: Mapping[str, object],
    before: Node,
) -> Value:
    """A value through QuantizeLinear and DequantizeLinear."""
    for op_type, suffix in (("QuantizeLinear", "quantized"), ("DequantizeLinear", "dequantized")):
        stem = value.name.removesuffix("_quantized")
        node = edit.make(
            op_type, [value, *constants], attributes, before=before, value_names=[f"{stem}_{suffix}"]
        )
        value = node.outputs[0]
    return value


def require_layers(layers: Sequence[object]) -> None:
    if not layers:
        raise InputError("the model must have a layer that can be quantized; it has none", name="model")
