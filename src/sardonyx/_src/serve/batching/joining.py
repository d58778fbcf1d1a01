"""Requests joined to one run: feeds concatenated along the first axis, and results split again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from sardonyx._src.ir import Array
from sardonyx._src.ops.api import RunResult

# The properties that all requests of a batch have in common: names, element types and all dims except the first.
BatchKey: TypeAlias = "tuple[tuple[str, np.dtype[np.generic], tuple[int, ...]], ...]"


def batch_key(feeds: Mapping[str, Array], names: frozenset[str]) -> tuple[BatchKey, int] | None:
    """The key of a request and its number of rows.

    None for a request that cannot be joined with others: it feeds other inputs than `names`, or its inputs differ in length.
    """
    if feeds.keys() != names:
        return None
    lengths = {array.shape[0] if array.ndim else -1 for array in feeds.values()}
    rows = lengths.pop()
    if lengths or rows < 1:
        return None
    return tuple((name, feeds[name].dtype, feeds[name].shape[1:]) for name in sorted(names)), rows


def join_feeds(requests: Sequence[Mapping[str, Array]]) -> dict[str, Array]:
    return {name: np.concatenate([feeds[name] for feeds in requests]) for name in requests[0]}


def split_results(results: Mapping[str, RunResult], rows: Sequence[int]) -> list[dict[str, RunResult]] | None:
    """The results of each request, as views of the batch's results; None if an output does not have one row for each fed row.

    rows: the number of rows of each request.
    """
    total = sum(rows)
    arrays = list(results.values())
    if not all(isinstance(array, np.ndarray) and array.ndim and len(array) == total for array in arrays):
        return None
    ends = np.cumsum(rows).tolist()
    bounds = zip([0, *ends], ends, strict=False)
    return [{name: array[begin:end] for name, array in results.items()} for begin, end in bounds]
