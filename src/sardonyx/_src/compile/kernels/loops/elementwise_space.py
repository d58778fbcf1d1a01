"""The iteration space of an elementwise kernel: broadcast strides of all operands over as few dims as possible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from sardonyx._src.compile.program import TensorView
from sardonyx._src.ir.dims import Known, dim_min, exact_div

# How an operand is accessed along a row, by its stride: "same" element (0), "next" element (1), or one "far" away (other).
AccessPattern: TypeAlias = Literal["same", "next", "far"]


@dataclass(frozen=True, slots=True)
class ElementwiseSpace:
    """The dims of a loop nest, at least one, innermost last; and strides[tensor][dim] in elements."""

    dims: tuple[Known, ...]
    strides: tuple[tuple[Known, ...], ...]

    @property
    def access_patterns(self) -> tuple[AccessPattern, ...]:
        """The access pattern of each tensor along the innermost dim."""
        return tuple(access_pattern(strides[-1]) for strides in self.strides)


def broadcast_space(shape: Sequence[Known], tensors: Sequence[TensorView]) -> ElementwiseSpace:
    """The space of a shape that all tensors broadcast to, in memory order of the first tensor.

    Adjacent dims are coalesced where every tensor passes through both with a single stride.
    """
    strides = [broadcast_strides(tensor, shape) for tensor in tensors]
    axes = [axis for axis, dim in enumerate(shape) if dim != 1]
    axes = order_axes(axes, strides[0])
    dims: list[Known] = []  # innermost first
    dim_strides: list[list[Known]] = []  # for each dim, the stride of each tensor
    for axis in reversed(axes):
        axis_strides = [tensor_strides[axis] for tensor_strides in strides]
        if dims and all(a == b * dims[-1] for a, b in zip(axis_strides, dim_strides[-1], strict=True)):
            dims[-1] = dims[-1] * shape[axis]
        else:
            dims.append(shape[axis])
            dim_strides.append(axis_strides)
    if not dims:
        return ElementwiseSpace((1,), ((1,),) * len(tensors))
    by_tensor = tuple(tuple(steps[i] for steps in reversed(dim_strides)) for i in range(len(tensors)))
    return ElementwiseSpace(tuple(reversed(dims)), by_tensor)


def broadcast_strides(tensor: TensorView, shape: Sequence[Known]) -> tuple[Known, ...]:
    """The strides of a tensor over a shape that it broadcasts to; 0 along broadcast dims."""
    missing = len(shape) - tensor.rank
    assert missing >= 0, f"the rank of {tensor} must be at most {len(shape)}; got {tensor.rank}"
    strides: list[Known] = [0] * missing
    for tensor_dim, dim, stride in zip(tensor.shape, shape[missing:], tensor.strides, strict=True):
        if tensor_dim == 1:
            strides.append(0)
        elif tensor_dim == dim or isinstance(tensor_dim, int):
            strides.append(stride)
        else:
            strides.append(stride * dim_min(tensor_dim - 1, 1))  # 0 if the dim is 1 at run time
    return tuple(strides)


def order_axes(axes: list[int], strides: Sequence[Known]) -> list[int]:
    """The axes with larger strides first; axes with incomparable strides keep their order."""
    ordered: list[int] = []
    for axis in axes:
        position = len(ordered)
        while position and is_inner_axis(strides[ordered[position - 1]], strides[axis]):
            position -= 1
        ordered.insert(position, axis)
    return ordered


def is_inner_axis(a: Known, b: Known) -> bool:
    """Whether an axis of stride a belongs inside one of stride b: a < b for numbers; symbolic b must be a multiple of a."""
    if a == b or a == 0 or b == 0:
        return False
    if isinstance(a, int) and isinstance(b, int):
        return a < b
    return exact_div(b, a) * a == b


def access_pattern(stride: Known) -> AccessPattern:
    if stride == 0:
        return "same"
    return "next" if stride == 1 else "far"
