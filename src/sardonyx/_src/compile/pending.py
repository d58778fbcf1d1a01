"""Constants that are made when they are needed, in their place or part by part on their way into a file."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from sardonyx._src.io.pages import let_go
from sardonyx._src.ir.tensors import Array

FLOAT: np.dtype[np.generic] = np.dtype(np.float32)
PART = 4 << 20  # bytes, at most, of what is made at a time, if rows are not longer: it stays in the caches


@dataclass(frozen=True, slots=True, eq=False)
class Pending:
    """Elements of a shape, float32 if nothing else is said, made from `source`; the last `rank` dims are a row.

    make: fills rows, a dense array [count, ...] that holds anything, with those from the one of the given number on.
    """

    shape: tuple[int, ...]
    rank: int
    source: Array
    make: Callable[[Array, int], None]
    dtype: np.dtype[np.generic] = FLOAT

    @property
    def row(self) -> tuple[int, ...]:
        return self.shape[len(self.shape) - self.rank :]

    @property
    def count(self) -> int:
        """How many rows there are."""
        return math.prod(self.shape[: len(self.shape) - self.rank])

    @property
    def most(self) -> int:
        """How many rows are made at a time."""
        return max(PART // max(math.prod(self.row) * self.dtype.itemsize, 1), 1)

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    def made(self) -> Array:
        """All of it."""
        whole = np.empty((self.count, *self.row), self.dtype)
        for first in range(0, self.count, self.most):
            self.fill(whole[first : first + self.most], first)
        let_go(self.source)
        return whole.reshape(self.shape)

    def parts(self) -> Iterator[Array]:
        """Rows in order, some at a time, in memory that the next ones take."""
        buffer = np.empty((min(self.most, self.count), *self.row), self.dtype)
        for first in range(0, self.count, self.most):
            part = buffer[: self.count - first]
            self.fill(part, first)
            yield part
        let_go(self.source)

    def fill(self, rows: Array, first: int) -> None:
        if rows.size:
            self.make(rows, first)


def bytes_of(content: Array | Pending) -> Iterator[memoryview]:
    """The bytes of a constant in order, each part only until the next is asked for."""
    if isinstance(content, Pending):
        yield from (flat(part).data for part in content.parts())
        return
    whole = flat(np.ascontiguousarray(content))
    for first in range(0, len(whole), PART):
        part = whole[first : first + PART]
        yield part.data
        let_go(part)


def flat(array: Array) -> Array:
    return array.reshape(-1).view(np.uint8)
