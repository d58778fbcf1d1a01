"""Momentum: a step along an accumulated gradient, standard or Nesterov.

Spec: ai.onnx.preview.training Momentum-1.
"""

from __future__ import annotations

from sardonyx._src.errors import EvaluationError
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
from sardonyx._src.ops.traits import enum_values

MOMENTUM_MODES = ("standard", "nesterov")
op = Operator(
    "Momentum", TRAINING_DOMAIN, tolerance="rounding", enum_attributes={"mode": enum_values(*MOMENTUM_MODES)}
)


@op.infer(1)
def infer(inference: Inference) -> Result:
    return infer_optimizer(inference, kinds=3)


@op.eval(1)
def evaluate(
    R: Array, T: Array, *inputs: Array, alpha: float, beta: float, mode: str, norm_coefficient: float
) -> tuple[Array, ...]:
    """inputs: tensors, gradients, momenta; results: new tensors, new momenta.  The first step (T = 0) has beta 1."""
    if mode not in MOMENTUM_MODES:
        raise EvaluationError(f"mode must be 'standard' or 'nesterov'; got {mode!r}")
    rate = only_number(R, "R")
    share = beta if only_number(T, "T") > 0 else 1.0
    results = []
    for X, G, V in by_tensor(inputs, 3):
        regularized = norm_coefficient * X + G
        V_new = alpha * V + share * regularized
        step = regularized + alpha * V_new if mode == "nesterov" else V_new
        results.append((X - rate * step, V_new))
    return by_kind(results)
