"""Extreme numbers in feeds, weights and attributes: both engines return the same, or refuse the same."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.runtime.session.session import Engine

F = np.float32
INF = np.inf
ENGINES: tuple[Engine, ...] = ("reference", "native")
LOOP = """g (int64 n, bool c, float[2] x) => (float[2] y, float[?,2] all) {
    y, all = Loop (n, c, x) <body = b (int64 i, bool keep, float[2] s) => (bool keep_out, float[2] t, float[2] u) {
        keep_out = Identity(keep) t = Add(s, s) u = Neg(s) }> }"""
SCATTER = """g (float[1,4,2] past, float[1,1,2] new, int64[1] at) => (float[1,4,2] y) {
    y = TensorScatter <axis = 1, mode = "MODE"> (past, new, at) }"""
GEMM = "g (float[2,3] a, float[3,2] b, float[2] c) => (float[2,2] y) { y = Gemm <ALPHA> (a, b, c) }"
TRANSPOSED = """g (float[1,2,3,3] x, float[2,2,2,2] w) => (float[1,2,?,?] y) {
    y = ConvTranspose <strides = [STRIDE, STRIDE]> (x, w) }"""


def outcome(
    text: str, feeds: Mapping[str, object], engine: Engine, opset: int
) -> dict[str, object] | type[Exception]:
    try:
        return dict(sx.Session(parse_model(text, opset=opset), engine=engine).run(feeds))
    except sx.SardonyxError as error:
        return type(error)


def assert_engines_agree(text: str, feeds: Mapping[str, object], opset: int = 24) -> object:
    """Asserts that both engines return the same values or raise the same error; returns what they do."""
    expected, actual = (outcome(text, feeds, engine, opset) for engine in ENGINES)
    if isinstance(expected, type) or isinstance(actual, type):
        assert expected is actual
        return expected
    for name, value in expected.items():
        np.testing.assert_allclose(np.asarray(actual[name]), np.asarray(value), rtol=1e-5)
    return expected


@pytest.mark.parametrize("count", [0, -1, -(2**31), -(2**63)])
@pytest.mark.parametrize("has_opset", [11, 24])
def test_a_loop_with_a_negative_trip_count_runs_no_iteration(count: int, has_opset: int) -> None:
    x = np.ones(2, F)
    feeds = {"n": np.int64(count), "c": np.array(True), "x": x}
    result = assert_engines_agree(LOOP, feeds, has_opset)
    assert isinstance(result, dict)
    np.testing.assert_array_equal(result["y"], x)
    assert result["all"].shape == (0, 2)


@pytest.mark.parametrize("mode", ["linear", "circular"])
@pytest.mark.parametrize("index", [2**63 - 1, 2**63 - 4, 2**62, 4, 3, -1, -(2**63)])
def test_a_write_index_of_tensor_scatter(index: int, mode: str) -> None:
    feeds = {"past": np.zeros((1, 4, 2), F), "new": np.ones((1, 1, 2), F), "at": np.array([index])}
    result = assert_engines_agree(SCATTER.replace("MODE", mode), feeds)
    if mode == "linear" and index != 3:
        assert result is sx.EvaluationError


@pytest.mark.parametrize(
    "value", ["alpha = inf", "alpha = -inf", "alpha = nan", "beta = inf", "beta = nan", "alpha = 3e38"]
)
@pytest.mark.parametrize("has_zero", [False, True])
def test_gemm_with_an_infinite_factor(value: str, has_zero: bool) -> None:
    a = np.array([[0, 0, 0] if has_zero else [1, -2, 3], [4, 5, 6]], F)
    feeds = {"a": a, "b": np.arange(6, dtype=F).reshape(3, 2), "c": np.array([0, 1], F)}
    assert isinstance(assert_engines_agree(GEMM.replace("ALPHA", value), feeds), dict)


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("bad", [INF, -INF, np.nan])
def test_transposed_convolution_with_infinite_weights(bad: float, stride: int) -> None:
    w = np.ones((2, 2, 2, 2), F)
    w[0, 0, 0, 1] = bad
    for x in (np.ones((1, 2, 3, 3), F), np.arange(18, dtype=F).reshape(1, 2, 3, 3) - 4):
        feeds = {"x": x, "w": w}
        assert isinstance(assert_engines_agree(TRANSPOSED.replace("STRIDE", str(stride)), feeds), dict)


@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize(
    "attributes", ["border = [1, 1, 1, 32768]", "scale = [32768, 2]", "scale = [2, 9223372036854775807]"]
)
def test_a_window_of_crop_beyond_the_image_is_refused(attributes: str, is_open: bool) -> None:
    dims = "N,C,H,W" if is_open else "1,1,3,4"
    text = f"g (float[{dims}] x) => (float[?,?,?,?] y) {{ y = Crop <{attributes}> (x) }}"
    assert assert_engines_agree(text, {"x": np.zeros((1, 1, 3, 4), F)}, opset=4) is sx.EvaluationError


@pytest.mark.parametrize("is_open", [False, True])
def test_values_of_another_count_than_the_shape_are_refused(is_open: bool) -> None:
    text = f"g (float[{'N' if is_open else '1'}] x) => (float[?] y) {{ y = GivenTensorFill <values = [1.0, 2.0]> (x) }}"
    assert assert_engines_agree(text, {"x": np.zeros(1, F)}, opset=4) is sx.EvaluationError


@pytest.mark.parametrize(
    "shape", ["-1, 6", "0, -1", "-1, -1", "4, 4", "9223372036854775807, -1", "0, 0", "6, 1, -1"]
)
@pytest.mark.parametrize("is_open", [False, True])
def test_extremes_of_the_first_reshape(shape: str, is_open: bool) -> None:
    text = (
        f"g (float[{'N,M' if is_open else '2,3'}] x) => (float y) {{ y = Reshape <shape = [{shape}]> (x) }}"
    )
    model_text = text.replace("(float y)", "(float[...] y)")
    assert_engines_agree(model_text, {"x": np.zeros((2, 3), F)}, opset=4)
