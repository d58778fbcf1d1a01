"""Contracts of Resize: images of any width and channels, tables of taps, and repeated pixels."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import prod

import numpy as np

from compile.contracts.contract import Axes, Contract, vector_edges
from compile.contracts.references import add_epilogue
from compile.contracts.trial import Gap, Trial
from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.kernels.resize.dynamic_taps import (
    DYNAMIC_COORDINATES,
    NEAREST_MODES,
    DynamicAxis,
    DynamicCoordinates,
    tap_table_step,
)
from sardonyx._src.compile.kernels.resize.resample_axis import ResampleTable, resample_axis_step
from sardonyx._src.compile.kernels.resize.resize import resize_step
from sardonyx._src.compile.kernels.resize.upsample import upsample_step
from sardonyx._src.compile.program import Step
from sardonyx._src.compile.program.operands.tensor import dense_temporary
from sardonyx._src.dtypes import DataType
from sardonyx._src.ops.image.resize.resample import ResampleMode, resample
from sardonyx._src.ops.image.resize.resampled_axis import COORDINATES, ResampledAxis


def resize(
    trial: Trial,
    pixels: int,
    channels: int,
    taps: tuple[int, int],
    copies: bool,
    gap: Gap,
) -> Sequence[Step]:
    """Weighted sums of the taps that tables give, or copies of one."""
    x, out = trial.integers(2, 5, 7, channels), (4, pixels)
    taps = (1, 1) if copies else taps
    rows, columns = (trial.rng.integers(0, n, (o, t)) for n, o, t in zip((5, 7), out, taps, strict=True))
    weights = [trial.integers(o, t, low=-2, high=2) for o, t in zip(out, taps, strict=True)]
    if copies:
        weights = [np.ones_like(array) for array in weights]
    lines = np.einsum("notwc,ot->nowc", x.astype(np.float64)[:, rows], weights[0])
    y = np.einsum("nhotc,ot->nhoc", lines[:, :, columns], weights[1])
    fused, operands, y = add_epilogue(trial, "cheap", y, gap)
    tables = [trial.input(array) for array in (rows, columns, *([] if copies else weights))]
    return [resize_step(trial.input(x, gap), trial.result(y, gap=gap), tables, fused, operands)]


def resize_axes(target: Target) -> Axes:
    return {
        "pixels": (0, 1, 2, 3, 8, 17),
        "channels": vector_edges(target),
        "taps": ((1, 1), (2, 2), (4, 4), (1, 2), (3, 1)),
        "copies": (False, True),
        "gap": (0, 3, None),
    }


def resample_axis(
    trial: Trial, outer: tuple[int, ...], out: int, inner: tuple[int, ...], taps: int, is_symbolic: bool
) -> Sequence[Step]:
    """Weighted sums of rows, or of single elements, along an axis."""
    x, weights = trial.integers(*outer, 7, *inner), trial.integers(out, taps, low=-2, high=2)
    indices = trial.rng.integers(0, 7, (out, taps))
    gathered = np.take(x.astype(np.float64), indices, axis=len(outer))  # [*outer, out, taps, *inner]
    y = np.einsum("aotb,ot->aob", gathered.reshape(prod(outer), out, taps, prod(inner)), weights)
    operand, result = trial.input(x), trial.result(y.reshape(*outer, out, *inner))
    if is_symbolic and outer:
        operand, result = (trial.with_symbols(t, "n", *[""] * (t.rank - 1)) for t in (operand, result))
    return [resample_axis_step(operand, ResampleTable(len(outer), indices, weights), result)]


def resample_axis_axes(target: Target) -> Axes:
    return {
        "outer": ((), (1,), (3, 2), (0,), (65,)),
        "out": vector_edges(target),
        "inner": ((), (1, 1), *((n,) for n in vector_edges(target)), (2, 3)),
        "taps": (1, 2, 3, 8, 9, 20),
        "is_symbolic": (False, True),
    }


def upsample(trial: Trial, pixels: int, channels: int, factors: tuple[int, int], gap: Gap) -> Sequence[Step]:
    x = trial.integers(2, 3, pixels, channels)
    fused, operands, y = add_epilogue(trial, "cheap", x.repeat(factors[0], 1).repeat(factors[1], 2), gap)
    return [upsample_step(trial.input(x, gap), trial.result(y, gap=gap), factors, fused, operands)]


def upsample_axes(target: Target) -> Axes:
    return {
        "pixels": (0, 1, 2, 3, 9),
        "channels": vector_edges(target),
        "factors": ((1, 1), (2, 2), (3, 1), (1, 4), (2, 5)),
        "gap": (0, 3, None),
    }


def resize_by_computed_taps(
    trial: Trial, size: int, out: int, coordinates: DynamicCoordinates, nearest_mode: str, has_scale: bool
) -> Sequence[Step]:
    """Lines resized by tables that steps compute, and columns of one pixel."""
    x, factor = trial.normal(1, size, 1, 3), float(np.float32(out / size)) if has_scale else None
    scale = Fraction(out, size) if factor is None else Fraction(factor)
    axes = [ResampledAxis(n, n, Fraction(1), is_float32=False) for n in x.shape]
    axes[1] = ResampledAxis(size, out, scale, is_float32=has_scale)
    mode = ResampleMode(
        "nearest" if nearest_mode else "linear", COORDINATES[coordinates], nearest_mode or "floor"
    )
    y = trial.result(resample(x.astype(np.float64), axes, mode), tolerance=0.0 if nearest_mode else 1e-5)
    steps, indices, weights = [], [], []
    for axis in (DynamicAxis(size, out, factor), DynamicAxis(1, 1, factor and 1.0)):
        shape = (axis.out, 1 if nearest_mode else 2)
        indices.append(dense_temporary(DataType.INT64, shape, "indices"))
        weights.append(None if nearest_mode else dense_temporary(DataType.FLOAT, shape, "weights"))
        steps.append(tap_table_step(axis, coordinates, nearest_mode, indices[-1], weights[-1]))
    tables = [*indices, *(table for table in weights if table is not None)]
    return [*steps, resize_step(trial.input(x), y, tables)]


def table_axes(target: Target) -> Axes:
    return {
        "size": (1, 2, 3, 7, 16),
        "out": (*range(1, 19), 31, 255, 257, 600),
        "coordinates": DYNAMIC_COORDINATES,
        "nearest_mode": ("", *NEAREST_MODES),
        "has_scale": (False, True),
    }


CONTRACTS = [
    Contract(resize, resize_axes),
    Contract(resample_axis, resample_axis_axes),
    Contract(upsample, upsample_axes),
    Contract(resize_by_computed_taps, table_axes),
]
