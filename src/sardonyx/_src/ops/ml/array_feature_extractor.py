"""ArrayFeatureExtractor: entries of the last axis, by index.

Spec: ai.onnx.ml ArrayFeatureExtractor-1.  A vector counts as one row: the result has two axes.  Indices count from the
front only.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.ml.body_text import OPSET
from sardonyx._src.ops.support.body_text import rank_of, scalar, vector
from sardonyx._src.ops.support.shapes import element_count

MAX_INDEX = (1 << 62) - 1  # an index past the end of every axis
op = Operator("ArrayFeatureExtractor", "ai.onnx.ml")


@op.infer(1)
def infer(inference: Inference) -> Result:
    data, indices = inference.tensor(0), inference.shape(1)
    if data is None or data.shape is None:
        return data
    if not data.shape:
        inference.fail("input 0 must have rank >= 1; got a scalar")
    size, known = data.shape[-1], inference.constant(1)
    if isinstance(size, int) and known is not None and ((known < 0) | (known >= size)).any():
        inference.fail(f"an index lies outside of an axis of size {size}")
    count = None if indices is None else element_count(indices)
    return TensorType(data.dtype, (*(data.shape[:-1] if len(data.shape) > 1 else (1,)), count))


@op.eval(1)
def evaluate(X: Array, Y: Array) -> Array:
    """X: [..., C], Y: any shape, int64; result: [..., elements of Y], at least two axes."""
    if X.ndim == 0:
        raise EvaluationError("X must have rank >= 1; got a scalar")
    indices = Y.reshape(-1)
    outside = (indices < 0) | (indices >= X.shape[-1])
    if outside.any():
        raise EvaluationError(f"index {indices[outside][0]} lies outside of an axis of size {X.shape[-1]}")
    return np.take(X if X.ndim > 1 else X.reshape(1, -1), indices, axis=-1)


@op.body(1, opset=OPSET)
def body(inference: Inference) -> str:
    """A Gather.  It would count negative indices from the end, so they are replaced by an index that it rejects."""
    rank = rank_of(inference)
    if rank == 0:
        inference.fail("input 0 must have rank >= 1; got a scalar")
    first_axis = f"first_axis = {vector([0])}  rows = Unsqueeze(X, first_axis)"
    return f"""(X, Y) => (Z) {{
      {first_axis if rank == 1 else "rows = Identity(X)"}
      one_axis = {vector([-1])}
      indices = Reshape(Y, one_axis)
      start = {scalar(0, DataType.INT64)}
      is_negative = Less(indices, start)
      outside = {scalar(MAX_INDEX, DataType.INT64)}
      places = Where(is_negative, outside, indices)
      Z = Gather <axis = -1> (rows, places)
    }}"""
