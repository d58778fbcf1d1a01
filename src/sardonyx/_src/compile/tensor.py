"""Tensors as kernels see them: elements of one type in a stretch of memory, with a stride for each dim."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from sardonyx._src.compile.pending import Pending
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Known
from sardonyx._src.ir.tensors import Array

Role = Literal["arena", "input", "output", "constant", "status"]
MAKING = threading.Lock()  # of constants: addresses that one thread was given stay what they are


@dataclass(eq=False, slots=True)
class Storage:
    """A stretch of memory of `size` bytes; what a constant holds is known when the program is made."""

    role: Role
    size: Known
    name: str
    content: Array | Pending | None = None

    @property
    def data(self) -> Array | None:
        """The elements of a constant, made at the first question; they stay where they are."""
        if isinstance(self.content, Pending):
            with MAKING:
                if isinstance(self.content, Pending):
                    self.content = self.content.made()
        return None if isinstance(self.content, Pending) else self.content


@dataclass(frozen=True, slots=True)
class Tensor:
    """Elements in a storage; strides and offset count elements."""

    dtype: DataType
    shape: tuple[Known, ...]
    strides: tuple[Known, ...]
    storage: Storage
    offset: Known = 0

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def count(self) -> Known:
        """How many elements there are."""
        return product(self.shape)

    @property
    def bytes(self) -> Known:
        return self.count * width(self.dtype)

    @property
    def is_dense(self) -> bool:
        """Whether the elements stand in a row, the last dim innermost."""
        pairs = zip(self.shape, self.strides, row_major(self.shape), strict=True)
        return all(dim == 1 or stride == wanted for dim, stride, wanted in pairs)

    @property
    def pitch(self) -> Known | None:
        """How far apart rows (runs of the last dim) are, if that is one number and rows are dense; else None."""
        if self.rank == 0 or (self.strides[-1] != 1 and self.shape[-1] != 1):
            return None
        if self.rank == 1:
            return self.shape[0]
        pitch = self.strides[-2]
        rows = row_major(self.shape[:-1])
        fits = all(
            d == 1 or s == r * pitch for d, s, r in zip(self.shape, self.strides[:-1], rows, strict=False)
        )
        return pitch if fits else None

    def permuted(self, perm: Sequence[int]) -> Tensor:
        """The same elements with the dims in another order: dim i is dim perm[i] of this tensor."""
        shape, strides = tuple(self.shape[i] for i in perm), tuple(self.strides[i] for i in perm)
        return replace(self, shape=shape, strides=strides)

    def reshaped(self, shape: tuple[Known, ...]) -> Tensor:
        """The same elements in other dims; asks for dense ones."""
        assert self.is_dense, f"{self} is not dense"
        return replace(self, shape=shape, strides=row_major(shape))


def product(dims: Sequence[Known]) -> Known:
    total: Known = 1
    for dim in dims:
        total = total * dim
    return total


def row_major(shape: Sequence[Known]) -> tuple[Known, ...]:
    """Strides of dense elements, the last dim innermost."""
    return tuple(product(shape[i + 1 :]) for i in range(len(shape)))


def width(dtype: DataType) -> int:
    """Bytes of an element in memory, as NumPy holds it."""
    return dtype.numpy.itemsize


def bytes_of(dtype: DataType, shape: Sequence[Known]) -> Known:
    """What a dense tensor takes."""
    total: Known = width(dtype)
    for dim in shape:
        total = total * dim
    return total


def last_order(rank: int) -> tuple[int, ...]:
    """The order of dims that puts channels last."""
    return (0, *range(2, rank), 1) if rank > 1 else tuple(range(rank))


def first_order(rank: int) -> tuple[int, ...]:
    """The order of dims that puts them back behind the batch."""
    return (0, rank - 1, *range(1, rank - 1)) if rank > 1 else tuple(range(rank))
