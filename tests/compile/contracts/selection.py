"""Contracts of steps that count what they select: nonzero elements, boxes that overlap no better one, and elements of slices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from compile.contracts.contract import Axes, Contract, row_lengths
from compile.contracts.trial import Trial
from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.kernels.data_movement.slice_bounds import slice_bounds_step
from sardonyx._src.compile.kernels.selection.distinct_rows import DistinctRows, distinct_rows_step
from sardonyx._src.compile.kernels.selection.key_search import KeyTable, key_search_step
from sardonyx._src.compile.kernels.selection.ngram_counts import NgramTrie, ngram_counts_step
from sardonyx._src.compile.kernels.selection.non_max_suppression import (
    SuppressionLimits,
    collection_step,
    suppression_step,
    total_step,
)
from sardonyx._src.compile.kernels.selection.non_zero import non_zero_step
from sardonyx._src.compile.kernels.selection.order_codes import order_codes_step
from sardonyx._src.compile.program import Step, TensorView
from sardonyx._src.compile.program.operands.tensor import dense_temporary
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array


def non_zero(trial: Trial, shape: tuple[int, ...], n: int, dtype: str) -> Sequence[Step]:
    x = (trial.rng.random((*shape, n)) < 0.4).astype(dtype)
    places = np.argwhere(x).T
    capacity = x.size + 1
    coordinates = dense_temporary(DataType.INT64, (x.ndim, capacity), "coordinates")
    trial.expect(trial.part(coordinates, places.shape, (capacity, 1), 0), places)
    return [non_zero_step(trial.input(x), coordinates, trial.result(np.array([places.shape[1]]), np.int64))]


def non_zero_axes(target: Target) -> Axes:
    return {
        "shape": ((), (1,), (3,), (2, 3)),
        "n": range(4 * target.lanes + 2),
        "dtype": ("bool", "float32", "float64", "int8", "int64", "int32"),
    }


def slice_bounds(trial: Trial, lengths: tuple[int, ...], step: int, dtype: str) -> Sequence[Step]:
    """Bounds as Python computes those of its slices."""
    steps = [step + axis for axis in range(len(lengths))]
    starts, ends = (np.array([trial.rng.integers(-n - 3, n + 4) for n in lengths], dtype) for _ in range(2))
    axes = zip(starts.tolist(), ends.tolist(), steps, lengths, strict=True)
    indices = [range(*slice(*bounds).indices(length)) for *bounds, length in axes]
    bounds = trial.result(np.array([(rows.start, len(rows)) for rows in indices]), np.int64)
    return [slice_bounds_step(trial.input(starts), trial.input(ends), lengths, steps, bounds)]


def slice_bounds_axes(target: Target) -> Axes:
    return {"lengths": ((0,), (1,), (7,), (4, 9), (3, 0, 5)), "step": (1, 2, 5), "dtype": ("int32", "int64")}


def suppression(
    trial: Trial, boxes: int, classes: int, max_boxes: int, iou: float, is_centered: bool
) -> Sequence[Step]:
    """The selected boxes of each class, and their collection."""
    corners, sizes = trial.integers(2, boxes, 2, low=0, high=9), trial.integers(2, boxes, 2, low=1, high=5)
    scores = np.stack([[trial.rng.permutation(boxes) for _ in range(classes)] for _ in range(2)]).astype(
        np.float32
    )
    parts = (
        (corners[..., ::-1] + sizes[..., ::-1] / 2, sizes[..., ::-1])
        if is_centered
        else (corners, corners + sizes)
    )
    given = np.concatenate(parts, -1).astype(np.float32)
    low, high = corners.astype(np.float64), (corners + sizes).astype(np.float64)
    chosen = {
        (b, c): select(low[b], high[b], scores[b, c], max_boxes, iou)
        for b in range(2)
        for c in range(classes)
    }
    rows = np.array([(b, c, box) for (b, c), kept in chosen.items() for box in kept], np.int64).reshape(-1, 3)
    capacity = max(min(max_boxes, boxes), 1)
    segments = dense_temporary(DataType.INT64, (2 * classes, capacity), "segments")
    counts = trial.result(np.array([len(kept) for kept in chosen.values()], np.int64), np.int64)
    total, y = trial.result(np.array([len(rows)]), np.int64), trial.result(rows, np.int64)
    limits = SuppressionLimits(
        trial.input(np.array([max_boxes], np.int64)),
        trial.input(np.array([iou], np.float32)),
        trial.input(np.array([-1.0], np.float32)),
    )
    status = trial.status()
    tensors = trial.input(given), trial.input(scores)
    return [
        suppression_step(*tensors, segments, counts, limits, status, is_centered=is_centered),
        total_step(counts, total),
        collection_step(segments, counts, y, classes),
    ]


def select(low: Array, high: Array, scores: Array, max_boxes: int, iou: float) -> list[int]:
    """The boxes by descending score that overlap no selected one by more than a share."""
    kept: list[int] = []
    for box in np.argsort(-scores, kind="stable"):
        if len(kept) == max_boxes:
            break
        if all(overlap(low, high, int(box), other) <= iou for other in kept):
            kept.append(int(box))
    return kept


def overlap(low: Array, high: Array, first: int, second: int) -> float:
    """The intersection over the union of two boxes."""
    sides = np.minimum(high[first], high[second]) - np.maximum(low[first], low[second])
    common = float(np.prod(np.maximum(sides, 0)))
    return common / float(np.prod(high[first] - low[first]) + np.prod(high[second] - low[second]) - common)


def suppression_axes(target: Target) -> Axes:
    return {
        "boxes": (*range(1, 2 * target.lanes + 2), 70),
        "classes": (1, 2, 3),
        "max_boxes": (1, 2, 3, 17, 100),
        "iou": (0.11, 0.37, 0.83),
        "is_centered": (False, True),
    }


def key_search(trial: Trial, n: int, keys: int, dtype: str, values: str) -> Sequence[Step]:
    """Elements of which about half are keys."""
    codes = np.arange(keys, dtype=f"i{np.dtype(dtype).itemsize}") * 2
    table = KeyTable(codes, np.arange(keys + 1).astype(values), is_bitwise=True)
    numbers = trial.rng.integers(-1, 2 * keys + 1, n)
    is_key = (numbers % 2 == 0) & (numbers >= 0) & (numbers < 2 * keys)
    x = numbers.astype(codes.dtype).view(dtype)
    y = trial.result(np.where(is_key, numbers // 2, keys).astype(values), values)
    return [key_search_step(trial.input(x), y, table)]


def key_search_axes(target: Target) -> Axes:
    types = ("float32", "float64", "int32", "int64")
    return {"n": (*row_lengths(target), 4097), "keys": (*range(1, 18), 400), "dtype": types, "values": types}


def distinct_rows(
    trial: Trial, rows: int, length: int, values: int, is_sorted: bool, dtype: str
) -> Sequence[Step]:
    """Slices of axis 1 of [outer, rows, inner], of few different values, so that many are equal."""
    inner = 3 if length % 3 == 0 else 1
    x = trial.integers(
        length // inner, rows, inner, low=0 if dtype[0] in "ub" else -values, high=values, dtype=dtype
    )
    lines = np.moveaxis(x, 1, 0).reshape(rows, length).tolist()
    counts = Counter(map(tuple, lines))
    distinct = sorted(counts) if is_sorted else list(counts)
    numbers = {line: i for i, line in enumerate(distinct)}
    first = [lines.index(list(line)) for line in distinct]

    def counted(name: str, expected: Sequence[int]) -> TensorView:
        tensor = dense_temporary(DataType.INT64, (rows + 1,), name)
        trial.expect(trial.part(tensor, (len(expected),), (1,), 0), np.array(expected, np.int64))
        return tensor

    results = DistinctRows(
        counted("first", first),
        trial.result(np.array([numbers[tuple(line)] for line in lines], np.int64), np.int64),
        counted("counts", [counts[line] for line in distinct]),
        trial.result(np.array([len(distinct)]), np.int64),
        dense_temporary(DataType.INT64, (2 * rows + 1,), "table"),
        dense_temporary(DataType.INT64, (2 * rows + 2,), "order"),
    )
    codes = dense_temporary(DataType.INT64, (rows, length), "codes")
    return [
        order_codes_step(trial.input(x), codes, length // inner, rows, inner),
        distinct_rows_step(codes, results, is_sorted=is_sorted),
    ]


def distinct_rows_axes(target: Target) -> Axes:
    return {
        "rows": (*range(10), 64, 65, 300),
        "length": (1, 2, 3, 6),
        "values": (1, 2, 40),
        "is_sorted": (False, True),
        "dtype": (
            "bool",
            "float32",
            "float64",
            "int8",
            "uint8",
            "int16",
            "int32",
            "uint32",
            "int64",
            "uint64",
        ),
    }


def ngram_counts(
    trial: Trial, rows: int, columns: int, skips: int, is_binary: bool, dtype: str
) -> Sequence[Step]:
    """n-grams of up to three of few different tokens, one of them twice in the pool."""
    ngrams = [(0,), (1,), (0, 1), (1, 1), (2, 0, 1), (1, 1, 1), (0,)]
    places, weights = np.array([2, 0, 1, 5, 4, 3, 6]), np.arange(1, 8)
    x = trial.integers(rows, columns, low=0, high=4, dtype=dtype)
    counts = np.zeros((rows, 7), np.float32)
    for row, tokens in enumerate(x.tolist()):
        for place, ngram in zip(places.tolist(), ngrams, strict=True):
            n = len(ngram)
            for distance in range(1, skips + 2 if n > 1 else 2):
                starts = range(columns - (n - 1) * distance)
                counts[row, place] += sum(
                    tuple(tokens[i : i + n * distance : distance]) == ngram for i in starts
                )
    expected = (np.minimum(counts, 1) if is_binary else counts) * weights[np.argsort(places)]
    trie = NgramTrie.of(ngrams, places, weights, skips, is_binary=is_binary)
    return [ngram_counts_step(trial.input(x), trial.result(expected.astype(np.float32)), trie)]


def ngram_counts_axes(target: Target) -> Axes:
    return {
        "rows": (0, 1, 2, 9),
        "columns": (*range(8), 40),
        "skips": (0, 1, 5),
        "is_binary": (False, True),
        "dtype": ("int32", "int64"),
    }


CONTRACTS = [
    Contract(ngram_counts, ngram_counts_axes),
    Contract(distinct_rows, distinct_rows_axes),
    Contract(key_search, key_search_axes),
    Contract(non_zero, non_zero_axes),
    Contract(slice_bounds, slice_bounds_axes),
    Contract(suppression, suppression_axes),
]
