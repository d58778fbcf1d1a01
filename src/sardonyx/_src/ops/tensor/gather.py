"""Gather: entries of one axis, selected by indices.

Spec: ai.onnx Gather-1, -11, -13.  11 specifies negative indices, which are supported here in all versions; 13 adds
an element type.
"""

from __future__ import annotations

import math

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ops.api import Operator, RunContext, check_result_bytes
from sardonyx._src.ops.bound_kernel import BoundKernel, NodeBinding
from sardonyx._src.ops.inference import Inference, Known, Result
from sardonyx._src.ops.support.shapes import axis_of
from sardonyx._src.ops.tensor.elements import MAX_KNOWN_ELEMENTS, elements, restore_element_type
from sardonyx._src.ops.tensor.indexing import check_bounds, from_front, non_negative
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter

op = Operator("Gather", moves_data=True, under_permutation="gather", keeps_order="gather")


@op.infer(1, 11, 13)
def infer(inference: Inference) -> Result:
    data, indices = inference.tensor(0), inference.shape(1)
    if data is None:
        return None
    if data.shape is None:
        return TensorType(data.dtype)
    axis = inference.axis(inference.integer("axis"), len(data.shape))
    check_bounds(inference, inference.constant(1), data.shape[axis])
    return TensorType(
        data.dtype, None if indices is None else data.shape[:axis] + indices + data.shape[axis + 1 :]
    )


@op.value(1, 11, 13)
@restore_element_type
def value(inference: Inference) -> Known | None:
    data, indices = elements(inference, 0), inference.constant(1)
    if data is None or indices is None:
        return None
    axis = inference.axis(inference.integer("axis"), data.ndim)
    shape = gathered_shape(data, indices, axis)
    if math.prod(shape) > MAX_KNOWN_ELEMENTS:
        return None
    try:
        return take_entries(data, indices, axis).reshape(shape)
    except EvaluationError as error:
        inference.fail(error.why)


@op.convert((11, 1))
def to_1(adapter: Adapter) -> AdaptedNode:
    """Make indices non-negative: version 1 has no negative ones."""
    return adapter.same([adapter.input(0), non_negative(adapter, 1, adapter.axis())])


@op.eval(1, 11, 13)
def evaluate(data: Array, indices: Array, *, axis: int, context: RunContext) -> Array:
    """data: [*before, n, *after]; indices: integers in [-n, n), of any shape; result: [*before, *indices.shape, *after]."""
    if data.ndim == 0:
        raise EvaluationError("data must have rank >= 1; got a scalar")
    axis = axis_of(axis, data.ndim)
    shape = gathered_shape(data, indices, axis)
    check_result_bytes(context, shape, data.dtype, "Gather result")
    return take_entries(data, indices, axis).reshape(shape)


def gathered_shape(data: Array, indices: Array, axis: int) -> tuple[int, ...]:
    return data.shape[:axis] + indices.shape + data.shape[axis + 1 :]


def take_entries(data: Array, indices: Array, axis: int) -> Array:
    """The entries at the flattened indices; raises EvaluationError for an index out of bounds."""
    try:
        return data.take(indices.reshape(-1), axis)
    except IndexError:  # `from_front` raises the EvaluationError, which names the index
        return data.take(from_front(indices, data.shape[axis]).reshape(-1), axis)


@op.bind(1, 11, 13)
def bind(binding: NodeBinding) -> BoundKernel | None:
    """Labels of numbered classes: entries of a constant vector of strings."""
    (_, _, labels), (shape, dtype, _) = binding.inputs
    if labels is None or labels.ndim != 1 or labels.dtype != object or not shape or dtype is None:
        return None
    return BoundKernel(take_labels)


def take_labels(labels: Array, indices: Array) -> Array:
    """labels: [C] strings; indices: any shape but (); result: the shape of the indices."""
    return labels.take(indices)
