"""Contracts of norms and LRN over channels-last images."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compile.contracts.contract import Axes, Contract, vector_edges
from compile.contracts.references import add_epilogue
from compile.contracts.trial import Gap, Trial
from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.kernels.channels_last.lrn import LrnParameters, lrn_step
from sardonyx._src.compile.kernels.channels_last.normalization import channels_last_norm_step
from sardonyx._src.compile.program import Step

EPSILON = 1e-3
CLOSE = 5e-5


def channels_last_norm(
    trial: Trial,
    pixels: int,
    group_channels: int,
    groups: int,
    is_instance: bool,
    gap: Gap,
) -> Sequence[Step]:
    """Instance normalization, or of groups of channels."""
    channels = group_channels * groups
    x, scale, bias = trial.normal(2, 2, pixels, channels), trial.normal(channels), trial.normal(channels)
    grouped = x.astype(np.float64).reshape(2, 2, pixels, channels if is_instance else groups, -1)
    mean, variance = (f((1, 2, 4), keepdims=True) for f in (grouped.mean, grouped.var))
    y = ((grouped - mean) / np.sqrt(variance + EPSILON)).reshape(x.shape) * scale + bias
    fused, operands, y = add_epilogue(trial, "cheap", y, gap)
    tensors = trial.input(x, gap), trial.input(scale), trial.input(bias)
    result = trial.result(y, gap=gap, tolerance=CLOSE)
    return [
        channels_last_norm_step(*tensors, result, EPSILON, None if is_instance else groups, fused, operands)
    ]


def norm_axes(target: Target) -> Axes:
    return {
        "pixels": (*range(1, 10), 33, 300),
        "group_channels": (1, 2, 3, 8, *vector_edges(target)),
        "groups": (1, 2, 3),
        "is_instance": (False, True),
        "gap": (0, 3, None),
    }


def lrn(trial: Trial, pixels: int, channels: int, size: int, beta: float, gap: Gap) -> Sequence[Step]:
    x, parameters = trial.normal(2, 2, pixels, channels), LrnParameters(size, 0.1, beta)
    squares = np.pad(np.square(x.astype(np.float64)), ((0, 0), (0, 0), (0, 0), ((size - 1) // 2, size // 2)))
    sums = np.zeros(x.shape)
    for offset in range(size):
        sums += squares[..., offset : offset + channels]
    y = x / (parameters.bias + parameters.alpha / size * sums) ** beta
    fused, operands, y = add_epilogue(trial, "cheap", y, gap)
    return [
        lrn_step(trial.input(x, gap), trial.result(y, gap=gap, tolerance=CLOSE), parameters, fused, operands)
    ]


def lrn_axes(target: Target) -> Axes:
    return {
        "pixels": (0, 1, 2, 3, 33),
        "channels": vector_edges(target),
        "size": (1, 2, 3, 5, 8, 21),
        "beta": (0.5, 0.75),
        "gap": (0, 3, None),
    }


CONTRACTS = [Contract(channels_last_norm, norm_axes), Contract(lrn, lrn_axes)]
