"""Activation operators as scalar expressions; each is the formula of its reference kernel in `ops/math`."""

from __future__ import annotations

import math

from sardonyx._src.compile.codegen.expressions import Number, Scalar, Select
from sardonyx._src.compile.kernels.elementwise.operator_call import OperatorCall, apply
from sardonyx._src.dtypes import DataType

GELU_SLOPE = 2 * math.sqrt(2 / math.pi)  # twice that of the formula, since 1 + tanh(t) = 2 * sigmoid(2 * t)
GELU_CUBIC = 0.044715
CLIP_BOUNDS = {
    DataType.FLOAT: float.fromhex("0x1.fffffep127"),
    DataType.DOUBLE: float.fromhex("0x1.fffffffffffffp1023"),
}


def relu(call: OperatorCall) -> Scalar:
    return apply("max", call.x, 0)


def leaky_relu(call: OperatorCall) -> Scalar:
    x = call.x
    return Select("lt", x, Number(0), apply("mul", call.number_attribute("alpha"), x), x)


def prelu(call: OperatorCall) -> Scalar:
    x, slope = call.inputs
    return Select("lt", x, Number(0), apply("mul", slope, x), x)


def thresholded_relu(call: OperatorCall) -> Scalar:
    return Select("lt", call.number_attribute("alpha"), call.x, call.x, Number(0))


def elu(call: OperatorCall) -> Scalar:
    return apply("elu", call.x, call.number_attribute("alpha"))


def celu(call: OperatorCall) -> Scalar | None:
    """None for alpha = 0: the formula divides by alpha."""
    alpha = call.number_attribute("alpha")
    return apply("celu", call.x, alpha) if alpha.value != 0 else None


def selu(call: OperatorCall) -> Scalar:
    return apply("selu", call.x, call.number_attribute("alpha"), call.number_attribute("gamma"))


def softsign(call: OperatorCall) -> Scalar:
    return apply("div", call.x, apply("add", apply("abs", call.x), 1))


def hard_sigmoid(call: OperatorCall) -> Scalar:
    scaled = apply("mul", call.number_attribute("alpha"), call.x)
    line = apply("add", scaled, call.number_attribute("beta"))
    return apply("max", apply("min", line, 1), 0)


def hard_swish(call: OperatorCall) -> Scalar:
    line = apply("add", apply("mul", call.x, 1 / 6), 0.5)
    return apply("mul", call.x, apply("max", apply("min", line, 1), 0))


def swish(call: OperatorCall) -> Scalar:
    x, alpha = call.x, call.number_attribute("alpha")
    if alpha.value == 1:
        return apply("silu", x)
    return apply("mul", x, apply("sigmoid", apply("mul", alpha, x)))


def gelu(call: OperatorCall) -> Scalar | None:
    """The tanh approximation x/2 * (1 + tanh(t)) is computed as x * sigmoid(2 * t)."""
    x, approximate = call.x, call.attributes["approximate"]
    if approximate == "none":
        return apply("gelu", x)
    if approximate != "tanh":
        return None
    factor = apply("add", apply("mul", apply("mul", x, x), GELU_SLOPE * GELU_CUBIC), GELU_SLOPE)
    return apply("mul", x, apply("sigmoid", apply("mul", x, factor)))


def clip(call: OperatorCall) -> Scalar:
    """An omitted bound of a float type is its largest or smallest finite number."""
    x, low, high = call.x, call.optional_input(1), call.optional_input(2)
    bound = CLIP_BOUNDS.get(call.dtype)
    if low is None and bound is not None:
        low = Number(-bound)
    if high is None and bound is not None:
        high = Number(bound)
    raised = x if low is None else apply("max", x, low)
    return raised if high is None else apply("min", raised, high)
