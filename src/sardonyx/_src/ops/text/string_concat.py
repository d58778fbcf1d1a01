"""StringConcat: elementwise concatenation of the strings of two tensors.

Spec: ai.onnx StringConcat-20, with multidirectional broadcasting.
"""

from __future__ import annotations

import math

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array
from sardonyx._src.ops.api import Operator, RunContext, check_result_bytes
from sardonyx._src.ops.support.shapes import infer_broadcast

BYTES = np.dtype(np.uint8)
op = Operator("StringConcat", elementwise=True)
op.infer(20)(infer_broadcast(DataType.STRING))


@op.eval(20)
def eval_20(X: Array, Y: Array, *, context: RunContext) -> Array:
    """X, Y: strings of shapes that broadcast; result: strings of the common shape.

    Raises LimitError if the elements or the characters of the result would exceed the limit of bytes.
    """
    shape = X.shape if X.shape == Y.shape else np.broadcast_shapes(X.shape, Y.shape)
    check_result_bytes(context, shape, X.dtype, "StringConcat result")
    length = characters(X, shape) + characters(Y, shape)
    check_result_bytes(context, (length,), BYTES, "the text of StringConcat's result")
    result = np.empty(shape, object)
    np.add(X, Y, out=result)
    return result


def characters(x: Array, shape: tuple[int, ...]) -> int:
    """Number of characters in the elements of x broadcast to `shape`."""
    copies = 1 if x.shape == shape else math.prod(shape) // max(x.size, 1)
    return copies * sum(map(len, x.reshape(-1).tolist()))
