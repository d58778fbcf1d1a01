"""Gradient: derivatives of a value of the graph with respect to others, at the point that its inputs give.

Spec: ai.onnx.preview.training Gradient-1.  Its meaning depends on the graph around it, so that it has no kernel:
sessions replace it by the operators that compute the derivatives.
"""

from __future__ import annotations

from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.training.optimizer_operands import TRAINING_DOMAIN

op = Operator("Gradient", TRAINING_DOMAIN, tolerance="rounding")


@op.infer(1)
def infer(inference: Inference) -> Result:
    """Output i has the type of input i, the variable that it is a derivative with respect to."""
    return [inference.type(i) for i in range(inference.outputs)]
