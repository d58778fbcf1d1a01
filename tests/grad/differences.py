"""Finite differences: the derivatives that gradients are compared with."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from sardonyx._src.dtypes import DataType
from sardonyx._src.grad.gradient import gradient
from sardonyx._src.infer.walk import infer
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir import Model, TensorType
from sardonyx._src.ir.build import GraphBuilder
from sardonyx._src.ops.api import RuntimeValue

STEP = 1e-6
MAX_DIRECTIONS = 8
LOSS = "loss"


def weighted_loss(model: Model) -> Model:
    """The model with one output, `loss`: the sum of all elements of its floating-point outputs, each times a seeded number."""
    b = GraphBuilder(model.opset_imports[""], graph=model.graph)
    infer(model)
    parts = []
    for i, output in enumerate(model.graph.outputs):
        if isinstance(output.type, TensorType) and output.type.dtype.is_float:
            seed = b.constant(f"seed_{i}", np.float64(i + 1))
            wave = b.Sin(
                b.Add(
                    b.CastLike(
                        b.Range(b.constant(f"a_{i}", 0), b.Size(output), b.constant(f"b_{i}", 1)), seed
                    ),
                    seed,
                )
            )
            flat = b.Reshape(b.Cast(output, to=int(DataType.DOUBLE)), b.constant(f"c_{i}", [-1]))
            parts.append(b.ReduceSum(b.Mul(flat, wave), keepdims=0))
    model.graph.outputs.clear()
    b.output(b.Sum(*parts), LOSS)
    return model


def assert_gradients(model: Model, feeds: Mapping[str, RuntimeValue], wrt: Sequence[str]) -> None:
    """Asserts that the gradients of `loss` are what central differences in float64 say."""
    computed = Interpreter(gradient(model, LOSS, wrt), seed=1).run(feeds)
    interpreter = Interpreter(model, seed=1)
    for name in wrt:
        x, actual = feeds[name], computed[f"{name}_gradient"]
        assert isinstance(x, np.ndarray) and isinstance(actual, np.ndarray)
        assert actual.shape == x.shape and actual.dtype == x.dtype, name
        for direction in directions(x.shape):
            expected = slope(interpreter, feeds, name, direction)
            along = float((actual * direction).sum())
            assert along == pytest.approx(expected, rel=1e-5, abs=2e-6), f"{name}: {actual}"


def directions(shape: tuple[int, ...]) -> Iterator[NDArray[np.float64]]:
    """Each element of a small tensor by itself; seeded directions in the space of a larger one."""
    size = math.prod(shape)
    draw = np.random.default_rng(size)
    for i in range(min(size, MAX_DIRECTIONS)):
        single = np.zeros(size)
        single[i] = 1
        yield (single if size <= MAX_DIRECTIONS else draw.standard_normal(size)).reshape(shape)


def slope(
    interpreter: Interpreter, feeds: Mapping[str, RuntimeValue], name: str, direction: NDArray[np.float64]
) -> float:
    """The derivative of `loss` along a direction of a feed."""
    x = feeds[name]
    assert isinstance(x, np.ndarray)
    losses = []
    for sign in (1, -1):
        loss = interpreter.run({**feeds, name: np.asarray(x + sign * STEP * direction, x.dtype)})[LOSS]
        assert isinstance(loss, np.ndarray)
        losses.append(float(loss))
    return (losses[0] - losses[1]) / (2 * STEP)
