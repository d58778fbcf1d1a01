"""Greedy suppression of overlapping boxes: boxes are selected one at a time, but pairs of boxes compared by arrays.

Candidates are visited by descending score.  A selected box excludes later ones that overlap it too much.  There are two
algorithms.  A sweep sorts the boxes along an axis, finds the pairs that overlap along it, and compares these pairs once;
it is used where few pairs overlap so.  Otherwise, a block of candidates is compared with all boxes selected so far, and
those of the block that remain with one another.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Array

FIRST_BLOCK, BLOCK = (
    64,
    256,
)  # candidates in the first and in the largest block; each block is twice the one before
# A block has at most a quarter (1 / SPARE_SHARE) more candidates than there are boxes left to select, or LEAST_BLOCK.
LEAST_BLOCK, SPARE_SHARE = 16, 4
SELECTED_BLOCK = (
    128  # selected boxes that a block is compared with at a time, so that arrays of pairs stay in the cache
)
SWEEP_SHARE = 16  # a sweep that would compare more than a 16th of all pairs is not done
MIN_SWEEP_BOXES = 1 << 10  # the smallest number of boxes for a sweep
PAIRS = 1 << 16  # pairs that a sweep compares at a time


@dataclass(frozen=True, slots=True)
class Boxes:
    """The corners of boxes [n], low before high, and their areas."""

    y_low: Array
    x_low: Array
    y_high: Array
    x_high: Array
    area: Array

    @classmethod
    def of(cls, corners: Array) -> Boxes:
        """corners: [n, 2, 2], the low and the high corner of each box."""
        edges = np.ascontiguousarray(corners.reshape(-1, 4).T)
        return cls(edges[0], edges[1], edges[2], edges[3], (corners[:, 1] - corners[:, 0]).prod(1))

    @property
    def parts(self) -> tuple[Array, ...]:
        return self.y_low, self.x_low, self.y_high, self.x_high, self.area

    def __getitem__(self, which: Array) -> Boxes:
        return Boxes(*(part[which] for part in self.parts))

    def column(self) -> Boxes:
        """The same boxes as [n, 1], to be compared with [m] others."""
        return Boxes(*(part[:, None] for part in self.parts))


def suppress_overlaps(boxes: Boxes, order: Array, max_boxes: int, iou_limit: np.float32) -> Array:
    """The numbers of the selected boxes.

    order: the numbers of the candidates, by descending score.
    iou_limit: not negative; a box whose intersection over union with a selected box exceeds it is dropped.
    """
    is_sweep = len(order) >= MIN_SWEEP_BOXES and max_boxes >= len(order) // 4
    excluding = find_excluding_pairs(boxes[order], iou_limit) if is_sweep else None
    if excluding is None:
        return select_by_blocks(boxes, order, max_boxes, iou_limit)[:max_boxes]
    return order[select_by_pairs(len(order), *excluding)[:max_boxes]]


# --- sweep


def find_excluding_pairs(boxes: Boxes, iou_limit: np.float32) -> tuple[Array, Array] | None:
    """The pairs of boxes that exclude one another, as two arrays of box numbers.

    None if a sweep would compare more than 1 / SWEEP_SHARE of all pairs.
    """
    count = len(boxes.area)
    spans = [
        count_overlaps(low, high) for low, high in ((boxes.y_low, boxes.y_high), (boxes.x_low, boxes.x_high))
    ]
    order, ends = min(spans, key=lambda span: int(span[1].sum()))
    lengths = ends - np.arange(count) - 1
    if SWEEP_SHARE * int(lengths.sum()) > count * count:
        return None
    ordered, first, pairs = boxes[order], 0, []
    totals = np.cumsum(lengths)
    while first < count:
        last = max(int(np.searchsorted(totals, (totals[first - 1] if first else 0) + PAIRS)), first + 1)
        repeats = lengths[first:last]
        i = np.repeat(np.arange(first, min(last, count)), repeats)
        starts = np.repeat(np.cumsum(repeats) - repeats, repeats)
        j = i + 1 + np.arange(len(i)) - starts
        exceeding = np.flatnonzero(intersection_over_union(ordered[i], ordered[j]) > iou_limit)
        pairs.append((i[exceeding], j[exceeding]))
        first = last
    left, right = (order[np.concatenate(part)] for part in zip(*pairs, strict=True))
    return left, right


def count_overlaps(low: Array, high: Array) -> tuple[Array, Array]:
    """The numbers of the boxes sorted by their low edges; and for each position in this order an end.

    The boxes between a position and its end begin before the box at the position ends, so they overlap it.
    """
    order = np.argsort(low, kind="stable")
    ends = np.searchsorted(low[order], high[order], "left")
    return order, np.maximum(ends, np.arange(1, len(low) + 1))


def select_by_pairs(count: int, left: Array, right: Array) -> Array:
    """The numbers of the boxes that no selected box before them excludes, in order; left, right: excluding pairs."""
    earlier, later = np.minimum(left, right), np.maximum(left, right)
    by_earlier = np.argsort(earlier, kind="stable")
    excluded = later[by_earlier]  # the boxes that each box excludes, one box after the other
    bounds = np.searchsorted(earlier[by_earlier], np.arange(count + 1))
    alive = np.ones(count, bool)
    for i in np.flatnonzero(bounds[1:] > bounds[:-1]).tolist():
        if alive[i]:
            alive[excluded[bounds[i] : bounds[i + 1]]] = False
    return np.flatnonzero(alive)


# --- blocks


def select_by_blocks(boxes: Boxes, order: Array, max_boxes: int, iou_limit: np.float32) -> Array:
    """The first `max_boxes` boxes of `order`, or a few more, that no selected box before them excludes."""
    selected, first, size = np.empty(0, np.int64), 0, FIRST_BLOCK
    while first < len(order) and len(selected) < max_boxes:
        missing = max_boxes - len(selected)
        size = min(
            size, max(missing + missing // SPARE_SHARE, LEAST_BLOCK)
        )  # boxes after the last selected one are compared in vain
        block = order[first : first + size]
        first, size = first + size, min(2 * size, BLOCK)
        for start in range(0, len(selected), SELECTED_BLOCK):
            earlier = boxes[selected[start : start + SELECTED_BLOCK]]
            block = block[~exceeds(earlier, boxes[block], iou_limit).any(0)]
            if not len(block):
                break
        candidates = boxes[block]
        survivors = select_one_by_one(exceeds(candidates, candidates, iou_limit))
        selected = np.concatenate([selected, block[survivors]])
    return selected


def select_one_by_one(excludes: Array) -> Array:
    """The boxes of a block that no selected box before them excludes; excludes: [n, n] bool."""
    alive = np.ones(len(excludes), bool)
    later = np.triu(excludes, 1)
    for i in np.flatnonzero(later.any(1)).tolist():
        if alive[i]:
            alive &= ~later[i]
    return np.flatnonzero(alive)


def exceeds(first: Boxes, second: Boxes, iou_limit: np.float32) -> Array:
    """Whether the intersection over union of each pair exceeds the limit: [n, m] bool."""
    return intersection_over_union(first.column(), second) > iou_limit


def intersection_over_union(first: Boxes, second: Boxes) -> Array:
    """The area of the intersection over that of the union, for boxes whose arrays broadcast; NaN for two areas of 0."""
    shared = overlap(first.y_low, first.y_high, second.y_low, second.y_high)
    shared *= overlap(first.x_low, first.x_high, second.x_low, second.x_high)
    union = second.area + first.area
    union -= shared
    return np.divide(shared, union, out=shared)


def overlap(low: Array, high: Array, other_low: Array, other_high: Array) -> Array:
    """The length that intervals have in common."""
    length = np.minimum(high, other_high)
    length -= np.maximum(low, other_low)
    return np.maximum(length, 0, out=length)
