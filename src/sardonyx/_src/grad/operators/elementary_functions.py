"""Gradients of exponential, trigonometric and hyperbolic functions, powers and logarithms of one tensor.

Each is the gradient of the result times the derivative, in terms of the argument x and of the result y.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from sardonyx._src.grad.registry import operator
from sardonyx._src.ir import Value
from sardonyx._src.ops.backward_step import BackwardStep, Gradients

Derivative = Callable[
    [BackwardStep, Value, Value, Value], Value
]  # from the step, x, y, and the gradient of y


def square(step: BackwardStep, x: Value) -> Value:
    return step.Mul(x, x)


def one_minus_square(step: BackwardStep, x: Value) -> Value:
    return step.Sub(step.scalar(1), square(step, x))


def one_plus_square(step: BackwardStep, x: Value) -> Value:
    return step.Add(step.scalar(1), square(step, x))


def error_function(step: BackwardStep, x: Value, y: Value, dy: Value) -> Value:
    """2 / sqrt(pi) * exp(-x^2)."""
    density = step.Mul(step.scalar(2 / math.sqrt(math.pi)), step.Exp(step.Neg(square(step, x))))
    return step.Mul(dy, density)


def inverse_hyperbolic_cosine(step: BackwardStep, x: Value, y: Value, dy: Value) -> Value:
    """1 / (sqrt(x - 1) * sqrt(x + 1))."""
    unit = step.scalar(1)
    return step.Div(dy, step.Mul(step.Sqrt(step.Sub(x, unit)), step.Sqrt(step.Add(x, unit))))


DERIVATIVES: dict[tuple[str, int], Derivative] = {
    ("Acos", 22): lambda step, x, y, dy: step.Neg(step.Div(dy, step.Sqrt(one_minus_square(step, x)))),
    ("Acosh", 22): inverse_hyperbolic_cosine,
    ("Asin", 22): lambda step, x, y, dy: step.Div(dy, step.Sqrt(one_minus_square(step, x))),
    ("Asinh", 22): lambda step, x, y, dy: step.Div(dy, step.Sqrt(one_plus_square(step, x))),
    ("Atan", 22): lambda step, x, y, dy: step.Div(dy, one_plus_square(step, x)),
    ("Atanh", 22): lambda step, x, y, dy: step.Div(dy, one_minus_square(step, x)),
    ("Cos", 22): lambda step, x, y, dy: step.Neg(step.Mul(dy, step.Sin(x))),
    ("Cosh", 22): lambda step, x, y, dy: step.Mul(dy, step.Sinh(x)),
    ("Erf", 13): error_function,
    ("Exp", 13): lambda step, x, y, dy: step.Mul(dy, y),
    ("Log", 13): lambda step, x, y, dy: step.Div(dy, x),
    ("Reciprocal", 13): lambda step, x, y, dy: step.Neg(step.Mul(dy, square(step, y))),
    ("Sin", 22): lambda step, x, y, dy: step.Mul(dy, step.Cos(x)),
    ("Sinh", 22): lambda step, x, y, dy: step.Mul(dy, step.Cosh(x)),
    ("Sqrt", 13): lambda step, x, y, dy: step.Div(dy, step.Add(y, y)),
    ("Tan", 22): lambda step, x, y, dy: step.Mul(dy, one_plus_square(step, y)),
    ("Tanh", 13): lambda step, x, y, dy: step.Mul(dy, one_minus_square(step, y)),
    ("Sigmoid", 13): lambda step, x, y, dy: step.Mul(dy, step.Mul(y, step.Sub(step.scalar(1), y))),
    ("Softplus", 22): lambda step, x, y, dy: step.Mul(dy, step.Sigmoid(x)),
    ("Relu", 14): lambda step, x, y, dy: step.Where(step.Greater(y, step.scalar(0)), dy, step.scalar(0)),
}
SMOOTH_FUNCTIONS = frozenset(name for name, _ in DERIVATIVES) - {"Relu"}


def define(name: str, version: int, derivative: Derivative) -> None:
    """Gives an operator the gradient that a derivative implies."""

    @operator(name).gradient(version)
    def gradient(step: BackwardStep) -> Gradients:
        return derivative(step, step.input(0), step.output(), step.gradient())


for (name, version), derivative in DERIVATIVES.items():
    define(name, version, derivative)
