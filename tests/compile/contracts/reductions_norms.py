"""Contracts of norms, Softmax and row programs: rows of any length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from compile.contracts.contract import Axes, Contract, row_lengths
from compile.contracts.references import EPILOGUES, EpilogueKind, add_epilogue
from compile.contracts.trial import Gap, Trial
from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.codegen.expressions import Apply, Local
from sardonyx._src.compile.kernels.reductions.group_norm import group_norm_step
from sardonyx._src.compile.kernels.reductions.layer_norm import NormParams, layer_norm_step
from sardonyx._src.compile.kernels.reductions.lp_norm import lp_norm_step
from sardonyx._src.compile.kernels.reductions.row_program import (
    MEAN,
    RowProgram,
    RowSum,
    Y,
    row_program_steps,
)
from sardonyx._src.compile.kernels.reductions.softmax import softmax_step
from sardonyx._src.compile.program import Step
from sardonyx._src.ir import Array

EPSILON = 1e-5
CLOSE = 1e-5


def softmax(
    trial: Trial, rows: int, n: int, axis: int, log: bool, is_in_place: bool, gap: Gap
) -> Sequence[Step]:
    x = trial.normal(rows, n) * 4
    shifted = x.astype(np.float64) - x.max(axis, keepdims=True)
    logarithm = shifted - np.log(np.exp(shifted).sum(axis, keepdims=True))
    expected, source = logarithm if log else np.exp(logarithm), trial.input(x, gap)
    y = (
        trial.expect(source, expected, CLOSE)
        if is_in_place
        else trial.result(expected, gap=gap, tolerance=CLOSE)
    )
    return [softmax_step(source, y, axis, log=log)]


def softmax_axes(target: Target) -> Axes:
    return {
        "rows": (1, 2, 5, 17, 33, 70),
        "n": row_lengths(target)[1:],
        "axis": (0, 1),
        "log": (False, True),
        "is_in_place": (False, True),
        "gap": (0, 3, None),
    }


def standardize(x: Array, axes: tuple[int, ...], centered: bool = True) -> Array:
    exact = x.astype(np.float64)
    exact = exact - exact.mean(axes, keepdims=True) if centered else exact
    return np.asarray(exact / np.sqrt((exact**2).mean(axes, keepdims=True) + EPSILON))


def layer_norm(
    trial: Trial,
    rows: int,
    n: int,
    operands: tuple[str, ...],
    centered: bool,
    epilogue: EpilogueKind,
    gap: Gap,
) -> Sequence[Step]:
    """operands: which of the optional tensors there are."""
    x, addend, scale, bias = trial.normal(rows, n), trial.normal(rows, n), trial.normal(n), trial.normal(n)
    total = x.astype(np.float64) + (addend if "addend" in operands else 0)
    y = standardize(total, (1,), centered) * (scale if "scale" in operands else 1) + (
        bias if "bias" in operands else 0
    )
    fused, others, y = add_epilogue(trial, epilogue, y)
    inverse = 1 / np.sqrt(
        np.square(total - total.mean(1, keepdims=True) * centered).mean(1, keepdims=True) + EPSILON
    )
    tensors: dict[str, Callable[[], Any]] = {
        "addend": lambda: trial.input(addend, gap),
        "scale": lambda: trial.input(scale),
        "bias": lambda: trial.input(bias),
        "total": lambda: trial.result(total, gap=gap, tolerance=CLOSE),
        "inverse": lambda: trial.result(inverse, tolerance=CLOSE),
    }
    params = NormParams(
        EPSILON, centered, epilogue=fused, operands=others, **{name: tensors[name]() for name in operands}
    )
    return [layer_norm_step(trial.input(x, gap), trial.result(y, gap=gap, tolerance=5 * CLOSE), -1, params)]


def layer_norm_axes(target: Target) -> Axes:
    return {
        "rows": (0, 1, 2, 5, 70),
        "n": row_lengths(target)[1:],
        "operands": (
            (),
            ("scale",),
            ("scale", "bias"),
            ("addend", "scale", "total"),
            ("addend",),
            ("scale", "inverse"),
        ),
        "centered": (False, True),
        "epilogue": EPILOGUES[:2],
        "gap": (0, 3, None),
    }


def group_norm(trial: Trial, images: int, channels: int, pixels: int, groups: int) -> Sequence[Step] | None:
    """Channels-first images."""
    if channels % groups or channels * pixels == groups:
        return None
    x, scale, bias = trial.normal(images, channels, pixels), trial.normal(channels), trial.normal(channels)
    normalized = standardize(x.reshape(images, groups, channels * pixels // groups), (2,)).reshape(x.shape)
    y = trial.result(normalized * scale[:, None] + bias[:, None], tolerance=5 * CLOSE)
    tensors = [trial.input(array) for array in (scale, bias)]
    return [group_norm_step(trial.input(x), y, *tensors, groups=groups, epsilon=EPSILON)]


def group_norm_axes(target: Target) -> Axes:
    return {
        "images": (0, 1, 3),
        "channels": (1, 2, 3, 4, 6, 12),
        "pixels": row_lengths(target)[1:],
        "groups": (1, 2, 3),
    }


def row_program(trial: Trial, rows: int, n: int, epilogue: EpilogueKind) -> Sequence[Step]:
    """y = (x - sum x) * scale - the sum of squares of x - sum x; the sums of x, and of y, over the rows."""
    x, scale = trial.integers(rows, n, low=-1, high=1), trial.integers(n, low=-1, high=1)
    centered = x.astype(np.float64) - x.sum(1, keepdims=True)
    fused, operands, y = add_epilogue(trial, epilogue, centered * scale - (centered**2).sum(1, keepdims=True))
    element, weight, total, squares = Local("x0"), Local("c0"), Local("r0"), Local("r1")
    difference = Apply("sub", (element, total))
    program = RowProgram(
        1,
        1,
        ((RowSum(element),), (RowSum(Apply("mul", (difference, difference))),)),
        Apply("sub", (Apply("mul", (difference, weight)), squares)),
        (element, Y),
    )
    sums = trial.result(x.sum(0, dtype=np.float64)), trial.result(y.sum(0), tolerance=CLOSE)
    tensors = trial.input(x), trial.input(scale)
    return row_program_steps(program, tensors, trial.result(y, tolerance=CLOSE), 1, sums, fused, operands)


def row_program_axes(target: Target) -> Axes:
    return {"rows": (*range(1, 20), 33, 70), "n": row_lengths(target)[1:], "epilogue": EPILOGUES[:2]}


def mean_program(trial: Trial, rows: int, n: int) -> Sequence[Step]:
    """y = x - mean(x), over x."""
    x = trial.normal(rows, n)
    program = RowProgram(1, 0, ((RowSum(Local("x0"), MEAN),),), Apply("sub", (Local("x0"), Local("r0"))))
    tensor = trial.input(x)
    exact = x.astype(np.float64)
    y = trial.expect(tensor, exact - exact.mean(1, keepdims=True), CLOSE)
    return row_program_steps(program, (tensor,), y, 1)


def lp_norm(trial: Trial, rows: int, n: int, order: int, gap: Gap) -> Sequence[Step]:
    x = trial.normal(rows, n)
    norm = np.linalg.norm(x.astype(np.float64), order, 1, keepdims=True)
    return [lp_norm_step(trial.input(x, gap), trial.result(x / norm, gap=gap, tolerance=CLOSE), order)]


def lp_norm_axes(target: Target) -> Axes:
    return {"rows": (0, 1, 2, 5, 70), "n": row_lengths(target)[1:], "order": (1, 2), "gap": (0, 3, None)}


CONTRACTS = [
    Contract(softmax, softmax_axes),
    Contract(layer_norm, layer_norm_axes),
    Contract(group_norm, group_norm_axes),
    Contract(row_program, row_program_axes),
    Contract(mean_program, lambda target: {"rows": (0, 1, 2, 5, 70), "n": row_lengths(target)[1:]}),
    Contract(lp_norm, lp_norm_axes),
]
