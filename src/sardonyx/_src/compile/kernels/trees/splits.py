"""Decision trees with splits of one kind: x <= threshold goes left, anything else, NaN included, goes right.

Every mode of ai.onnx.ml becomes such splits, exactly, so that kernels know no modes:

- x < t is x <= the number before t; GTE and GT are LT and LEQ with the branches exchanged.
- A split that NaN leaves on the left becomes one of -x, with the branches exchanged: x > t is -x <= the number before -t.
- x = t is x <= t and then not x <= the number before t; a set is a binary search for the least member that is >= x.
- A comparison that never holds has the threshold NaN.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sardonyx._src.dataclass import dataclass
from sardonyx._src.ops.ml.forest import (
    EQ,
    GT,
    GTE,
    LEAF,
    LT,
    MEMBER,
    NEQ,
    Forest,
    Ints,
    Members,
    topological_order,
)

Doubles = NDArray[np.float64]
Bools = NDArray[np.bool_]
LEFT, RIGHT = 0, 1


@dataclass(frozen=True, slots=True, eq=False)
class Splits:
    """Splits x[feature] <= threshold, or -x[feature] <= threshold where negated; a split precedes its children.

    feature, threshold, negated: [splits].  children: [splits, 2], left and right: the number of a split, or ~n for leaf
    n of the forest.  roots: [trees], likewise.
    """

    feature: Ints
    threshold: Doubles
    negated: Bools
    children: Ints
    roots: Ints

    def __len__(self) -> int:
        return len(self.feature)


def splits_of(forest: Forest) -> Splits:
    """The splits of a valid forest."""
    order = topological_order(forest.on_true, forest.on_false, forest.mode)
    inner = order[forest.mode[order] != LEAF]
    mode = forest.mode[inner]
    sizes = np.where((mode == EQ) | (mode == NEQ), 2, 1)
    sets = member_values(forest.members, inner, mode)
    for place, values in sets.items():
        sizes[place] = max(1, 2 * len(values))
    first = np.cumsum(sizes) - sizes
    reference = ~np.arange(len(forest.mode))
    reference[inner] = first
    missing_left, children = np.zeros(int(sizes.sum()), np.bool_), np.zeros((int(sizes.sum()), 2), np.int64)
    threshold = np.full(len(children), np.nan)
    on_true, on_false = reference[forest.on_true[inner]], reference[forest.on_false[inner]]
    missing = forest.missing_true[inner]

    t = forest.threshold[inner]
    is_member, is_equal = mode == MEMBER, (mode == EQ) | (mode == NEQ)
    exchanged = ((mode == GTE) | (mode == GT)) & ~np.isnan(t) | (mode == NEQ)
    left, right = np.where(exchanged, on_false, on_true), np.where(exchanged, on_true, on_false)
    nan_left = missing ^ exchanged
    plain = ~is_member & ~is_equal
    threshold[first[plain]] = np.where((mode == LT) | (mode == GTE), number_before(t), t)[plain]
    children[first[plain]] = np.stack([left, right], axis=1)[plain]
    missing_left[first[plain]] = nan_left[plain]

    second = first[is_equal] + 1
    threshold[first[is_equal]], threshold[second] = t[is_equal], number_before(t[is_equal])
    children[first[is_equal]] = np.stack([second, right[is_equal]], axis=1)
    children[second] = np.stack([right[is_equal], left[is_equal]], axis=1)
    missing_left[first[is_equal]] = nan_left[is_equal]

    for place, values in sets.items():
        within = slice(int(first[place]), int(first[place] + sizes[place]))
        search = MemberSearch(int(first[place]), int(on_true[place]), int(on_false[place]), values)
        threshold[within], children[within] = search.threshold, search.children
        missing_left[search.last] = missing[place]
    feature = np.repeat(forest.feature[inner], sizes)
    splits = Splits(feature, threshold, missing_left, children, reference[forest.roots])
    return negate(splits, missing_left)


def negate(splits: Splits, which: Bools) -> Splits:
    """The splits with those that NaN leaves on the left as splits of -x, which it leaves on the right."""
    t = splits.threshold
    opposite = np.where(np.isnan(t), np.inf, number_before(-t))
    return replace(
        splits,
        threshold=np.where(which, opposite, t),
        children=np.where(which[:, None], splits.children[:, ::-1], splits.children),
    )


def number_before(t: Doubles) -> Doubles:
    """The greatest number below t; NaN for -infinity and NaN."""
    with np.errstate(all="ignore"):
        return np.where(t == -np.inf, np.nan, np.nextafter(t, -np.inf))


def member_values(members: Members, inner: Ints, mode: Ints) -> dict[int, Doubles]:
    """The sorted sets of the BRANCH_MEMBER nodes, by their places in `inner`."""
    places = np.flatnonzero(mode == MEMBER)
    count = max(1, len(members.values))
    starts = np.searchsorted(members.pairs, inner[places] * count)
    ends = np.searchsorted(members.pairs, (inner[places] + 1) * count)
    return {
        int(place): members.values[np.unique(members.pairs[start:end] % count)]
        for place, start, end in zip(places, starts, ends, strict=True)
    }


class MemberSearch:
    """The splits of a set of numbers, from number `first` on: a balanced search tree, then a test for equality.

    last: the split that NaN reaches, whose right branch it takes.
    """

    def __init__(self, first: int, on_true: int, on_false: int, values: Doubles) -> None:
        self.threshold = np.full(max(1, 2 * len(values)), np.nan)
        self.children = np.full((len(self.threshold), 2), on_false)
        self.first, self.last, self.next = first, first, first
        self.on_true, self.on_false, self.values = on_true, on_false, values
        self.before = number_before(values)
        if not len(values):
            self.children[0, LEFT] = on_true  # which NaN alone can reach
        pending: list[tuple[int, int, int, int]] = [(0, len(values), -1, 0)]
        while pending:
            self.add_range(*pending.pop(), pending)

    def add_range(
        self, low: int, high: int, parent: int, side: int, pending: list[tuple[int, int, int, int]]
    ) -> None:
        """Adds the splits that search values[low:high], and refers to them as a child of `parent`."""
        if low == high:
            return
        middle, (search, equal) = (low + high) // 2, (self.next, self.next + 1)
        self.next += 2
        if parent >= 0:
            self.children[parent - self.first, side] = search
        self.threshold[search - self.first], self.threshold[equal - self.first] = (
            self.values[middle],
            self.before[middle],
        )
        self.children[search - self.first] = equal, self.on_false
        self.children[equal - self.first] = self.on_false, self.on_true
        if high == len(self.values):
            self.last = search
        pending.append((low, middle, equal, LEFT))
        pending.append((middle + 1, high, search, RIGHT))
