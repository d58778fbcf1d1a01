"""Affine, ParametricSoftplus, Scale, ScaledTanh: activations of the first releases, withdrawn from the specification.

Spec: ai.onnx Affine-1, ParametricSoftplus-1, Scale-1, ScaledTanh-1.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, Value
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.math.elementwise import round_to_input_type
from sardonyx._src.ops.math.softplus import softplus
from sardonyx._src.ops.support.body_text import promoted_type
from sardonyx._src.ops.support.promotion import compute_promoted
from sardonyx._src.ops.support.shapes import same_tensor
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter

affine = Operator("Affine", tolerance="rounding", elementwise=True, about="alpha * x + beta.")
parametric_softplus = Operator(
    "ParametricSoftplus", tolerance="rounding", elementwise=True, about="alpha * log(exp(beta * x) + 1)."
)
scale_ = Operator("Scale", tolerance="rounding", elementwise=True, about="scale * x.")
scaled_tanh = Operator("ScaledTanh", tolerance="rounding", elementwise=True, about="alpha * tanh(beta * x).")

for op in (affine, parametric_softplus, scale_, scaled_tanh):
    op.infer(1)(same_tensor)


@affine.eval(1)
@round_to_input_type
def eval_affine(X: Array, *, alpha: float, beta: float) -> Array:
    return alpha * X + beta


@parametric_softplus.eval(1)
@round_to_input_type
def eval_parametric_softplus(X: Array, *, alpha: float | None = None, beta: float | None = None) -> Array:
    return require_attribute(alpha, "alpha") * softplus(require_attribute(beta, "beta") * X)


@scale_.eval(1)
@round_to_input_type
def eval_scale(input: Array, *, scale: float) -> Array:
    return scale * input


@scaled_tanh.eval(1)
@round_to_input_type
def eval_scaled_tanh(input: Array, *, alpha: float | None = None, beta: float | None = None) -> Array:
    return require_attribute(alpha, "alpha") * np.tanh(require_attribute(beta, "beta") * input)


def require_attribute(value: float | None, name: str) -> float:
    """The attribute; raises EvaluationError without it: it has no default, although its signature is not `required`."""
    if value is None:
        raise EvaluationError(f"attribute {name} must be set, as it has no default; got none")
    return value


# --- conversion ------------------------------------------------------------------------------


@affine.convert((1, 0))
def replace_affine(adapter: Adapter) -> AdaptedNode:
    alpha, beta = number(adapter, "alpha"), number(adapter, "beta")
    return compute_promoted(adapter, lambda x: adapter.Add(adapter.Mul(x, alpha), beta))


@parametric_softplus.convert((1, 0))
def replace_parametric_softplus(adapter: Adapter) -> AdaptedNode:
    alpha, beta = number(adapter, "alpha"), number(adapter, "beta")
    return compute_promoted(adapter, lambda x: adapter.Mul(adapter.Softplus(adapter.Mul(x, beta)), alpha))


@scale_.convert((1, 0))
def replace_scale(adapter: Adapter) -> AdaptedNode:
    scale = number(adapter, "scale")
    return compute_promoted(adapter, lambda x: adapter.Mul(x, scale))


@scaled_tanh.convert((1, 0))
def replace_scaled_tanh(adapter: Adapter) -> AdaptedNode:
    alpha, beta = number(adapter, "alpha"), number(adapter, "beta")
    return compute_promoted(adapter, lambda x: adapter.Mul(adapter.Tanh(adapter.Mul(x, beta)), alpha))


def number(adapter: Adapter, name: str) -> Value:
    """A numeric attribute as a constant of the type that input 0 is promoted to."""
    value = adapter.inference.attributes.get(name)
    if not isinstance(value, float):
        adapter.refuse(f"attribute {name} must be set, as it has no default")
    return adapter.constant(np.float64(value), promoted_type(adapter.dtype(0)))
