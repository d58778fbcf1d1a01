"""NegativeLogLikelihoodLoss: minus the log-probability of the target class.

Spec: ai.onnx NegativeLogLikelihoodLoss-12, -13, -22.  Version 22 added bfloat16.
"""

from __future__ import annotations

from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.arithmetic import narrow, widen
from sardonyx._src.ops.body_text import element_type, wide_float
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.nn.losses import class_loss, loss_shape, loss_text
from sardonyx._src.ops.widening import NARROW_FLOATS, widening

op = Operator("NegativeLogLikelihoodLoss", tolerance="rounding")
op.convert((22, 13))(widening(NARROW_FLOATS))


@op.infer(12, 13, 22)
def infer(t: Inference) -> Result:
    shape, dtype = loss_shape(t), t.dtype(0)
    return None if dtype is None else TensorType(dtype, shape)


@op.eval(12, 13, 22)
def evaluate(
    input: Array,
    target: Array,
    weight: Array | None = None,
    *,
    ignore_index: int | None = None,
    reduction: str,
) -> Array:
    """input: [N, C, d1, ..., dk] log-probabilities; target: [N, d1, ..., dk] classes; weight: [C]."""
    return narrow(class_loss(widen(input), target, weight, ignore_index, reduction), input.dtype)


@op.body(13, 22, opset=13)
@op.body(12, opset=11)
def body(t: Inference) -> str:
    return f"""(x, target, weight) => (loss) {{
      log_prob = Cast <to = {int(wide_float(element_type(t)))}> (x)
      {loss_text(t)}
    }}"""
