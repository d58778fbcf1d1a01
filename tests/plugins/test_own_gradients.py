"""Gradients of callers' operators, written with a builder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import sardonyx as sx

X = np.random.default_rng(0).standard_normal((2, 3)).astype(np.float32)
Operands = Sequence[sx.Operand]


def softplus_gradient(
    b: sx.Builder, inputs: Operands, outputs: Operands, gradients: Operands, *, beta: float
) -> Any:
    return gradients[0] * b.Sigmoid(inputs[0] * beta)


@sx.operator(
    "test.gradients", types={"T": ["float"]}, inputs={"x": "T"}, outputs={"y": "T"}, infer="same",
    gradient=softplus_gradient,
)  # fmt: skip
def SmoothRelu(x: Any, *, beta: float = 1.0) -> Any:
    return (np.log1p(np.exp(np.float32(beta) * x)) / np.float32(beta)).astype(np.float32)


def both(b: sx.Builder, inputs: Operands, outputs: Operands, gradients: Operands) -> list[Any]:
    x, _, scale = inputs
    first, second = gradients
    return [first * scale + second, None, b.ReduceSum(first * x, keepdims=0)]


@sx.operator(
    "test.gradients",
    inputs={"x": "tensor(float)", "places": "tensor(int64)", "scale": "tensor(float)"},
    outputs={"y": "tensor(float)", "z": "tensor(float)"},
    infer=lambda x, places, scale: [x, x],
    gradient=both,
)
def ScaledAndShifted(x: Any, places: Any, scale: Any) -> tuple[Any, Any]:
    return x * scale, x + np.float32(places.sum())


def gradients_of(model: sx.Model, *names: str) -> dict[str, Any]:
    session = sx.Session(sx.gradient(model, "loss", list(names)))
    feeds = {value.name: X for value in model.graph.inputs}
    return {name: np.asarray(value) for name, value in session.run(feeds).items()}


def test_the_gradient_is_that_of_the_function() -> None:
    b = sx.Builder(21)
    x = b.input("x", "float32", [2, 3])
    y = b.domain("test.gradients").SmoothRelu(x * 2, beta=3.0)
    results = gradients_of(b.model(loss=b.ReduceSum(y, keepdims=0)), "x")
    np.testing.assert_allclose(results["x_gradient"], 2 / (1 + np.exp(-6 * X)), rtol=1e-5)


def test_several_inputs_and_outputs() -> None:
    b = sx.Builder(21)
    x, scale = b.input("x", "float32", [2, 3]), b.constant("scale", np.array(3, np.float32))
    y, z = b.domain("test.gradients").ScaledAndShifted(x, [1, 2], scale)
    model = b.model(loss=b.ReduceSum(y * y, keepdims=0) + b.ReduceSum(z, keepdims=0))
    results = gradients_of(model, "x", "scale")
    np.testing.assert_allclose(results["x_gradient"], 2 * 9 * X + 1, rtol=1e-5)
    np.testing.assert_allclose(results["scale_gradient"], np.sum(2 * 3 * X * X), rtol=1e-5)


def wrong_shape(b: sx.Builder, inputs: Operands, outputs: Operands, gradients: Operands) -> Any:
    return b.ReduceSum(gradients[0], keepdims=0)


def wrong_number(b: sx.Builder, inputs: Operands, outputs: Operands, gradients: Operands) -> Any:
    return [gradients[0], gradients[0]]


def another_domain(b: sx.Builder, inputs: Operands, outputs: Operands, gradients: Operands) -> Any:
    return b.op("Gelu", gradients[0], domain="com.microsoft")


def mistake(b: sx.Builder, inputs: Operands, outputs: Operands, gradients: Operands) -> Any:
    return b.op("Relu", gradients[0], 2)


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (wrong_shape, "the gradient of input 0 must have its type"),
        (wrong_number, "a gradient, or None, for each of 1 inputs; got 2"),
        (another_domain, "standard operators and those of test.wrong; got com.microsoft"),
        (mistake, "Relu"),
    ],
)
def test_what_does_not_fit_is_refused_at_the_node(function: Callable[..., Any], text: str) -> None:
    def same(x: Any) -> Any:
        return x

    sx.operator("test.wrong", name="Same", inputs={"x": "tensor(float)"}, infer="same", gradient=function)(
        same
    )
    b = sx.Builder(21)
    x = b.input("x", "float32", [2, 3])
    y = b.domain("test.wrong").Same(x)
    b.output(y, "loss", b.tensor("float32", [2, 3]))
    with pytest.raises(sx.DifferentiationError, match=text):
        sx.gradient(b.model(), "loss", "x")


def test_a_gradient_is_a_function() -> None:
    with pytest.raises(TypeError, match="gradient must be a function or None"):
        sx.operator("test.wrong", gradient=3)  # type: ignore[arg-type]
