"""Random operators and sequences on the fast path, against the reference engine with the same seed."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.errors import OutputError
from sardonyx._src.ir import Array

RNG = np.random.default_rng(1)
CHANCES = RNG.random((3, 4)).astype(np.float32)
DRAWS = [
    "Multinomial <sample_size = 4, dtype = 7>(x)",
    "Bernoulli(x)",
    "Bernoulli <dtype = 7, seed = 3.0>(x)",
    "RandomUniformLike <low = -2.0, high = 5.0>(x)",
    "RandomUniformLike <dtype = 11>(x)",
    "RandomUniformLike <dtype = 10, seed = 1.5>(x)",
    "RandomNormalLike <mean = 3.0, scale = 2.0>(x)",
    "RandomNormalLike <seed = 2.0>(x)",
    "RandomNormal <shape = [2, 3]>()",
    "RandomUniform <shape = [2, 3], dtype = 11>()",
]


def draw_model(draw: str, rest: str = "y = Identity(d)", result: str = "y") -> str:
    types = {"dtype = 7": "int64", "dtype = 11": "double", "dtype = 10": "float16"}
    dtype = next((types[word] for word in types if word in draw), "float")
    return f"g (float[N,M] x) => ({dtype}[?,?] {result}) {{ d = {draw} {rest} }}"


@pytest.mark.parametrize("draw", DRAWS)
def test_numbers_are_those_of_the_reference_engine(draw: str) -> None:
    model = parse_model(draw_model(draw), opset=22)
    native, reference = (sx.Session(model, engine=engine, seed=7) for engine in ("native", "reference"))
    for _ in range(5):
        drawn, expected = native.run({"x": CHANCES})["y"], reference.run({"x": CHANCES})["y"]
        np.testing.assert_array_equal(drawn, expected, strict=True)
    assert native.stats.fast_path_runs == 3


def test_each_of_several_draws_continues_the_stream() -> None:
    text = """g (float[N,M] x) => (float[N,M] y) {
        a = RandomUniformLike(x)  b = RandomNormalLike(x)  c = Bernoulli(a)  d = Mul(b, c)  y = Add(d, x) }"""
    model = parse_model(text, opset=22)
    native, reference = (sx.Session(model, engine=engine, seed=2) for engine in ("native", "reference"))
    for _ in range(4):
        np.testing.assert_allclose(
            native.run({"x": CHANCES})["y"], reference.run({"x": CHANCES})["y"], rtol=1e-6
        )
    native.reseed(9)
    reference.reseed(9)
    np.testing.assert_allclose(native.run({"x": CHANCES})["y"], reference.run({"x": CHANCES})["y"], rtol=1e-6)
    assert native.stats.fast_path_runs == 3


def test_a_run_that_might_be_repeated_does_not_draw_on_the_fast_path() -> None:
    text = """g (float[N,M] x) => (int64[2,?] y) { d = Bernoulli(x)  y = NonZero(d) }"""
    model = parse_model(text, opset=22)
    native, reference = (sx.Session(model, engine=engine, seed=5) for engine in ("native", "reference"))
    for _ in range(6):
        np.testing.assert_array_equal(native.run({"x": CHANCES})["y"], reference.run({"x": CHANCES})["y"])
    assert native.stats.fast_path_runs == 0


def test_draws_of_a_seed_leave_those_of_the_session_alone() -> None:
    text = """g (float[N,M] x) => (float[N,M] y) {
        a = RandomNormalLike(x)  b = RandomNormalLike <seed = 4.0>(x)  c = RandomNormalLike(x)
        s = Sub(a, c)  y = Mul(s, b) }"""
    model = parse_model(text, opset=22)
    native, reference = (sx.Session(model, engine=engine, seed=5) for engine in ("native", "reference"))
    for _ in range(4):
        np.testing.assert_allclose(
            native.run({"x": CHANCES})["y"], reference.run({"x": CHANCES})["y"], rtol=1e-6, atol=1e-7
        )


# --- sequences -------------------------------------------------------------------------------

SPLIT = """g (float[N,M] x, int64[K] split) => (seq(float[2,?]) parts) {
    parts = SplitToSequence <axis = 0>(x, split) }"""
INSERT = """g (float[N,M] x) => (seq(float[?,?]) s, float[N,M] z) {
    y = Neg(x)  e = SequenceEmpty()  a = SequenceInsert(e, x)  s = SequenceInsert(a, y)  z = Exp(y) }"""


def arrays_of(value: object) -> list[list[list[float]]]:
    assert isinstance(value, list)
    return [np.asarray(each).tolist() for each in value]


def test_parts_of_other_sizes_are_compared_with_the_declaration() -> None:
    session = sx.Session(parse_model(SPLIT, opset=18), engine="native", threads=1, shapes="strict")
    x = np.arange(8, dtype=np.float32).reshape(4, 2)
    for _ in range(4):
        parts = session.run({"x": x, "split": np.array([2, 2])})["parts"]
        assert arrays_of(parts) == [x[:2].tolist(), x[2:].tolist()]
    assert session.stats.fast_path_runs == 2
    with pytest.raises(OutputError, match="parts"):
        session.run({"x": x, "split": np.array([1, 3])})


def test_elements_are_the_callers_own() -> None:
    session = sx.Session(parse_model(INSERT, opset=18), engine="native", threads=1)
    x = CHANCES.copy()
    kept = [session.run({"x": x + i})["s"] for i in range(5)]
    assert session.stats.fast_path_runs == 3
    for i, sequence in enumerate(kept):
        first, second = arrays_of(sequence)
        assert first == (x + i).tolist()
        assert second == (-(x + i)).tolist()
    latest: list[Array] = [np.asarray(each) for each in kept[-1]]
    latest[0][...] = 0
    assert x.tolist() == CHANCES.tolist()
