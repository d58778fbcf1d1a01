"""Gradients of products of few terms, as adapters have them: a number that scales the result scales the small gradients."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from grad.differences import assert_gradients, weighted_loss
from sardonyx._src.ir import Model, TensorType
from sardonyx._src.ir.walk import nodes
from sardonyx._src.ops.api import RuntimeValue

HEADER = '<ir_version: 10, opset_import: ["": 25]>'


def adapter(leading: str, columns: int, scaled: str = "y = Mul(u, two)") -> sx.Model:
    return sx.from_text(
        f"""{HEADER} g (double[{leading},6] x, double[6,2] a, double[2,{columns}] b) => (double[{leading},{columns}] y) {{
        two = Constant<value = double {{2.0}}>() t = MatMul(x, a) u = MatMul(t, b) {scaled} }}"""
    )


def feeds(leading: str, columns: int) -> dict[str, RuntimeValue]:
    draw, sizes = np.random.default_rng(2), tuple(map(int, leading.split(",")))
    shapes = {"x": (*sizes, 6), "a": (6, 2), "b": (2, columns)}
    return {name: np.asarray(draw.normal(size=shape)) for name, shape in shapes.items()}


def scaled_sizes(model: Model) -> list[tuple[object, ...]]:
    """The shapes of the gradients that a number scales, and that are read."""
    gradient = sx.gradient(weighted_loss(model), "loss", ["a", "b"])
    products = [
        node for node in nodes(gradient.graph) if node.op_type == "Mul" and "backward" in node.outputs[0].name
    ]
    scaled = [
        node.outputs[0] for node in products if any(is_number(value.type) for value in node.inputs if value)
    ]
    types = [value.type for value in scaled if value.uses]
    return [type.shape for type in types if isinstance(type, TensorType) and type.shape is not None]


def is_number(type: object) -> bool:
    return isinstance(type, TensorType) and type.shape == ()


@pytest.mark.parametrize("scaled", ["y = Mul(u, two)", "y = Mul(two, u)", "y = Mul(u, u)", "y = Sin(u)"])
@pytest.mark.parametrize("columns", [3, 16])
@pytest.mark.parametrize("leading", ["5", "2,3"])
def test_gradients_are_central_differences(leading: str, columns: int, scaled: str) -> None:
    model = adapter(leading, columns, scaled)
    assert_gradients(weighted_loss(model), feeds(leading, columns), ["x", "a", "b"])


def test_the_small_gradients_are_scaled() -> None:
    sizes = scaled_sizes(adapter("2,3", 16))
    assert {(2, 3, 2), (2, 16)} <= set(sizes)
    assert (2, 3, 16) not in sizes


def test_the_gradient_of_a_narrow_result_is_scaled() -> None:
    assert (2, 3, 3) in scaled_sizes(adapter("2,3", 3))
