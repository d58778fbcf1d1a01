"""Sets of objects that do not keep their members alive."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar
from weakref import ref

T = TypeVar("T")
MIN_REMOVAL = 64  # dead references are not removed from smaller sets


class LiveObjects(Generic[T]):
    """A set of hashable objects that forgets an object once nothing else refers to it.

    Unlike a `WeakSet`, it has no callbacks.  The garbage collector calls callbacks at any time, and if a signal
    handler raises KeyboardInterrupt inside of one, the exception is lost, and with it the interrupt of the user.
    """

    def __init__(self) -> None:
        self.references: set[ref[T]] = set()
        self.limit = MIN_REMOVAL

    def add(self, item: T) -> None:
        """Adds an object; removes the references to dead objects once these may be half of all."""
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
