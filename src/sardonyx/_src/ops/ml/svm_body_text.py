"""Building blocks for the bodies of SVMClassifier and SVMRegressor: similarities to support vectors as products of matrices.

The mean of the support vectors is subtracted from rows and vectors before distances are computed, which makes rounding errors
smaller: a squared distance is a difference of norms and products, which would be large far from the origin.
"""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.dtypes import DataType
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.ml.body_text import cast_text, feature_count, list_text, narrow_text
from sardonyx._src.ops.support.body_text import scalar, vector


def similarity_text(inference: Inference, vectors: int) -> str:
    """`similar`: the kernel function of `rows` and each support vector, [N, vectors] float32."""
    kernel = str(inference.attributes["kernel_type"])
    gamma, coef0, degree = kernel_parameters(inference)
    support = list_text(inference, "support", "support_vectors", (vectors, feature_count(inference)))
    if kernel == "RBF":
        return f"""{support}
          {distance_text(inference)}
          minus_gamma = {scalar(-gamma, DataType.FLOAT)}
          exponents = Mul(distances, minus_gamma)
          similar = Exp(exponents)"""
    products = f"""{support}
      wide_products = Gemm <transB = 1> (rows, support)
      {narrow_text(inference, "wide_products", "products")}
      gamma = {scalar(gamma, DataType.FLOAT)}
      scaled = Mul(products, gamma)
      coef0 = {scalar(coef0, DataType.FLOAT)}
      shifted = Add(scaled, coef0)"""
    if kernel == "SIGMOID":
        return f"{products}  similar = Tanh(shifted)"
    return f"{products}  degree = {scalar(degree, DataType.FLOAT)}  similar = Pow(shifted, degree)"


def kernel_parameters(inference: Inference) -> tuple[float, float, float]:
    """The kernel parameters gamma, coef0 and degree."""
    parameters = inference.attributes.get("kernel_params")
    assert isinstance(parameters, tuple), "inference checks kernel_params"
    gamma, coef0, degree = map(float, parameters)
    return gamma, coef0, degree


def distance_text(inference: Inference) -> str:
    """`distances`: the squared distances of `rows` and `support` vectors, [N, vectors] float32."""
    return f"""vector_axis = {vector([0])}
      center = ReduceMean(support, vector_axis)
      near_rows = Sub(rows, center)
      near_support = Sub(support, center)
      feature_axis = {vector([1])}
      row_norms = ReduceSumSquare(near_rows, feature_axis)
      support_norms = ReduceSumSquare <keepdims = 0> (near_support, feature_axis)
      double_support = Add(near_support, near_support)
      minus_support = Neg(double_support)
      partial = Gemm <transB = 1> (near_rows, minus_support, support_norms)
      signed_distances = Add(partial, row_norms)
      {narrow_text(inference, "signed_distances", "narrow_distances")}
      no_distance = {scalar(0, DataType.FLOAT)}
      distances = Max(narrow_distances, no_distance)"""


def linear_svm_text(inference: Inference, vectors: int) -> str:
    """`scores`: the scores for the LINEAR kernel, from `rows`, `pair_weights` [vectors, scores] and `bias`.

    The weighted sums of the support vectors are constants.
    """
    return f"""{list_text(inference, "support", "support_vectors", (vectors, feature_count(inference)))}
      {cast_text(inference, "pair_weights", "wide_weights")}
      {cast_text(inference, "bias", "wide_bias")}
      by_feature = Transpose <perm = [1, 0]> (support)
      planes = MatMul(by_feature, wide_weights)
      wide_scores = Gemm(rows, planes, wide_bias)
      {narrow_text(inference, "wide_scores", "scores")}"""


def pair_weights_text(sizes: Sequence[int]) -> str:
    """`pair_weights`: the weight of each support vector for each pair of classes, [vectors, pairs] float32.

    A vector of class i has coefficients[j - 1] for a pair with a later class j, and coefficients[j] for an earlier one.
    """
    classes, vectors = len(sizes), sum(sizes)
    pairs = [(i, j) for i in range(classes) for j in range(i + 1, classes)]
    none = classes - 1  # the row of zeros
    rows = [[j - 1 if c == i else i if c == j else none for i, j in pairs] for c in range(classes)]
    numbers = ", ".join(str(row) for of_class in rows for row in of_class)
    repeats = ", ".join(str(c) for c, size in enumerate(sizes) for _ in range(size))
    return f"""list = Constant <value_floats = @coefficients> ()
      shape = {vector([classes - 1, vectors])}
      coefficients = Reshape(list, shape)
      pads = {vector([0, 0, 1, 0])}
      padded = Pad(coefficients, pads)
      by_vector = Transpose <perm = [1, 0]> (padded)
      rows_of_classes = Constant <value = int64[{classes}, {len(pairs)}] {{{numbers}}}> ()
      classes = Constant <value = int64[{vectors}] {{{repeats}}}> ()
      rows_of_vectors = Gather(rows_of_classes, classes)
      pair_weights = GatherElements <axis = 1> (by_vector, rows_of_vectors)"""


def vote_text(classes: int) -> str:
    """`places`: the class with most votes, [N] int64, of the decisions `scores`, [N, pairs] float32.

    Votes are sums of small integers, so exact.
    """
    pairs = [(i, j) for i in range(classes) for j in range(i + 1, classes)]
    gains = ", ".join(str((c == i) - (c == j)) for i, j in pairs for c in range(classes))
    losses = ", ".join(str(c) for c in range(classes))  # a class loses to each earlier one unless it wins
    return f"""tie = {scalar(0, DataType.FLOAT)}
      is_won = Greater(scores, tie)
      wins = Cast <to = {DataType.FLOAT.value}> (is_won)
      gains = Constant <value = float[{len(pairs)}, {classes}] {{{gains}}}> ()
      losses = Constant <value = float[{classes}] {{{losses}}}> ()
      votes = Gemm(wins, gains, losses)
      places = ArgMax <axis = 1, keepdims = 0> (votes)"""
