"""Views: Reshape, Flatten, Squeeze, Unsqueeze, Identity, Transpose, Split, Expand and Slice without a copy.

Outputs are bound to views of every layout of the input, where strides can express them.  A Reshape that they cannot, and
a Slice with a negative step, become copies.  Falls back for bounds that input sizes do not determine.
"""

from __future__ import annotations

from dataclasses import replace
from operator import index
from typing import SupportsIndex

import numpy as np

from sardonyx._src.compile.kernels.data_movement.copy import copy_step
from sardonyx._src.compile.layouts.views import reshape_view
from sardonyx._src.compile.lower.lowering import Lowering
from sardonyx._src.compile.lower.registry import lowers
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.prepare.graph_info import MAX_ELEMENTS
from sardonyx._src.compile.program.tensor import (
    TensorView,
    channels_first_permutation,
    channels_last_permutation,
)
from sardonyx._src.ir.dims import Expr, Known, dim_max, dim_min, dim_product, known_ge
from sardonyx._src.ops.inference import Known as Elements

MAX_SLICE_BOUND = 2 * MAX_ELEMENTS  # beyond any index


@lowers("Reshape", 25)
@lowers("Flatten", 25)
@lowers("Squeeze", 25)
@lowers("Unsqueeze", 25)
@lowers("Identity", 25)
def lower_reshape(op: BoundNode, lowering: Lowering) -> bool:
    """Lowers operators that keep the order of elements; a copy where no strides express the output."""
    value, shape = op.input(0), lowering.shape(op.output)
    if value is None or shape is None or not lowering.is_native(value):
        return False
    if not lowering.guard_equal(lowering.any_layout(value).num_elements, dim_product(shape)):
        return False
    if op.op_type == "Reshape":
        guard_inferred_dim(lowering, lowering.elements(op.input(1)), shape)
    if op.op_type == "Identity":
        lowering.bind(op.output, *lowering.tensors[value])
        return True
    views = [v for layout in lowering.tensors[value] if (v := reshape_view(layout, shape)) is not None]
    if views:
        lowering.bind(op.output, *views)
    elif not copy_channels_last(op, lowering, lowering.tensors[value][0]):
        lowering.bind(op.output, lowering.dense(value).reshape(shape))
    return True


def guard_inferred_dim(lowering: Lowering, target_dims: Elements | None, shape: tuple[Known, ...]) -> None:
    """Guards that all dims beside a dim of -1 are positive: otherwise -1 is ambiguous, which is an error."""
    for i, dim in enumerate(() if target_dims is None else target_dims):
        other_elements = dim_product((*shape[:i], *shape[i + 1 :]))
        if isinstance(dim, int | np.integer) and dim == -1 and not known_ge(other_elements, 1):
            lowering.guards[dim_min(other_elements, 1), 1] = None


def copy_channels_last(op: BoundNode, lowering: Lowering, source: TensorView) -> bool:
    """Emits a copy to a channels-last result, if the source is channels-last and the Reshape splits or merges channels."""
    shape = lowering.known_shape(op.output)
    if len(shape) < 3 or source.rank == 0 or source.strides[-1] == 1:
        return False
    channels_last_shape = tuple(shape[i] for i in channels_last_permutation(len(shape)))
    result = lowering.temporary(source.dtype, channels_last_shape, op.output.name).permute(
        channels_first_permutation(len(shape))
    )
    target = reshape_view(result, source.shape)
    if target is None:
        return False
    lowering.emit(copy_step(source, target))
    lowering.bind(op.output, result)
    return True


@lowers("Transpose", 25)
def lower_transpose(op: BoundNode, lowering: Lowering) -> bool:
    """Binds the output to permuted views."""
    value = op.input(0)
    if value is None or not lowering.is_native(value):
        return False
    lowering.any_layout(value)
    layouts = lowering.tensors[value]
    perm = op.ints("perm") or tuple(reversed(range(layouts[0].rank)))
    if sorted(perm) != list(range(layouts[0].rank)):
        return False
    lowering.bind(op.output, *(layout.permute(perm) for layout in layouts))
    return True


@lowers("Split", 18)
def lower_split(op: BoundNode, lowering: Lowering) -> bool:
    """Binds the outputs to consecutive slices along an axis."""
    value = op.input(0)
    shapes = [lowering.shape(output) for output in op.node.outputs]
    if value is None or not lowering.is_native(value) or None in shapes:
        return False
    lowering.any_layout(value)
    axis = op.attribute("axis", int) % lowering.tensors[value][0].rank
    sizes = [shape[axis] for shape in shapes if shape is not None]
    total: Known = 0
    for size in sizes:
        total = total + size
    if not lowering.guard_equal(total, lowering.tensors[value][0].shape[axis]):
        return False
    first: Known = 0
    for output, size in zip(op.node.outputs, sizes, strict=True):
        lowering.bind(output, *(slice_axis(layout, axis, first, size) for layout in lowering.tensors[value]))
        first = first + size
    return True


def slice_axis(tensor: TensorView, axis: int, first: Known, size: Known, step: int = 1) -> TensorView:
    """A view of the elements first, first + step, ... along an axis; size: their number."""
    shape, strides = list(tensor.shape), list(tensor.strides)
    offset = tensor.offset + first * strides[axis]
    shape[axis], strides[axis] = size, strides[axis] * step
    return replace(tensor, shape=tuple(shape), strides=tuple(strides), offset=offset)


@lowers("Expand", 13)
def lower_expand(op: BoundNode, lowering: Lowering) -> bool:
    """Binds the output to a view with stride 0 along dims that are broadcast."""
    value, shape = op.input(0), lowering.shape(op.output)
    if value is None or shape is None or not lowering.is_native(value):
        return False
    source = lowering.any_layout(value)
    leading = len(shape) - source.rank
    old = (1,) * leading + source.shape
    if leading < 0 or not all(a == b or a == 1 for a, b in zip(old, shape, strict=True)):
        return False
    if not is_known_target(lowering.elements(op.input(1)), shape):
        return False
    strides = (0,) * leading + source.strides
    result_strides = tuple(s if a == b else 0 for a, b, s in zip(old, shape, strides, strict=True))
    lowering.bind(op.output, replace(source, shape=shape, strides=result_strides))
    return True


def is_known_target(target_dims: Elements | None, shape: tuple[Known, ...]) -> bool:
    """Whether the requested dims are known to equal those of the result, or 1; others may be an error."""
    if target_dims is None or len(target_dims) > len(shape):
        return False
    inner = shape[len(shape) - len(target_dims) :]
    return all(a is not None and (a == 1 or a == b) for a, b in zip(target_dims, inner, strict=True))


@lowers("Slice", 13)
def lower_slice(op: BoundNode, lowering: Lowering) -> bool:
    """Binds the output to strided views; slices with negative steps are copied."""
    value, shape = op.input(0), lowering.shape(op.output)
    if value is None or shape is None or not lowering.is_native(value):
        return False
    starts, axes, steps = (lowering.elements(op.input(i)) for i in (1, 3, 4))
    if starts is None or (op.input(3) is not None and axes is None) or (op.input(4) and steps is None):
        return False
    tensor = lowering.any_layout(value)
    count = len(starts)
    axis_list = [int(axis) % tensor.rank for axis in (range(count) if axes is None else axes)]
    step_list = [1] * count if steps is None else [int(step) for step in steps]
    slices = []
    for start, axis, step in zip(starts, axis_list, step_list, strict=True):
        first = None if step == 0 else slice_start(lowering, start, tensor.shape[axis], step)
        if first is None or not guard_in_bounds(lowering, first, shape[axis], step, tensor.shape[axis]):
            return False
        slices.append((axis, first, shape[axis], step))
    layouts = lowering.tensors[value]
    for axis, first, size, step in slices:
        layouts = [slice_axis(layout, axis, first, size, step) for layout in layouts]
    if min(step_list, default=1) > 0:
        lowering.bind(op.output, *layouts)
    else:
        lowering.emit(copy_step(layouts[0], lowering.allocate_result(op.output)))
    return True


def slice_start(
    lowering: Lowering, start: SupportsIndex | Expr | None, size: Known, step: int
) -> Known | None:
    """The first index of a slice, or -1 of an empty slice with a negative step; None if sizes do not determine it."""
    if start is None or (isinstance(start, Expr) and not lowering.is_size(start)):
        return None
    first: Known = (
        start if isinstance(start, Expr) else min(max(index(start), -MAX_SLICE_BOUND), MAX_SLICE_BOUND)
    )
    last = size if step > 0 else size - 1
    if not known_ge(first, 0):
        is_negative = dim_min(dim_max(-first, 0), 1)  # 0 or 1
        first = dim_max(first + size * is_negative, 0)
    return first if known_ge(last, first) else dim_min(first, last)


def guard_in_bounds(lowering: Lowering, first: Known, count: Known, step: int, size: Known) -> bool:
    """Whether all indices of a slice are within the axis; guarded."""
    if count == 0:
        return True
    end = first + (count - 1) * step
    bounds = ((size, end + 1),) if step > 0 else ((size, first + 1), (end, 0))
    return all(lowering.guard_ge(larger, smaller) for larger, smaller in ((count, 0), *bounds))
