"""What a quantization did: errors, sizes and times, layer by layer and for the whole model."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Model
from sardonyx._src.measure.quantities import pluralize, quantity
from sardonyx._src.quantize.report.quality import OutputQuality

SLOWER = 0.95  # of the speed of the original: a smaller difference is noise


@dataclass(frozen=True, slots=True)
class LayerReport:
    """A layer that was quantized.

    layer: the name of its first node.
    shape: of its weight; empty for none.
    signal_to_noise: the ratio of its result and of the result's error over the calibration data, in decibels, if its operands
        are exact.
    bits: of the integers of its weight, where layers may differ; else 0.
    note: what was left out of the algorithm, and why; "" for nothing.
    alone: the ratio of signal to noise of the worst output if this layer alone were quantized, in decibels; NaN if that was not
        measured.
    share: the noise of that output, of the sum over all layers: a share of the final error.
    """

    layer: str
    shape: tuple[int, ...]
    signal_to_noise: float
    bits: int = 0
    note: str = ""
    alone: float = math.nan
    share: float = math.nan


@dataclass(frozen=True, slots=True)
class KeptLayer:
    """A layer that stays as it is, and why."""

    layer: str
    why: str


@dataclass(frozen=True, slots=True)
class QuantizationReport:
    """What a quantization did.

    scheme: what was asked for, with the algorithm.
    layers: the layers that were quantized.
    kept: the layers that stay as they are, and why.
    outputs: the errors of the outputs over the calibration data; none if no layer was quantized.
    runs: the number of runs with calibration data.
    is_random: whether these data are random, so that errors say little about real ones.
    bytes: of all tensors, before and after.
    seconds: the median of a run on this machine, before and after; NaN if it was not measured, or no layer was quantized.
    """

    scheme: str
    layers: Sequence[LayerReport]
    kept: Sequence[KeptLayer]
    outputs: Sequence[OutputQuality]
    runs: int
    is_random: bool
    bytes: tuple[int, int]
    seconds: tuple[float, float]

    @property
    def speed(self) -> float:
        """The speed of the quantized model, of that of the original."""
        return self.seconds[0] / self.seconds[1]

    def summary(self) -> Iterator[str]:
        """The lines of the report but for the layers that were quantized."""
        before, after = (quantity(size, "B") for size in self.bytes)
        yield f"{self.scheme}: {pluralize(len(self.layers), 'layer')} quantized, {len(self.kept)} left as they are"
        yield f"size of the weights: {before} -> {after} ({self.bytes[1] / max(self.bytes[0], 1):.0%})"
        first, second = (1e3 * value for value in self.seconds)
        if not math.isnan(first):
            yield f"a run on this machine: {first:.3g} ms -> {second:.3g} ms ({self.speed:.2f} times as fast)"
        if self.speed < SLOWER:
            yield "slower on this machine than the original: use it for its size, or on other machines"
        data = "random data, which say little" if self.is_random else pluralize(self.runs, "run")
        for output in self.outputs:
            classes = (
                "" if math.isnan(output.changed_classes) else f", other class: {output.changed_classes:.2%}"
            )
            yield (
                f"output {output.name}: {output.signal_to_noise:.1f} dB, at most {output.largest:.3g} off{classes} ({data})"
            )
        for omission in self.kept:
            yield f"as it is: {omission.layer}: {omission.why}"

    def rows(self) -> list[tuple[str, ...]]:
        """The rows of the table of layers, those with the largest shares of the error first."""
        ordered = sorted(self.layers, key=lambda item: (-finite(item.share), item.signal_to_noise))
        return [
            (
                "" if math.isnan(item.share) else f"{item.share:.1%}",
                "" if math.isnan(item.alone) else f"{item.alone:.1f}",
                f"{item.signal_to_noise:.1f}",
                str(item.bits or ""),
                " x ".join(map(str, item.shape)),
                item.layer,
            )
            for item in ordered
        ]

    def as_json(self) -> dict[str, object]:
        """The report as numbers, strings, lists and dicts; null for numbers that are not finite."""
        return {name: jsonable(value) for name, value in asdict(self).items()}

    def __str__(self) -> str:
        return "\n".join(self.summary())


@dataclass(frozen=True, slots=True)
class Quantization:
    """A quantized model, with the report of its errors, sizes and times."""

    model: Model
    report: QuantizationReport


def finite(share: float) -> float:
    return share if math.isfinite(share) else 0.0


def jsonable(value: object) -> object:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: jsonable(item) for key, item in value.items()}
    return [jsonable(item) for item in value] if isinstance(value, list | tuple) else value
