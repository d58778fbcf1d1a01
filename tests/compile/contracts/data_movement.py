"""Contracts of copies, transposes, pads, gathers and scatters: rows of any length, of every size of element."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

import numpy as np

from compile.contracts.contract import Axes, Contract, vector_edges
from compile.contracts.trial import Trial
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.data_movement.arange import arange_step
from sardonyx._src.compile.kernels.data_movement.cache_insert import cache_insert_step
from sardonyx._src.compile.kernels.data_movement.copy import copy_step
from sardonyx._src.compile.kernels.data_movement.fill import fill_step, tile_step
from sardonyx._src.compile.kernels.data_movement.gather import (
    gather_elements_step,
    gather_nd_step,
    gather_step,
    scatter_elements_steps,
    scatter_nd_steps,
)
from sardonyx._src.compile.kernels.data_movement.identity_matrix import identity_matrix_step
from sardonyx._src.compile.kernels.data_movement.max_unpool import max_unpool_step
from sardonyx._src.compile.kernels.data_movement.one_hot import one_hot_steps
from sardonyx._src.compile.kernels.data_movement.pad import PadMode, pad_steps
from sardonyx._src.compile.kernels.data_movement.reverse_sequence import reverse_sequence_step
from sardonyx._src.compile.kernels.data_movement.scatter_reduction import NATIVE_SCATTER_REDUCTIONS
from sardonyx._src.compile.kernels.data_movement.triangle import triangle_step
from sardonyx._src.compile.kernels.data_movement.write_sizes import write_sizes_step
from sardonyx._src.compile.program.step import Step
from sardonyx._src.compile.program.tensor import TensorView, dense_temporary
from sardonyx._src.dtypes import DataType

TYPES = ("uint8", "int16", "float32", "int64", "complex128")
NUMBERS = ("float32", "float64", "int32", "int64")
INDICES = ("int32", "int64")


def lengths(target: Target) -> tuple[int, ...]:
    """Rows around one to four vectors of elements of 4 bytes, and so of others."""
    return (*range(2 * target.lanes + 2), *(n for n in vector_edges(target) if n > 2 * target.lanes + 1), 257)


def status_of(trial: Trial) -> TensorView:
    """A status that must remain zero."""
    return trial.expect(trial.input(np.zeros(16, np.int64)), np.zeros(16))


def transposition(
    trial: Trial, rows: int, columns: int, n: int, order: tuple[int, ...], dtype: str, gap: int
) -> Sequence[Step]:
    x = trial.integers(rows, columns, n, low=0, high=100, dtype=dtype)
    y = trial.result(np.ascontiguousarray(x.transpose(order)), dtype, gap=gap)
    return [copy_step(trial.input(x, gap).permute(order), y)]


def transposition_axes(target: Target) -> Axes:
    return {
        "rows": (0, 1, 2, 5, 17),
        "columns": lengths(target)[:-1],
        "n": lengths(target),
        "order": tuple(permutations(range(3))),
        "dtype": TYPES,
        "gap": (0, 3),
    }


def broadcast(trial: Trial, shape: tuple[int, ...], n: int, step: int, dtype: str) -> Sequence[Step]:
    """Rows that are repeated, and read forward or backward with a step."""
    x = trial.integers(*shape, n, low=0, high=100, dtype=dtype)
    tensor, part = trial.input(x), x[..., ::step]
    strides = tuple(0 if d == 1 else s for d, s in zip(tensor.shape[:-1], tensor.strides[:-1], strict=True))
    view = trial.part(tensor, (2, 3, part.shape[-1]), (*strides, step), n - 1 if step < 0 and n else 0)
    return [copy_step(view, trial.result(np.broadcast_to(part, view.shape), dtype))]


def broadcast_axes(target: Target) -> Axes:
    shapes = ((1, 1), (2, 1), (1, 3), (2, 3))
    return {"shape": shapes, "n": lengths(target), "step": (1, 2, 3, -1, -2), "dtype": TYPES}


def tiling(trial: Trial, n: int, repeats: tuple[int, int], dtype: str) -> Sequence[Step]:
    x = trial.integers(3, n, low=0, high=100, dtype=dtype)
    return [tile_step(trial.input(x), trial.result(np.tile(x, repeats), dtype), repeats)]


def tiling_axes(target: Target) -> Axes:
    return {"n": lengths(target), "repeats": ((1, 1), (2, 3), (0, 2), (1, 4)), "dtype": TYPES}


def filling(trial: Trial, rows: int, n: int, dtype: str, gap: int) -> Sequence[Step]:
    value = np.array(7, dtype)
    return [fill_step(trial.result(np.full((rows, n), value), dtype, gap=gap), value)]


def filling_axes(target: Target) -> Axes:
    return {"rows": (0, 1, 2, 9), "n": lengths(target), "dtype": (*TYPES, "bool"), "gap": (0, 3)}


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
    options = {"constant_values": 5} if mode == "constant" else {}
    y = trial.result(np.pad(cropped, borders, mode=mode, **options), dtype)
    return pad_steps(trial.input(x), y, [a for a, _ in pads], mode, np.array(5, dtype))


def padding_axes(target: Target) -> Axes:
    pairs = ((0, 0), (1, 2), (3, 0), (0, 1), (-1, 2), (1, -1))
    return {
        "rows": (3, 4, 9),
        "n": lengths(target)[4:],
        "pads": [(a, b) for a in pairs for b in pairs],
        "mode": ("constant", "edge", "reflect", "wrap"),
        "dtype": ("uint8", "float32", "int64"),
    }


def gathering(
    trial: Trial, shape: tuple[int, int], n: int, count: int, axis: int, dtype: str, index: str, gap: int
) -> Sequence[Step] | None:
    x = trial.integers(*shape, n, low=0, high=100, dtype=dtype)
    size = x.shape[axis]
    if size == 0:
        return None
    indices = trial.integers(count, low=-size, high=size - 1, dtype=index)
    y = trial.result(x.take(indices, axis), dtype, gap=gap)
    return [gather_step(trial.input(x, gap), trial.input(indices), y, axis, status_of(trial))]


def gathering_axes(target: Target) -> Axes:
    return {
        "shape": ((1, 1), (2, 5), (7, 1)),
        "n": lengths(target),
        "count": (0, 1, 2, 3, 17),
        "axis": (0, 1, 2),
        "dtype": TYPES,
        "index": INDICES,
        "gap": (0, 3),
    }


def gathering_of_elements(trial: Trial, n: int, count: int, dtype: str, index: str) -> Sequence[Step]:
    """Single elements of a vector."""
    x = trial.integers(n, low=0, high=100, dtype=dtype)
    indices = trial.integers(count, low=-n, high=n - 1, dtype=index)
    y = trial.result(x[indices], dtype)
    return [gather_step(trial.input(x), trial.input(indices), y, 0, status_of(trial))]


def elements_axes(target: Target) -> Axes:
    counts = (*range(4 * target.lanes + 2), 1023, 1025)
    return {"n": (1, 2, 37), "count": counts, "dtype": TYPES, "index": INDICES}


def gathering_along(trial: Trial, n: int, axis: int, dtype: str, index: str) -> Sequence[Step]:
    """GatherElements."""
    x, shape = trial.integers(4, 6, n + 1, low=0, high=100, dtype=dtype), [3, 4, n]
    shape[axis] = n
    indices = trial.integers(*shape, low=-x.shape[axis], high=x.shape[axis] - 1, dtype=index)
    source = x[tuple(slice(None) if a == axis else slice(size) for a, size in enumerate(shape))]
    y = trial.result(np.take_along_axis(source, indices.astype(np.int64), axis), dtype)
    return [gather_elements_step(trial.input(x), trial.input(indices), y, axis, status_of(trial))]


def along_axes(target: Target) -> Axes:
    return {"n": lengths(target), "axis": (0, 1, 2), "dtype": TYPES, "index": INDICES}


def gathering_nd(
    trial: Trial, n: int, depth: int, batch: int, dtype: str, index: str
) -> Sequence[Step] | None:
    if batch + depth > 2 and n == 0:
        return None
    x = trial.integers(3, 4, n, low=0, high=100, dtype=dtype)
    sizes = np.array(x.shape[batch : batch + depth])
    lead = (3,) if batch else ()
    indices = trial.rng.integers(-sizes, sizes, (*lead, 7, len(sizes))).astype(index)
    batch_index = (np.arange(3)[:, None],) if batch else ()
    y = trial.result(x[(*batch_index, *np.moveaxis(indices, -1, 0))], dtype)
    return [gather_nd_step(trial.input(x), trial.input(indices), y, batch, status_of(trial))]


def nd_axes(target: Target) -> Axes:
    return {"n": lengths(target), "depth": (1, 2), "batch": (0, 1), "dtype": TYPES, "index": INDICES}


def scattering(trial: Trial, n: int, axis: int, reduction: str, dtype: str, index: str) -> Sequence[Step]:
    """ScatterElements; the last of several updates wins, or all are combined in their order."""
    x, updates = trial.integers(4, n + 1, dtype=dtype), trial.integers(3, n, dtype=dtype)
    indices = trial.integers(3, n, low=-x.shape[axis], high=x.shape[axis] - 1, dtype=index)
    y = x.copy()
    for place in np.ndindex(*indices.shape):
        target = (int(indices[place]), place[1]) if axis == 0 else (place[0], int(indices[place]))
        y[target] = combine(reduction, y[target], updates[place])
    tensors = trial.input(x), trial.input(indices), trial.input(updates), trial.result(y, dtype)
    return scatter_elements_steps(*tensors, axis, status_of(trial), reduction=reduction)


def combine(reduction: str, element: np.generic, update: np.generic) -> np.generic:
    functions = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}
    return functions[reduction](element, update) if reduction in functions else update


def scattering_axes(target: Target) -> Axes:
    return {
        "n": lengths(target),
        "axis": (0, 1),
        "reduction": ("none", *NATIVE_SCATTER_REDUCTIONS),
        "dtype": NUMBERS,
        "index": INDICES,
    }


def scattering_nd(trial: Trial, n: int, depth: int, reduction: str, dtype: str) -> Sequence[Step]:
    x = trial.integers(4, 5, n, dtype=dtype)
    indices = trial.rng.integers(-np.array(x.shape[:depth]), x.shape[:depth], (6, depth))
    updates, y = trial.integers(6, *x.shape[depth:], dtype=dtype), x.copy()
    for number, place in enumerate(indices):
        y[tuple(place)] = combine(reduction, y[tuple(place)], updates[number])
    tensors = trial.input(x), trial.input(indices), trial.input(updates), trial.result(y, dtype)
    return scatter_nd_steps(*tensors, status_of(trial), reduction=reduction)


def scattering_nd_axes(target: Target) -> Axes:
    reductions = ("none", *NATIVE_SCATTER_REDUCTIONS)
    return {"n": lengths(target), "depth": (1, 2), "reduction": reductions, "dtype": NUMBERS}


def one_hot(
    trial: Trial, shape: tuple[int, ...], depth: int, axis: int, dtype: str, index: str
) -> Sequence[Step]:
    indices = trial.integers(*shape, low=-depth - 1, high=depth, dtype=index)
    values = np.array([2, 9], dtype)
    inside = (indices >= -depth) & (indices < depth)
    hot = inside[..., None] & ((indices % max(depth, 1))[..., None] == np.arange(depth))
    y = trial.result(np.moveaxis(values[hot.astype(int)], -1, axis), dtype)
    unchecked = dense_temporary(DataType.INT64, (16,), "status")
    return one_hot_steps(trial.input(indices), trial.input(values), y, axis, unchecked)


def one_hot_axes(target: Target) -> Axes:
    return {
        "shape": ((1,), (5,), (2, 3), (0,), (3, 17)),
        "depth": (1, 2, 6, *vector_edges(target)[:6]),
        "axis": (0, 1, -1),
        "dtype": ("uint8", "float32", "int64"),
        "index": INDICES,
    }


def unpooling(trial: Trial, count: int, spare: int, dtype: str) -> Sequence[Step]:
    x = trial.integers(count, low=1, dtype=dtype)
    places, y = trial.rng.permutation(count + spare)[:count], np.zeros(count + spare)
    y[places] = x
    tensors = trial.input(x), trial.input(places), trial.result(y, dtype)
    return [max_unpool_step(*tensors, status_of(trial))]


def unpooling_axes(target: Target) -> Axes:
    return {
        "count": range(2 * target.lanes + 2),
        "spare": (0, 1, 30),
        "dtype": ("float32", "float16", "float64"),
    }


def cache_insertion(
    trial: Trial, n: int, count: int, entries: int, circular: bool, dtype: str
) -> Sequence[Step] | None:
    """Entries written into a cache from a start of each batch item on; the others stay."""
    if count > entries:
        return None
    x = trial.integers(2, 3, count, n, dtype=dtype)
    cache = trial.integers(2, 3, entries, n, dtype=dtype)
    starts = trial.rng.integers(0, entries if circular else entries - count + 1, 2)
    y = cache.copy()
    for b, i in np.ndindex(2, count):
        y[b, :, (starts[b] + i) % entries] = x[b, :, i]
    tensor = trial.expect(trial.input(cache), y)
    status = status_of(trial)
    return [cache_insert_step(trial.input(x), trial.input(starts), tensor, 2, status, circular=circular)]


def cache_axes(target: Target) -> Axes:
    return {
        "n": lengths(target),
        "count": (0, 1, 2, 5),
        "entries": (1, 2, 5, 9),
        "circular": (False, True),
        "dtype": ("float32", "int16"),
    }


def reversal(trial: Trial, steps: int, batch: int, n: int, time_axis: int, dtype: str) -> Sequence[Step]:
    shape = (steps, batch, n) if time_axis == 0 else (batch, steps, n)
    x, lengths_ = trial.integers(*shape, dtype=dtype), trial.rng.integers(0, steps + 1, batch)
    y = x.copy()
    for b, length in enumerate(lengths_):
        sequence = (slice(None), b) if time_axis == 0 else (b,)
        y[sequence][:length] = x[sequence][:length][::-1]
    tensors = trial.input(x), trial.input(lengths_), trial.result(y, dtype)
    return [reverse_sequence_step(*tensors, status_of(trial), time_axis)]


def reversal_axes(target: Target) -> Axes:
    axes = {"steps": (0, 1, 2, 5), "batch": (0, 1, 2, 5), "n": lengths(target), "time_axis": (0, 1)}
    return {**axes, "dtype": ("uint8", "float32", "int64")}


def triangle(
    trial: Trial, rows: int, columns: int, diagonal: int, upper: bool, dtype: str, gap: int
) -> Sequence[Step]:
    x = trial.integers(2, rows, columns, low=1, dtype=dtype)
    y = trial.result((np.triu if upper else np.tril)(x, diagonal), dtype, gap=gap)
    return [triangle_step(trial.input(x, gap), y, diagonal, upper=upper)]


def triangle_axes(target: Target) -> Axes:
    return {
        "rows": (0, 1, 2, 3, 17),
        "columns": lengths(target),
        "diagonal": (*range(-4, 5), 40, -40),
        "upper": (False, True),
        "dtype": ("uint8", "float32", "int64"),
        "gap": (0, 3),
    }


def identity(trial: Trial, rows: int, columns: int, diagonal: int, dtype: str) -> Sequence[Step]:
    return [identity_matrix_step(trial.result(np.eye(rows, columns, diagonal), dtype), diagonal)]


def identity_axes(target: Target) -> Axes:
    return {
        "rows": (0, 1, 2, 3, 17, 33),
        "columns": lengths(target),
        "diagonal": (*range(-4, 5), 40, -40),
        "dtype": ("uint8", "float32", "float64", "int64", "float16"),
    }


def numbers(trial: Trial, n: int, start: int, delta: int, dtype: str) -> Sequence[Step]:
    return [arange_step(trial.result(start + np.arange(n) * delta, dtype), start, delta)]


def numbers_axes(target: Target) -> Axes:
    return {"n": lengths(target), "start": (0, 3, -7), "delta": (1, -2, 5), "dtype": INDICES}


def sizes(trial: Trial, count: int) -> Sequence[Step]:
    values = [int(n) for n in trial.rng.integers(0, 1 << 40, count)]
    return [write_sizes_step(trial.result(np.array(values, np.int64), np.int64), values)]


CONTRACTS = [
    Contract(transposition, transposition_axes),
    Contract(broadcast, broadcast_axes),
    Contract(tiling, tiling_axes),
    Contract(filling, filling_axes),
    Contract(padding, padding_axes),
    Contract(gathering, gathering_axes),
    Contract(gathering_of_elements, elements_axes),
    Contract(gathering_along, along_axes),
    Contract(gathering_nd, nd_axes),
    Contract(scattering, scattering_axes),
    Contract(scattering_nd, scattering_nd_axes),
    Contract(one_hot, one_hot_axes),
    Contract(unpooling, unpooling_axes),
    Contract(cache_insertion, cache_axes),
    Contract(reversal, reversal_axes),
    Contract(triangle, triangle_axes),
    Contract(identity, identity_axes),
    Contract(numbers, numbers_axes),
    Contract(sizes, lambda target: {"count": range(9)}),
]
