"""Parts: a scope with too many children for one level of a picture is divided where the fewest values cross."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence

from sardonyx._src.view.scopes.tree import MAX_BOXES, Child, GraphScope, nodes_of

PART_SIZE = 40  # approximate number of children of a part
NAMED_OPERATORS = 3  # operators in the label of a part
MINOR_OPERATORS = frozenset(
    {
        "Constant",
        "Identity",
        "Cast",
        "Shape",
        "Gather",
        "Unsqueeze",
        "Concat",
        "Squeeze",
        "Slice",
        "QuantizeLinear",
        "DequantizeLinear",
    }
)


def divide(children: list[Child], live: Sequence[int], operators: Sequence[str]) -> list[Child]:
    """At most `MAX_BOXES` children: the given ones, or parts of them, which may be divided in turn.

    live: the number of values that cross the boundary before each child.
    operators: the operator of each node, by number.
    """
    if len(children) <= MAX_BOXES:
        return children
    count = -(-len(children) // PART_SIZE)
    count = count if count <= MAX_BOXES else PART_SIZE
    bounds = boundaries(len(children), count, live)
    parts: list[Child] = []
    for start, end in itertools.pairwise(bounds):
        if end - start == 1:
            parts.append(children[start])
            continue
        inner = divide(children[start:end], live[start : end + 1], operators)
        parts.append(GraphScope("part", part_label(children[start:end], operators), inner))
    return parts


def boundaries(size: int, count: int, live: Sequence[int]) -> list[int]:
    """The index of the first child of each part, and the end.

    Sizes are nearly equal: a boundary may move by a quarter of a part to where the fewest values cross.
    """
    width = size / count
    slack = max(1, int(width / 4))
    bounds = [0]
    for i in range(1, count):
        middle = round(i * width)
        window = range(max(bounds[-1] + 1, middle - slack), min(size - 1, middle + slack) + 1)
        if window:
            bounds.append(min(window, key=lambda p: (live[p], abs(p - middle))))
    return [*bounds, size]


def part_label(children: Sequence[Child], operators: Sequence[str]) -> str:
    """The most frequent operators of a part; operators that only compute sizes count only if there are no others."""
    counts: Counter[str] = Counter()
    for child in children:
        counts.update(operators[n] for n in (nodes_of(child) if isinstance(child, GraphScope) else (child,)))
    major = [name for name, _ in counts.most_common() if name not in MINOR_OPERATORS]
    names = (major or [name for name, _ in counts.most_common()])[:NAMED_OPERATORS]
    return ", ".join(name or "?" for name in names)
