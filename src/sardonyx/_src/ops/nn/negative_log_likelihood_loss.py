"""NegativeLogLikelihoodLoss: the negative log-probability of the target class.

Spec: ai.onnx NegativeLogLikelihoodLoss-12, -13, -22.  Version 22 added bfloat16.
"""

from __future__ import annotations

from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.nn.losses import LOSS_REDUCTIONS, class_loss, loss_shape, loss_text
from sardonyx._src.ops.support.arithmetic import promote_to_float32, round_to_type
from sardonyx._src.ops.support.body_text import element_type, promoted_type
from sardonyx._src.ops.support.promotion import NARROW_FLOATS, promote_input
from sardonyx._src.ops.traits import enum_values

op = Operator(
    "NegativeLogLikelihoodLoss",
    tolerance="rounding",
    enum_attributes={"reduction": enum_values(*LOSS_REDUCTIONS)},
)
op.convert((22, 13))(promote_input(NARROW_FLOATS))


@op.infer(12, 13, 22)
def infer(inference: Inference) -> Result:
    shape, dtype = loss_shape(inference), inference.dtype(0)
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
    return round_to_type(
        class_loss(promote_to_float32(input), target, weight, ignore_index, reduction), input.dtype
    )


@op.body(13, 22, opset=13)
@op.body(12, opset=11)
def body(inference: Inference) -> str:
    return f"""(x, target, weight) => (loss) {{
      log_prob = Cast <to = {int(promoted_type(element_type(inference)))}> (x)
      {loss_text(inference)}
    }}"""
