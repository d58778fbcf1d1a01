"""Where the elements of several tensors lie as one walks over them together, in as few dims as their strides allow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sardonyx._src.compile.tensor import Tensor
from sardonyx._src.ir.dims import Known, dim_min, exact_div

Way = Literal[
    "same", "next", "far"
]  # where the next element is: in the same place, behind, or some stride away


@dataclass(frozen=True, slots=True)
class Layout:
    """Dims, the innermost last (at least one), and for each tensor its stride along each of them."""

    dims: tuple[Known, ...]
    strides: tuple[tuple[Known, ...], ...]

    @property
    def ways(self) -> tuple[Way, ...]:
        return tuple(way(strides[-1]) for strides in self.strides)


def layout(shape: Sequence[Known], tensors: Sequence[Tensor]) -> Layout:
    """The walk over a shape that all tensors broadcast to, in the order in which the first one's elements lie."""
    strides = [broadcast_strides(tensor, shape) for tensor in tensors]
    axes = [axis for axis, dim in enumerate(shape) if dim != 1]
    axes = ordered(axes, strides[0])
    dims: list[Known] = []
    steps: list[list[Known]] = []  # for each dim, one a tensor
    for axis in reversed(axes):
        own = [s[axis] for s in strides]
        if dims and all(a == b * dims[-1] for a, b in zip(own, steps[-1], strict=True)):
            dims[-1] = dims[-1] * shape[axis]
        else:
            dims.append(shape[axis])
            steps.append(own)
    if not dims:
        return Layout((1,), ((1,),) * len(tensors))
    every = tuple(tuple(step[i] for step in reversed(steps)) for i in range(len(tensors)))
    return Layout(tuple(reversed(dims)), every)


def broadcast_strides(tensor: Tensor, shape: Sequence[Known]) -> tuple[Known, ...]:
    """The strides of a tensor over a shape that it broadcasts to; 0 where it has one element for all."""
    missing = len(shape) - tensor.rank
    assert missing >= 0, f"{tensor} has more dims than {shape}"
    found: list[Known] = [0] * missing
    for own, dim, stride in zip(tensor.shape, shape[missing:], tensor.strides, strict=True):
        if own == 1:
            found.append(0)
        elif own == dim or isinstance(own, int):
            found.append(stride)
        else:
            found.append(stride * dim_min(own - 1, 1))  # shows at run time whether it is 1
    return tuple(found)


def ordered(axes: list[int], strides: Sequence[Known]) -> list[int]:
    """Axes with the larger strides first, where it is known which one is larger."""
    found: list[int] = []
    for axis in axes:
        place = len(found)
        while place and is_inside(strides[found[place - 1]], strides[axis]):
            place -= 1
        found.insert(place, axis)
    return found


def is_inside(a: Known, b: Known) -> bool:
    """Whether an axis of stride a belongs inside of one of stride b: b is a multiple of it, and another one."""
    if a == b or a == 0 or b == 0:
        return False
    if isinstance(a, int) and isinstance(b, int):
        return a < b
    return exact_div(b, a) * a == b


def way(stride: Known) -> Way:
    if stride == 0:
        return "same"
    return "next" if stride == 1 else "far"
