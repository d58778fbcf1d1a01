"""Sizes of the elements of sequences, which differ: no other size depends on them."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.runtime.session.session import Engine

SUMS = """g (seq(float[N,2]) s) => (seq(float[N,2]) y) {
    y = SequenceMap<body = b (float[N,2] e) => (float[N,2] r) { r = Add(e, e) }>(s)
}"""
PRODUCT = """g (seq(float[N]) s, float[N] x) => (float[K] y) <int64 i = {0}, int64 j = {1}> {
    a = SequenceAt(s, i) b = SequenceAt(s, j) y = Mul(a, b)
}"""
JOINED = """g (seq(float[]) s) => (int64[?,?] y) <int64 i = {0}, int64 j = {1}> {
    t = SequenceMap<body = b (float[] e) => (int64[?,?] r) { r = NonZero(e) }>(s)
    a = SequenceAt(t, i) b = SequenceAt(t, j) y = Concat<axis = 1>(a, b)
}"""
# Elements of one variable and several lengths are reported, and run.
pytestmark = pytest.mark.filterwarnings("ignore::sardonyx.ShapeWarning")
ENGINES: tuple[Engine, ...] = ("reference", "native")


def ones(*shape: int) -> Array:
    return np.ones(shape, np.float32)


@pytest.mark.parametrize("engine", ENGINES)
def test_elements_of_other_lengths_are_fed_and_returned(engine: Engine) -> None:
    session = sx.Session(parse_model(SUMS, opset=21), engine=engine)
    for _ in range(2):
        result = session.run({"s": [ones(3, 2), ones(5, 2)]})["y"]
        assert isinstance(result, list)
        assert [np.asarray(x).shape for x in result] == [(3, 2), (5, 2)]


@pytest.mark.parametrize("engine", ENGINES)
def test_no_other_size_depends_on_the_elements(engine: Engine) -> None:
    session = sx.Session(parse_model(PRODUCT, opset=21), engine=engine)
    for count in (5, 4):
        result = session.run({"s": [ones(count), ones(1) * 2], "x": ones(3)})["y"]
        np.testing.assert_array_equal(result, np.full(count, 2, np.float32))


def test_what_a_body_computes_has_no_size_in_common() -> None:
    model = parse_model(JOINED, opset=21)
    results = {value.name: value.type for node in sx.infer(model).graph.nodes for value in node.outputs}
    a, b = results["a"], results["b"]
    assert isinstance(a, TensorType) and isinstance(b, TensorType)
    assert a.shape is not None and b.shape is not None
    assert a.shape[1] != b.shape[1]
    assert np.shape(np.asarray(sx.Session(model).run({"s": [ones(3), ones(5)]})["y"])) == (1, 8)
