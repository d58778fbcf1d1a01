"""Repeated blocks: equal runs of nodes or scopes that follow each other become one scope, which is drawn once with `x 12`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Array
from sardonyx._src.view.scopes.parts import part_label
from sardonyx._src.view.scopes.tree import MAX_BOXES, Child, GraphScope, nodes_of

MAX_PERIOD = 4096  # children of the longest block that is searched
SAMPLES = 16  # positions of a block that are compared first, as a cheap filter
MIN_BLOCK_NODES = 3
MIN_REPEATED_NODES = 12  # nodes of all blocks together
MAX_BLOCKS = 50  # blocks of one scope; more blocks become several scopes
FOLD_FROM = 24  # children of a scope from which repetitions are folded; a shorter scope is drawn completely


@dataclass(frozen=True, slots=True)
class Marks:
    """The facts by which blocks are compared.

    operators: a number for each node, equal for equal operators and attributes.
    producers: the nodes that each node reads, in order.
    names: the operator of each node.
    """

    operators: Sequence[int]
    producers: Sequence[Sequence[int]]
    names: Sequence[str]


def fold_repetitions(children: list[Child], marks: Marks, live: Sequence[int]) -> list[Child]:
    """The children, with each run of at least two equal blocks replaced by a scope.

    live: the number of values that cross the boundary before each child.
    """
    table: dict[object, int] = {}
    codes = np.array([table.setdefault(child_shape(c, marks), len(table)) for c in children], np.int64)
    sizes = np.array([child.size if isinstance(child, GraphScope) else 1 for child in children], np.int64)
    result: list[Child] = []
    position = 0
    for start, period, count in select_runs(codes, sizes, np.array(live, np.int64)):
        blocks = [children[start + i * period : start + (i + 1) * period] for i in range(count)]
        first, equal = longest_equal_run([inner_edges(block, marks) for block in blocks])
        if equal < 2:
            continue
        start += first * period
        result += children[position:start]
        result += repetitions(blocks[first : first + equal], marks.names)
        position = start + equal * period
    return [*result, *children[position:]]


def child_shape(child: Child, marks: Marks) -> object:
    """A key that is equal for equal children: the operators of their nodes in order, and whether they are scopes."""
    if isinstance(child, int):
        return marks.operators[child]
    return (child.kind, child.count, tuple(marks.operators[node] for node in nodes_of(child)))


def select_runs(codes: Array, sizes: Array, live: Array) -> list[tuple[int, int, int]]:
    """Start, period and count of runs of equal blocks, in order; of overlapping runs, the one that covers most nodes is kept."""
    ends = np.concatenate(([0], np.cumsum(sizes)))
    candidates = []
    for period in range(1, min(MAX_PERIOD, len(codes) // 2) + 1):
        if not may_recur(codes, period):
            continue
        for start, length in equal_runs(codes, period):
            count = length // period + 1
            nodes = int(ends[start + period] - ends[start])
            if nodes >= MIN_BLOCK_NODES and nodes * count >= MIN_REPEATED_NODES:
                candidates.append((nodes * count, -period, start, length))
    candidates.sort(reverse=True)
    taken = np.zeros(len(codes), bool)
    result = []
    for _, negative, start, length in candidates:
        period = -negative
        if not taken[start : start + length + period].any():
            taken[start : start + length + period] = True
            result.append((best_start(start, period, length, live), period, length // period + 1))
    return sorted(result)


def may_recur(codes: Array, period: int) -> bool:
    """Whether a block of this length may follow an equal one, judged by a few of its positions: that excludes most lengths."""
    stride = period // SAMPLES
    if stride < 2:
        return True
    equal = codes[: len(codes) - period : stride] == codes[period::stride]
    counts = np.cumsum(np.concatenate(([0], equal)))
    return len(equal) >= SAMPLES and bool((counts[SAMPLES:] - counts[:-SAMPLES] == SAMPLES).any())


def equal_runs(codes: Array, period: int) -> list[tuple[int, int]]:
    """Start and length of the runs of positions at which the code equals the code one period later.

    Only runs of at least one period are returned.
    """
    equal = np.concatenate(([False], codes[:-period] == codes[period:], [False]))
    edges = np.flatnonzero(equal[1:] != equal[:-1])
    starts, ends = edges[::2], edges[1::2]
    long = ends - starts >= period
    return [(int(s), int(e - s)) for s, e in zip(starts[long], ends[long], strict=True)]


def best_start(start: int, period: int, length: int, live: Array) -> int:
    """The start of the first block in a run such that the fewest values cross the boundaries of the blocks.

    A run that is no multiple of the period leaves several starts to choose from.
    """
    spare = length % period
    crossings = [
        int(live[start + shift : start + shift + length + 1 : period].sum()) for shift in range(spare + 1)
    ]
    return start + min(range(spare + 1), key=crossings.__getitem__)


def longest_equal_run(items: Sequence[object]) -> tuple[int, int]:
    """Start and length of the longest run of equal items."""
    best, start = (0, 0), 0
    for i in range(len(items) + 1):
        if i == len(items) or items[i] != items[start]:
            best = max(best, (start, i - start), key=lambda run: run[1])
            start = i
    return best


def inner_edges(block: list[Child], marks: Marks) -> list[tuple[int, ...]]:
    """For each node of a block, the positions of the nodes in the block that it reads."""
    nodes = [
        node for child in block for node in (nodes_of(child) if isinstance(child, GraphScope) else (child,))
    ]
    positions = {node: i for i, node in enumerate(nodes)}
    return [tuple(positions[p] for p in marks.producers[node] if p in positions) for node in nodes]


def repetitions(blocks: list[list[Child]], operators: Sequence[str]) -> list[GraphScope]:
    """The scopes of equal blocks: one, or several if there are more than `MAX_BLOCKS` blocks."""
    label = common_label(blocks, operators)
    scopes = []
    for first in range(0, len(blocks), MAX_BLOCKS):
        part = blocks[first : first + MAX_BLOCKS]
        suffix = f" {first + 1}–{first + len(part)}" if len(blocks) > MAX_BLOCKS else ""
        inner = [as_block(block, f"{label} {first + i + 1}") for i, block in enumerate(part)]
        scopes.append(GraphScope("repetition", label + suffix, list(inner), len(part)))
    return scopes


def as_block(block: list[Child], label: str) -> GraphScope:
    """The scope of a block: the scope that is its only child, or a new one."""
    only = block[0]
    return only if len(block) == 1 and isinstance(only, GraphScope) else GraphScope("part", label, block)


def common_label(blocks: list[list[Child]], operators: Sequence[str]) -> str:
    """The label of equal blocks: the most frequent label of blocks that are scopes, without numbers, or their operators."""
    scopes = [block[0] for block in blocks if len(block) == 1 and isinstance(block[0], GraphScope)]
    names = Counter(re.sub(r"[\W_]*\d+[\W_]*", " ", scope.label).strip() for scope in scopes)
    name = names.most_common(1)[0][0] if names else ""
    return name or part_label(blocks[0], operators)


assert MAX_BLOCKS <= MAX_BOXES, "the blocks of a repetition are boxes of one level"
