"""If, Loop, Scan and model-local functions, built from Python functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sardonyx as sx
from builder.validity import assert_valid

X = np.arange(6, dtype=np.float32).reshape(2, 3)
ENGINES = pytest.mark.parametrize("engine", ["reference", "native"])


def run(model: sx.Model, engine: Any, **feeds: object) -> dict[str, np.ndarray]:
    assert_valid(model)
    return sx.Session(model, engine=engine).run(feeds)


@ENGINES
def test_branches_read_what_is_around_them(engine: str) -> None:
    b = sx.Builder(21)
    x = b.input("x", "float32", [2, 3])
    condition = b.ReduceMax(x, keepdims=0) > 4
    doubled, rest = b.if_(condition, lambda: (x * 2, x), lambda: (x, x - 1))
    model = b.model(y=doubled, z=rest)
    results = run(model, engine, x=X)
    np.testing.assert_array_equal(results["y"], X * 2)
    np.testing.assert_array_equal(results["z"], X)
    results = run(model, engine, x=X / 2)
    np.testing.assert_array_equal(results["z"], X / 2 - 1)


@ENGINES
def test_loops_carry_values_that_grow(engine: str) -> None:
    b = sx.Builder(21)
    x = b.input("x", "float32", [2, 3])

    def body(i: sx.Operand, _: sx.Operand, total: sx.Operand) -> tuple[object, ...]:
        return True, b.Concat(total, x, axis=0), b.ReduceSum(total, keepdims=0) + b.Cast(i, to="float32")

    total, sums = b.loop(body, x, trip_count=3)
    results = run(b.model(total=total, sums=sums), engine, x=X)
    np.testing.assert_array_equal(results["total"], np.concatenate([X] * 4))
    np.testing.assert_array_equal(results["sums"], [15, 31, 47])


@ENGINES
def test_loops_end_by_their_condition(engine: str) -> None:
    b = sx.Builder(21)
    limit = b.input("limit", "float32", [])

    def double(i: sx.Operand, _: sx.Operand, value: sx.Operand) -> tuple[object, ...]:
        doubled = value * 2
        return doubled < limit, doubled

    model = b.model(y=b.loop(double, np.float32(1), condition=True))
    assert run(model, engine, limit=np.float32(100))["y"] == 128


@ENGINES
def test_scans_slice_their_inputs(engine: str) -> None:
    b = sx.Builder(21)
    x = b.input("x", "float32", ["N", 3])
    total, partial = b.scan(lambda s, row: (s + row, s + row), np.zeros(3, np.float32), scan_inputs=[x])
    assert partial.shape == x.shape
    results = run(b.model(total=total, partial=partial), engine, x=X)
    np.testing.assert_array_equal(results["partial"], np.cumsum(X, 0))


@ENGINES
def test_functions_have_inputs_and_attributes(engine: str) -> None:
    b = sx.Builder(21)
    x = b.input("x", "float32", ["N", 3])

    @b.function(domain="blocks")
    def leaky(x: sx.Operand, shift: sx.Operand, *, alpha: float = 0.5) -> sx.Operand:
        return b.LeakyRelu(x + shift + 1, alpha=alpha)  # a reference to the attribute

    model = b.model(y=leaky(x, -3.0), z=leaky(x, -3.0, alpha=2))
    assert len(model.functions) == 1
    shifted = X - 2
    results = run(model, engine, x=X)
    np.testing.assert_array_equal(results["y"], np.where(shifted < 0, shifted / 2, shifted))
    np.testing.assert_array_equal(results["z"], np.where(shifted < 0, shifted * 2, shifted))


def test_functions_read_only_their_arguments() -> None:
    b = sx.Builder(21)
    x = b.input("x", "float32", [2])

    @b.function()
    def wrong(y: sx.Operand) -> sx.Operand:
        return y + x

    with pytest.raises(sx.InputError, match="'x' belongs to a graph outside of the function"):
        wrong(x)


def test_values_of_a_branch_stay_inside() -> None:
    b = sx.Builder(21)
    x = b.input("x", "float32", [2])
    inner: list[sx.Operand] = []

    def branch() -> sx.Operand:
        inner.append(x + 1)
        return inner[0]

    b.if_(True, branch, lambda: x)
    with pytest.raises(sx.InputError, match="return it from there"):
        b.Relu(inner[0])


@pytest.mark.parametrize(
    ("then_branch", "text"),
    [
        (lambda: None, "must return an operand"),
        (lambda x: x, "function of 0 operands"),
        (3, "function of 0 operands"),
    ],
)
def test_wrong_branches_are_refused(then_branch: object, text: str) -> None:
    b = sx.Builder(21)
    with pytest.raises((sx.InputError, TypeError), match=text):
        b.if_(True, then_branch, lambda: 1.0)  # type: ignore[call-overload]


def test_mistakes_inside_a_body_are_refused_at_their_call() -> None:
    b = sx.Builder(21)
    x = b.input("x", "float32", [2, 3])
    with pytest.raises(sx.InferenceError, match="MatMul"):
        b.loop(lambda i, c, s: (c, s @ s), x, trip_count=2)
    assert len(b.graph.nodes) == 0


def test_functions_have_as_many_inputs_as_they_declare() -> None:
    b = sx.Builder(21)
    x = b.input("x", "float32", [2])

    @b.function()
    def add(y: sx.Operand, z: sx.Operand) -> sx.Operand:
        return y + z

    for count, text in ((1, "must have 2 inputs; got 1"), (3, "must have 2 inputs; got 3")):
        with pytest.raises(sx.InputError, match=text):
            add(*[x] * count)


def test_functions_do_not_call_themselves() -> None:
    b = sx.Builder(21)

    @b.function()
    def endless(y: sx.Operand) -> object:
        return endless(y)

    with pytest.raises(sx.InputError, match="must not call themselves; endless does"):
        endless(b.input("x", "float32", [2]))


def test_attributes_of_a_function_are_operands() -> None:
    b = sx.Builder(21)
    x = b.input("x", "float32", ["N"])

    @b.function()
    def scaled(x: sx.Operand, *, alpha: float = 0.5, shift: list[float]) -> sx.Operand:
        return x * alpha + shift

    model = b.model(y=scaled(x, shift=[1.0, 2.0]), z=scaled(x, alpha=3.0, shift=[0.0]))
    assert sx.check(model).ok
    results = sx.Session(model, engine="reference").run({"x": np.array([2, 4], np.float32)})
    np.testing.assert_array_equal(results["y"], [2, 4])
    np.testing.assert_array_equal(results["z"], [6, 12])


def test_calls_of_a_function_have_shapes_of_their_own() -> None:
    b = sx.Builder(21)

    @b.function()
    def halved(x: sx.Operand) -> sx.Operand:
        return x / 2

    @b.function()
    def outer(x: sx.Operand) -> Any:
        return halved(x) + 1

    rows, matrix = b.input("rows", "float32", [2]), b.input("matrix", "float32", [5, 3])
    model = b.model(y=outer(rows), z=outer(matrix), u=halved(matrix))
    assert [str(value.type) for value in model.graph.outputs] == ["float[2]", "float[5,3]", "float[5,3]"]
    assert sx.check(model).ok
