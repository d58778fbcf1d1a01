"""SoftmaxCrossEntropyLoss: the negative logarithm of the softmax of the target class's score.

Spec: ai.onnx SoftmaxCrossEntropyLoss-12, -13.  Version 13 added bfloat16.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.nn.losses import LOSS_REDUCTIONS, check_shapes, class_loss, loss_shape, loss_text
from sardonyx._src.ops.support.arithmetic import promote_to_float32, round_to_type
from sardonyx._src.ops.support.body_text import element_type, promoted_type
from sardonyx._src.ops.traits import enum_values

op = Operator(
    "SoftmaxCrossEntropyLoss",
    tolerance="rounding",
    enum_attributes={"reduction": enum_values(*LOSS_REDUCTIONS)},
)


@op.infer(12, 13)
def infer(inference: Inference) -> Result:
    shape, scores = loss_shape(inference), inference.tensor(0)
    if scores is None:
        return None
    return [TensorType(scores.dtype, shape), TensorType(scores.dtype, scores.shape)][: inference.outputs]


@op.eval(12, 13)
def evaluate(
    scores: Array,
    labels: Array,
    weights: Array | None = None,
    *,
    ignore_index: int | None = None,
    reduction: str,
) -> tuple[Array, Array]:
    """The loss, and the log-probabilities, shaped like `scores`.

    scores: [N, C, d1, ..., dk]; labels: [N, d1, ..., dk] classes; weights: [C].
    """
    check_shapes(scores, labels, weights)
    wide = promote_to_float32(scores)
    shifted = wide - wide.max(axis=1, keepdims=True, initial=-np.inf)  # keeps exp below overflow
    log_prob = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    loss = class_loss(log_prob, labels, weights, ignore_index, reduction)
    return round_to_type(loss, scores.dtype), round_to_type(log_prob, scores.dtype)


@op.body(13, opset=13)
def body(inference: Inference) -> str:
    return body_text(inference, "log_prob = LogSoftmax <axis = 1> (wide)")


@op.body(12, opset=11)
def body_12(inference: Inference) -> str:
    """Without the operator LogSoftmax, which in operator set 11 normalizes over all axes from `axis` on."""
    return body_text(
        inference,
        """top = ReduceMax <axes = [1]> (wide)
      below = Sub(wide, top)
      log_total = ReduceLogSumExp <axes = [1]> (below)
      log_prob = Sub(below, log_total)""",
    )


def body_text(inference: Inference, log_softmax: str) -> str:
    dtype = element_type(inference)
    log_prob_text = f"given = Cast <to = {int(dtype)}> (log_prob)" if inference.outputs > 1 else ""
    return f"""(x, target, weight) => ({"loss, given" if inference.outputs > 1 else "loss"}) {{
      wide = Cast <to = {int(promoted_type(dtype))}> (x)
      {log_softmax}
      {log_prob_text}
      {loss_text(inference)}
    }}"""
