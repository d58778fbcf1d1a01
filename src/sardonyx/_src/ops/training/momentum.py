"""Momentum: a step along an accumulated gradient, standard or as Nesterov has it.

Spec: ai.onnx.preview.training Momentum-1.
"""

from __future__ import annotations

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.training.optimized import DOMAIN, by_kind, by_tensor, infer_optimizer, single

op = Operator("Momentum", DOMAIN, tolerance="rounding")


@op.infer(1)
def infer(t: Inference) -> Result:
    return infer_optimizer(t, kinds=3)


@op.eval(1)
def evaluate(
    R: Array, T: Array, *inputs: Array, alpha: float, beta: float, mode: str, norm_coefficient: float
) -> tuple[Array, ...]:
    """inputs: tensors, gradients, momenta; results: new tensors, new momenta.  The first step (T = 0) has beta 1."""
    if mode not in ("standard", "nesterov"):
        raise EvaluationError(f"mode is {mode!r}; standard or nesterov is wanted")
    rate = single(R, "R")
    share = beta if single(T, "T") > 0 else 1.0
    results = []
    for X, G, V in by_tensor(inputs, 3):
        regularized = norm_coefficient * X + G
        V_new = alpha * V + share * regularized
        step = regularized + alpha * V_new if mode == "nesterov" else V_new
        results.append((X - rate * step, V_new))
    return by_kind(results)
