"""Contracts of gathers, scatters and other steps that read indices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from compile.contracts.contract import Axes, Contract, row_lengths, vector_edges
from compile.contracts.data_movement import INDICES, TYPES
from compile.contracts.trial import Gap, Trial
from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.kernels.data_movement.cache_insert import cache_insert_step
from sardonyx._src.compile.kernels.data_movement.gather import (
    gather_elements_step,
    gather_nd_step,
    gather_step,
    scatter_elements_steps,
    scatter_nd_steps,
)
from sardonyx._src.compile.kernels.data_movement.max_unpool import max_unpool_step
from sardonyx._src.compile.kernels.data_movement.one_hot import one_hot_steps
from sardonyx._src.compile.kernels.data_movement.reverse_sequence import reverse_sequence_step
from sardonyx._src.compile.kernels.data_movement.scatter_reduction import NATIVE_SCATTER_REDUCTIONS
from sardonyx._src.compile.program import Step
from sardonyx._src.compile.program.operands.tensor import dense_temporary
from sardonyx._src.dtypes import DataType

NUMBERS = ("float32", "float64", "int32", "int64")


def gathering(
    trial: Trial, shape: tuple[int, int], n: int, count: int, axis: int, dtype: str, index: str, gap: Gap
) -> Sequence[Step] | None:
    x = trial.integers(*shape, n, low=0, high=100, dtype=dtype)
    size = x.shape[axis]
    if size == 0:
        return None
    indices = trial.integers(count, low=-size, high=size - 1, dtype=index)
    y = trial.result(x.take(indices, axis), dtype, gap=gap)
    return [gather_step(trial.input(x, gap), trial.input(indices), y, axis, trial.status())]


def gathering_axes(target: Target) -> Axes:
    return {
        "shape": ((1, 1), (2, 5), (7, 1)),
        "n": row_lengths(target),
        "count": (0, 1, 2, 3, 17),
        "axis": (0, 1, 2),
        "dtype": TYPES,
        "index": INDICES,
        "gap": (0, 3, None),
    }


def gathering_of_elements(trial: Trial, n: int, count: int, dtype: str, index: str) -> Sequence[Step]:
    """Single elements of a vector."""
    x = trial.integers(n, low=0, high=100, dtype=dtype)
    indices = trial.integers(count, low=-n, high=n - 1, dtype=index)
    y = trial.result(x[indices], dtype)
    return [gather_step(trial.input(x), trial.input(indices), y, 0, trial.status())]


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
    return [gather_elements_step(trial.input(x), trial.input(indices), y, axis, trial.status())]


def along_axes(target: Target) -> Axes:
    return {"n": row_lengths(target), "axis": (0, 1, 2), "dtype": TYPES, "index": INDICES}


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
    return [gather_nd_step(trial.input(x), trial.input(indices), y, batch, trial.status())]


def nd_axes(target: Target) -> Axes:
    return {"n": row_lengths(target), "depth": (1, 2), "batch": (0, 1), "dtype": TYPES, "index": INDICES}


def scattering(trial: Trial, n: int, axis: int, reduction: str, dtype: str, index: str) -> Sequence[Step]:
    """ScatterElements; the last of several updates wins, or all are combined in their order."""
    x, updates = trial.integers(4, n + 1, dtype=dtype), trial.integers(3, n, dtype=dtype)
    indices = trial.integers(3, n, low=-x.shape[axis], high=x.shape[axis] - 1, dtype=index)
    y = x.copy()
    for place in np.ndindex(*indices.shape):
        target = (int(indices[place]), place[1]) if axis == 0 else (place[0], int(indices[place]))
        y[target] = combine(reduction, y[target], updates[place])
    tensors = trial.input(x), trial.input(indices), trial.input(updates), trial.result(y, dtype)
    return scatter_elements_steps(*tensors, axis, trial.status(), reduction=reduction)


def combine(reduction: str, element: Any, update: Any) -> Any:
    """An element after an update."""
    functions = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}
    return functions[reduction](element, update) if reduction in functions else update


def scattering_axes(target: Target) -> Axes:
    return {
        "n": row_lengths(target),
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
    return scatter_nd_steps(*tensors, trial.status(), reduction=reduction)


def scattering_nd_axes(target: Target) -> Axes:
    reductions = ("none", *NATIVE_SCATTER_REDUCTIONS)
    return {"n": row_lengths(target), "depth": (1, 2), "reduction": reductions, "dtype": NUMBERS}


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
    return [max_unpool_step(*tensors, trial.status())]


def unpooling_axes(target: Target) -> Axes:
    return {
        "count": (*range(2 * target.lanes + 2), 255, 256, 257, 700),
        "spare": (0, 1, 30, 3000),
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
    status = trial.status()
    return [cache_insert_step(trial.input(x), trial.input(starts), tensor, 2, status, circular=circular)]


def cache_axes(target: Target) -> Axes:
    return {
        "n": row_lengths(target),
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
    return [reverse_sequence_step(*tensors, trial.status(), time_axis)]


def reversal_axes(target: Target) -> Axes:
    axes = {"steps": (0, 1, 2, 5), "batch": (0, 1, 2, 5), "n": row_lengths(target), "time_axis": (0, 1)}
    return {**axes, "dtype": ("uint8", "float32", "int64")}


CONTRACTS = [
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
]
