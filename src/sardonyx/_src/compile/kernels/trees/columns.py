"""Columns: the features that trees read, x or -x, as float32 numbers that compare with float32 thresholds exactly.

Float features are columns as they are, since x <= t is x <= the greatest float32 that is at most t.  Features of other
types become ranks: x <= t[j] if at most j of the sorted thresholds t of the column are below x.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sardonyx._src.compile.kernels.trees.splits import Doubles, Splits
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ops.ml.forest import Ints

MAX_RANK = 1 << 24  # up to which float32 holds all integers


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """feature: [columns] int64.  sign: [columns] float32, 1 or -1.

    column, threshold: [splits], the column of each split and the number that it is compared with.
    edges: the sorted thresholds of the columns, those of column c at starts[c] to starts[c + 1]; empty for float features.
    """

    feature: Ints
    sign: NDArray[np.float32]
    column: Ints
    threshold: NDArray[np.float32]
    starts: Ints
    edges: Doubles

    def __len__(self) -> int:
        return len(self.feature)


def columns_of(splits: Splits, *, is_ranked: bool) -> Columns | None:
    """The columns of the splits; None if a column has too many thresholds to be ranked."""
    keys, column = np.unique(splits.feature * 2 + splits.negated, return_inverse=True)
    column = column.astype(np.int64)
    starts, edges = np.zeros(len(keys) + 1, np.int64), np.zeros(0)
    if is_ranked:
        threshold, starts, edges = rank_thresholds(column, splits.threshold, len(keys))
        if np.diff(starts).max(initial=0) > MAX_RANK:
            return None
    else:
        threshold = round_down(splits.threshold)
    sign = np.where(keys % 2 == 1, -1, 1).astype(np.float32)
    return Columns(keys // 2, sign, column, threshold, starts, edges)


def round_down(t: Doubles) -> NDArray[np.float32]:
    """The greatest float32 that is at most t; NaN stays NaN."""
    with np.errstate(all="ignore"):
        rounded = t.astype(np.float32)
        return np.where(rounded > t, np.nextafter(rounded, np.float32(-np.inf)), rounded)


def rank_thresholds(column: Ints, t: Doubles, count: int) -> tuple[NDArray[np.float32], Ints, Doubles]:
    """The ranks of thresholds among those of their column, and the sorted thresholds with their starts."""
    order = np.lexsort((t, column))
    order = order[~np.isnan(t[order])]
    own, sorted_t = column[order], t[order]
    is_new = np.ones(len(order), np.bool_)
    is_new[1:] = (own[1:] != own[:-1]) | (sorted_t[1:] != sorted_t[:-1])
    edges, starts = sorted_t[is_new], np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(own[is_new], minlength=count), out=starts[1:])
    rank = np.full(len(t), np.nan, np.float32)
    rank[order] = np.cumsum(is_new) - 1 - starts[own]
    return rank, starts, edges
