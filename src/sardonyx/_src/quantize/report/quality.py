"""The error of quantized models: of each output over the calibration data, and of each layer."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Array, Model
from sardonyx._src.quantize.calibration import CalibrationData
from sardonyx._src.runtime.session.session import Session


@dataclass(frozen=True, slots=True)
class OutputQuality:
    """The error of an output of floats.

    signal_to_noise: the ratio of the sums of squares of the output and of its error, in decibels; infinite without error.
    largest: the largest absolute difference.
    changed_classes: the share of rows whose largest element is at another place; NaN for outputs of no rows.
    """

    name: str
    signal_to_noise: float
    largest: float
    changed_classes: float


class ErrorSums:
    """Sums over the runs of one output."""

    def __init__(self) -> None:
        self.signal = self.noise = self.largest = 0.0
        self.rows = self.changed = 0

    def add(self, expected: Array, actual: Array) -> None:
        """Adds the error of a run; that of another shape, which elements have decided, is no number."""
        if expected.shape != actual.shape:
            self.noise = self.largest = math.nan
            return
        wide, error = expected.astype(np.float64), actual.astype(np.float64) - expected.astype(np.float64)
        self.signal += float(np.vdot(wide, wide))
        self.noise += float(np.vdot(error, error))
        self.largest = max(self.largest, float(np.abs(error).max(initial=0.0)))
        if expected.ndim and expected.shape[-1] > 1 and expected.size:
            places = [array.reshape(-1, array.shape[-1]).argmax(axis=1) for array in (expected, actual)]
            self.rows += len(places[0])
            self.changed += int(np.count_nonzero(places[0] != places[1]))

    def error(self, name: str) -> OutputQuality:
        share = self.changed / self.rows if self.rows else math.nan
        return OutputQuality(name, decibels(self.signal, self.noise), self.largest, share)


def decibels(signal: float, noise: float) -> float:
    """A ratio of sums of squares in decibels; infinite without noise, NaN where either is none."""
    if math.isnan(noise) or math.isnan(signal):
        return math.nan
    return 10 * math.log10(signal / noise) if noise and signal else (-math.inf if noise else math.inf)


def output_errors(original: Model, changed: Model, data: CalibrationData) -> list[OutputQuality]:
    """The errors of the outputs of floats, over all runs."""
    sessions: Sequence[Session] = [Session(model, shapes="off", seed=0) for model in (original, changed)]
    sums: dict[str, ErrorSums] = {}
    for feeds in data.runs:
        expected, actual = (session.run(feeds) for session in sessions)
        for name, value in expected.items():
            if isinstance(value, np.ndarray) and is_float(value):
                sums.setdefault(name, ErrorSums()).add(value, np.asarray(actual[name]))
    return [item.error(name) for name, item in sums.items()]


def is_float(array: Array) -> bool:
    return array.dtype.kind == "f" or "float" in array.dtype.name


def layer_error(weight: Array, quantized: Array, moments: Array | None) -> float:
    """The ratio of a layer's result and of its error, in decibels: by its moments, or by the weights alone without them."""
    error = quantized.astype(np.float64) - weight
    if moments is None:
        return decibels(float(np.vdot(weight, weight)), float(np.vdot(error, error)))
    return decibels(energy(weight.astype(np.float64), moments), energy(error, moments))


def energy(weight: Array, moments: Array) -> float:
    """The sum of squares of products of all rows with a weight."""
    return max(float(np.einsum("ij,ij->", weight, moments @ weight)), 0.0)
