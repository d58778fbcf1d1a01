"""The share of each layer in the final error: the error of the outputs if it alone were quantized."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from sardonyx._src.ir import Array, Model
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.quantize.calibration import CalibrationData
from sardonyx._src.quantize.report.latency import MAX_BYTES_TOGETHER
from sardonyx._src.quantize.report.quality import ErrorSums, decibels, is_float
from sardonyx._src.quantize.report.report import LayerReport
from sardonyx._src.quantize.report.switches import SwitchedModel
from sardonyx._src.quantize.sessions import open_session, tensor_bytes

FIRST_OPSET = 9  # the first whose Where selects between tensors
MAX_RUNS = 64  # of all layers together, but at least one of each: a run takes as long as one of both models


def with_shares(
    original: Model, quantized: Model, layers: Sequence[LayerReport], data: CalibrationData
) -> list[LayerReport]:
    """The reports with the error of the outputs if only that layer were quantized, and its share of the sum of these.

    All runs are of one program, which computes both forms of each layer.  Layers of subgraphs and functions, layers whose
    results the original does not compute, and those of models that are too large for memory, have none.
    """
    is_large = tensor_bytes(original) + tensor_bytes(quantized) > MAX_BYTES_TOGETHER
    if not layers or is_large or original.opset_imports.get("", 0) < FIRST_OPSET:
        return list(layers)
    switched = SwitchedModel(original, quantized, [layer.layer for layer in layers])
    ratios = alone_ratios(switched, data.runs[: max(1, MAX_RUNS // len(layers))])
    total = sum(ratios.values())
    if not total:
        return list(layers)
    return [with_share(layer, ratios.get(layer.layer), total) for layer in layers]


def with_share(layer: LayerReport, own: float | None, total: float) -> LayerReport:
    return layer if own is None else replace(layer, alone=decibels(1, own), share=own / total)


def alone_ratios(switched: SwitchedModel, runs: Sequence[Mapping[str, RuntimeValue]]) -> dict[str, float]:
    """The noise of the worst output, of its signal, with one switch on, by layer; those that are no number are left out."""
    if not switched.switches:
        return {}
    sums: dict[str, dict[str, ErrorSums]] = {layer: {} for layer in switched.switches}
    off = dict.fromkeys(switched.switches.values(), np.array(False))
    with open_session(switched.model) as session:

        def outputs(feeds: Mapping[str, RuntimeValue], switches: Mapping[str, Array]) -> dict[str, Array]:
            session.reseed(0)  # so that random operators draw the same in each run
            values = session.run({**feeds, **switches})
            return {name: x for name, x in values.items() if isinstance(x, np.ndarray) and is_float(x)}

        for feeds in runs:
            expected = outputs(feeds, off)
            for layer, switch in switched.switches.items():
                for name, value in outputs(feeds, {**off, switch: np.array(True)}).items():
                    sums[layer].setdefault(name, ErrorSums()).add(expected[name], value)
    ratios = {
        layer: max((ratio(item) for item in named.values()), default=math.nan)
        for layer, named in sums.items()
    }
    return {layer: value for layer, value in ratios.items() if math.isfinite(value)}


def ratio(sums: ErrorSums) -> float:
    return sums.noise / sums.signal if sums.signal else (math.inf if sums.noise else 0.0)
