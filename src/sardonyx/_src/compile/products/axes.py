"""Dims that several tensors are walked along together, merged where one step serves for two of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sardonyx._src.compile.tensor import Tensor
from sardonyx._src.ir.dims import Known


@dataclass(frozen=True, slots=True)
class Axis:
    """A dim, and how far each of some tensors goes for a step along it; 0 where a tensor is broadcast."""

    size: Known
    steps: tuple[Known, ...]


def axes(shape: Sequence[Known], tensors: Sequence[tuple[Tensor, int]]) -> list[Axis]:
    """The axes of a shape, which the leading dims of tensors are broadcast to.

    tensors: each with the number of its dims behind those.
    """
    found = []
    for place, size in enumerate(reversed(shape), 1):
        found.append(Axis(size, tuple(step(tensor, behind + place) for tensor, behind in tensors)))
    return found[::-1]


def step(tensor: Tensor, place: int) -> Known:
    """How far apart elements are along the dim at a place counted from the last one, 1; 0 if it is broadcast."""
    if place > tensor.rank or tensor.shape[-place] == 1:
        return 0
    return tensor.strides[-place]


def merged(axes: Sequence[Axis]) -> list[Axis]:
    """The same walk in fewer axes: those of one element left out, and such as go on where the inner one ends."""
    found: list[Axis] = []
    for axis in axes:
        if axis.size == 1:
            continue
        if found and all(o == axis.size * i for o, i in zip(found[-1].steps, axis.steps, strict=True)):
            axis = Axis(found.pop().size * axis.size, axis.steps)
        found.append(axis)
    return found


def pair(axes: Sequence[Axis], count: int) -> tuple[Axis, Axis]:
    """At most two axes of `count` tensors as exactly two."""
    missing = Axis(1, (0,) * count)
    outer, inner = (*(missing,) * (2 - len(axes)), *axes)
    return outer, inner


def shifted(tensor: Tensor, offset: Known) -> Tensor:
    return replace(tensor, offset=tensor.offset + offset)


def split(axes: Sequence[Axis], keep: int) -> Iterator[tuple[tuple[Known, ...], list[Axis]]]:
    """Walks along leading axes until `keep` are left: how far each tensor has come, and the axes that are left."""
    if len(axes) <= keep:
        yield tuple(0 for _ in axes[0].steps) if axes else (), list(axes)
        return
    first, *rest = axes
    assert isinstance(first.size, int), f"an axis of {first.size} cannot be walked along beforehand"
    for i in range(first.size):
        for come, left in split(rest, keep):
            yield tuple(i * s + c for s, c in zip(first.steps, come, strict=True)), left
