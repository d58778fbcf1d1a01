"""The loss of log-probabilities against target classes, by class weights, ignored targets and reduction."""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import Shape
from sardonyx._src.ops.arithmetic import widen
from sardonyx._src.ops.body_text import element_type, scalar, vector, wide_float
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.shapes import merge_dims, merge_shapes

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


# --- bodies ----------------------------------------------------------------------------------


def loss_text(t: Inference) -> str:
    """The nodes that compute `loss` of `log_prob`, which is of the wide type, `target` and `weight`."""
    dtype, ignored = element_type(t), ignored_class(t)
    wide = wide_float(dtype)
    nodes = []
    safe = "target"
    if ignored is not None:  # such a target need not be a class: it is looked up as class 0
        safe = "safe"
        nodes += [
            f"zero = {scalar(0, wide)}",
            f"ignored = {scalar(ignored, element_type(t, 1))}",
            f"first = {scalar(0, element_type(t, 1))}",
            "is_ignored = Equal(target, ignored)",
            "safe = Where(is_ignored, first, target)",
        ]
    unsqueeze, squeeze = "Unsqueeze({}, one)", "Squeeze({}, one)"
    if t.version == 12:
        unsqueeze, squeeze = "Unsqueeze <axes = [1]> ({})", "Squeeze <axes = [1]> ({})"
    else:
        nodes.append(f"one = {vector([1])}")
    nodes += [
        f"classes = {unsqueeze.format(safe)}",
        "chosen = GatherElements <axis = 1> (log_prob, classes)",
        f"single = {squeeze.format('chosen')}",
        "opposite = Neg(single)",
        *weights_text(t, wide, safe, ignored is not None),
        *reduction_text(str(t.attributes["reduction"]), has_weights=t.has(2) or ignored is not None),
        f"loss = Cast <to = {int(dtype)}> (result)",
    ]
    return "\n      ".join(nodes)


def ignored_class(t: Inference) -> int | None:
    """The target that does not count, where targets are of a type that has it."""
    ignored = t.attributes.get("ignore_index")
    ends = np.iinfo(element_type(t, 1).numpy)
    return ignored if isinstance(ignored, int) and ends.min <= ignored <= ends.max else None


def weights_text(t: Inference, wide: DataType, safe: str, ignores: bool) -> list[str]:
    """The nodes of `weights`, where targets have any, and of `losses`."""
    if not t.has(2) and not ignores:
        return ["losses = Identity(opposite)"]
    nodes = ["is_counted = Not(is_ignored)", f"weights = Cast <to = {int(wide)}> (is_counted)"]
    if t.has(2):
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
