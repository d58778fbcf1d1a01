"""How far the outputs of a quantized model are from those of the original, as one number: the loss that a bound limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from sardonyx._src.arguments import type_name
from sardonyx._src.errors import InputError
from sardonyx._src.ir import Array, Model
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.quantize.calibration import CalibrationData
from sardonyx._src.quantize.report.quality import is_float
from sardonyx._src.quantize.sessions import open_session

Outputs: TypeAlias = Sequence[Mapping[str, RuntimeValue]]  # of each run
Loss: TypeAlias = Callable[[Outputs], float]
METRICS = ("mse", "top-1")


def outputs_of(model: Model, data: CalibrationData) -> Outputs:
    with open_session(model) as session:
        return [session.run(feeds) for feeds in data.runs]


def loss_of(metric: str | Callable[[Outputs], float], expected: Outputs) -> Loss:
    """The loss of a model's outputs, beside the expected ones; 0 for these.

    metric: "mse": the sum of squares of the errors of an output, of that of the output itself, and the greatest of these ratios;
    "top-1": the share of rows whose largest element is at another place; or a function whose score of outputs is to be high: the
    loss is what is missing from the score of the expected outputs.
    """
    if callable(metric):
        best = score(metric, expected)
        return lambda outputs: best - score(metric, outputs)
    if metric not in METRICS:
        what = f"metric must be one of {', '.join(METRICS)}, or a function of the outputs of each run; got {metric!r}"
        raise InputError(what, name="metric")
    if not float_outputs(expected, expected):
        what = f"metric must be a function for a model without outputs of floats; got {metric!r}"
        raise InputError(what, name="metric")
    compare = changed_rows if metric == "top-1" else squared_error
    return lambda outputs: max(
        (
            compare(*(np.concatenate(rows) for rows in zip(*pairs, strict=True)))
            for pairs in float_outputs(expected, outputs)
        ),
        default=0.0,
    )


def score(metric: Callable[[Outputs], float], outputs: Outputs) -> float:
    value = metric(outputs)
    if not isinstance(value, int | float | np.floating):
        raise TypeError(f"metric must return a number; got {type_name(value)}")
    return float(value)


def float_outputs(expected: Outputs, actual: Outputs) -> list[list[tuple[Array, Array]]]:
    """The rows of each output of floats, in each run: those expected, and the actual ones."""
    names = [name for name, value in expected[0].items() if isinstance(value, np.ndarray) and is_float(value)]
    return [
        [(as_rows(first[name]), as_rows(other[name])) for first, other in zip(expected, actual, strict=True)]
        for name in names
    ]


def as_rows(value: object) -> Array:
    array = np.asarray(value).astype(np.float64)
    return array.reshape(-1, array.shape[-1]) if array.ndim and array.size else array.reshape(-1, 1)


def squared_error(expected: Array, actual: Array) -> float:
    signal, noise = float(np.square(expected).sum()), float(np.square(actual - expected).sum())
    return noise / signal if signal else (np.inf if noise else 0.0)


def changed_rows(expected: Array, actual: Array) -> float:
    """The share of rows; rows of one element cannot change."""
    return float((expected.argmax(axis=1) != actual.argmax(axis=1)).mean()) if len(expected) else 0.0
