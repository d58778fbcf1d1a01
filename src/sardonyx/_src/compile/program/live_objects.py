"""Sets of objects that are still referred to from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar
from weakref import ref

T = TypeVar("T")
MIN_REMOVAL = 64  # references, below which none are removed


class LiveObjects(Generic[T]):
    """A set of hashable objects that keeps none of them alive.

    Unlike a `WeakSet`, it has no callbacks: Python code that the garbage collector calls, at any time, loses the exception of a
    signal handler, so that an interrupt of the user would be without effect.
    """

    def __init__(self) -> None:
        self.references: set[ref[T]] = set()
        self.limit = MIN_REMOVAL

    def add(self, item: T) -> None:
        """Adds an object; removes references to those that are gone, once they may be half of all."""
        if len(self.references) >= self.limit:
            gone = [reference for reference in tuple(self.references) if reference() is None]
            self.references.difference_update(gone)
            self.limit = MIN_REMOVAL + 2 * len(self.references)
        self.references.add(ref(item))

    def __iter__(self) -> Iterator[T]:
        for reference in tuple(self.references):
            item = reference()
            if item is not None:
                yield item
