"""SVMClassifier: one-against-one voting of the classes as in LIBSVM, or plain linear scores.

Spec: ai.onnx.ml SVMClassifier-1, which says little more than the names of the attributes.

With vectors_per_class, every pair of classes has a decision value; if it is positive, the first class of the pair gets a
vote, otherwise the second one.  The class with the most votes wins, or the first such class.  The scores are the decision
values, except that a single pair has two scores, the negated value and the value (see `both_classes`); with prob_a and
prob_b, the scores are the probabilities of the classes.

Without vectors_per_class there is a linear score for each class, all with the first element of rho.

Post transforms change no label.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ir.dims import Dim, dim_mul
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.ml.batches import batch, rows
from sardonyx._src.ops.ml.body_text import (
    OPSET,
    both_classes_text,
    feature_count,
    label_text,
    list_text,
    post_transform_text,
    product_text,
    refuse_post_transform,
    rows_text,
)
from sardonyx._src.ops.ml.class_labels import count, label_type, labels_of
from sardonyx._src.ops.ml.pairwise_body_text import probability_text
from sardonyx._src.ops.ml.pairwise_probabilities import couple_probabilities
from sardonyx._src.ops.ml.post_transforms import POST_TRANSFORMS, Scores, apply_post_transform, both_classes
from sardonyx._src.ops.ml.support_vectors import KERNELS, check_count, check_kernel, matrix, similarities
from sardonyx._src.ops.ml.svm_body_text import linear_svm_text, pair_weights_text, similarity_text, vote_text
from sardonyx._src.ops.support.body_text import vector
from sardonyx._src.ops.traits import enum_values

MAX_BODY_CLASSES = 32  # the body has a number for each combination of a class and a pair of classes
MAX_COUPLED_CLASSES = 10  # the body has nodes for each class if it computes probabilities
op = Operator(
    "SVMClassifier",
    "ai.onnx.ml",
    tolerance="rounding",
    enum_attributes={"kernel_type": enum_values(*KERNELS), "post_transform": enum_values(*POST_TRANSFORMS)},
)


@op.eval(1)
def evaluate(
    X: Array,
    *,
    classlabels_ints: tuple[int, ...] | None = None,
    classlabels_strings: tuple[str, ...] | None = None,
    coefficients: tuple[float, ...] = (),
    kernel_params: tuple[float, ...] = (),
    kernel_type: str,
    post_transform: str,
    prob_a: tuple[float, ...] = (),
    prob_b: tuple[float, ...] = (),
    rho: tuple[float, ...] = (),
    support_vectors: tuple[float, ...] = (),
    vectors_per_class: tuple[int, ...] = (),
) -> tuple[Array, Array]:
    """X: [N, C] or [C]; results: [N] labels, [N, E] float32.

    support_vectors: V rows of C, coefficients: one row of V for each class but one; rho, prob_a, prob_b: one for each
    pair of classes.
    """
    x, labels = rows(X), labels_of(classlabels_ints, classlabels_strings)
    if not vectors_per_class:
        weights = matrix(coefficients, len(labels), x.shape[1], "coefficients")
        linear = similarities(x, weights, "LINEAR", ()) + first(rho)
        return labels[linear.argmax(axis=1)], apply_post_transform(linear, post_transform).astype(np.float32)
    sizes = check_sizes(vectors_per_class, len(labels))
    vectors = matrix(support_vectors, sum(sizes), x.shape[1], "support_vectors")
    weights = matrix(coefficients, len(sizes) - 1, sum(sizes), "coefficients")
    values = decisions(similarities(x, vectors, kernel_type, kernel_params), sizes, weights, rho)
    if prob_a:
        a, b = matrix((*prob_a, *prob_b), 2, values.shape[1], "prob_a with prob_b")
        scores = apply_post_transform(couple_probabilities(values, a, b, len(sizes)), post_transform)
    else:
        scores = decision_scores(values, post_transform)
    return labels[votes(values, len(sizes)).argmax(axis=1)], scores.astype(np.float32)


def check_sizes(vectors_per_class: tuple[int, ...], labels: int) -> tuple[int, ...]:
    if len(vectors_per_class) != labels or labels < 2 or min(vectors_per_class) < 0:
        what = f"vectors_per_class must have one count for each of {labels} classes, at least two"
        raise EvaluationError(f"{what}; got {list(vectors_per_class)}")
    return vectors_per_class


def first(rho: tuple[float, ...]) -> float:
    if not rho:
        raise EvaluationError("rho must have at least one element; got none")
    return rho[0]


def decisions(similar: Scores, sizes: tuple[int, ...], weights: Scores, rho: tuple[float, ...]) -> Scores:
    """The decision values, [N, pairs of classes], from the similarities [N, V] of rows and support vectors.

    A support vector has a weight for each class except its own.
    """
    ends = np.cumsum(sizes)
    parts = [slice(end - size, end) for size, end in zip(sizes, ends.tolist(), strict=True)]
    pairs = list(combinations(range(len(sizes)), 2))
    if len(rho) != len(pairs):
        raise EvaluationError(
            f"rho must have {len(pairs)} elements, one for each pair of classes; got {len(rho)}"
        )
    result = np.empty((len(similar), len(pairs)))
    with np.errstate(all="ignore"):
        for p, (i, j) in enumerate(pairs):
            own = similar[:, parts[i]] @ weights[j - 1, parts[i]]
            result[:, p] = own + similar[:, parts[j]] @ weights[i, parts[j]] + rho[p]
    return result


def votes(values: Scores, classes: int) -> NDArray[np.int64]:
    """The number of pairs that each class wins: [N, classes]."""
    result = np.zeros((len(values), classes), np.int64)
    for p, (i, j) in enumerate(combinations(range(classes), 2)):
        wins = values[:, p] > 0
        result[:, i] += wins
        result[:, j] += ~wins
    return result


def decision_scores(values: Scores, post_transform: str) -> Scores:
    if values.shape[1] == 1:
        return both_classes(values, post_transform, signed=post_transform == "NONE")
    return apply_post_transform(values, post_transform)


@op.infer(1)
def infer(inference: Inference) -> Result:
    dtype, labels = label_type(inference, "classlabels_ints")
    n, length = batch(inference)
    check_lists(inference, labels, length)
    classes = count(inference.attributes, "vectors_per_class")
    scores: Dim = labels
    if classes > 2 and not count(inference.attributes, "prob_a"):
        scores = classes * (classes - 1) // 2
    return TensorType(dtype, (n,)), TensorType(DataType.FLOAT, (n, scores))


def check_lists(inference: Inference, labels: int, length: Dim) -> None:
    """Raises InferenceError for lists of numbers of other lengths than the kernel needs."""
    a = inference.attributes
    sizes = a.get("vectors_per_class") or ()
    assert isinstance(sizes, tuple), "vectors_per_class is no list"
    try:
        if not sizes:
            first((0.0,) * count(a, "rho"))
            check_count(inference, "coefficients", dim_mul(labels, length))
            return
        vectors, pairs = sum(check_sizes(sizes, labels)), labels * (labels - 1) // 2
        check_kernel(str(a["kernel_type"]), count(a, "kernel_params"))
    except EvaluationError as error:
        inference.fail(error.why)
    check_count(inference, "support_vectors", dim_mul(vectors, length))
    check_count(inference, "coefficients", (labels - 1) * vectors)
    check_count(inference, "rho", pairs)
    if count(a, "prob_a"):
        check_count(inference, "prob_a", pairs)
        check_count(inference, "prob_b", pairs)


@op.body(1, opset=OPSET)
def body(inference: Inference) -> str:
    sizes, name = inference.attributes.get("vectors_per_class"), str(inference.attributes["post_transform"])
    labels = label_type(inference, "classlabels_ints")[1]
    has_probabilities = bool(count(inference.attributes, "prob_a"))
    if has_probabilities and labels > MAX_COUPLED_CLASSES:
        inference.fail(
            f"a body is known for probabilities of up to {MAX_COUPLED_CLASSES} classes; got {labels}"
        )
    if labels > MAX_BODY_CLASSES:
        inference.fail(f"a body is known for up to {MAX_BODY_CLASSES} classes; got {labels}")
    if isinstance(sizes, tuple) and sizes:
        scores, places = voting_text(inference, sizes), vote_text(labels)
        pairs = labels * (labels - 1) // 2
    else:
        scores, places = plain_text(inference, labels), "places = ArgMax <axis = 1, keepdims = 0> (scores)"
        pairs = labels
    if sizes and has_probabilities:
        result = post_transform_text(name, labels)
        result = (
            None if result is None else f"{probability_text(labels)}  {result.replace('scores', 'shares')}"
        )
    elif sizes and pairs == 1:
        result = both_classes_text(name, signed=name == "NONE")
    else:
        result = post_transform_text(name, pairs)
    if result is None:
        return refuse_post_transform(inference, name)
    return f"""(X) => (Y, Z) {{
      {rows_text(inference)}
      {scores}
      {places}
      {label_text(inference)}
      {result}
    }}"""


def voting_text(inference: Inference, sizes: tuple[int, ...]) -> str:
    """`scores`: the decision values, [N, pairs] float32."""
    weights = f"{pair_weights_text(sizes)}  bias = Constant <value_floats = @rho> ()"
    if inference.attributes["kernel_type"] == "LINEAR":
        return f"{weights}  {linear_svm_text(inference, sum(sizes))}"
    return f"{weights}  {similarity_text(inference, sum(sizes))}  scores = Gemm(similar, pair_weights, bias)"


def plain_text(inference: Inference, labels: int) -> str:
    """`scores`: the linear scores of the classes, [N, labels] float32; all have the first element of rho."""
    return f"""{list_text(inference, "weights", "coefficients", (labels, feature_count(inference)))}
      {list_text(inference, "rho_values", "rho")}
      rho_place = {vector([0])}
      bias = Gather(rho_values, rho_place)
      {product_text(inference, has_bias=True)}"""
