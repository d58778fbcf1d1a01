"""Iteration space of a batch: the axes along which a kernel loops over several tensors at once, with their strides.

Adjacent axes are coalesced if in each tensor the outer one continues where the inner one ends.  Kernels loop over a fixed
number of axes.  Outer axes beyond this number are unrolled: there is a step for each of their indices.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sardonyx._src.compile.program import TensorView
from sardonyx._src.ir.dims import Known


@dataclass(frozen=True, slots=True)
class Axis:
    """A dim, and the stride of each tensor along it; 0 where a tensor is broadcast."""

    size: Known
    strides: tuple[Known, ...]


def broadcast_axes(shape: Sequence[Known], tensors: Sequence[tuple[TensorView, int]]) -> list[Axis]:
    """The axes of a batch shape to which the leading dims of the tensors are broadcast.

    tensors: pairs of a tensor and the number of its last dims, which do not belong to the batch.
    """
    result = []
    for position, size in enumerate(reversed(shape), 1):
        result.append(
            Axis(size, tuple(broadcast_stride(tensor, trailing + position) for tensor, trailing in tensors))
        )
    return result[::-1]


def broadcast_stride(tensor: TensorView, position: int) -> Known:
    """The stride of dim -position, counted from the last dim; 0 if it is broadcast."""
    if position > tensor.rank or tensor.shape[-position] == 1:
        return 0
    return tensor.strides[-position]


def coalesce_axes(axes: Sequence[Axis]) -> list[Axis]:
    """The same iteration space in fewer axes: drops axes of size 1, and coalesces those that continue the inner one."""
    result: list[Axis] = []
    for axis in axes:
        if axis.size == 1:
            continue
        if result and all(o == axis.size * i for o, i in zip(result[-1].strides, axis.strides, strict=True)):
            axis = Axis(result.pop().size * axis.size, axis.strides)
        result.append(axis)
    return result


def batch_axis(a: TensorView, b: TensorView, y: TensorView) -> Axis | None:
    """The batch as one axis, with the strides of a and b; None if it cannot be coalesced to one axis."""
    axes = coalesce_axes(broadcast_axes(y.shape[:-2], ((a, 2), (b, 2))))
    return None if len(axes) > 1 else axes[0] if axes else Axis(1, (0, 0))


def exchange_dims(tensor: TensorView) -> TensorView:
    """A tensor with its last two dims exchanged, so that every matrix of a batch is transposed."""
    return tensor.permute((*range(tensor.rank - 2), tensor.rank - 1, tensor.rank - 2))


def pad_to_pair(axes: Sequence[Axis], count: int) -> tuple[Axis, Axis]:
    """Exactly two axes from at most two: axes of size 1, with `count` strides of 0, are put in front."""
    missing = Axis(1, (0,) * count)
    outer, inner = (*(missing,) * (2 - len(axes)), *axes)
    return outer, inner


def shift_view(tensor: TensorView, offset: Known) -> TensorView:
    """The same view, moved by `offset` elements in its buffer."""
    return replace(tensor, offset=tensor.offset + offset)


def split_leading_axes(axes: Sequence[Axis], keep: int) -> Iterator[tuple[tuple[Known, ...], list[Axis]]]:
    """Unrolls the leading axes until `keep` axes are left.

    Yields, for each index of the unrolled axes, the offset of each tensor and the axes that are left.
    """
    if len(axes) <= keep:
        yield tuple(0 for _ in axes[0].strides) if axes else (), list(axes)
        return
    first, *rest = axes
    assert isinstance(first.size, int), f"the size of an unrolled axis must be known; got {first.size}"
    for i in range(first.size):
        for offsets, axes_left in split_leading_axes(rest, keep):
            yield tuple(i * s + c for s, c in zip(first.strides, offsets, strict=True)), axes_left
