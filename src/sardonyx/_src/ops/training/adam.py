"""Adam: a step along the running mean of gradients, divided by the root of that of their squares.

Spec: ai.onnx.preview.training Adam-1.
"""

from __future__ import annotations

import math

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

op = Operator("Adam", TRAINING_DOMAIN, tolerance="rounding")


@op.infer(1)
def infer(inference: Inference) -> Result:
    return infer_optimizer(inference, kinds=4)


@op.eval(1)
def evaluate(
    R: Array,
    T: Array,
    *inputs: Array,
    alpha: float,
    beta: float,
    epsilon: float,
    norm_coefficient: float,
    norm_coefficient_post: float,
) -> tuple[Array, ...]:
    """inputs: tensors, gradients, mean gradients, mean squared gradients; results: new values of all these except gradients."""
    rate, steps = only_number(R, "R"), only_number(T, "T")
    if steps > 0:  # the means start at zero, so that they are too small at first
        rate *= math.sqrt(1 - beta**steps) / (1 - alpha**steps)
    results = []
    for X, G, V, H in by_tensor(inputs, 4):
        regularized = norm_coefficient * X + G
        V_new = alpha * V + (1 - alpha) * regularized
        H_new = beta * H + (1 - beta) * regularized * regularized
        X_new = X - rate * V_new / (np.sqrt(H_new) + epsilon)
        results.append(((1 - norm_coefficient_post) * X_new, V_new, H_new))
    return by_kind(results)
