"""The activations that operators of com.microsoft apply to their results, in the text of function bodies."""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.dtypes import DataType
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.support.body_text import scalar

# For each activation, an operator of ai.onnx, the attributes that its parameters become, in order, with their defaults.
PARAMETERS: dict[str, dict[str, float]] = {
    "Relu": {},
    "Sigmoid": {},
    "Tanh": {},
    "Softplus": {},
    "Softsign": {},
    "LeakyRelu": {"alpha": 0.01},
    "Elu": {"alpha": 1.0},
    "ThresholdedRelu": {"alpha": 1.0},
    "Selu": {"alpha": 1.6732632, "gamma": 1.050701},
    "HardSigmoid": {"alpha": 0.2, "beta": 0.5},
}


def activation_text(
    inference: Inference, activation: str, parameters: Sequence[float], x: str, y: str, dtype: DataType
) -> str:
    """The nodes of y = activation of x; parameters: the first ones of the activation, the others have defaults."""
    if not activation:
        return f"{y} = Identity({x})"
    if activation == "Clip":
        limits = [f"lower = {scalar(parameters[0], dtype)}", f"upper = {scalar(parameters[1], dtype)}"]
        return "  ".join([*limits, f"{y} = Clip({x}, lower, upper)"])
    if activation not in PARAMETERS:
        inference.fail(f"the activation must be one of {', '.join(sorted(PARAMETERS))}; got {activation!r}")
    values = {**PARAMETERS[activation], **dict(zip(PARAMETERS[activation], parameters, strict=False))}
    attributes = ", ".join(f"{name} = {value!r}" for name, value in values.items())
    return f"{y} = {activation} {f'<{attributes}>' if attributes else ''} ({x})"
