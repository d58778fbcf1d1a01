"""Dims that several operands share, made as few as their strides allow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sardonyx._src.compile.tensor import product
from sardonyx._src.ir.dims import Expr, Known, known_ge, symbol

BLOCK = 8192  # elements that make a unit of work worth its call


@dataclass(frozen=True, slots=True)
class Layout:
    """Dims from the outermost to the innermost; strides[operand][dim] counts elements."""

    shape: tuple[Known, ...]
    strides: tuple[tuple[Known, ...], ...]

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def count(self) -> Known:
        return product(self.shape)

    def stride(self, operand: int, dim: int) -> Known:
        return self.strides[operand][dim]

    def permuted(self, order: Sequence[int]) -> Layout:
        """The dims in this order; those that are left out are gone."""
        shape = tuple(self.shape[d] for d in order)
        return Layout(shape, tuple(tuple(s[d] for d in order) for s in self.strides))

    def without(self, dim: int) -> Layout:
        return self.permuted([d for d in range(self.rank) if d != dim % self.rank])

    def inside(self, extent: Known, strides: Sequence[Known]) -> Layout:
        """With one more dim, the innermost."""
        pairs = zip(self.strides, strides, strict=True)
        return Layout((*self.shape, extent), tuple((*s, one) for s, one in pairs))

    def scaled(self, factors: Sequence[int]) -> Layout:
        """Strides times a number for each operand."""
        pairs = zip(self.strides, factors, strict=True)
        return Layout(self.shape, tuple(tuple(one * f for one in s) for s, f in pairs))

    def words(self) -> tuple[Known, ...]:
        """The arguments that a walk over these dims reads: sizes, then the strides of each operand."""
        return (*self.shape, *(one for s in self.strides for one in s))


def simplified(layout: Layout, by: int) -> Layout:
    """The same places with as few dims as can be known, the strides of operand `by` from large to small.

    The order of places changes, never which places of the operands belong together.
    """
    return merged(ordered(without_ones(layout), by))


def rows(layout: Layout, by: int) -> Layout:
    """`simplified` dims to count rows by: at least one of them, so that fewer kernels are needed."""
    found = simplified(layout, by)
    return found if found.rank else found.inside(1, (0,) * len(layout.strides))


def without_ones(layout: Layout) -> Layout:
    return layout.permuted([d for d, size in enumerate(layout.shape) if size != 1])


def ordered(layout: Layout, by: int) -> Layout:
    """Dims sorted by the strides of an operand as far as those compare."""
    order: list[int] = []
    for dim in range(layout.rank):
        at = len(order)
        while at and is_below(layout.stride(by, order[at - 1]), layout.stride(by, dim)):
            at -= 1
        order.insert(at, dim)
    return layout.permuted(order)


def is_below(a: Known, b: Known) -> bool:
    """Whether a < b wherever no symbol is zero: where one is, hardly an element is left to be moved."""
    difference = b - a
    if isinstance(difference, Expr):
        found = difference.substitute({name: symbol(name) + 1 for name in difference.symbols()})
        return known_ge(found, 1) is True
    return difference > 0


def merged(layout: Layout) -> Layout:
    """Neighbouring dims taken together where every operand goes through both in one stride."""
    for dim in reversed(range(layout.rank - 1)):
        extent = layout.shape[dim + 1]
        if all(s[dim] == extent * s[dim + 1] for s in layout.strides):
            shape = (*layout.shape[:dim], layout.shape[dim] * extent, *layout.shape[dim + 2 :])
            layout = Layout(shape, tuple((*s[:dim], *s[dim + 1 :]) for s in layout.strides))
    return layout
