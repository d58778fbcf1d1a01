"""Verifier of steps that work in place: proves that a step reads no element that it has overwritten.

Two views of one buffer are compared by offset, dims and strides, after the guards of the program have
rewritten these sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import product

from sardonyx._src.compile.program import Step, TensorView, element_bytes
from sardonyx._src.compile.program.verification.size_facts import SizeFacts
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Expr, Known, dim_min, exact_div, known_equal, known_ge
from sardonyx._src.ir.dims.atoms import DimCall


def verify_in_place(step: Step, facts: SizeFacts, where: Callable[[], str]) -> None:
    """Verifies a step that works in place.

    Where it reads and writes one buffer, it reads the elements that it writes, in the same order, or none of them, as
    in a neighboring slice.
    """
    if step.in_place:
        for output, operand in product(step.writes, step.reads):
            is_safe = operand.buffer is not output.buffer or keeps_elements(operand, output, facts)
            assert is_safe or keeps_elements(rewrite(operand, facts), rewrite(output, facts), facts), (
                f"{where()} overwrites {output.buffer.name} and reads other elements of it"
            )


def rewrite(tensor: TensorView, facts: SizeFacts) -> TensorView:
    """A tensor with its sizes rewritten by guards."""
    shape, strides = (tuple(map(facts.rewrite, sizes)) for sizes in (tensor.shape, tensor.strides))
    return replace(tensor, offset=facts.rewrite(tensor.offset), shape=shape, strides=strides)


def keeps_elements(operand: TensorView, output: TensorView, facts: SizeFacts) -> bool:
    """Whether a step that traverses both views of a buffer in order provably reads no element that it has written."""
    is_empty = 0 in (*operand.shape, *output.shape)
    return is_empty or has_equal_strides(operand, output) or are_adjacent_slices(operand, output, facts)


def has_equal_strides(a: TensorView, b: TensorView) -> bool:
    """Whether two tensors have each element at the same address, regardless of unit dims."""
    layouts = [
        [(dim, stride) for dim, stride in zip(t.shape, t.strides, strict=True) if dim != 1] for t in (a, b)
    ]
    return layouts[0] == layouts[1] and (a.offset, element_bytes(a.dtype)) == (
        b.offset,
        element_bytes(b.dtype),
    )


def are_adjacent_slices(a: TensorView, b: TensorView, facts: SizeFacts) -> bool:
    """Whether two views provably are disjoint slices of one tensor along an axis.

    The inputs of a Concat without copies are such slices.
    """
    if element_bytes(a.dtype) != element_bytes(b.dtype):
        a, b = as_bytes(a), as_bytes(b)
    common = with_common_strides(a, b, facts)
    if common is None or element_bytes(a.dtype) != element_bytes(b.dtype):
        return False
    a, b = common
    first, second = (a, b) if known_ge(b.offset, a.offset) else (b, a)
    return any(are_adjacent_along(axis, first, second) for axis in range(a.rank))


def as_bytes(view: TensorView) -> TensorView:
    """The bytes of a view whose innermost elements are contiguous, such as words of four; otherwise the view itself."""
    size = element_bytes(view.dtype)
    if not view.strides or view.strides[-1] != 1:
        return view
    strides = (*(stride * size for stride in view.strides[:-1]), 1)
    shape = (*view.shape[:-1], view.shape[-1] * size)
    return replace(view, dtype=DataType.UINT8, offset=view.offset * size, shape=shape, strides=strides)


def with_common_strides(
    a: TensorView, b: TensorView, facts: SizeFacts
) -> tuple[TensorView, TensorView] | None:
    """Views of the elements of two tensors that have the same strides in both; None if there are none.

    A dim with stride 0 repeats one element, so a dim of 1 with any stride has the same elements.  A dim may be
    repeated in some runs only, where its source has a size n that may be 1: it has the stride `stride * min(n - 1,
    1)`, and n elements.
    """
    if a.rank != b.rank:
        return None
    shapes: tuple[list[Known], list[Known]] = [], []
    strides: list[Known] = []
    for m, stride, n, other in zip(a.shape, a.strides, b.shape, b.strides, strict=True):
        m, stride = with_stride(m, stride, other, facts)
        n, other = with_stride(n, other, stride, facts)
        if stride != other:
            return None
        shapes[0].append(m)
        shapes[1].append(n)
        strides.append(stride)
    first, second = (
        replace(view, shape=tuple(shape), strides=tuple(strides))
        for view, shape in zip((a, b), shapes, strict=True)
    )
    return first, second


def with_stride(dim: Known, stride: Known, other: Known, facts: SizeFacts) -> tuple[Known, Known]:
    """The dim and the stride of an axis; with the stride `other` if that describes the same elements."""
    if stride == 0 or dim == 1:
        return 1, other if other != 0 else stride
    if isinstance(stride, Expr) and stride != other:
        for size in repeated_sizes(stride):
            if stride == other * dim_min(size - 1, 1) and facts.is_broadcast(size, dim):
                return size, other
    return dim, stride


def repeated_sizes(stride: Expr) -> Iterator[Known]:
    """The n of each factor min(n - 1, 1) in a stride."""
    for atom in {atom for monomial in stride.terms for atom in monomial}:
        match atom:
            case DimCall(op="min", args=(rest, 1)):
                yield rest + 1


def are_adjacent_along(axis: int, first: TensorView, second: TensorView) -> bool:
    """Whether two views with the same strides are disjoint along an axis: in each line, `first` ends before `second` begins.

    A line is as long as the least stride of the outer axes; the inner axes fit between two positions of the axis.
    """
    stride, distance = first.strides[axis], second.offset - first.offset
    end = distance + second.shape[axis] * stride
    others = [i for i in range(first.rank) if i != axis]
    lines = [first.strides[i] for i in others if known_ge(first.strides[i], end)]
    outer_axes = [[i for i in others if is_multiple(first.strides[i], line)] for line in lines]
    inner_axes = [[i for i in others if i not in outer] for outer in (*outer_axes, [])]
    return known_ge(distance, first.shape[axis] * stride) is True and any(
        all(known_ge(stride, span(view, inner)) for view in (first, second)) for inner in inner_axes
    )


def is_multiple(a: Known, b: Known) -> bool:
    """Whether a nonzero stride `a` provably is a multiple of `b`."""
    if a == b or b == 0 or (isinstance(a, int) and isinstance(b, int)):
        return a == b or (b != 0 and known_equal(a % b, 0) is True)
    return exact_div(a, b) * b == a


def span(view: TensorView, axes: Sequence[int]) -> Known:
    """The number of elements from the first to the last along these axes."""
    return sum(((view.shape[i] - 1) * view.strides[i] for i in axes), start=1)
