"""Adagrad: a step against the gradient, scaled down by accumulated squared gradients.

Spec: ai.onnx.preview.training Adagrad-1.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.ir import Array
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.training.optimizer_operands import (
    TRAINING_DOMAIN,
    by_kind,
    by_tensor,
    infer_optimizer,
    only_number,
)

op = Operator("Adagrad", TRAINING_DOMAIN, tolerance="rounding")


@op.infer(1)
def infer(inference: Inference) -> Result:
    return infer_optimizer(inference, kinds=3)


@op.eval(1)
def evaluate(
    R: Array, T: Array, *inputs: Array, decay_factor: float, epsilon: float, norm_coefficient: float
) -> tuple[Array, ...]:
    """inputs: tensors, gradients, accumulated squared gradients; results: new tensors, new squared gradients."""
    rate = only_number(R, "R") / (1 + only_number(T, "T") * decay_factor)
    results = []
    for X, G, H in by_tensor(inputs, 3):
        regularized = norm_coefficient * X + G
        H_new = H + regularized * regularized
        results.append((X - rate * regularized / (np.sqrt(H_new) + epsilon), H_new))
    return by_kind(results)
