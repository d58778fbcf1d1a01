"""The activation functions of LSTM, GRU and RNN, looked up by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array

Function = Callable[[Array], Array]
ScaledFunction = Callable[[Array, float, float], Array]

UNSCALED_ACTIVATIONS: dict[str, Function] = {
    "relu": lambda x: np.maximum(x, 0),
    "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "softsign": lambda x: x / (1 + np.abs(x)),
    "softplus": lambda x: np.logaddexp(x, 0).astype(x.dtype),
}
# Activations with the scale alpha: the function and the default of alpha.
ALPHA_ACTIVATIONS: dict[str, tuple[ScaledFunction, float | None]] = {
    "leakyrelu": (lambda x, alpha, beta: np.where(x >= 0, x, alpha * x), 0.01),
    "thresholdedrelu": (lambda x, alpha, beta: np.where(x >= alpha, x, np.zeros_like(x)), 1.0),
    "elu": (lambda x, alpha, beta: np.where(x >= 0, x, alpha * np.expm1(x)), 1.0),
}
# Activations with the scales alpha and beta: the function and the defaults, None where the specification has none.
ALPHA_BETA_ACTIVATIONS: dict[str, tuple[ScaledFunction, float | None, float | None]] = {
    "affine": (lambda x, alpha, beta: alpha * x + beta, 1.0, 0.0),
    "scaledtanh": (lambda x, alpha, beta: alpha * np.tanh(beta * x), None, None),
    "hardsigmoid": (lambda x, alpha, beta: np.clip(alpha * x + beta, 0, 1), 0.2, 0.5),
}
ACTIVATION_NAMES = (
    *("Relu", "Tanh", "Sigmoid", "Affine", "LeakyRelu", "ThresholdedRelu", "ScaledTanh", "HardSigmoid"),
    *("Elu", "Softsign", "Softplus"),
)


@dataclass(frozen=True, slots=True)
class Activation:
    """An activation by its name in lower case, with its scales; 0 for a scale that it does not use."""

    name: str
    alpha: float
    beta: float


def per_direction(names: Sequence[str] | None, default: Sequence[str], directions: int) -> Sequence[str]:
    """The activation names for all directions; a list for two directions is accepted for one."""
    count = len(default) * directions
    if names is None:
        return [*default] * directions
    if len(names) not in (count, 2 * len(default)):
        raise EvaluationError(f"activations must have {count} names; got {len(names)}")
    return names[:count]


def activation_functions(
    names: Sequence[str], alpha: Sequence[float], beta: Sequence[float], clip: float | None
) -> list[Function]:
    """The functions of these names (case-insensitive), with inputs clipped to [-clip, clip].

    `alpha` has a value for each function that uses alpha, in order, or as many values as there are names, of which
    those of other functions are not used; `beta` likewise.
    Raises EvaluationError for an unknown name, too many values or a negative clip.
    """
    if clip is not None and clip < 0:
        raise EvaluationError(f"clip must be >= 0; got {clip}")
    return [clip_input(make_function(choice), clip) for choice in choose_activations(names, alpha, beta)]


def choose_activations(
    names: Sequence[str], alpha: Sequence[float], beta: Sequence[float]
) -> list[Activation]:
    """The activations of these names with their scales; arguments and errors as in `activation_functions`."""
    lowered = [name.lower() for name in names]
    known = [*UNSCALED_ACTIVATIONS, *ALPHA_ACTIVATIONS, *ALPHA_BETA_ACTIVATIONS]
    for name in lowered:
        if name not in known:
            raise EvaluationError(f"activations must be among {', '.join(sorted(known))}; got {name!r}")
    takes_alpha = [name in ALPHA_ACTIVATIONS or name in ALPHA_BETA_ACTIVATIONS for name in lowered]
    alphas = assign_scales(alpha, takes_alpha, "activation_alpha")
    betas = assign_scales(beta, [name in ALPHA_BETA_ACTIVATIONS for name in lowered], "activation_beta")
    return [make_activation(n, a, b) for n, a, b in zip(lowered, alphas, betas, strict=True)]


def assign_scales(values: Sequence[float], takes: Sequence[bool], what: str) -> list[float | None]:
    """The scale of each function: None if it uses no such scale, or if the list ends before it."""
    if len(values) == len(takes):
        return list(values)
    if len(values) > sum(takes):
        raise EvaluationError(
            f"{what} must have at most {sum(takes)} values, one per activation that takes it; got {len(values)}"
        )
    rest = iter(values)
    return [next(rest, None) if takes_one else None for takes_one in takes]


def make_activation(name: str, alpha: float | None, beta: float | None) -> Activation:
    """An activation with its scales; raises EvaluationError for a missing scale without a default."""
    if name in UNSCALED_ACTIVATIONS:
        return Activation(name, 0.0, 0.0)
    _, default_alpha, default_beta = (
        ALPHA_BETA_ACTIVATIONS[name] if name in ALPHA_BETA_ACTIVATIONS else (*ALPHA_ACTIVATIONS[name], 0.0)
    )
    a = default_alpha if alpha is None else alpha
    b = default_beta if beta is None else beta
    if a is None or b is None:
        raise EvaluationError(
            "activation_alpha and activation_beta must be given for ScaledTanh, which has no default scales"
        )
    return Activation(name, a, b)


def make_function(activation: Activation) -> Function:
    """The function of an activation."""
    name, a, b = activation.name, activation.alpha, activation.beta
    if name in UNSCALED_ACTIVATIONS:
        return UNSCALED_ACTIVATIONS[name]
    scaled, *_ = ALPHA_BETA_ACTIVATIONS[name] if name in ALPHA_BETA_ACTIVATIONS else ALPHA_ACTIVATIONS[name]
    return lambda x: scaled(x, a, b)


def clip_input(inner: Function, clip: float | None) -> Function:
    return inner if clip is None else lambda x: inner(np.clip(x, -clip, clip))
