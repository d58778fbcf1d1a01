"""The error of quantized models: of each output over the calibration data, and of each layer."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Array, Model
from sardonyx._src.quantize.calibration import CalibrationData, feeds_in_types
from sardonyx._src.quantize.sessions import open_session


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
        """Adds the error of a run; that of another shape, which elements have decided, is no number.

        Infinities and NaN that are the same in both have no error.
        """
        if expected.shape != actual.shape:
            self.noise = self.largest = math.nan
            return
        wide, narrow = expected.astype(np.float64), actual.astype(np.float64)
        is_same = (wide == narrow) | (np.isnan(wide) & np.isnan(narrow))
        error = np.subtract(narrow, wide, where=~is_same, out=np.zeros(np.shape(wide)))
        wide = np.where(np.isfinite(wide), wide, 0.0)
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
    """The errors of the outputs of floats, over all runs.

    One model is in memory at a time, with the outputs of the original.
    """
    sums: dict[str, ErrorSums] = {}
    expected = run_all(original, data)
    for exact, actual in zip(list(expected), run_all(changed, data), strict=True):
        for name, value in exact.items():
            sums.setdefault(name, ErrorSums()).add(value, actual[name])
    return [item.error(name) for name, item in sums.items()]


def run_all(model: Model, data: CalibrationData) -> Iterator[dict[str, Array]]:
    """The outputs of floats of each run."""
    with open_session(model) as session:
        for feeds in data.runs:
            outputs = session.run(feeds_in_types(model, feeds)).items()
            yield {name: x for name, x in outputs if isinstance(x, np.ndarray) and is_float(x)}


def is_float(array: Array) -> bool:
    return array.dtype.kind == "f" or "float" in array.dtype.name
