"""SoftmaxCrossEntropyLoss: minus the logarithm of the softmax of the target class's score.

Spec: ai.onnx SoftmaxCrossEntropyLoss-12, -13.  Version 13 added bfloat16.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.arithmetic import narrow, widen
from sardonyx._src.ops.body_text import element_type, wide_float
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.nn.losses import check_shapes, class_loss, loss_shape, loss_text

op = Operator("SoftmaxCrossEntropyLoss", tolerance="rounding")


@op.infer(12, 13)
def infer(t: Inference) -> Result:
    shape, scores = loss_shape(t), t.tensor(0)
    if scores is None:
        return None
    return [TensorType(scores.dtype, shape), TensorType(scores.dtype, scores.shape)][: t.outputs]


@op.eval(12, 13)
def evaluate(
    scores: Array,
    labels: Array,
    weights: Array | None = None,
    *,
    ignore_index: int | None = None,
    reduction: str,
) -> tuple[Array, Array]:
    """scores: [N, C, d1, ..., dk]; labels: [N, d1, ..., dk] classes; weights: [C]; results: the loss, and the
    log-probabilities, shaped like `scores`.
    """
    check_shapes(scores, labels, weights)
    wide = widen(scores)
    below = wide - wide.max(axis=1, keepdims=True, initial=-np.inf)  # keeps exp below overflow
    log_prob = below - np.log(np.exp(below).sum(axis=1, keepdims=True))
    loss = class_loss(log_prob, labels, weights, ignore_index, reduction)
    return narrow(loss, scores.dtype), narrow(log_prob, scores.dtype)


@op.body(13, opset=13)
@op.body(12, opset=11)
def body(t: Inference) -> str:
    dtype = element_type(t)
    given = f"given = Cast <to = {int(dtype)}> (log_prob)" if t.outputs > 1 else ""
    return f"""(x, target, weight) => ({"loss, given" if t.outputs > 1 else "loss"}) {{
      wide = Cast <to = {int(wide_float(dtype))}> (x)
      top = ReduceMax <axes = [1]> (wide)
      below = Sub(wide, top)
      log_total = ReduceLogSumExp <axes = [1]> (below)
      log_prob = Sub(below, log_total)
      {given}
      {loss_text(t)}
    }}"""
