"""How a layer is quantized, and the quantization of one layer after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.io.memory_release import release_pages
from sardonyx._src.ir import Model
from sardonyx._src.quantize.calibration import CalibrationData
from sardonyx._src.quantize.observation import observe_operands
from sardonyx._src.quantize.report.quality import decibels
from sardonyx._src.quantize.report.report import LayerReport
from sardonyx._src.quantize.schemes.scheme import require_finite
from sardonyx._src.quantize.weights.columns import Rounding, round_weight, sum_squares
from sardonyx._src.quantize.weights.grid import IntegerGrid
from sardonyx._src.quantize.weights.layers import WeightLayer
from sardonyx._src.quantize.weights.microsoft import replace_with_contrib
from sardonyx._src.quantize.weights.operands import OperandStatistics
from sardonyx._src.quantize.weights.outliers import can_split, outlier_terms, split_outliers
from sardonyx._src.quantize.weights.rewriting import replace_weight
from sardonyx._src.quantize.weights.table import ALGORITHMS
from sardonyx._src.rewrite.engine.edit import Edit


@dataclass(frozen=True, slots=True)
class WeightRounding:
    """How weights are rounded.

    algorithm: a name of `ALGORITHMS`.
    block: terms of a sum that share a scale; 0 for all of a column.
    is_contrib: whether products and tables become operators of com.microsoft.
    outliers: the share of terms of MatMul whose weights stay floats.
    """

    algorithm: str
    block: int
    grid: IntegerGrid
    is_contrib: bool = False
    outliers: float = 0.0

    def block_of(self, layer: WeightLayer) -> int:
        return layer.terms if layer.is_per_channel or not self.block else self.block

    def title(self, scheme: str) -> str:
        blocks = f"blocks of {self.block}" if self.block else "columns"
        return f"{scheme}, {self.algorithm}, {blocks}"

    def bytes_of(self, layer: WeightLayer) -> int:
        """The bytes of a layer's integers, scales and zero points."""
        terms, size = layer.terms, layer.tensor.size
        scales = -(-terms // self.block_of(layer)) * (size // terms)
        zero_bits = 0 if self.grid.symmetric else self.grid.bits
        return (size * self.grid.bits + scales * ((layer.tensor.dtype.bits or 0) + zero_bits) + 7) // 8

    def round(self, layer: WeightLayer, statistics: OperandStatistics | None) -> Rounding:
        """The quantized weight of a layer; the pages of its file are released afterwards."""
        entry = ALGORITHMS[self.algorithm]
        weight = layer.matrix()
        result = round_weight(entry.round, weight, self.block_of(layer), self.grid, statistics)
        release_pages(layer.tensor.numpy())
        return result

    def replace(self, edit: Edit, layer: WeightLayer, rounding: Rounding) -> None:
        write = replace_with_contrib if self.is_contrib else replace_weight
        write(edit, layer, rounding.weight, self.grid)

    def apply(self, edit: Edit, layer: WeightLayer, statistics: OperandStatistics | None) -> Rounding:
        """Quantizes a layer of the edited model."""
        if self.outliers and can_split(edit, layer):
            return self.apply_split(edit, layer, statistics)
        rounding = self.round(layer, statistics)
        self.replace(edit, layer, rounding)
        return rounding

    def apply_split(self, edit: Edit, layer: WeightLayer, statistics: OperandStatistics | None) -> Rounding:
        """As `apply`, with outliers; the signal is that of all terms."""
        weight = layer.matrix().astype(np.float32)
        terms = outlier_terms(weight, self.outliers, self.block_of(layer), statistics)
        signal = sum_squares(weight if statistics is None else statistics.rows @ weight)
        weight[terms] = 0
        run = ALGORITHMS[self.algorithm].round
        rounding = round_weight(run, weight, self.block_of(layer), self.grid, statistics)
        self.replace(edit, split_outliers(edit, layer, terms), rounding)
        release_pages(layer.tensor.numpy())
        return replace(rounding, signal=signal)


def quantize_layers(
    edit: Edit,
    model: Model,
    roundings: Mapping[WeightLayer, WeightRounding],
    data: CalibrationData,
    progress: Callable[[int, int], None],
) -> list[LayerReport]:
    """Quantizes one layer after the other, so that few weights are in memory.

    Raises InputError for weights and operands that are not finite.
    """
    reports = []
    with_moments = any(ALGORITHMS[rounding.algorithm].with_moments for rounding in roundings.values())
    layers: Sequence[WeightLayer] = list(roundings)
    for layer, statistics in observe_operands(model, layers, data, with_moments=with_moments):
        require_finite_layer(layer, statistics)
        how = roundings[layer]
        rounding = how.apply(edit, layer, statistics)
        ratio = decibels(rounding.signal, rounding.noise)
        reports.append(LayerReport(layer.name, layer.tensor.shape, ratio, how.grid.bits))
        progress(len(reports), len(layers))
    return reports


def require_finite_layer(layer: WeightLayer, statistics: OperandStatistics | None) -> None:
    require_finite("model", f"the weight of {layer.name!r}", layer.tensor.numpy())
    if statistics is not None:
        require_finite("data", f"what the runs give the layer {layer.name!r}", statistics.squares)
