"""The activation functions of LSTM, GRU and RNN, picked by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.tensors import Array

Function = Callable[[Array], Array]
Scaled = Callable[[Array, float, float], Array]

PLAIN: dict[str, Function] = {
    "relu": lambda x: np.maximum(x, 0),
    "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "softsign": lambda x: x / (1 + np.abs(x)),
    "softplus": lambda x: np.logaddexp(x, 0).astype(x.dtype),
}
# With alpha: the function and alpha's default, None where the operator of that name has none.
WITH_ALPHA: dict[str, tuple[Scaled, float | None]] = {
    "leakyrelu": (lambda x, alpha, beta: np.where(x >= 0, x, alpha * x), 0.01),
    "thresholdedrelu": (lambda x, alpha, beta: np.where(x >= alpha, x, np.zeros_like(x)), 1.0),
    "elu": (lambda x, alpha, beta: np.where(x >= 0, x, alpha * np.expm1(x)), 1.0),
}
# With alpha and beta.
WITH_BOTH: dict[str, tuple[Scaled, float | None, float | None]] = {
    "affine": (lambda x, alpha, beta: alpha * x + beta, 1.0, 0.0),
    "scaledtanh": (lambda x, alpha, beta: alpha * np.tanh(beta * x), None, None),
    "hardsigmoid": (lambda x, alpha, beta: np.clip(alpha * x + beta, 0, 1), 0.2, 0.5),
}


def per_direction(names: Sequence[str] | None, default: Sequence[str], directions: int) -> Sequence[str]:
    """The names for all directions; a list for two is long enough for one."""
    count = len(default) * directions
    if names is None:
        return [*default] * directions
    if len(names) not in (count, 2 * len(default)):
        raise EvaluationError(f"activations has {len(names)} names; {count} are wanted")
    return names[:count]


def activation_functions(
    names: Sequence[str], alpha: Sequence[float], beta: Sequence[float], clip: float | None
) -> list[Function]:
    """The functions of these names (in any case), their inputs clipped to [-clip, clip] first.

    `alpha` and `beta` hold values for those functions that take one, in order; lists as long as `names` hold one for
    each function, needed or not.  Raises EvaluationError for a name, a number of values or a clip that cannot be.
    """
    if clip is not None and clip < 0:
        raise EvaluationError(f"clip is {clip}; a threshold of 0 or more is wanted")
    lowered = [name.lower() for name in names]
    known = [*PLAIN, *WITH_ALPHA, *WITH_BOTH]
    for name in lowered:
        if name not in known:
            raise EvaluationError(
                f"activation {name!r} is not one of those there are: {', '.join(sorted(known))}"
            )
    takes_alpha = [name in WITH_ALPHA or name in WITH_BOTH for name in lowered]
    alphas = spread(alpha, takes_alpha, "activation_alpha")
    betas = spread(beta, [name in WITH_BOTH for name in lowered], "activation_beta")
    return [clipped(function(n, a, b), clip) for n, a, b in zip(lowered, alphas, betas, strict=True)]


def spread(values: Sequence[float], takes: Sequence[bool], what: str) -> list[float | None]:
    """For each function its value, None for one that takes none or finds the list at its end."""
    if len(values) == len(takes):
        return list(values)
    if len(values) > sum(takes):
        raise EvaluationError(
            f"{what} has {len(values)} values, and {sum(takes)} of the activations take one"
        )
    rest = iter(values)
    return [next(rest, None) if takes_one else None for takes_one in takes]


def function(name: str, alpha: float | None, beta: float | None) -> Function:
    """One function with its scales; raises EvaluationError where one is missing that has no default."""
    if name in PLAIN:
        return PLAIN[name]
    scaled, default_alpha, default_beta = WITH_BOTH[name] if name in WITH_BOTH else (*WITH_ALPHA[name], 0.0)
    a = default_alpha if alpha is None else alpha
    b = default_beta if beta is None else beta
    if a is None or b is None:
        raise EvaluationError(
            "ScaledTanh has no default scales; activation_alpha and activation_beta are wanted"
        )
    return lambda x: scaled(x, a, b)


def clipped(inner: Function, clip: float | None) -> Function:
    return inner if clip is None else lambda x: inner(np.clip(x, -clip, clip))
