"""Range of every type, by operands that are constants, sizes, fed or computed, beside the reference engine."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import sardonyx as sx
from compile.native_agreement import assert_engines_agree
from models import parse_model
from sardonyx._src.errors import EvaluationError

TYPES = {"float": "f4", "double": "f8", "float16": "f2", "bfloat16": ml_dtypes.bfloat16, "int16": "i2", "int32": "i4", "int64": "i8"}  # fmt: skip
FED = "g ({0}[] s, {0}[] l, {0}[] d) => ({0}[N] y) {{ y = Range(s, l, d) }}"


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("delta", [1, 3, -1, -2])
def test_fed_bounds(dtype: str, delta: int) -> None:
    bounds = [
        (0, 10 * delta),
        (5, 5 + 17 * delta),
        (5, 5),
        (3, 3 - delta),
        (-7, -7 + 100 * delta + 1),
        (0, 10 * delta),
    ]
    feeds = [
        {name: np.asarray(number, TYPES[dtype]) for name, number in zip("sld", (*pair, delta), strict=True)}
        for pair in bounds
    ]
    assert_engines_agree(FED.format(dtype).replace("[]", ""), *feeds)


@pytest.mark.parametrize("dtype", ["float", "double", "float16"])
def test_fractions(dtype: str) -> None:
    numbers = [(0.1, 2.3, 0.1), (1.0, -1.0, -0.3), (0.0, 1.0, 1e-2), (-0.5, 33.5, 1.0), (0.7, 0.70001, 1.0)]
    feeds = [dict(zip("sld", np.array(row, TYPES[dtype]), strict=True)) for row in numbers]
    assert_engines_agree(FED.format(dtype).replace("[]", ""), *feeds)


def test_sizes_as_floats() -> None:
    text = """g (float[N,M] x) => (float[K] y, float[K] z) <float zero = {0}, float one = {1}, int64 axis = {1}> {
        shape = Shape(x)  size = Gather(shape, axis)  limit = Cast <to = 1> (size)
        y = Range(zero, limit, one)  h = Neg(y)  z = Exp(h) }"""
    assert_engines_agree(text, *({"x": np.zeros((2, n), np.float32)} for n in (5, 0, 17, 5)))


def test_computed_bounds_of_integers() -> None:
    text = """g (int64[N] x) => (int64[K] y) <int64 zero = {0}, int64 two = {2}> {
        top = ReduceMax <keepdims = 0> (x)  y = Range(zero, top, two) }"""
    assert_engines_agree(text, *({"x": np.array(row)} for row in ([3, 9], [0], [-4], [100, 3])))


@pytest.mark.parametrize("dtype", ["float", "int32", "int64"])
@pytest.mark.parametrize("bounds", [(0, 10, 0), (0, 0, 0)])
def test_a_delta_of_zero_is_an_error(dtype: str, bounds: tuple[int, int, int]) -> None:
    session = sx.Session(parse_model(FED.format(dtype).replace("[]", ""), opset=28), engine="native")
    assert session.stats.fallback_nodes == 0
    with pytest.raises(EvaluationError, match="delta must"):
        session.run({name: np.asarray(n, TYPES[dtype]) for name, n in zip("sld", bounds, strict=True)})


def test_extreme_bounds_are_those_of_the_reference_engine() -> None:
    session = sx.Session(parse_model(FED.format("int64").replace("[]", ""), opset=28), engine="native")
    least, most = -(2**63), 2**63 - 1
    for bounds, count in (
        ((least, most, 2**62), 4),
        ((most, least, -(2**62)), 4),
        ((2**62, 2**62 + 3, 1), 3),
    ):
        y = session.run({name: np.asarray(n) for name, n in zip("sld", bounds, strict=True)})["y"]
        assert np.asarray(y).tolist() == list(range(*bounds)), count
