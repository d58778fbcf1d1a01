"""Shared by NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss: the loss of log-probabilities and target classes.

Class weights, ignored targets and the reduction, for kernels, inference and function bodies.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, Shape
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.support.arithmetic import promote_to_float32
from sardonyx._src.ops.support.body_text import element_type, promoted_type, scalar, vector
from sardonyx._src.ops.support.shapes import merge_dims, merge_shapes

LOSS_REDUCTIONS = ("none", "sum", "mean")


def class_loss(
    log_prob: Array, target: Array, weight: Array | None, ignore_index: int | None, reduction: str
) -> Array:
    """log_prob: [N, C, d1, ..., dk] float32 or double; target: [N, d1, ..., dk]; weight: [C]; result: like `target` for
    "none", else [].

    The mean is over the weights that apply, which are 1 without `weight`; an ignored target has weight 0.
    """
    check_shapes(log_prob, target, weight)
    if reduction not in LOSS_REDUCTIONS:
        raise EvaluationError(f"reduction must be one of {', '.join(LOSS_REDUCTIONS)}; got {reduction!r}")
    count = log_prob.shape[1]
    counts = np.ones(target.shape, bool) if ignore_index is None else target != ignore_index
    if np.any(counts & ((target < 0) | (target >= count))):
        raise EvaluationError(
            f"targets must be in [0, {count}) or equal ignore_index ({ignore_index}); got others"
        )
    classes = np.where(counts, target, 0)[:, None].astype(np.int64)
    applied = counts.astype(log_prob.dtype)
    if weight is not None:
        applied *= promote_to_float32(weight)[classes[:, 0]]
    chosen = np.take_along_axis(log_prob, classes, 1)[:, 0]
    loss = np.where(counts, -chosen * applied, 0)
    if reduction == "none":
        return loss
    return np.asarray(loss.sum() if reduction == "sum" else loss.sum() / applied.sum())


def check_shapes(scores: Array, target: Array, weight: Array | None) -> None:
    """Raises EvaluationError unless the shapes of targets and class weights match the scores."""
    if scores.ndim < 2 or target.shape != (scores.shape[0], *scores.shape[2:]):
        raise EvaluationError(
            f"targets must have the shape {list(scores.shape)} without axis 1; got {list(target.shape)}"
        )
    if weight is not None and weight.shape != scores.shape[1:2]:
        raise EvaluationError(
            f"weight must have shape [{scores.shape[1]}], one per class; got {list(weight.shape)}"
        )


def loss_shape(inference: Inference) -> Shape | None:
    """The shape of the loss of input 0 against input 1; raises InferenceError for inconsistent shapes."""
    scores, target, weight = inference.shape(0), inference.shape(1), inference.shape(2)
    reduction = inference.attributes["reduction"]
    if reduction not in LOSS_REDUCTIONS:
        inference.fail(f"reduction must be one of {', '.join(LOSS_REDUCTIONS)}; got {reduction!r}")
    if scores is not None and len(scores) < 2:
        inference.fail(f"input 0 must have rank >= 2; got rank {len(scores)}")
    if weight is not None:
        if len(weight) != 1:
            inference.fail(f"input 2 must have rank 1; got rank {len(weight)}")
        merge_dims(
            inference, [weight[0], scores[1] if scores is not None else None], "the numbers of classes"
        )
    expected = None if scores is None else (scores[0], *scores[2:])
    each = merge_shapes(inference, [target, expected], "the shapes of targets and inputs")
    return each if reduction == "none" else ()


# --- bodies ----------------------------------------------------------------------------------


def loss_text(inference: Inference) -> str:
    """The nodes that compute `loss` from `log_prob` (float or double), `target` and `weight`."""
    dtype, ignored = element_type(inference), ignored_class(inference)
    wide = promoted_type(dtype)
    nodes = []
    safe = "target"
    if ignored is not None:  # an ignored target may lie outside the classes: gather class 0 instead
        safe = "safe"
        nodes += [
            f"zero = {scalar(0, wide)}",
            f"ignored = {scalar(ignored, element_type(inference, 1))}",
            f"first = {scalar(0, element_type(inference, 1))}",
            "is_ignored = Equal(target, ignored)",
            "safe = Where(is_ignored, first, target)",
        ]
    unsqueeze, squeeze = "Unsqueeze({}, one)", "Squeeze({}, one)"
    if inference.version == 12:
        unsqueeze, squeeze = "Unsqueeze <axes = [1]> ({})", "Squeeze <axes = [1]> ({})"
    else:
        nodes.append(f"one = {vector([1])}")
    nodes += [
        f"classes = {unsqueeze.format(safe)}",
        "chosen = GatherElements <axis = 1> (log_prob, classes)",
        f"single = {squeeze.format('chosen')}",
        "opposite = Neg(single)",
        *weights_text(inference, wide, safe, ignored is not None),
        *reduction_text(
            str(inference.attributes["reduction"]), has_weights=inference.has(2) or ignored is not None
        ),
        f"loss = Cast <to = {int(dtype)}> (result)",
    ]
    return "\n      ".join(nodes)


def ignored_class(inference: Inference) -> int | None:
    """The ignored target class; None if there is none or the element type of targets cannot represent it."""
    ignored = inference.attributes.get("ignore_index")
    ends = np.iinfo(element_type(inference, 1).numpy)
    return ignored if isinstance(ignored, int) and ends.min <= ignored <= ends.max else None


def weights_text(inference: Inference, wide: DataType, safe: str, ignores: bool) -> list[str]:
    """The nodes of `losses`, and of `weights` where class weights or ignored targets need them."""
    if not inference.has(2) and not ignores:
        return ["losses = Identity(opposite)"]
    nodes = ["is_counted = Not(is_ignored)", f"weights = Cast <to = {int(wide)}> (is_counted)"]
    if inference.has(2):
        nodes = [f"wide_weight = Cast <to = {int(wide)}> (weight)", f"weights = Gather(wide_weight, {safe})"]
        if ignores:
            nodes[1:] = [f"all = Gather(wide_weight, {safe})", "weights = Where(is_ignored, zero, all)"]
    if not ignores:
        return [*nodes, "losses = Mul(opposite, weights)"]
    return [*nodes, "weighted = Mul(opposite, weights)", "losses = Where(is_ignored, zero, weighted)"]


def reduction_text(reduction: str, has_weights: bool) -> list[str]:
    """The nodes of `result`."""
    if reduction == "none":
        return ["result = Identity(losses)"]
    if reduction == "sum":
        return ["result = ReduceSum <keepdims = 0> (losses)"]
    if not has_weights:
        return ["result = ReduceMean <keepdims = 0> (losses)"]
    return [
        "sum = ReduceSum <keepdims = 0> (losses)",
        "total = ReduceSum <keepdims = 0> (weights)",
        "result = Div(sum, total)",
    ]
