"""Dropout that drops nothing, and random operators with a seed, run natively with the numbers of the reference engine."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array

DRAW = np.random.default_rng(4)


def assert_equal(text: str, feeds: dict[str, Array]) -> None:
    """Asserts that no node is a fallback operation, and all results equal those of the reference engine, signs of zeros included."""
    model = parse_model(text, opset=24)
    expected = sx.Session(model, engine="reference").run(feeds)
    for threads in (1, 2):
        session = sx.Session(model, engine="native", threads=threads)
        assert session.stats.fallback_nodes == 0
        for _ in range(2):  # each run draws the same numbers
            for name, actual in session.run(feeds).items():
                assert np.asarray(actual).dtype == np.asarray(expected[name]).dtype
                wide, wide_expected = (np.asarray(x).astype(np.float64) for x in (actual, expected[name]))
                np.testing.assert_array_equal(wide, wide_expected)
                assert not (np.signbit(wide) ^ np.signbit(wide_expected))[~np.isnan(wide)].any()
        assert not session.stats.bailouts


@pytest.mark.parametrize("outputs", ["y", "y, mask", ", mask"])
@pytest.mark.parametrize("ratio", ["0.0", "0.25", "0.5"])
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("dtype", ["float", "double", "float16", "bfloat16"])
@pytest.mark.parametrize("dims", ["4,7", "", "0,3"])
def test_dropout(outputs: str, ratio: str, dtype: str, dims: str, *, training: bool) -> None:
    shape = tuple(int(d) for d in dims.split(",") if d)
    kind = f"{dtype}[{dims}]" if dims else dtype
    results = [f"{kind} y"] * ("y" in outputs) + [f"{'bool[' + dims + ']' if dims else 'bool'} mask"] * (
        "mask" in outputs
    )
    flag = f"t = Constant <value = bool {{{int(training)}}}> ()"
    text = f"""g ({kind} x) => ({", ".join(results)}) {{ r = Constant <value = float {{{ratio}}}> () {flag}
        {outputs.replace(", mask", ' "", mask') if outputs.startswith(",") else outputs} = Dropout <seed = 5> (x, r, t) }}"""
    numpy_type = (
        ml_dtypes.bfloat16
        if dtype == "bfloat16"
        else {"float": "float32", "double": "float64"}.get(dtype, dtype)
    )
    elements = np.asarray(DRAW.standard_normal(shape)).astype(numpy_type)
    if elements.size > 2:
        elements.flat[0], elements.flat[1] = np.inf, np.nan
    assert_equal(text, {"x": elements})


def test_dropout_in_inference_of_open_sizes() -> None:
    text = "g (float[N,M] x) => (float[N,M] y, bool[N,M] mask) { y, mask = Dropout(x) }"
    for shape in ((3, 5), (0, 2), (1, 1)):
        assert_equal(text, {"x": DRAW.standard_normal(shape).astype(np.float32)})


@pytest.mark.parametrize(
    "op", ["RandomUniformLike <seed = 3.0>", "RandomNormalLike <seed = 2.5, mean = 1.0, dtype = 11>"]
)
@pytest.mark.parametrize("dims", ["3,5", "0,2"])
def test_numbers_like_a_tensor(op: str, dims: str) -> None:
    result = "double" if "dtype" in op else "float"
    text = f"g (float[{dims}] x) => ({result}[{dims}] y) {{ r = {op} (x) y = Neg(r) }}"
    assert_equal(text, {"x": np.zeros([int(d) for d in dims.split(",")], np.float32)})


@pytest.mark.parametrize(
    ("options", "result"), [("", "float"), (", dtype = 6", "int32"), (", dtype = 9", "bool")]
)
@pytest.mark.parametrize("seed", [0.0, 3.5, -2.0])
def test_bernoulli(options: str, result: str, seed: float) -> None:
    text = f"g (float[40,25] x) => ({result}[40,25] y) {{ y = Bernoulli <seed = {seed}{options}> (x) }}"
    chances = DRAW.random((40, 25)).astype(np.float32)
    chances[::3], chances[1::5], chances[:, ::4] = 0, 1, 0.5
    assert_equal(text, {"x": chances})


@pytest.mark.parametrize("chance", [-0.1, 1.1, np.nan])
def test_bernoulli_refuses_what_is_no_probability(chance: float) -> None:
    model = parse_model("g (float[3] x) => (float[3] y) { y = Bernoulli <seed = 1.0> (x) }", opset=24)
    session = sx.Session(model, engine="native")
    assert session.stats.fallback_nodes == 0
    with pytest.raises(EvaluationError, match="probabilities must be in"):
        session.run({"x": np.array([0.5, chance, 0.5], np.float32)})


def test_draws_without_a_seed_are_those_of_the_session() -> None:
    model = parse_model("g (float[3] x) => (float[3] y) { y = RandomUniformLike(x) }", opset=24)
    x = np.zeros(3, np.float32)
    native, reference = (sx.Session(model, engine=engine, seed=7) for engine in ("native", "reference"))
    assert native.stats.fallback_nodes == 1
    for _ in range(2):
        np.testing.assert_array_equal(native.run({"x": x})["y"], reference.run({"x": x})["y"])


def test_constant_results() -> None:
    text = "g () => (float[8] w, bool[2] c) { n = Constant <value = int64 {8}> () w = HannWindow(n) c = Constant <value = bool[2] {0, 1}> () }"
    assert_equal(text, {})
