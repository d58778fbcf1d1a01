"""Strided tensor views over buffers: the operands of kernels."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from operator import mul
from typing import Literal

from sardonyx._src.compile.program.operands.lazy_constants import LazyConstant
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array
from sardonyx._src.ir.dims import Known, dim_product

BufferRole = Literal["arena", "input", "output", "constant", "status"]
MATERIALIZE_LOCK = (
    threading.Lock()
)  # without it, concurrent threads could get different arrays of one constant


@dataclass(eq=False, slots=True)
class Buffer:
    """A memory range.

    size: its size in bytes.
    content: the data of a constant; None for other roles.
    """

    role: BufferRole
    size: Known
    name: str
    content: Array | LazyConstant | None = None

    @property
    def data(self) -> Array | None:
        """The data of a constant, materialized at first use; its address does not change."""
        if isinstance(self.content, LazyConstant):
            with MATERIALIZE_LOCK:
                if isinstance(self.content, LazyConstant):
                    self.content = self.content.materialize()
        return None if isinstance(self.content, LazyConstant) else self.content


@dataclass(frozen=True, slots=True)
class TensorView:
    """A view of a buffer; strides and offset are in elements."""

    dtype: DataType
    shape: tuple[Known, ...]
    strides: tuple[Known, ...]
    buffer: Buffer
    offset: Known = 0

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def num_elements(self) -> Known:
        """The number of elements."""
        return dim_product(self.shape)

    @property
    def nbytes(self) -> Known:
        return self.num_elements * element_bytes(self.dtype)

    @property
    def is_dense(self) -> bool:
        """Whether the elements are contiguous in row-major order."""
        dims = zip(self.shape, self.strides, row_major_strides(self.shape), strict=True)
        return all(dim == 1 or stride == dense_stride for dim, stride, dense_stride in dims)

    @property
    def row_stride(self) -> Known | None:
        """The stride between rows (the last dim), if rows are dense and evenly spaced; otherwise None.

        It is the stride of the innermost outer dim that is not 1, since no element depends on the strides of
        unit dims.
        """
        if self.rank == 0 or (self.strides[-1] != 1 and self.shape[-1] != 1):
            return None
        if self.rank == 1:
            return self.shape[0]
        outer = zip(self.shape[:-1], self.strides[:-1], strict=True)
        row_stride = next((s for d, s in reversed([*outer]) if d != 1), self.strides[-2])
        row_counts = row_major_strides(self.shape[:-1])
        is_even = all(
            d == 1 or s == r * row_stride
            for d, s, r in zip(self.shape, self.strides[:-1], row_counts, strict=False)
        )
        return row_stride if is_even else None

    def permute(self, perm: Sequence[int]) -> TensorView:
        """A view with permuted dims: its dim i is dim perm[i] of this one."""
        shape, strides = tuple(self.shape[i] for i in perm), tuple(self.strides[i] for i in perm)
        return replace(self, shape=shape, strides=strides)

    def reshape(self, shape: tuple[Known, ...]) -> TensorView:
        """A view with another shape; this one must be dense."""
        assert self.is_dense, f"reshaped view must be dense; got {self}"
        return replace(self, shape=shape, strides=row_major_strides(shape))


def row_major_strides(shape: Sequence[Known]) -> tuple[Known, ...]:
    """The strides of a dense tensor in row-major order."""
    return tuple(accumulate(shape[:0:-1], mul, initial=1))[::-1] if shape else ()


def element_bytes(dtype: DataType) -> int:
    """The size of an element in memory, as in NumPy."""
    return dtype.numpy.itemsize


def dense_bytes(dtype: DataType, shape: Sequence[Known]) -> Known:
    """The size of a dense tensor in bytes."""
    return element_bytes(dtype) * dim_product(shape)


def dense_temporary(dtype: DataType, shape: Sequence[Known], name: str) -> TensorView:
    """A new dense tensor in a buffer of its own in the arena."""
    dims = tuple(shape)
    return TensorView(dtype, dims, row_major_strides(dims), Buffer("arena", dense_bytes(dtype, dims), name))


def transpose_matrix(tensor: TensorView) -> TensorView:
    """A view of a matrix with its rows and columns exchanged."""
    return replace(tensor, shape=tensor.shape[::-1], strides=tensor.strides[::-1])


def channels_last_permutation(rank: int) -> tuple[int, ...]:
    """The permutation from [N, C, ...] to [N, ..., C]."""
    return (0, *range(2, rank), 1) if rank > 1 else tuple(range(rank))


def channels_first_permutation(rank: int) -> tuple[int, ...]:
    """The permutation from [N, ..., C] to [N, C, ...]."""
    return (0, rank - 1, *range(1, rank - 1)) if rank > 1 else tuple(range(rank))
