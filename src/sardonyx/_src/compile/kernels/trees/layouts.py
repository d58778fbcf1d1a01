"""The memory of trees: records of nodes for walks, and lists of splits for bit vectors.

Walks.  A record is 8 bytes: a threshold (float32), and the column of the split with the distance to its left child, whose
neighbor is the right one, in a u32.  A leaf has distance 0 and the column after the last, which is 0 in every row, so that
walks stay there; its threshold is a number above 0 whose bits are those of LEAF_BITS plus the number of the leaf.

Bit vectors (QuickScorer: Lucchese et al. 2015; of several rows in a vector: Ye et al., RapidScorer, 2018).  A word has a bit
for each of up to 32 leaves of a tree, from left to right.  Every split that does not hold clears the bits of the leaves on
its left; the first bit that is left is the leaf that a row reaches.  All splits of a tree are evaluated, without branches.
A tree of more leaves has several words; the leaf is in the first that is not 0.
In an oblivious tree, whose levels have one split each (Prokhorenkova et al., CatBoost, 2018), a split clears one bit of the
number of a leaf instead.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sardonyx._src.compile.kernels.trees.columns import Columns
from sardonyx._src.compile.kernels.trees.levels import Levels
from sardonyx._src.compile.kernels.trees.splits import LEFT, RIGHT, Splits
from sardonyx._src.compile.kernels.tuning import TreeTuning
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Array
from sardonyx._src.ops.ml.forest import Ints

LEAF_BITS = 0x3F800000  # of 1.0
MAX_LEAVES = (0x7F800000 - LEAF_BITS) // 2
RECORD = np.dtype([("threshold", np.float32), ("packed", np.uint32)])
SPLIT = np.dtype([("threshold", np.float32), ("mask", np.uint32), ("offset", np.uint32)])
WORD = np.dtype([("first", np.uint32), ("end", np.uint32), ("leaf", np.uint32), ("bits", np.uint32)])
WORD_BITS = 32
COLUMN_BITS = (8, 12, 16, 20)  # widths of the column in a record
ALL_BITS = (1 << WORD_BITS) - 1


@dataclass(frozen=True, slots=True, eq=False)
class WalkTable:
    """records: [slots].  roots: [trees] u32, the slots of the roots, then of a leaf to the next multiple of the chains.

    column_bits: the low bits of `packed` that are the column.  leaves: [leaves], the leaf of the forest of each number.
    """

    records: Array
    roots: NDArray[np.uint32]
    column_bits: int
    leaves: Ints


@dataclass(frozen=True, slots=True, eq=False)
class BitTable:
    """splits: of all words.  words: [words].  trees: [trees + 1] u32, the first word of each tree.

    is_oblivious: whether the bits are those of the number of a leaf.  has_long_trees: of several words.
    """

    splits: Array
    words: Array
    trees: NDArray[np.uint32]
    is_oblivious: bool

    @property
    def has_long_trees(self) -> bool:
        return len(self.words) > len(self.trees) - 1


def number_edges(splits: Splits, levels: Levels | None) -> tuple[Ints, Ints, Ints]:
    """The numbers of the leaves: of each branch ([splits, 2], -1 for others), of each root likewise, and their leaves."""
    is_leaf = splits.children < 0
    edges, roots = np.full(splits.children.shape, -1), np.full(len(splits.roots), -1)
    if levels is not None:
        starts = levels.tree_starts
        tree, first = levels.tree, levels.first_leaf + starts[levels.tree]
        edges[:, LEFT] = np.where(is_leaf[:, LEFT] & (tree >= 0), first, -1)
        edges[:, RIGHT] = np.where(is_leaf[:, RIGHT] & (tree >= 0), first + levels.left_leaves, -1)
        roots = np.where(splits.roots < 0, starts[:-1], -1)
        count = int(starts[-1])
    else:
        inner = int(is_leaf.sum())
        edges[is_leaf] = np.arange(inner)
        roots[splits.roots < 0] = np.arange(inner, inner + int((splits.roots < 0).sum()))
        count = inner + int((splits.roots < 0).sum())
    leaves = np.zeros(count, np.int64)
    leaves[edges[edges >= 0]] = ~splits.children[edges >= 0]
    leaves[roots[roots >= 0]] = ~splits.roots[roots >= 0]
    return edges, roots, leaves


def walk_table(splits: Splits, columns: Columns, levels: Levels | None, chains: int) -> WalkTable | None:
    """The records; None if distances or numbers exceed their bits.  A leaf without votes, the last, pads the roots."""
    edges, root_leaves, leaves = number_edges(splits, levels)
    count, is_root = len(splits), np.zeros(len(splits), np.bool_)
    is_root[splits.roots[splits.roots >= 0]] = True
    pair = 2 * np.arange(count) + np.cumsum(is_root)
    end = 2 * count + int(is_root.sum())
    single = np.flatnonzero(splits.roots < 0)
    records = np.zeros(end + len(single) + 1, RECORD)
    bits = next((b for b in COLUMN_BITS if len(columns) < 1 << b), None)
    if bits is None or len(leaves) >= MAX_LEAVES or len(records) > MAX_LEAVES:
        return None

    slot = np.concatenate([pair, pair + 1, pair[is_root] - 1])
    target = np.concatenate([splits.children[:, LEFT], splits.children[:, RIGHT], np.flatnonzero(is_root)])
    leaf = np.concatenate([edges[:, LEFT], edges[:, RIGHT], np.full(int(is_root.sum()), -1)])
    inner, own = target >= 0, np.maximum(target, 0)
    distance = np.where(inner, pair[own] - slot, 0) if count else np.zeros(0, np.int64)
    if distance.max(initial=0) >= 1 << (32 - bits):
        return None
    if count:
        column = np.where(inner, columns.column[own], len(columns))
        records["packed"][slot] = distance << bits | column
        records["threshold"][slot] = np.where(inner, columns.threshold[own], leaf_thresholds(leaf))
    alone = end + np.arange(len(single) + 1)
    records["packed"][alone] = len(columns)
    records["threshold"][alone] = leaf_thresholds(np.append(root_leaves[single], len(leaves)))
    roots = np.full(-(-len(splits.roots) // chains) * chains, alone[-1])
    roots[: len(splits.roots)][splits.roots >= 0] = pair[splits.roots[splits.roots >= 0]] - 1
    roots[single] = alone[:-1]
    return WalkTable(records, roots.astype(np.uint32), bits, leaves)


def leaf_thresholds(leaf: Ints) -> NDArray[np.float32]:
    """Numbers above 0 with the numbers of leaves in their bits; of anything else any number."""
    return (np.maximum(leaf, 0) + LEAF_BITS).astype(np.uint32).view(np.float32)


def bit_table(splits: Splits, columns: Columns, levels: Levels, row_bytes: int, unroll: int) -> BitTable:
    """The lists of splits; row_bytes: the bytes of a column of a block of rows."""
    depths = oblivious_depths(splits, columns, levels)
    if depths is not None:
        return oblivious_table(splits, columns, levels, row_bytes, depths)
    split = np.flatnonzero(levels.tree >= 0)
    first = levels.first_leaf[split]
    last = first + levels.left_leaves[split] - 1
    counts = last // WORD_BITS - first // WORD_BITS + 1
    split, word = np.repeat(split, counts), np.repeat(first // WORD_BITS, counts)
    word += np.arange(len(split)) - np.repeat(np.cumsum(counts) - counts, counts)
    low = np.maximum(np.repeat(first, counts) - word * WORD_BITS, 0)
    high = np.minimum(np.repeat(last, counts) - word * WORD_BITS, WORD_BITS - 1)
    cleared = ((1 << (high + 1)) - 1) & ~((1 << low) - 1)

    words = -(-np.diff(levels.tree_starts) // WORD_BITS)
    trees = np.concatenate([[0], np.cumsum(words)])
    word += trees[levels.tree[split]]
    tree = np.repeat(np.arange(len(words)), words)
    leaf = levels.tree_starts[tree] + (np.arange(trees[-1]) - trees[tree]) * WORD_BITS
    bits = np.full(len(leaf), ALL_BITS)
    entries = split_entries(columns, split, ALL_BITS & ~cleared, row_bytes)
    lists, table = padded_lists(entries, word, leaf, bits, len(columns) * row_bytes, unroll)
    return BitTable(lists, table, trees.astype(np.uint32), is_oblivious=False)


def split_entries(columns: Columns, split: Ints, mask: Ints, row_bytes: int) -> Array:
    entries = np.zeros(len(split), SPLIT)
    entries["threshold"], entries["mask"] = columns.threshold[split], mask
    entries["offset"] = columns.column[split] * row_bytes
    return entries


def padded_lists(
    entries: Array, word: Ints, leaf: Ints, bits: Ints, neutral_offset: int, unroll: int
) -> tuple[Array, Array]:
    """Entries by word, each list padded to a multiple of `unroll` by splits that always hold; and the words.

    If that adds little, all lists have one length, so that the end of each loop is predicted.
    """
    counts = np.bincount(word, minlength=len(leaf))
    padded = -(-counts // unroll) * unroll
    if padded.max(initial=0) * len(padded) <= TreeTuning.max_padding * max(1, padded.sum()):
        padded[:] = padded.max(initial=0)
    starts = np.cumsum(padded) - padded
    lists = np.zeros(int(padded.sum()), SPLIT)
    lists["threshold"], lists["mask"], lists["offset"] = np.inf, ALL_BITS, neutral_offset
    order = np.argsort(word, kind="stable")
    within = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    lists[starts[word[order]] + within] = entries[order]
    words = np.zeros(len(leaf), WORD)
    words["first"], words["end"] = starts, starts + padded
    words["leaf"], words["bits"] = leaf, bits
    return lists, words


def oblivious_depths(splits: Splits, columns: Columns, levels: Levels) -> Ints | None:
    """The depths of the trees; None unless all are oblivious."""
    leaves = np.diff(levels.tree_starts)
    depths = np.round(np.log2(np.maximum(leaves, 1))).astype(np.int64)
    if (1 << depths != leaves).any() or depths.max(initial=0) > MAX_OBLIVIOUS_DEPTH:
        return None
    for depth, level in enumerate(levels.levels):
        tree = levels.tree[level]
        if (np.bincount(tree, minlength=len(leaves)) != np.where(depths > depth, 1 << depth, 0)).any():
            return None
        column, threshold = np.full(len(leaves), -1), np.full(len(leaves), np.nan, np.float32)
        column[tree], threshold[tree] = columns.column[level], columns.threshold[level]
        same = (column[tree] == columns.column[level]) & (threshold[tree] == columns.threshold[level])
        if not same.all():
            return None
    return depths if depths.max(initial=0) > MIN_OBLIVIOUS_DEPTH else None


MIN_OBLIVIOUS_DEPTH, MAX_OBLIVIOUS_DEPTH = 1, 20


def oblivious_table(
    splits: Splits, columns: Columns, levels: Levels, row_bytes: int, depths: Ints
) -> BitTable:
    """A list of the splits of each tree, one of each level; that of the root clears the highest bit."""
    split = np.concatenate(
        [np.zeros(0, np.int64), *(first_of_trees(levels, level) for level in levels.levels)]
    )
    tree = levels.tree[split]
    depth = np.repeat(
        np.arange(len(levels.levels)), [len(first_of_trees(levels, level)) for level in levels.levels]
    )
    mask = ALL_BITS & ~(1 << (depths[tree] - 1 - depth))
    last = (1 << depths) - 1
    entries = split_entries(columns, split, mask, row_bytes)
    neutral = len(columns) * row_bytes
    lists, words = padded_lists(
        entries, tree, levels.tree_starts[:-1] + last, last, neutral, TreeTuning.oblivious_unroll
    )
    return BitTable(lists, words, np.arange(len(depths) + 1).astype(np.uint32), is_oblivious=True)


def first_of_trees(levels: Levels, level: Ints) -> Ints:
    """The first split of each tree in a level."""
    return level[np.unique(levels.tree[level], return_index=True)[1]]
