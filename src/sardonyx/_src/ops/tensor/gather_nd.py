"""GatherND: entries or slices of a tensor, each selected by a tuple of indices.

Spec: ai.onnx GatherND-11, -12, -13.  12 adds `batch_dims`, leading axes that data and indices share; 13 adds an element
type.
"""

from __future__ import annotations

import math

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ops.api import Operator, RunContext, check_result_bytes
from sardonyx._src.ops.inference import Inference, Known, Result
from sardonyx._src.ops.support.shapes import merge_shapes
from sardonyx._src.ops.tensor.elements import MAX_KNOWN_ELEMENTS, elements, restore_element_type
from sardonyx._src.ops.tensor.indexing import check_tuples, row_major

op = Operator("GatherND", moves_data=True)


@op.eval(11, 12, 13)
def evaluate(data: Array, indices: Array, *, batch_dims: int = 0, context: RunContext) -> Array:
    """data: [*batch, d1, ..., dk, *rest]; indices: [*batch, ..., k] int64; result: [*batch, ..., *rest]."""
    check_shapes(data.shape, indices.shape, batch_dims)
    shape = gathered_shape(data, indices, batch_dims)
    check_result_bytes(context, shape, data.dtype, "GatherND result")
    return take_slices(data, indices, batch_dims).reshape(shape)


def gathered_shape(data: Array, indices: Array, batch_dims: int) -> tuple[int, ...]:
    return indices.shape[:-1] + data.shape[batch_dims + indices.shape[-1] :]


def check_shapes(data: tuple[int, ...], indices: tuple[int, ...], batch_dims: int) -> None:
    """Raises EvaluationError for inconsistent shapes."""
    if not 0 <= batch_dims < min(len(data), len(indices)):
        raise EvaluationError(
            f"batch_dims must be in [0, {min(len(data), len(indices))}), below both ranks; got {batch_dims}"
        )
    if data[:batch_dims] != indices[:batch_dims]:
        raise EvaluationError(
            f"data and indices must agree in {batch_dims} batch axes; got {list(data)} and {list(indices)}"
        )
    if not 1 <= indices[-1] <= len(data) - batch_dims:
        raise EvaluationError(
            f"index tuples must have 1 to {len(data) - batch_dims} entries; got {indices[-1]}"
        )


def take_slices(data: Array, indices: Array, batch_dims: int) -> Array:
    """The slices of data, [batch, tuples, rest]."""
    depth, batch = indices.shape[-1], math.prod(data.shape[:batch_dims])
    indexed = data.shape[batch_dims : batch_dims + depth]
    flat = data.reshape(batch, math.prod(indexed), *data.shape[batch_dims + depth :])
    positions = row_major(indices, indexed).reshape(batch, math.prod(indices.shape[batch_dims:-1]))
    return flat[np.arange(batch)[:, None], positions]


@op.infer(11, 12, 13)
def infer(inference: Inference) -> Result:
    data, indices, batch_dims = inference.tensor(0), inference.shape(1), inference.integer("batch_dims", 0)
    if data is None:
        return None
    if data.shape is None or indices is None:
        return TensorType(data.dtype)
    if not 0 <= batch_dims < min(len(data.shape), len(indices)):
        inference.fail(
            f"batch_dims must be in [0, {min(len(data.shape), len(indices))}), below both ranks; got {batch_dims}"
        )
    batch = merge_shapes(inference, [data.shape[:batch_dims], indices[:batch_dims]], "batch axes") or ()
    depth = indices[-1]
    if not isinstance(depth, int):
        return TensorType(data.dtype)
    if not 1 <= depth <= len(data.shape) - batch_dims:
        inference.fail(f"index tuples must have 1 to {len(data.shape) - batch_dims} entries; got {depth}")
    check_tuples(inference, inference.constant(1), data.shape[batch_dims : batch_dims + depth])
    return TensorType(data.dtype, (*batch, *indices[batch_dims:-1], *data.shape[batch_dims + depth :]))


@op.value(11, 12, 13)
@restore_element_type
def value(inference: Inference) -> Known | None:
    data, indices, batch_dims = (
        elements(inference, 0),
        inference.constant(1),
        inference.integer("batch_dims", 0),
    )
    if data is None or indices is None:
        return None
    try:
        check_shapes(data.shape, indices.shape, batch_dims)
        shape = gathered_shape(data, indices, batch_dims)
        return (
            take_slices(data, indices, batch_dims).reshape(shape)
            if math.prod(shape) <= MAX_KNOWN_ELEMENTS
            else None
        )
    except EvaluationError as error:
        inference.fail(error.why)
