"""StringConcat: elementwise concatenation of the strings of two tensors.

Spec: ai.onnx StringConcat-20, with multidirectional broadcasting.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.api import Operator, RunContext, check_result_bytes
from sardonyx._src.ops.support.shapes import infer_broadcast

op = Operator("StringConcat", elementwise=True)
op.infer(20)(infer_broadcast(DataType.STRING))


@op.eval(20)
def eval_20(X: Array, Y: Array, *, context: RunContext) -> Array:
    """X, Y, result: strings of shapes that broadcast to one.

    Raises LimitError when the result would have more elements or characters than the limit allows bytes.
    """
    shape = np.broadcast_shapes(X.shape, Y.shape)
    check_result_bytes(context, shape, X.dtype, "StringConcat result")
    check_result_bytes(
        context, (characters(X, shape) + characters(Y, shape),), np.uint8, "the text of StringConcat's result"
    )
    result = np.empty(shape, object)
    np.add(X, Y, out=result)
    return result


def characters(x: Array, shape: tuple[int, ...]) -> int:
    """Number of characters in the elements of x broadcast to `shape`."""
    copies = int(np.prod(shape, dtype=object)) // max(x.size, 1)
    return copies * sum(map(len, x.reshape(-1).tolist()))
