"""Scales of terms by what multiplies them, so that important terms are rounded more finely.

Lin et al., "AWQ: Activation-aware Weight Quantization for LLM Compression and Acceleration", 2023: the terms of a weight are
multiplied by powers of the magnitudes of the operand, and the operand is divided by them.  One exponent for all layers of
an operand is searched, by the error of their results after `quantize_clipped`, which rounds the scaled weights.  Here the magnitude is the root of the mean square.  The division is
folded into constants before the operand, where `equalization.scaling` proves that; other layers are not scaled.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from sardonyx._src.ir import Array, Model, Tensor, Value
from sardonyx._src.quantize.calibration import CalibrationData
from sardonyx._src.quantize.equalization.scaling import (
    CannotFold,
    FoldedConstant,
    fold_division,
    scale_constant,
    scaled,
)
from sardonyx._src.quantize.observation import observe_operands
from sardonyx._src.quantize.weights.clipped import quantize_clipped
from sardonyx._src.quantize.weights.columns import round_weight
from sardonyx._src.quantize.weights.grid import IntegerGrid
from sardonyx._src.quantize.weights.layers import WeightLayer
from sardonyx._src.quantize.weights.operands import OperandStatistics
from sardonyx._src.rewrite.engine.edit import Edit

EXPONENTS = np.linspace(0, 0.95, 20)  # as published: 0 leaves the weights as they are
SAMPLED_COLUMNS = 256  # of each layer, by which an exponent is chosen
LEAST_FACTOR = 1e-4  # of terms that nothing multiplies, over the others


def scale_layers(
    edit: Edit,
    model: Model,
    layers: Sequence[WeightLayer],
    data: CalibrationData,
    block: int,
    grid: IntegerGrid,
) -> dict[tuple[str, ...], str]:
    """Scales the weights of the edited model, which computes the same results; returns why layers are not scaled, by key.

    model: the model as it was, for runs.
    block: 0 for all terms.
    """
    reasons: dict[tuple[str, ...], str] = {}
    folds: dict[Value, list[FoldedConstant]] = {}
    groups: dict[Value, list[WeightLayer]] = {}
    for operand, group in groups_of_operands(layers, reasons).items():
        readers = {node for layer in group for node in layer.readers}
        try:
            folds[operand] = fold_division(edit, operand, readers, group[0].terms)
            groups[operand] = group
        except CannotFold as reason:
            reasons.update((layer.key, str(reason)) for layer in group)
    firsts = {group[0]: operand for operand, group in groups.items()}
    for first, statistics in observe_operands(model, list(firsts), data, with_moments=False):
        operand = firsts[first]
        assert statistics is not None, "these layers have operands"
        scales = best_scales(groups[operand], statistics, block, grid)
        for layer in groups[operand]:
            current = layer.weight.initializer  # which may have been divided for a later layer
            assert isinstance(current, Tensor), "groups have initializers only"
            scale_constant(edit, layer.weight, set(layer.readers), scaled(current, scales, layer.axis))
        for constant in folds[operand]:
            constant.scale(edit, 1 / scales)
    return reasons


def groups_of_operands(
    layers: Sequence[WeightLayer], reasons: dict[tuple[str, ...], str]
) -> Mapping[Value, list[WeightLayer]]:
    """The layers of each operand, which are scaled alike."""
    groups: dict[Value, list[WeightLayer]] = {}
    for layer in layers:
        operands = set(layer.operands)
        is_product = len(operands) == 1 and len(layer.operands) == len(layer.readers)
        if is_product and layer.weight.initializer is not None:
            groups.setdefault(operands.pop(), []).append(layer)
        else:
            reasons[layer.key] = "it is not a product of one operand with an initializer"
    return groups


def best_scales(
    layers: Sequence[WeightLayer], statistics: OperandStatistics, block: int, grid: IntegerGrid
) -> Array:
    """The factors of the terms, float32, with the least error of results: some columns of each layer, of sampled rows."""
    weights = [sample_columns(layer.matrix()) for layer in layers]
    costs = {}
    for scales in candidates(statistics):
        operand = OperandStatistics(statistics.rows / scales, statistics.squares / np.square(scales))
        noise = 0.0
        for weight in weights:
            part = weight * scales[:, None]
            noise += round_weight(quantize_clipped, part, block or len(part), grid, operand).noise
        costs[noise] = scales
    return costs[min(costs)]


def sample_columns(weight: Array) -> Array:
    """At most `SAMPLED_COLUMNS` columns, evenly, float32."""
    step = -(-weight.shape[1] // SAMPLED_COLUMNS)
    return np.asarray(weight[:, ::step], np.float32)


def candidates(statistics: OperandStatistics) -> Iterator[Array]:
    """The factors for each exponent, whose least and greatest are each other's inverse."""
    magnitudes = np.sqrt(statistics.squares)
    magnitudes = np.maximum(magnitudes / max(magnitudes.max(), np.finfo(np.float32).tiny), LEAST_FACTOR)
    for exponent in EXPONENTS:
        powers = magnitudes**exponent
        yield np.asarray(powers / np.sqrt(powers.max() * powers.min()), np.float32)
