"""The algorithms that round weights, by name."""

from __future__ import annotations

from collections.abc import Mapping

from sardonyx._src.dataclass import dataclass
from sardonyx._src.quantize.weights.adaround import quantize_adaround
from sardonyx._src.quantize.weights.algorithm import Algorithm
from sardonyx._src.quantize.weights.clipped import quantize_clipped
from sardonyx._src.quantize.weights.gptq import quantize_gptq
from sardonyx._src.quantize.weights.hqq import quantize_hqq
from sardonyx._src.quantize.weights.nearest import quantize_nearest


@dataclass(frozen=True, slots=True)
class AlgorithmEntry:
    """An algorithm of the table.

    with_moments: whether it uses the moments of what multiplies a weight, whose memory grows with the square of the terms.
    with_scales: whether terms are scaled before, by `awq`.
    """

    round: Algorithm
    with_moments: bool = False
    with_scales: bool = False


ALGORITHMS: Mapping[str, AlgorithmEntry] = {
    "nearest": AlgorithmEntry(quantize_nearest),
    "clipped": AlgorithmEntry(quantize_clipped),
    "hqq": AlgorithmEntry(quantize_hqq),
    "awq": AlgorithmEntry(quantize_clipped, with_scales=True),
    "gptq": AlgorithmEntry(quantize_gptq, with_moments=True),
    "adaround": AlgorithmEntry(quantize_adaround, with_moments=True),
}
