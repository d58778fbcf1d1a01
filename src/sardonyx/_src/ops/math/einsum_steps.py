"""Einsum before version 12: one input after the other is multiplied with what there is, and axes are summed up early."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.dims import Dim, known_equal
from sardonyx._src.ir.graph import Value
from sardonyx._src.ops.change import Change, Converted
from sardonyx._src.ops.math.einsum import numbered, op, parse
from sardonyx._src.ops.widening import NARROW_FLOATS, SMALL_INTEGERS, cast

UNIT = -1  # a label of axes of size 1 that are taken away again


@dataclass(frozen=True, slots=True)
class Term:
    """A tensor whose axes have labels, each label once, and sizes."""

    value: Value
    labels: tuple[int, ...]
    sizes: dict[int, Dim]


@op.convert((12, 0))
def products(c: Change) -> Converted:
    """Narrow floats are computed as float, and small integers in 32 bits, as Mul has it there."""
    count = len(c.node.inputs)
    try:
        axes = numbered(parse(str(c.t.attributes["equation"])), [c.rank(i) for i in range(count)])
    except EvaluationError as error:
        c.refuse(error.why)
    assert axes is not None, "every rank is known"
    own = c.dtype(0)
    wide = (NARROW_FLOATS | SMALL_INTEGERS).get(own, own)
    terms = [term_of(c, i, labels, wide) for i, labels in enumerate(axes.inputs)]
    result: Term | None = None
    for i, term in enumerate(terms):
        later = {label for other in terms[i + 1 :] for label in other.labels} | set(axes.output)
        found: set[int] = set() if result is None else set(result.labels)
        term = summed(c, term, [label for label in term.labels if label not in later | found])
        result = term if result is None else combined(c, result, term, later)
    assert result is not None, "an equation has a term"
    result = summed(c, result, [label for label in result.labels if label not in axes.output])
    value = ordered(c, result, axes.output).value
    return cast(c, value, own) if wide is not own else value


def term_of(c: Change, i: int, labels: Sequence[int], dtype: DataType) -> Term:
    """Input i; of axes with one label, the diagonal."""
    value, shape = c.input(i), c.t.shape(i)
    assert shape is not None, "every rank is known"
    if dtype is not c.dtype(i):
        value = cast(c, value, dtype)
    kept, sizes = list(labels), list(shape)
    while len(set(kept)) < len(kept):
        label = next(label for label in kept if kept.count(label) > 1)
        first, second = [at for at, other in enumerate(kept) if other == label][:2]
        if not known_equal(sizes[first], sizes[second]):
            c.refuse(f"input {i} is read along a diagonal, whose two sizes have to be known to be the same")
        value = diagonal(c, value, first, second, len(kept), dtype)
        del kept[first], sizes[first]
    return Term(value, tuple(kept), dict(zip(kept, sizes, strict=True)))


def diagonal(c: Change, value: Value, first: int, second: int, rank: int, dtype: DataType) -> Value:
    """What lies at the same place along two axes, of which the first one goes."""
    size = c.Gather(c.Shape(value), c.integers(first))
    places = c.Range(c.integers(0), size, c.integers(1))
    spread = [c.Unsqueeze(places, axes=[a for a in range(rank) if a != axis]) for axis in (first, second)]
    others_gone = c.Where(c.Equal(*spread), value, c.constant(np.zeros((), dtype.numpy)))
    return c.ReduceSum(others_gone, axes=[first], keepdims=0)


def summed(c: Change, term: Term, labels: Sequence[int]) -> Term:
    """The term without some of its axes."""
    if not labels:
        return term
    axes = [term.labels.index(label) for label in labels]
    kept = tuple(label for label in term.labels if label not in labels)
    return Term(c.ReduceSum(term.value, axes=axes, keepdims=0), kept, {n: term.sizes[n] for n in kept})


def combined(c: Change, a: Term, b: Term, later: set[int]) -> Term:
    """The product, summed along the axes that both have and nobody needs later; along one of them by MatMul."""
    sizes = {**a.sizes, **{n: size for n, size in b.sizes.items() if a.sizes.get(n, 1) == 1}}
    shared = [n for n in a.labels if n in b.labels and n not in later]
    inner = [n for n in shared if known_equal(a.sizes[n], b.sizes[n])]
    if not inner:
        labels = tuple(dict.fromkeys((*a.labels, *b.labels)))
        product = Term(c.Mul(ordered(c, a, labels).value, ordered(c, b, labels).value), labels, sizes)
        return summed(c, product, shared)
    along = inner[-1]
    row = next((n for n in reversed(a.labels) if n not in b.labels), UNIT)
    column = next((n for n in reversed(b.labels) if n not in a.labels), UNIT)
    batch = [n for n in dict.fromkeys((*a.labels, *b.labels)) if n not in (along, row, column)]
    left, right = ordered(c, a, (*batch, row, along)), ordered(c, b, (*batch, along, column))
    value = c.MatMul(left.value, right.value)
    units = [len(batch) + i for i, n in enumerate((row, column)) if n == UNIT]
    value = c.Squeeze(value, axes=units) if units else value
    labels = tuple(n for n in (*batch, row, column) if n != UNIT)
    return summed(c, Term(value, labels, sizes), [n for n in shared if n != along])


def ordered(c: Change, term: Term, labels: Sequence[int]) -> Term:
    """The term with its axes in an order, and axes of size 1 for labels that it has not."""
    own = [n for n in labels if n in term.labels]
    value = term.value
    if tuple(own) != term.labels:
        value = c.Transpose(value, perm=[term.labels.index(n) for n in own])
    missing = [i for i, n in enumerate(labels) if n not in term.labels]
    value = c.Unsqueeze(value, axes=missing) if missing else value
    return Term(value, tuple(labels), term.sizes)
