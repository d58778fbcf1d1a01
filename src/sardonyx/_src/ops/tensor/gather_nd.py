"""GatherND: entries or whole parts of a tensor, each picked by a tuple of indices.

Spec: ai.onnx GatherND-11, -12, -13.  12 adds `batch_dims`, leading axes that data and indices share; 13 adds an element
type.
"""

from __future__ import annotations

import math

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Call, Operator, claim
from sardonyx._src.ops.inference import Inference, Known, Result
from sardonyx._src.ops.shapes import merge_shapes
from sardonyx._src.ops.tensor.elements import LIMIT, elements, settled
from sardonyx._src.ops.tensor.indexing import check_tuples, row_major

op = Operator("GatherND")


@op.eval(11, 12, 13)
def evaluate(data: Array, indices: Array, *, batch_dims: int = 0, call: Call) -> Array:
    """data: [batch, d1...dk, rest]; indices: [batch, ..., k] int64; result: [batch, ..., rest]."""
    check(data.shape, indices.shape, batch_dims)
    shape = picked_shape(data, indices, batch_dims)
    claim(call, shape, data.dtype, "GatherND result")
    return picked(data, indices, batch_dims).reshape(shape)


def picked_shape(data: Array, indices: Array, batch_dims: int) -> tuple[int, ...]:
    return indices.shape[:-1] + data.shape[batch_dims + indices.shape[-1] :]


def check(data: tuple[int, ...], indices: tuple[int, ...], batch_dims: int) -> None:
    """Raises EvaluationError for shapes that do not fit each other."""
    if not 0 <= batch_dims < min(len(data), len(indices)):
        raise EvaluationError(
            f"batch_dims is {batch_dims}, with data of rank {len(data)}, indices of {len(indices)}"
        )
    if data[:batch_dims] != indices[:batch_dims]:
        raise EvaluationError(
            f"data {list(data)} and indices {list(indices)} differ in their {batch_dims} batch axes"
        )
    if not 1 <= indices[-1] <= len(data) - batch_dims:
        raise EvaluationError(
            f"tuples of {indices[-1]} indices, where 1 to {len(data) - batch_dims} are wanted"
        )


def picked(data: Array, indices: Array, batch_dims: int) -> Array:
    """The parts of data, in one list for each element of the batch."""
    depth, batch = indices.shape[-1], math.prod(data.shape[:batch_dims])
    picking = data.shape[batch_dims : batch_dims + depth]
    flat = data.reshape(batch, math.prod(picking), *data.shape[batch_dims + depth :])
    places = row_major(indices, picking).reshape(batch, math.prod(indices.shape[batch_dims:-1]))
    return flat[np.arange(batch)[:, None], places]


@op.infer(11, 12, 13)
def infer(t: Inference) -> Result:
    data, indices, batch_dims = t.tensor(0), t.shape(1), t.integer("batch_dims", 0)
    if data is None:
        return None
    if data.shape is None or indices is None:
        return TensorType(data.dtype)
    if not 0 <= batch_dims < min(len(data.shape), len(indices)):
        t.fail(f"batch_dims is {batch_dims}, with data of rank {len(data.shape)}, indices of {len(indices)}")
    batch = merge_shapes(t, [data.shape[:batch_dims], indices[:batch_dims]], "batch axes") or ()
    depth = indices[-1]
    if not isinstance(depth, int):
        return TensorType(data.dtype)
    if not 1 <= depth <= len(data.shape) - batch_dims:
        t.fail(f"tuples of {depth} indices, where 1 to {len(data.shape) - batch_dims} are wanted")
    check_tuples(t, t.constant(1), data.shape[batch_dims : batch_dims + depth])
    return TensorType(data.dtype, (*batch, *indices[batch_dims:-1], *data.shape[batch_dims + depth :]))


@op.value(11, 12, 13)
@settled
def value(t: Inference) -> Known | None:
    data, indices, batch_dims = elements(t, 0), t.constant(1), t.integer("batch_dims", 0)
    if data is None or indices is None:
        return None
    try:
        check(data.shape, indices.shape, batch_dims)
        shape = picked_shape(data, indices, batch_dims)
        return picked(data, indices, batch_dims).reshape(shape) if math.prod(shape) <= LIMIT else None
    except EvaluationError as error:
        t.fail(error.why)
