"""Gradient: derivatives of a value of the graph with respect to other values, for the values of its inputs.

Spec: ai.onnx.preview.training Gradient-1.  Its meaning depends on the graph around it, so it has no kernel: sessions replace
it by operators that compute the derivatives.
"""

from __future__ import annotations

from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.training.optimizer_operands import TRAINING_DOMAIN

op = Operator("Gradient", TRAINING_DOMAIN, tolerance="rounding")


@op.infer(1)
def infer(inference: Inference) -> Result:
    """Output i, the derivative with respect to input i, has the type of this input."""
    return [inference.type(i) for i in range(inference.outputs)]
