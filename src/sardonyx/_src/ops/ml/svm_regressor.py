"""SVMRegressor: a weighted sum of similarities to support vectors, or a linear function.

Spec: ai.onnx.ml SVMRegressor-1.  If n_supports is 0, the coefficients are those of a linear function, whatever kernel is
named.  A one-class machine returns 1 if the sum is positive, and otherwise -1.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ir.dims import dim_mul
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.ml.batches import batch, rows
from sardonyx._src.ops.ml.body_text import (
    OPSET,
    cast_text,
    feature_count,
    list_text,
    narrow_text,
    refuse_post_transform,
    rows_text,
)
from sardonyx._src.ops.ml.class_labels import count
from sardonyx._src.ops.ml.post_transforms import POST_TRANSFORMS, apply_post_transform
from sardonyx._src.ops.ml.support_vectors import KERNELS, check_count, check_kernel, matrix, similarities
from sardonyx._src.ops.ml.svm_body_text import linear_svm_text, similarity_text
from sardonyx._src.ops.support.body_text import scalar, vector
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


@op.body(1, opset=OPSET)
def body(inference: Inference) -> str:
    supports, name = inference.integer("n_supports"), str(inference.attributes["post_transform"])
    result = "Z = Identity(scores)" if name != "PROBIT" and name in POST_TRANSFORMS else None
    if inference.integer("one_class"):
        result = f"""none = {scalar(0, DataType.FLOAT)}
          inlier = {scalar(1, DataType.FLOAT)}
          outlier = {scalar(-1, DataType.FLOAT)}
          is_inlier = Greater(scores, none)
          Z = Where(is_inlier, inlier, outlier)"""
    if result is None:
        return refuse_post_transform(inference, name)
    return f"""(X) => (Z) {{
      {rows_text(inference)}
      {score_text(inference, supports)}
      {result}
    }}"""


def score_text(inference: Inference, supports: int) -> str:
    """`scores`: the sums, [N, 1] float32."""
    bias = "bias = Constant <value_floats = @rho> ()"
    if not supports:
        return f"""{list_text(inference, "weights", "coefficients", (1, feature_count(inference)))}
          {bias}
          {cast_text(inference, "bias", "wide_bias")}
          products = Gemm <transB = 1> (rows, weights, wide_bias)
          {narrow_text(inference, "products", "scores")}"""
    weights = f"""coefficients = Constant <value_floats = @coefficients> ()
      shape = {vector([supports, 1])}
      pair_weights = Reshape(coefficients, shape)
      {bias}"""
    if inference.attributes["kernel_type"] == "LINEAR":
        return f"{weights}  {linear_svm_text(inference, supports)}"
    return f"{weights}  {similarity_text(inference, supports)}  scores = Gemm(similar, pair_weights, bias)"
