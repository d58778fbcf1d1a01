"""EyeLike: ones on one diagonal of a matrix of zeros.

Spec: ai.onnx EyeLike-9, -22, which differ in element types.  The elements are of type `dtype`, or else of the input's.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.change import Change, Converted
from sardonyx._src.ops.inference import Inference, Result

op = Operator("EyeLike")


@op.convert((9, 0))
def by_constant(c: Change) -> Converted:
    """A constant, where all sizes are known."""
    if c.rank(0) != 2:
        c.refuse(f"the input has rank {c.rank(0)}, where a matrix is wanted")
    rows, columns = c.shape(0)
    if rows * columns > 1 << 20:
        c.refuse(f"a constant of {rows} x {columns} elements would be needed")
    dtype = c.t.attributes.get("dtype")
    try:
        to = c.dtype(0) if not isinstance(dtype, int) else DataType.numbered(dtype)
    except ValueError as error:
        c.refuse(f"dtype: {error}")
    return c.constant(np.eye(rows, columns, c.t.integer("k")), to)


@op.infer(9, 22)
def infer(t: Inference) -> Result:
    shape, number = t.shape(0), t.attributes.get("dtype")
    dtype = DataType.numbered(number) if isinstance(number, int) else t.dtype(0)
    if shape is not None and len(shape) != 2:
        t.fail(f"the input has rank {len(shape)}, where a matrix is wanted")
    return None if dtype is None else TensorType(dtype, shape or (None, None))


@op.eval(9, 22)
def evaluate(input: Array, *, dtype: int | None = None, k: int) -> Array:
    """input, result: [n, m]; ones at [i, i + k]."""
    if input.ndim != 2:
        raise EvaluationError(f"the input has rank {input.ndim}, where a matrix is wanted")
    rows, columns = input.shape
    ones = np.arange(columns) == np.arange(rows)[:, None] + max(min(k, columns), -rows)
    return ones.astype(input.dtype if dtype is None else DataType.numbered(dtype).numpy)
