"""Contracts of copies, transposes, pads, fills and triangles: rows of any length, of every size of element."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Any

import numpy as np

from compile.contracts.contract import Axes, Contract, row_lengths
from compile.contracts.trial import Gap, Trial
from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.kernels.data_movement.arange import arange_step
from sardonyx._src.compile.kernels.data_movement.copy import copy_step
from sardonyx._src.compile.kernels.data_movement.fill import fill_step, tile_step
from sardonyx._src.compile.kernels.data_movement.identity_matrix import identity_matrix_step
from sardonyx._src.compile.kernels.data_movement.pad import PadMode, pad_steps
from sardonyx._src.compile.kernels.data_movement.triangle import triangle_step
from sardonyx._src.compile.kernels.data_movement.write_sizes import write_sizes_step
from sardonyx._src.compile.program import Step
from sardonyx._src.compile.program.operands.tensor import transpose_matrix

TYPES = ("uint8", "int16", "float32", "int64", "complex128")
INDICES = ("int32", "int64")


def transposition(
    trial: Trial, rows: int, columns: int, n: int, order: tuple[int, ...], dtype: str, gap: Gap
) -> Sequence[Step]:
    x = trial.integers(rows, columns, n, low=0, high=100, dtype=dtype)
    y = trial.result(np.ascontiguousarray(x.transpose(order)), dtype, gap=gap)
    return [copy_step(trial.input(x, gap).permute(order), y)]


def transposition_axes(target: Target) -> Axes:
    return {
        "rows": (0, 1, 2, 5, 17),
        "columns": row_lengths(target)[:-1],
        "n": row_lengths(target),
        "order": tuple(permutations(range(3))),
        "dtype": TYPES,
        "gap": (0, 3, None),
    }


def large_copy(trial: Trial, rows: int, n: int, is_transposed: bool, dtype: str) -> Sequence[Step]:
    """Copies of several units of work."""
    x = trial.integers(rows, n, low=0, high=100, dtype=dtype)
    y, tensor = x.T if is_transposed else x, trial.input(x)
    return [copy_step(transpose_matrix(tensor) if is_transposed else tensor, trial.result(y, dtype))]


def large_copy_axes(target: Target) -> Axes:
    lengths = (1023, 1024, 1025, 4097, 8191, 8193)  # around the columns of a unit, and its elements
    axes = {"rows": (1, 2, 15, 16, 17, 33), "n": lengths, "is_transposed": (False, True)}
    return {**axes, "dtype": ("uint8", "float32", "int64")}


def broadcast(trial: Trial, shape: tuple[int, ...], n: int, step: int, dtype: str) -> Sequence[Step]:
    """Rows that are repeated, and read forward or backward with a step."""
    x = trial.integers(*shape, n, low=0, high=100, dtype=dtype)
    tensor, part = trial.input(x), x[..., ::step]
    strides = tuple(0 if d == 1 else s for d, s in zip(tensor.shape[:-1], tensor.strides[:-1], strict=True))
    view = trial.part(tensor, (2, 3, part.shape[-1]), (*strides, step), n - 1 if step < 0 and n else 0)
    return [copy_step(view, trial.result(np.broadcast_to(part, (2, 3, part.shape[-1])), dtype))]


def broadcast_axes(target: Target) -> Axes:
    shapes = ((1, 1), (2, 1), (1, 3), (2, 3))
    return {"shape": shapes, "n": row_lengths(target), "step": (1, 2, 3, -1, -2), "dtype": TYPES}


def tiling(trial: Trial, n: int, repeats: tuple[int, int], dtype: str) -> Sequence[Step]:
    x = trial.integers(3, n, low=0, high=100, dtype=dtype)
    return [tile_step(trial.input(x), trial.result(np.tile(x, repeats), dtype), repeats)]


def tiling_axes(target: Target) -> Axes:
    return {"n": row_lengths(target), "repeats": ((1, 1), (2, 3), (0, 2), (1, 4)), "dtype": TYPES}


def filling(trial: Trial, rows: int, n: int, dtype: str, gap: Gap) -> Sequence[Step]:
    value = np.array(7, dtype)
    return [fill_step(trial.result(np.full((rows, n), value), dtype, gap=gap), value)]


def filling_axes(target: Target) -> Axes:
    return {"rows": (0, 1, 2, 9), "n": row_lengths(target), "dtype": (*TYPES, "bool"), "gap": (0, 3, None)}


def padding(
    trial: Trial, rows: int, n: int, pads: tuple[tuple[int, int], tuple[int, int]], mode: PadMode, dtype: str
) -> Sequence[Step] | None:
    """Negative pads crop."""
    x = trial.integers(rows, n, low=1, high=100, dtype=dtype)
    cropped = x[
        tuple(slice(max(-a, 0), size - max(-b, 0)) for size, (a, b) in zip(x.shape, pads, strict=True))
    ]
    borders = [(max(a, 0), max(b, 0)) for a, b in pads]
    room = {"constant": 1 << 30, "edge": 1 << 30, "reflect": -1, "wrap": 0}[mode]
    fits = all(
        max(border) <= size + room and size > 0 for size, border in zip(cropped.shape, borders, strict=True)
    )
    if not fits or (mode == "wrap" and cropped.shape != x.shape):
        return None
    options: dict[str, Any] = {"constant_values": 5} if mode == "constant" else {}
    y = trial.result(np.pad(cropped, borders, mode=mode, **options), dtype)
    return pad_steps(trial.input(x), y, [a for a, _ in pads], mode, np.array(5, dtype))


def padding_axes(target: Target) -> Axes:
    pairs = ((0, 0), (1, 2), (3, 0), (0, 1), (-1, 2), (1, -1))
    return {
        "rows": (3, 4, 9),
        "n": row_lengths(target)[4:],
        "pads": [(a, b) for a in pairs for b in pairs],
        "mode": ("constant", "edge", "reflect", "wrap"),
        "dtype": ("uint8", "float32", "int64"),
    }


def triangle(
    trial: Trial, rows: int, columns: int, diagonal: int, upper: bool, dtype: str, gap: Gap
) -> Sequence[Step]:
    x = trial.integers(2, rows, columns, low=1, dtype=dtype)
    y = trial.result((np.triu if upper else np.tril)(x, diagonal), dtype, gap=gap)
    return [triangle_step(trial.input(x, gap), y, diagonal, upper=upper)]


def triangle_axes(target: Target) -> Axes:
    return {
        "rows": (0, 1, 2, 3, 17),
        "columns": row_lengths(target),
        "diagonal": (*range(-4, 5), 40, -40),
        "upper": (False, True),
        "dtype": ("uint8", "float32", "int64"),
        "gap": (0, 3, None),
    }


def identity(trial: Trial, rows: int, columns: int, diagonal: int, dtype: str) -> Sequence[Step]:
    return [identity_matrix_step(trial.result(np.eye(rows, columns, diagonal), dtype), diagonal)]


def identity_axes(target: Target) -> Axes:
    return {
        "rows": (0, 1, 2, 3, 17, 33),
        "columns": row_lengths(target),
        "diagonal": (*range(-4, 5), 40, -40),
        "dtype": ("uint8", "float32", "float64", "int64", "float16"),
    }


def numbers(trial: Trial, n: int, start: int, delta: int, dtype: str) -> Sequence[Step]:
    return [arange_step(trial.result(start + np.arange(n) * delta, dtype), start, delta)]


def numbers_axes(target: Target) -> Axes:
    return {"n": row_lengths(target), "start": (0, 3, -7), "delta": (1, -2, 5), "dtype": INDICES}


def sizes(trial: Trial, count: int) -> Sequence[Step]:
    values = [int(n) for n in trial.rng.integers(0, 1 << 40, count)]
    return [write_sizes_step(trial.result(np.array(values, np.int64), np.int64), values)]


CONTRACTS = [
    Contract(transposition, transposition_axes),
    Contract(large_copy, large_copy_axes),
    Contract(broadcast, broadcast_axes),
    Contract(tiling, tiling_axes),
    Contract(filling, filling_axes),
    Contract(padding, padding_axes),
    Contract(triangle, triangle_axes),
    Contract(identity, identity_axes),
    Contract(numbers, numbers_axes),
    Contract(sizes, lambda target: {"count": range(9)}),
]
