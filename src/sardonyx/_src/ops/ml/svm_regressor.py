"""SVMRegressor: a weighted sum of similarities to support vectors, or a linear function.

Spec: ai.onnx.ml SVMRegressor-1.  n_supports 0 means that the coefficients are those of a linear function,
whatever the kernel is called.  A one-class
machine says 1 where the sum is positive and -1 elsewhere.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.dims import dim_mul
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.ml.batches import batch, rows
from sardonyx._src.ops.ml.class_labels import count
from sardonyx._src.ops.ml.post_transforms import transformed
from sardonyx._src.ops.ml.support_vectors import check_count, check_kernel, matrix, similarities

op = Operator("SVMRegressor", "ai.onnx.ml", tolerance="rounding")


@op.eval(1)
def evaluate(
    X: Array,
    *,
    coefficients: tuple[float, ...] = (),
    kernel_params: tuple[float, ...] = (),
    kernel_type: str,
    n_supports: int,
    one_class: int,
    post_transform: str,
    rho: tuple[float, ...] = (),
    support_vectors: tuple[float, ...] = (),
) -> Array:
    """X: [N, C] or [C], result: [N, 1] float32; support_vectors: n_supports rows of C."""
    if n_supports < 0 or len(rho) != 1:
        raise EvaluationError(
            f"n_supports is {n_supports} and rho has {len(rho)} elements, where no negative number and one are wanted"
        )
    x = rows(X)
    if n_supports:
        vectors = matrix(support_vectors, n_supports, x.shape[1], "support_vectors")
        weights = matrix(coefficients, n_supports, 1, "coefficients")
        with np.errstate(all="ignore"):
            sums = similarities(x, vectors, kernel_type, kernel_params) @ weights + rho[0]
    else:
        sums = similarities(x, matrix(coefficients, 1, x.shape[1], "coefficients"), "LINEAR", ()) + rho[0]
    if one_class:
        return np.where(sums > 0, np.float32(1), np.float32(-1))
    return transformed(sums, post_transform).astype(np.float32)


@op.infer(1)
def infer(t: Inference) -> Result:
    supports, length = t.integer("n_supports"), batch(t)[1]
    if supports < 0:
        t.fail(f"n_supports is {supports}, where no negative number is wanted")
    check_count(t, "rho", 1)
    if supports:
        try:
            check_kernel(str(t.attributes["kernel_type"]), count(t.attributes, "kernel_params"))
        except EvaluationError as error:
            t.fail(error.why)
        check_count(t, "support_vectors", dim_mul(supports, length))
    check_count(t, "coefficients", supports or length)
    return TensorType(DataType.FLOAT, (batch(t)[0], 1))
