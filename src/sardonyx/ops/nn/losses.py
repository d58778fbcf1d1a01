"""The loss of log-probabilities against target classes, by class weights, ignored targets and reduction."""

from __future__ import annotations

import numpy as np

from sardonyx.errors import EvaluationError
from sardonyx.ir.tensors import Array
from sardonyx.ir.types import Shape
from sardonyx.ops.arithmetic import widen
from sardonyx.ops.inference import Inference
from sardonyx.ops.shapes import merge_dims, merge_shapes

REDUCTIONS = ("none", "sum", "mean")


def class_loss(
    log_prob: Array, target: Array, weight: Array | None, ignore_index: int | None, reduction: str
) -> Array:
    """log_prob: [N, C, d1, ..., dk] float32 or double; target: [N, d1, ..., dk]; weight: [C]; result: like `target` for
    "none", else [].

    The mean is over the weights that apply, which are 1 without `weight`; an ignored target has none.
    """
    check_shapes(log_prob, target, weight)
    if reduction not in REDUCTIONS:
        raise EvaluationError(f"reduction is {reduction!r}; one of {', '.join(REDUCTIONS)} is wanted")
    count = log_prob.shape[1]
    counts = np.ones(target.shape, bool) if ignore_index is None else target != ignore_index
    if np.any(counts & ((target < 0) | (target >= count))):
        raise EvaluationError(
            f"a target lies outside of the {count} classes and is not ignore_index ({ignore_index})"
        )
    classes = np.where(counts, target, 0)[:, None].astype(np.int64)
    applied = counts.astype(log_prob.dtype)
    if weight is not None:
        applied *= widen(weight)[classes[:, 0]]
    chosen = np.take_along_axis(log_prob, classes, 1)[:, 0]
    loss = np.where(counts, -chosen * applied, 0)
    if reduction == "none":
        return loss
    return np.asarray(loss.sum() if reduction == "sum" else loss.sum() / applied.sum())


def check_shapes(scores: Array, target: Array, weight: Array | None) -> None:
    """Raises EvaluationError unless the targets and the class weights fit the scores."""
    if scores.ndim < 2 or target.shape != (scores.shape[0], *scores.shape[2:]):
        raise EvaluationError(f"targets of shape {list(target.shape)} do not fit {list(scores.shape)}")
    if weight is not None and weight.shape != scores.shape[1:2]:
        raise EvaluationError(
            f"weight is of shape {list(weight.shape)}; one for each of {scores.shape[1]} classes is wanted"
        )


def loss_shape(t: Inference) -> Shape | None:
    """The shape of the loss of input 0 against input 1; raises InferenceError where they or input 2 do not fit."""
    scores, target, weight = t.shape(0), t.shape(1), t.shape(2)
    reduction = t.attributes["reduction"]
    if reduction not in REDUCTIONS:
        t.fail(f"reduction is {reduction!r}; one of {', '.join(REDUCTIONS)} is wanted")
    if scores is not None and len(scores) < 2:
        t.fail(f"input 0 has {len(scores)} axes; 2 at least are wanted")
    if weight is not None:
        if len(weight) != 1:
            t.fail(f"input 2 has {len(weight)} axes; 1 is wanted")
        merge_dims(t, [weight[0], scores[1] if scores is not None else None], "the numbers of classes")
    expected = None if scores is None else (scores[0], *scores[2:])
    each = merge_shapes(t, [target, expected], "the shapes of targets and inputs")
    return each if reduction == "none" else ()
