"""EyeLike: a matrix of zeros with ones on one diagonal.

Spec: ai.onnx EyeLike-9, -22, which differ in element types.  The element type is `dtype`, by default that of the input.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter

op = Operator("EyeLike")
MAX_CONSTANT_ELEMENTS = 1 << 20  # the largest matrix that a conversion stores in the model


@op.convert((9, 0))
def replace_by_constant(adapter: Adapter) -> AdaptedNode:
    """The matrix as a constant; all sizes must be known."""
    if adapter.rank(0) != 2:
        adapter.refuse(f"the input must be a matrix; got rank {adapter.rank(0)}")
    rows, columns = adapter.shape(0)
    if rows * columns > MAX_CONSTANT_ELEMENTS:
        adapter.refuse(
            f"the matrix must have at most {MAX_CONSTANT_ELEMENTS} elements to become a constant; got {rows} x {columns}"
        )
    dtype = adapter.inference.attributes.get("dtype")
    try:
        to = adapter.dtype(0) if not isinstance(dtype, int) else DataType.from_number(dtype)
    except ValueError as error:
        adapter.refuse(f"dtype: {error}")
    return adapter.constant(np.eye(rows, columns, adapter.inference.integer("k")), to)


@op.infer(9, 22)
def infer(inference: Inference) -> Result:
    shape, number = inference.shape(0), inference.attributes.get("dtype")
    dtype = DataType.from_number(number) if isinstance(number, int) else inference.dtype(0)
    if shape is not None and len(shape) != 2:
        inference.fail(f"the input must be a matrix; got rank {len(shape)}")
    return None if dtype is None else TensorType(dtype, shape or (None, None))


@op.eval(9, 22)
def evaluate(input: Array, *, dtype: int | None = None, k: int) -> Array:
    """input, result: [n, m]; ones at [i, i + k]."""
    if input.ndim != 2:
        raise EvaluationError(f"the input must be a matrix; got rank {input.ndim}")
    rows, columns = input.shape
    # k is limited to the size of the matrix, so that the sum does not overflow.
    ones = np.arange(columns) == np.arange(rows)[:, None] + max(min(k, columns), -rows)
    return ones.astype(input.dtype if dtype is None else DataType.from_number(dtype).numpy)
