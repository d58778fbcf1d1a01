"""MatMul: the matrix product of the last two axes, batched over the axes before them.

Spec: ai.onnx MatMul-1, -9, -13, which mean what numpy.matmul means and differ in element types.  A vector A is treated as
a row, a vector B as a column, and the result lacks the axis that was added for it; scalars are errors.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, Shape, TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.support.arithmetic import compute_in_float32
from sardonyx._src.ops.support.shapes import broadcast, first_element_type, merge_dims

op = Operator(
    "MatMul",
    tolerance="rounding",
    computes_in_float32=True,
    under_permutation="matmul",
    matrix_product="matmul",
)


@op.infer(1, 9, 13)
def infer(inference: Inference) -> Result:
    dtype = first_element_type(*inference.inputs)
    return (
        None
        if dtype is None
        else TensorType(dtype, matmul_shape(inference, inference.shape(0), inference.shape(1)))
    )


def matmul_shape(inference: Inference, a: Shape | None, b: Shape | None) -> Shape | None:
    """The shape of the product of tensors of shapes `a` and `b`; None when a rank is unknown.

    Raises InferenceError at the node for a scalar and for sizes that do not fit.
    """
    if a == () or b == ():
        inference.fail("a scalar has no matrix product")
    if a is None or b is None:
        return None
    inner = b[-2] if len(b) > 1 else b[0]
    merge_dims(inference, (a[-1], inner), "the reduced dimensions")
    batch = broadcast(inference, (a[:-2], b[:-2]))
    assert batch is not None, "both ranks are known"
    return batch + (a[-2:-1] if len(a) > 1 else ()) + (b[-1:] if len(b) > 1 else ())


@op.eval(1, 9, 13)
@compute_in_float32
def evaluate(A: Array, B: Array) -> Array:
    """A: [..., m, k] or [k], B: [..., k, n] or [k], whose leading axes broadcast; result: [..., m, n].

    Integers wrap around.
    """
    if A.ndim == 0 or B.ndim == 0:
        raise EvaluationError("a scalar has no matrix product; Mul multiplies by one")
    if A.shape[-1] != B.shape[-2 if B.ndim > 1 else 0]:
        raise EvaluationError(
            f"A and B must agree in the reduced dimension; got shapes {list(A.shape)} and {list(B.shape)}"
        )
    return np.matmul(A, B)
