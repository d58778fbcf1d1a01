"""Einsum decomposed for operator sets before 12: the inputs are multiplied from left to right.

An axis is summed over as soon as neither the output nor a later input has its label.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Value
from sardonyx._src.ir.dims import Dim, known_equal
from sardonyx._src.ops.math.einsum import number_axes, op, parse
from sardonyx._src.ops.support.promotion import NARROW_FLOATS, SMALL_INTEGERS, cast
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter

UNIT = -1  # the label of a temporary axis of size 1


@dataclass(frozen=True, slots=True)
class Term:
    """A tensor whose axes have distinct labels; `sizes` has the size of each label."""

    value: Value
    labels: tuple[int, ...]
    sizes: dict[int, Dim]


@op.convert((12, 0))
def decompose(adapter: Adapter) -> AdaptedNode:
    """Narrow floats are computed as float, and integers of fewer than 32 bits in 32 bits, which Mul requires there."""
    count = len(adapter.node.inputs)
    try:
        axes = number_axes(
            parse(str(adapter.inference.attributes["equation"])), [adapter.rank(i) for i in range(count)]
        )
    except EvaluationError as error:
        adapter.refuse(error.why)
    assert axes is not None, "every rank is known"
    own = adapter.dtype(0)
    wide = (NARROW_FLOATS | SMALL_INTEGERS).get(own, own)
    terms = [term_of(adapter, i, labels, wide) for i, labels in enumerate(axes.inputs)]
    result: Term | None = None
    for i, term in enumerate(terms):
        later = {label for other in terms[i + 1 :] for label in other.labels} | set(axes.output)
        current_labels: set[int] = set() if result is None else set(result.labels)
        term = reduce_labels(
            adapter, term, [label for label in term.labels if label not in later | current_labels]
        )
        result = term if result is None else multiply_terms(adapter, result, term, later)
    assert result is not None, "an equation has a term"
    result = reduce_labels(adapter, result, [label for label in result.labels if label not in axes.output])
    value = transpose_to(adapter, result, axes.output).value
    return cast(adapter, value, own) if wide is not own else value


def term_of(adapter: Adapter, i: int, labels: Sequence[int], dtype: DataType) -> Term:
    """Input i; of axes with the same label, only the diagonal is kept."""
    value, shape = adapter.input(i), adapter.inference.shape(i)
    assert shape is not None, "every rank is known"
    if dtype is not adapter.dtype(i):
        value = cast(adapter, value, dtype)
    remaining, sizes = list(labels), list(shape)
    while len(set(remaining)) < len(remaining):
        label = next(label for label in remaining if remaining.count(label) > 1)
        first, second = [axis for axis, other in enumerate(remaining) if other == label][:2]
        if not known_equal(sizes[first], sizes[second]):
            adapter.refuse(f"the two axes of the diagonal of input {i} must be known to have the same size")
        value = diagonal(adapter, value, first, second, len(remaining), dtype)
        del remaining[first], sizes[first]
    return Term(value, tuple(remaining), dict(zip(remaining, sizes, strict=True)))


def diagonal(adapter: Adapter, value: Value, first: int, second: int, rank: int, dtype: DataType) -> Value:
    """The diagonal of two axes; the first one is removed."""
    size = adapter.Gather(adapter.Shape(value), adapter.integers(first))
    indices = adapter.Range(adapter.integers(0), size, adapter.integers(1))
    along_axes = [
        adapter.Unsqueeze(indices, axes=[a for a in range(rank) if a != axis]) for axis in (first, second)
    ]
    only_diagonal = adapter.Where(
        adapter.Equal(*along_axes), value, adapter.constant(np.zeros((), dtype.numpy))
    )
    return adapter.ReduceSum(only_diagonal, axes=[first], keepdims=0)


def reduce_labels(adapter: Adapter, term: Term, labels: Sequence[int]) -> Term:
    """The term summed over `labels`."""
    if not labels:
        return term
    axes = [term.labels.index(label) for label in labels]
    remaining = tuple(label for label in term.labels if label not in labels)
    return Term(
        adapter.ReduceSum(term.value, axes=axes, keepdims=0), remaining, {n: term.sizes[n] for n in remaining}
    )


def multiply_terms(adapter: Adapter, a: Term, b: Term, later: set[int]) -> Term:
    """The product, summed over shared labels that are not needed later; MatMul sums over one of these labels."""
    sizes = {**a.sizes, **{n: size for n, size in b.sizes.items() if a.sizes.get(n, 1) == 1}}
    shared = [n for n in a.labels if n in b.labels and n not in later]
    inner = [n for n in shared if known_equal(a.sizes[n], b.sizes[n])]
    if not inner:
        labels = tuple(dict.fromkeys((*a.labels, *b.labels)))
        product = Term(
            adapter.Mul(transpose_to(adapter, a, labels).value, transpose_to(adapter, b, labels).value),
            labels,
            sizes,
        )
        return reduce_labels(adapter, product, shared)
    along = inner[-1]
    row = next((n for n in reversed(a.labels) if n not in b.labels), UNIT)
    column = next((n for n in reversed(b.labels) if n not in a.labels), UNIT)
    batch = [n for n in dict.fromkeys((*a.labels, *b.labels)) if n not in (along, row, column)]
    left, right = (
        transpose_to(adapter, a, (*batch, row, along)),
        transpose_to(adapter, b, (*batch, along, column)),
    )
    value = adapter.MatMul(left.value, right.value)
    units = [len(batch) + i for i, n in enumerate((row, column)) if n == UNIT]
    value = adapter.Squeeze(value, axes=units) if units else value
    labels = tuple(n for n in (*batch, row, column) if n != UNIT)
    return reduce_labels(adapter, Term(value, labels, sizes), [n for n in shared if n != along])


def transpose_to(adapter: Adapter, term: Term, labels: Sequence[int]) -> Term:
    """The term with its axes in the order of `labels`, and axes of size 1 for labels that it lacks."""
    own = [n for n in labels if n in term.labels]
    value = term.value
    if tuple(own) != term.labels:
        value = adapter.Transpose(value, perm=[term.labels.index(n) for n in own])
    missing = [i for i, n in enumerate(labels) if n not in term.labels]
    value = adapter.Unsqueeze(value, axes=missing) if missing else value
    return Term(value, tuple(labels), term.sizes)
