"""SVMRegressor: a weighted sum of similarities to support vectors, or a linear function.

Spec: ai.onnx.ml SVMRegressor-1.  n_supports 0 means that the coefficients are those of a linear function,
whatever the kernel is called.  A one-class
machine returns 1 where the sum is positive and -1 elsewhere.
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
from sardonyx._src.ops.ml.post_transforms import POST_TRANSFORMS, apply_post_transform
from sardonyx._src.ops.ml.support_vectors import KERNELS, check_count, check_kernel, matrix, similarities
from sardonyx._src.ops.traits import enum_values

op = Operator(
    "SVMRegressor",
    "ai.onnx.ml",
    tolerance="rounding",
    enum_attributes={"kernel_type": enum_values(*KERNELS), "post_transform": enum_values(*POST_TRANSFORMS)},
)


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
            f"n_supports must not be negative and rho must have one element; got {n_supports} and {len(rho)}"
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
    return apply_post_transform(sums, post_transform).astype(np.float32)


@op.infer(1)
def infer(inference: Inference) -> Result:
    supports, length = inference.integer("n_supports"), batch(inference)[1]
    if supports < 0:
        inference.fail(f"n_supports must not be negative; got {supports}")
    check_count(inference, "rho", 1)
    if supports:
        try:
            check_kernel(
                str(inference.attributes["kernel_type"]), count(inference.attributes, "kernel_params")
            )
        except EvaluationError as error:
            inference.fail(error.why)
        check_count(inference, "support_vectors", dim_mul(supports, length))
    check_count(inference, "coefficients", supports or length)
    return TensorType(DataType.FLOAT, (batch(inference)[0], 1))
