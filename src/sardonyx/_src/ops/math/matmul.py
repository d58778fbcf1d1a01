"""MatMul: the matrix product of the last two axes, batched over the axes before them.

Spec: ai.onnx MatMul-1, -9, -13, which mean what numpy.matmul means and differ in element types.  A vector on the left
is a row, one on the right a column, and the axis lent to it is taken away again; scalars are refused.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import Shape, TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.arithmetic import in_float32
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.shapes import broadcast, element, merge_dims

op = Operator("MatMul", tolerance="rounding")


@op.infer(1, 9, 13)
def infer(t: Inference) -> Result:
    dtype = element(*t.inputs)
    return None if dtype is None else TensorType(dtype, matmul_shape(t, t.shape(0), t.shape(1)))


def matmul_shape(t: Inference, a: Shape | None, b: Shape | None) -> Shape | None:
    """The shape of the product of tensors of shapes `a` and `b`; None when a rank is unknown.

    Raises InferenceError at the node for a scalar and for sizes that do not fit.
    """
    if a == () or b == ():
        t.fail("a scalar has no matrix product")
    if a is None or b is None:
        return None
    inner = b[-2] if len(b) > 1 else b[0]
    merge_dims(t, (a[-1], inner), "the sizes to be summed over")
    batch = broadcast(t, (a[:-2], b[:-2]))
    assert batch is not None, "both ranks are known"
    return batch + (a[-2:-1] if len(a) > 1 else ()) + (b[-1:] if len(b) > 1 else ())


@op.eval(1, 9, 13)
@in_float32
def evaluate(A: Array, B: Array) -> Array:
    """A: [..., m, k] or [k], B: [..., k, n] or [k], whose leading axes broadcast; result: [..., m, n].

    Integers wrap around.
    """
    if A.ndim == 0 or B.ndim == 0:
        raise EvaluationError("a scalar has no matrix product; Mul multiplies by one")
    if A.shape[-1] != B.shape[-2 if B.ndim > 1 else 0]:
        raise EvaluationError(
            f"A of shape {list(A.shape)} and B of shape {list(B.shape)} disagree in the size to be summed over"
        )
    return np.matmul(A, B)
