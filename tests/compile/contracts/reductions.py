"""Contracts of reductions, norms, Softmax, prefix sums, TopK and determinants: rows, and columns, of any length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import get_args

import numpy as np

from compile.contracts.contract import Axes, Contract, around, vector_edges
from compile.contracts.references import EPILOGUES, EpilogueKind, add_epilogue
from compile.contracts.trial import Trial
from sardonyx._src.compile.codegen.expressions import Apply, Local
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.reductions.arg_reduce import ArgReduction, arg_reduce_step
from sardonyx._src.compile.kernels.reductions.cumulative import CumulativeVariant, cumulative_step
from sardonyx._src.compile.kernels.reductions.determinant import determinant_step
from sardonyx._src.compile.kernels.reductions.group_norm import group_norm_step
from sardonyx._src.compile.kernels.reductions.layer_norm import NormParams, layer_norm_step
from sardonyx._src.compile.kernels.reductions.lp_norm import lp_norm_step
from sardonyx._src.compile.kernels.reductions.min_max import min_max_steps
from sardonyx._src.compile.kernels.reductions.reduce import reduce_step
from sardonyx._src.compile.kernels.reductions.reducers import ReduceOp
from sardonyx._src.compile.kernels.reductions.row_program import (
    MEAN,
    RowProgram,
    RowSum,
    Y,
    row_program_steps,
)
from sardonyx._src.compile.kernels.reductions.softmax import softmax_step
from sardonyx._src.compile.kernels.reductions.top_k import top_k_step
from sardonyx._src.compile.program.step import Step
from sardonyx._src.ir.tensors import Array

EPSILON = 1e-5
CLOSE = 1e-5
REDUCTIONS: dict[str, Callable[..., Array]] = {
    "sum": lambda x, axes: x.sum(axes, keepdims=True),
    "mean": lambda x, axes: x.mean(axes, keepdims=True),
    "max": lambda x, axes: x.max(axes, keepdims=True),
    "min": lambda x, axes: x.min(axes, keepdims=True),
    "prod": lambda x, axes: x.prod(axes, keepdims=True),
    "l1": lambda x, axes: np.abs(x).sum(axes, keepdims=True),
    "l2": lambda x, axes: np.sqrt((x * x).sum(axes, keepdims=True)),
    "sum_square": lambda x, axes: (x * x).sum(axes, keepdims=True),
    "log_sum": lambda x, axes: np.log(x.sum(axes, keepdims=True)),
    "log_sum_exp": lambda x, axes: np.log(np.exp(x).sum(axes, keepdims=True)),
}
EVERY_TYPE = ("sum", "max", "min", "prod", "sum_square")
TYPES = ("float32", "float64", "int32", "int64")


def lengths(target: Target) -> tuple[int, ...]:
    """Rows around one and four vectors, of which an iteration has four."""
    return (
        *range(1, 2 * target.lanes + 2),
        *(n for n in vector_edges(target) if n > 2 * target.lanes + 1),
        257,
    )


def reduction(
    trial: Trial, op: ReduceOp, shape: tuple[int, int], n: int, axes: tuple[int, ...], dtype: str
) -> Sequence[Step] | None:
    if dtype != "float32" and op not in EVERY_TYPE:
        return None
    x = trial.integers(*shape, n, low=1 if op == "log_sum" else -2, high=2, dtype=dtype)
    expected = REDUCTIONS[op](x.astype(np.float64) if x.dtype.kind == "f" else x, axes)
    is_exact = op in ("sum", "max", "min", "l1", "sum_square") or x.dtype.kind == "i"
    y = trial.result(expected, dtype, tolerance=0.0 if is_exact else CLOSE)
    return [reduce_step(op, trial.input(x), y, axes)]


def reduction_axes(target: Target) -> Axes:
    return {
        "op": get_args(ReduceOp),
        "shape": ((1, 1), (2, 3), (5, 1), (7, 17), (3, 40)),
        "n": lengths(target),
        "axes": [axes for count in (1, 2, 3) for axes in combinations(range(3), count)],
        "dtype": TYPES,
    }


def arg_reduction(
    trial: Trial, rows: int, n: int, axis: int, is_max: bool, select_last: bool, dtype: str
) -> Sequence[Step]:
    """The position of the first or the last extreme among many equal elements."""
    x = trial.integers(rows, n, low=-2, high=2, dtype=dtype)
    extremes = x == (x.max if is_max else x.min)(axis, keepdims=True)
    length = x.shape[axis]
    last = length - 1 - np.flip(extremes, axis).argmax(axis)
    y = trial.result(np.expand_dims(last if select_last else extremes.argmax(axis), axis), np.int64)
    return [arg_reduce_step(trial.input(x), y, axis, ArgReduction(is_max, select_last))]


def arg_reduction_axes(target: Target) -> Axes:
    return {
        "rows": (*range(1, 20), 33, 70),
        "n": lengths(target),
        "axis": (0, 1),
        "is_max": (False, True),
        "select_last": (False, True),
        "dtype": TYPES,
    }


def softmax(trial: Trial, rows: int, n: int, axis: int, log: bool, is_in_place: bool) -> Sequence[Step]:
    x = trial.normal(rows, n) * 4
    shifted = x.astype(np.float64) - x.max(axis, keepdims=True)
    logarithm = shifted - np.log(np.exp(shifted).sum(axis, keepdims=True))
    expected, source = logarithm if log else np.exp(logarithm), trial.input(x)
    y = trial.expect(source, expected, CLOSE) if is_in_place else trial.result(expected, tolerance=CLOSE)
    return [softmax_step(source, y, axis, log=log)]


def softmax_axes(target: Target) -> Axes:
    return {
        "rows": (1, 2, 5, 17, 33, 70),
        "n": lengths(target),
        "axis": (0, 1),
        "log": (False, True),
        "is_in_place": (False, True),
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
    gap: int,
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
    tensors = {
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
        "n": lengths(target),
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
        "gap": (0, 3),
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
        "pixels": lengths(target),
        "groups": (1, 2, 3),
    }


def row_program(trial: Trial, rows: int, n: int, epilogue: EpilogueKind) -> Sequence[Step]:
    """y = (x - sum x) * scale - the sum of squares of x - sum x; the sums of x, and of y, over the rows."""
    x, scale = trial.integers(rows, n, low=-1, high=1), trial.integers(n, low=-1, high=1)
    centred = x.astype(np.float64) - x.sum(1, keepdims=True)
    fused, operands, y = add_epilogue(trial, epilogue, centred * scale - (centred**2).sum(1, keepdims=True))
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
    return {"rows": (*range(1, 20), 33, 70), "n": lengths(target), "epilogue": EPILOGUES[:2]}


def mean_program(trial: Trial, rows: int, n: int) -> Sequence[Step]:
    """y = x - mean(x), over x."""
    x = trial.normal(rows, n)
    program = RowProgram(1, 0, ((RowSum(Local("x0"), MEAN),),), Apply("sub", (Local("x0"), Local("r0"))))
    tensor = trial.input(x)
    exact = x.astype(np.float64)
    y = trial.expect(tensor, exact - exact.mean(1, keepdims=True), CLOSE)
    return row_program_steps(program, (tensor,), y, 1)


def lp_norm(trial: Trial, rows: int, n: int, order: int, gap: int) -> Sequence[Step]:
    x = trial.normal(rows, n)
    norm = np.linalg.norm(x.astype(np.float64), order, 1, keepdims=True)
    return [lp_norm_step(trial.input(x, gap), trial.result(x / norm, gap=gap, tolerance=CLOSE), order)]


def lp_norm_axes(target: Target) -> Axes:
    return {"rows": (0, 1, 2, 5, 70), "n": lengths(target), "order": (1, 2), "gap": (0, 3)}


def cumulation(
    trial: Trial, shape: tuple[int, int], n: int, axis: int, variant: CumulativeVariant, dtype: str
) -> Sequence[Step]:
    x = trial.integers(*shape, n, low=1 if variant.product else -4, high=2, dtype=dtype)
    x[x == 2] = -1 if variant.product else 2  # products stay small
    flipped = np.flip(x, axis) if variant.reverse else x
    y = (np.cumprod if variant.product else np.cumsum)(flipped, axis, dtype=x.dtype)
    if variant.exclusive:
        y = np.roll(y, 1, axis)
        y[(slice(None),) * axis + (slice(0, 1),)] = int(variant.product)
    result = trial.result(np.flip(y, axis) if variant.reverse else y, dtype)
    return [cumulative_step(trial.input(x), result, axis, variant)]


def cumulation_axes(target: Target) -> Axes:
    variants = [
        CumulativeVariant(p, e, r) for p in (False, True) for e in (False, True) for r in (False, True)
    ]
    return {
        "shape": ((1, 1), (2, 3), (5, 17), (3, 0)),
        "n": lengths(target),
        "axis": (0, 1, 2),
        "variant": variants,
        "dtype": TYPES,
    }


def top_k(
    trial: Trial, rows: int, n: int, k: int, axis: int, largest: bool, dtype: str
) -> Sequence[Step] | None:
    if k > n:
        return None
    x = trial.integers(rows, n, low=-9, high=9, dtype=dtype)
    order = np.argsort(-x.astype(np.int64) if largest else x, 1, kind="stable")[:, :k]
    best = np.take_along_axis(x, order, 1)
    if axis == 0:
        x, best, order = (np.ascontiguousarray(array.T) for array in (x, best, order))
    values, indices = trial.result(best, dtype), trial.result(order, np.int64)
    return [top_k_step(trial.input(x), values, indices, axis, largest=largest)]


def top_k_axes(target: Target) -> Axes:
    return {
        "rows": (0, 1, 2, 5, 17),
        "n": lengths(target),
        "k": (0, 1, 2, 3, 7, 16, 33),
        "axis": (0, 1),
        "largest": (False, True),
        "dtype": TYPES,
    }


def extremes(trial: Trial, n: int) -> Sequence[Step]:
    """The minimum and maximum of 0 and the elements."""
    x = trial.normal(n)
    y, steps = min_max_steps(trial.input(x))
    trial.expect(y, np.array([x.min(initial=0), x.max(initial=0)]))
    return steps


def extremes_axes(target: Target) -> Axes:
    return {"n": (*range(10 * target.lanes + 2), (1 << 14) - 1, 1 << 14, (1 << 14) + 1, (1 << 15) + 17)}


def determinants(trial: Trial, matrices: int, size: int) -> Sequence[Step]:
    x = trial.normal(matrices, size, size)
    y = trial.result(np.linalg.det(x.astype(np.float64)), tolerance=1e-4)
    return [determinant_step(trial.input(x), y, size)]


def determinant_axes(target: Target) -> Axes:
    return {"matrices": (*around(target.lanes), 63, 65), "size": range(1, 17)}


CONTRACTS = [
    Contract(reduction, reduction_axes),
    Contract(arg_reduction, arg_reduction_axes),
    Contract(softmax, softmax_axes),
    Contract(layer_norm, layer_norm_axes),
    Contract(group_norm, group_norm_axes),
    Contract(row_program, row_program_axes),
    Contract(mean_program, lambda target: {"rows": (0, 1, 2, 5, 70), "n": lengths(target)}),
    Contract(lp_norm, lp_norm_axes),
    Contract(cumulation, cumulation_axes),
    Contract(top_k, top_k_axes),
    Contract(extremes, extremes_axes),
    Contract(determinants, determinant_axes),
]
