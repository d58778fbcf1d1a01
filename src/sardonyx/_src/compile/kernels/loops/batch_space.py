"""Iteration spaces of batches: the dims before the last ones, to which the matrices of several tensors are broadcast.

Kernels loop over a fixed number of dims.  Outer dims beyond this number are unrolled: there is a step for each of their
indices.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sardonyx._src.compile.kernels.loops.iteration_space import (
    IterationSpace,
    coalesce,
    drop_unit_dims,
    ensure_dim,
)
from sardonyx._src.compile.program import TensorView
from sardonyx._src.ir.dims import Known


def batch_space(shape: Sequence[Known], tensors: Sequence[tuple[TensorView, int]]) -> IterationSpace:
    """The coalesced space of a batch shape to which the leading dims of the tensors are broadcast.

    tensors: pairs of a tensor and the number of its last dims, which do not belong to the batch.
    """
    positions = range(len(shape), 0, -1)
    strides = (tuple(broadcast_stride(t, trailing + p) for p in positions) for t, trailing in tensors)
    return coalesce(drop_unit_dims(IterationSpace(tuple(shape), tuple(strides))))


def broadcast_stride(tensor: TensorView, position: int) -> Known:
    """The stride of dim -position, counted from the last dim; 0 if it is broadcast."""
    if position > tensor.rank or tensor.shape[-position] == 1:
        return 0
    return tensor.strides[-position]


def linear_batch(a: TensorView, b: TensorView, y: TensorView) -> IterationSpace | None:
    """The batch as a single dim, with the strides of a and b; None if its dims cannot be coalesced."""
    space = ensure_dim(batch_space(y.shape[:-2], ((a, 2), (b, 2))))
    return space if space.rank == 1 else None


def exchange_dims(tensor: TensorView) -> TensorView:
    """A tensor with its last two dims exchanged, so that every matrix of a batch is transposed."""
    return tensor.permute((*range(tensor.rank - 2), tensor.rank - 1, tensor.rank - 2))


def shift_view(tensor: TensorView, offset: Known) -> TensorView:
    """The same view, moved by `offset` elements in its buffer."""
    return replace(tensor, offset=tensor.offset + offset)


def pad_dims(space: IterationSpace, rank: int) -> IterationSpace:
    """The space with dims of size 1 in front, so that it has `rank` dims."""
    missing = rank - space.rank
    strides = ((*(0,) * missing, *s) for s in space.strides)
    return IterationSpace((*(1,) * missing, *space.shape), tuple(strides))


def unroll_leading_dims(
    space: IterationSpace, rank: int
) -> Iterator[tuple[tuple[Known, ...], IterationSpace]]:
    """Unrolls leading dims until `rank` are left; a space of fewer dims is padded.

    Yields, for each index of the unrolled dims, the offset of each operand and the space that is left.
    """
    if space.rank <= rank:
        yield (0,) * len(space.strides), pad_dims(space, rank)
        return
    size = space.shape[0]
    assert isinstance(size, int), f"the size of an unrolled dim must be known; got {size}"
    for i in range(size):
        for offsets, rest in unroll_leading_dims(space.drop_dim(0), rank):
            yield tuple(i * s[0] + c for s, c in zip(space.strides, offsets, strict=True)), rest
