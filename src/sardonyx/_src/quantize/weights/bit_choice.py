"""How many bits each layer gets: steps to fewer bits, in the order of the error that they add for each byte, or second, that they save.

The error of a layer is the share of noise in its result, by the calibration data, if its operands are exact; those of several
layers are added up.  Of the choices of one layer only those on the lower convex hull of errors over costs are steps, so
that the steps of a layer come in their order (Everett, "Generalized Lagrange Multiplier Method", 1963, for such budgets).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Model
from sardonyx._src.quantize.calibration import CalibrationData
from sardonyx._src.quantize.observation import observe_operands
from sardonyx._src.quantize.weights.layers import WeightLayer
from sardonyx._src.quantize.weights.rounding import WeightRounding, require_finite_layer
from sardonyx._src.quantize.weights.table import ALGORITHMS


@dataclass(frozen=True, slots=True)
class BitStep:
    """A layer gets fewer bits.

    added: the error that this adds.
    saved: the cost that it saves, in bytes or seconds.
    """

    layer: WeightLayer
    rounding: WeightRounding
    added: float
    saved: float


# The cost of a layer that is rounded so, or of its floats for None, in bytes or seconds.
Cost: TypeAlias = Callable[[WeightLayer, "WeightRounding | None"], float]


def bytes_of(layer: WeightLayer, rounding: WeightRounding | None) -> float:
    return layer.tensor.nbytes if rounding is None else rounding.bytes_of(layer)


def find_steps(
    model: Model,
    choices: Mapping[WeightLayer, Sequence[WeightRounding]],
    data: CalibrationData,
    progress: Callable[[int, int], None],
    cost: Cost = bytes_of,
) -> list[BitStep]:
    """The steps of all layers, the ones of least error for each byte or second first.

    choices: how each layer can be quantized.
    """
    steps: list[BitStep] = []
    layers = [layer for layer, roundings in choices.items() if roundings]
    names = {rounding.algorithm for layer in layers for rounding in choices[layer]}
    with_moments = any(ALGORITHMS[name].with_moments for name in names)
    observed = observe_operands(model, layers, data, with_moments=with_moments)
    for number, (layer, statistics) in enumerate(observed):
        require_finite_layer(layer, statistics)
        errors = {}
        for rounding in choices[layer]:
            sums = rounding.round(layer, statistics)
            errors[rounding] = sums.noise / sums.signal if sums.signal else 0.0
        steps += hull_steps(layer, errors, cost)
        progress(number + 1, len(layers))
    return sorted(steps, key=lambda step: step.added / step.saved)


def hull_steps(
    layer: WeightLayer, errors: Mapping[WeightRounding, float], cost: Cost = bytes_of
) -> Iterator[BitStep]:
    """The steps of one layer, from its floats on."""
    size, error = cost(layer, None), 0.0
    while True:
        steps = [
            BitStep(layer, rounding, later - error, size - cost(layer, rounding))
            for rounding, later in errors.items()
            if cost(layer, rounding) < size
        ]
        if not steps:
            return
        best = min(steps, key=lambda step: (step.added / step.saved, -step.saved))
        yield best
        size, error = size - best.saved, error + best.added
