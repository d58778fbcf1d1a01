"""Views: Reshape, Flatten, Squeeze, Unsqueeze, Identity, Transpose, Split, Expand and Slice without a copy.

An output is a view of each tensor of the input for which strides can express the view.  A Reshape without such a
tensor, and a Slice with a negative step, become copies.  Falls back to the reference kernel for bounds that input
sizes do not determine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from operator import index
from typing import SupportsIndex

import numpy as np

from sardonyx._src.compile.kernels.data_movement.copy import copy_step
from sardonyx._src.compile.lower import LaidOutRegion, Lowering, lowers
from sardonyx._src.compile.partition import Alias, Read, Region, Scope, Shape, Write, matches
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.prepare.graph_info import MAX_ELEMENTS
from sardonyx._src.compile.program import ANY, Step, TensorView
from sardonyx._src.compile.program.operands.views import reshape_view, slice_axis
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir.dims import Expr, Known, dim_max, dim_min, dim_product, known_ge
from sardonyx._src.ops.inference import Known as Elements
from sardonyx._src.ops.tensor.elements import is_fully_known
from sardonyx._src.ops.tensor.slicing import is_negative

MAX_SLICE_BOUND = 2 * MAX_ELEMENTS  # bounds are clamped to this, which is beyond any index


@dataclass(frozen=True, slots=True)
class ViewConfig:
    """The config of a region with views as results only, and without a kernel."""


def view_region(op: BoundNode, *aliases: Alias) -> Region[ViewConfig]:
    return Region("View", (op.node,), ViewConfig(), (), (), aliases)


@matches("Reshape", 25)
@matches("Flatten", 25)
@matches("Squeeze", 25)
@matches("Unsqueeze", 25)
@matches("Identity", 25)
def match_reshape(op: BoundNode, scope: Scope) -> Region[ViewConfig] | None:
    """The view of an operator that keeps the order of elements."""
    value, shape = op.input(0), scope.shape(op.output)
    if value is None or shape is None or not scope.is_native(value):
        return None
    if not scope.guard_equal(dim_product(scope.known_shape(value)), dim_product(shape)):
        return None
    if op.op_type == "Reshape" and not guard_target_dims(scope, scope.vector(op.input(1)), shape):
        return None
    if op.op_type == "Identity":
        return view_region(op, Alias(op.output, value, lambda tensor: tensor))
    return view_region(op, Alias(op.output, value, lambda tensor: reshape_view(tensor, shape), reshape_view))


def guard_target_dims(scope: Scope, target_dims: Elements | None, shape: Shape) -> bool:
    """Whether the target of a Reshape is known, and no dim other than a dim of -1 is 0, which would be an error; guarded."""
    if target_dims is None or not is_fully_known(target_dims):
        return False
    for i, dim in enumerate(target_dims):
        other_elements = dim_product((*shape[:i], *shape[i + 1 :]))
        if isinstance(dim, int | np.integer) and dim == -1 and not scope.guard_ge(other_elements, 1):
            return False
    return True


@matches("Transpose", 25)
def match_transpose(op: BoundNode, scope: Scope) -> Region[ViewConfig] | None:
    value = op.input(0)
    if value is None or not scope.is_native(value):
        return None
    rank = len(scope.known_shape(value))
    perm = op.ints("perm") or tuple(reversed(range(rank)))
    if sorted(perm) != list(range(rank)):
        return None
    return view_region(op, Alias(op.output, value, lambda tensor: tensor.permute(perm)))


@matches("Split", 18)
def match_split(op: BoundNode, scope: Scope) -> Region[ViewConfig] | None:
    """Consecutive slices along an axis, of no negative size."""
    value = op.input(0)
    shapes = [scope.shape(output) for output in op.node.outputs]
    if value is None or not scope.is_native(value) or None in shapes:
        return None
    whole = scope.known_shape(value)
    axis = op.attribute("axis", int) % len(whole)
    aliases = []
    first: Known = 0
    for output in op.node.outputs:
        size = scope.known_shape(output)[axis]
        if not scope.guard_ge(size, 0):
            return None
        aliases.append(Alias(output, value, partial(slice_axis, axis=axis, first=first, size=size)))
        first = first + size
    return view_region(op, *aliases) if scope.guard_equal(first, whole[axis]) else None


@matches("Expand", 13)
def match_expand(op: BoundNode, scope: Scope) -> Region[ViewConfig] | None:
    """A view with stride 0 along broadcast dims; a dim that only some runs broadcast has a stride expression."""
    value, shape = op.input(0), scope.shape(op.output)
    if value is None or shape is None or not scope.is_native(value):
        return None
    source = scope.known_shape(value)
    leading = len(shape) - len(source)
    old = (1,) * leading + source
    if leading < 0 or not all(a == b or scope.guard_broadcast(a, b) for a, b in zip(old, shape, strict=True)):
        return None
    if not guard_target(scope, scope.vector(op.input(1)), shape):
        return None
    return view_region(op, Alias(op.output, value, partial(expand_view, shape=shape)))


def expand_view(tensor: TensorView, shape: Shape) -> TensorView:
    """A view with leading dims, and dims of 1, expanded; a dim that may be 1 at run time gets a stride that is then 0."""
    leading = len(shape) - tensor.rank
    old, strides = (1,) * leading + tensor.shape, (0,) * leading + tensor.strides
    expanded = tuple(
        s if a == b else 0 if a == 1 else s * dim_min(1, a - 1)
        for a, b, s in zip(old, shape, strides, strict=True)
    )
    return replace(tensor, shape=shape, strides=expanded)


def guard_target(scope: Scope, target_dims: Elements | None, shape: Shape) -> bool:
    """Whether each requested dim equals the dim of the result or is 1, guarded; another dim may be an error."""
    if target_dims is None or len(target_dims) > len(shape):
        return False
    inner = shape[len(shape) - len(target_dims) :]
    return all(
        (a == 1 or a == b) or (isinstance(a, Expr) and scope.is_size(a) and scope.guard_broadcast(a, b))
        for a, b in zip(target_dims, inner, strict=True)
    )


# --- slices ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SlicedAxis:
    """The elements first, first + step, and so on, along an axis; `size` elements."""

    axis: int
    first: Known
    size: Known
    step: int


@matches("Slice", 13)
def match_slice(op: BoundNode, scope: Scope) -> Region[object] | None:
    """Strided views; slices with negative steps are copied."""
    # Lazy: few models need it.
    from sardonyx._src.compile.lower.operators.computed_slice import match_computed_slice

    if scope.data_dependent_axes(op.output):
        return match_computed_slice(op, scope)
    value, slices = op.input(0), known_slices(op, scope)
    if value is None or slices is None:
        return None
    if min((s.step for s in slices), default=1) > 0:
        return view_region(op, Alias(op.output, value, lambda tensor: slice_view(tensor, slices)))
    return Region("ReversedSlice", (op.node,), slices, (Read(value, ANY),), (Write(op.output),))


def known_slices(op: BoundNode, scope: Scope) -> tuple[SlicedAxis, ...] | None:
    """The slice along each axis; None if input sizes do not determine one, or it may be out of bounds."""
    value, shape = op.input(0), scope.shape(op.output)
    if value is None or shape is None or not scope.is_native(value):
        return None
    starts, axes, steps = (scope.vector(op.input(i)) for i in (1, 3, 4))
    if starts is None or (op.input(3) is not None and axes is None) or (op.input(4) and steps is None):
        return None
    whole, count = scope.known_shape(value), len(starts)
    axis_list = [int(axis) % len(whole) for axis in (range(count) if axes is None else axes)]
    step_list = [1] * count if steps is None else [int(step) for step in steps]
    slices = []
    for start, axis, step in zip(starts, axis_list, step_list, strict=True):
        first = None if step == 0 else slice_start(scope, start, whole[axis], step)
        if first is None or not guard_in_bounds(scope, first, shape[axis], step, whole[axis]):
            return None
        slices.append(SlicedAxis(axis, first, shape[axis], step))
    return tuple(slices)


def slice_view(tensor: TensorView, slices: Sequence[SlicedAxis]) -> TensorView:
    for s in slices:
        tensor = slice_axis(tensor, s.axis, s.first, s.size, s.step)
    return tensor


@lowers("ReversedSlice")
def lower_reversed_slice(region: LaidOutRegion[tuple[SlicedAxis, ...]], lowering: Lowering) -> Step:
    return copy_step(slice_view(region.operands[0], region.config), region.results[0])


def slice_start(scope: Scope, start: SupportsIndex | Expr | None, size: Known, step: int) -> Known | None:
    """The first index of a slice; -1 for an empty slice with a negative step; None if input sizes do not determine it."""
    if start is None or (isinstance(start, Expr) and not scope.is_size(start)):
        return None
    first: Known = (
        start if isinstance(start, Expr) else min(max(index(start), -MAX_SLICE_BOUND), MAX_SLICE_BOUND)
    )
    last = size if step > 0 else size - 1
    if not known_ge(first, 0):
        first = dim_max(first + size * is_negative(first), 0)
    return first if known_ge(last, first) else dim_min(first, last)


def guard_in_bounds(scope: Scope, first: Known, count: Known, step: int, size: Known) -> bool:
    """Whether all indices of a slice are within the axis; guarded."""
    if count == 0:
        return True
    end = first + (count - 1) * step
    bounds = ((size, end + 1),) if step > 0 else ((size, first + 1), (end, 0))
    return all(scope.guard_ge(larger, smaller) for larger, smaller in ((count, 0), *bounds))
