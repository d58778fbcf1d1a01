"""Layers in another form, each measured alone with the operand that a run gives it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Protocol, TypeVar

import numpy as np

from sardonyx._src.ir import Array, Model
from sardonyx._src.measure.compare.engines import with_outputs
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.quantize.report.report import KeptLayer
from sardonyx._src.quantize.sessions import open_session

TOLERANCE = 1.05  # of the time of the original: less is noise


class NamedLayer(Protocol):
    @property
    def name(self) -> str: ...


Layer = TypeVar("Layer", bound=NamedLayer)
Measurement = TypeVar("Measurement")


def slower_alone(
    model: Model,
    operands: Mapping[Layer, str],
    feeds: Mapping[str, RuntimeValue],
    signature_of: Callable[[Layer], object],
    time_ratio: Callable[[Layer, Array], float],
) -> Iterator[tuple[Layer, KeptLayer]]:
    """The layers that take longer in the other form.

    operands: the name of each layer's operand, whose value is that of a run with the feeds.
    signature_of: layers with equal signatures and shapes of operands are measured once.
    time_ratio: the time of a layer in the other form, of that of the original.
    """
    for layer, ratio in measure_alone(model, operands, feeds, signature_of, time_ratio):
        if ratio > TOLERANCE:
            yield layer, KeptLayer(layer.name, f"it is slower here: {1 / ratio:.2f} times as fast")


def measure_alone(
    model: Model,
    operands: Mapping[Layer, str],
    feeds: Mapping[str, RuntimeValue],
    signature_of: Callable[[Layer], object],
    measure: Callable[[Layer, Array], Measurement],
) -> Iterator[tuple[Layer, Measurement]]:
    """What is measured of each layer with its operand; layers of equal signatures and operands are measured once."""
    if not operands:
        return
    with open_session(with_outputs(model, list(dict.fromkeys(operands.values())))) as session:
        values = session.run(feeds)
    results: dict[object, Measurement] = {}
    for layer, name in operands.items():
        operand = np.asarray(values[name])
        key = signature_of(layer), operand.shape
        if key not in results:
            results[key] = measure(layer, operand)
        yield layer, results[key]
