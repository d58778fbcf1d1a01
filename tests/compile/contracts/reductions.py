"""Contracts of reductions, prefix sums, TopK and determinants: rows, and columns, of any length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import get_args

import numpy as np

from compile.contracts.contract import Axes, Contract, around, row_lengths
from compile.contracts.trial import Gap, Trial
from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.kernels.reductions.arg_reducer import ArgReduction
from sardonyx._src.compile.kernels.reductions.cumulative import CumulativeVariant, cumulative_step
from sardonyx._src.compile.kernels.reductions.determinant import determinant_step
from sardonyx._src.compile.kernels.reductions.min_max import min_max_steps
from sardonyx._src.compile.kernels.reductions.reduce import arg_reduce_step, reduce_step
from sardonyx._src.compile.kernels.reductions.reducers import ReduceOp
from sardonyx._src.compile.kernels.reductions.top_k import top_k_step
from sardonyx._src.compile.program import Step
from sardonyx._src.ir import Array

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
    "any": lambda x, axes: x.any(axes, keepdims=True),
    "all": lambda x, axes: x.all(axes, keepdims=True),
}
FLOATS = ("float32", "float64")
EVERY_TYPE = ("sum", "max", "min", "prod", "sum_square")
TYPES = ("float32", "float64", "int32", "int64")
SMALL_TYPES = ("int8", "uint8", "uint32", "uint64", "bool")


def reduction(
    trial: Trial, op: ReduceOp, shape: tuple[int, int], n: int, axes: tuple[int, ...], dtype: str, gap: Gap
) -> Sequence[Step] | None:
    if (dtype == "bool") != (op in ("any", "all")) or (
        dtype not in FLOATS and op not in (*EVERY_TYPE, "any", "all")
    ):
        return None
    low = 1 if op == "log_sum" else 0 if dtype[0] in "ub" else -2
    x = trial.integers(*shape, n, low=low, high=1 if dtype == "bool" else 2, dtype=dtype)
    expected = REDUCTIONS[op](x.astype(np.float64) if x.dtype.kind == "f" else x, axes)
    is_exact = op in ("sum", "max", "min", "l1", "sum_square") or x.dtype.kind in "iub"
    expected = expected.astype(dtype) if x.dtype.kind in "iub" else expected  # sums of bytes wrap around
    y = trial.result(expected, dtype, gap, 0.0 if is_exact else CLOSE)
    return [reduce_step(op, trial.input(x, gap), y, axes)]


def reduction_axes(target: Target) -> Axes:
    return {
        "op": get_args(ReduceOp),
        "shape": ((1, 1), (2, 3), (5, 1), (7, 17), (3, 40), (270, 2), (4130, 1)),
        "n": row_lengths(target)[1:],
        "axes": [axes for count in (1, 2, 3) for axes in combinations(range(3), count)],
        "dtype": (*TYPES, *SMALL_TYPES),
        "gap": (0, 3, None),
    }


def arg_reduction(
    trial: Trial, rows: int, n: int, axis: int, is_max: bool, select_last: bool, dtype: str, gap: Gap
) -> Sequence[Step]:
    """The position of the first or the last extreme among many equal elements."""
    x = trial.integers(rows, n, low=-2, high=2, dtype=dtype)
    extremes = x == (x.max if is_max else x.min)(axis, keepdims=True)
    length = x.shape[axis]
    last = length - 1 - np.flip(extremes, axis).argmax(axis)
    y = trial.result(np.expand_dims(last if select_last else extremes.argmax(axis), axis), np.int64, gap)
    return [arg_reduce_step(trial.input(x, gap), y, axis, ArgReduction(is_max, select_last))]


def arg_reduction_axes(target: Target) -> Axes:
    return {
        "rows": (*range(1, 20), 33, 70),
        "n": row_lengths(target)[1:],
        "axis": (0, 1),
        "is_max": (False, True),
        "select_last": (False, True),
        "dtype": TYPES,
        "gap": (0, 3, None),
    }


def cumulation(
    trial: Trial, shape: tuple[int, int], n: int, axis: int, variant: CumulativeVariant, dtype: str, gap: Gap
) -> Sequence[Step]:
    x = trial.integers(*shape, n, low=1 if variant.product else -4, high=2, dtype=dtype)
    x[x == 2] = -1 if variant.product else 2  # products stay small
    flipped = np.flip(x, axis) if variant.reverse else x
    y = (np.cumprod if variant.product else np.cumsum)(flipped, axis, dtype=x.dtype)
    if variant.exclusive:
        y = np.roll(y, 1, axis)
        y[(slice(None),) * axis + (slice(0, 1),)] = int(variant.product)
    result = trial.result(np.flip(y, axis) if variant.reverse else y, dtype, gap)
    return [cumulative_step(trial.input(x, gap), result, axis, variant)]


def cumulation_axes(target: Target) -> Axes:
    variants = [
        CumulativeVariant(p, e, r) for p in (False, True) for e in (False, True) for r in (False, True)
    ]
    return {
        "shape": ((1, 1), (2, 3), (5, 17), (3, 0)),
        "n": row_lengths(target)[1:],
        "axis": (0, 1, 2),
        "variant": variants,
        "dtype": TYPES,
        "gap": (0, 3, None),
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
        "n": row_lengths(target)[1:],
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
    Contract(cumulation, cumulation_axes),
    Contract(top_k, top_k_axes),
    Contract(extremes, extremes_axes),
    Contract(determinants, determinant_axes),
]
