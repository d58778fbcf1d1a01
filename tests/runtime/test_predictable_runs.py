"""Runs whose work follows from the sizes of their inputs, and others."""

from __future__ import annotations

import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.runtime.session.predictable_runs import has_predictable_runs

LOOP = """g (int64 n) => (float y) <bool go = {1}, float one = {1}> {
    y = Loop(n, go, one) <body = b (int64 i, bool c, float v) => (bool d, float u) { d = Identity(c) u = Mul(v, v) }> }"""
RANGE = """g (int64 n) => (int64 y) <int64 a = {0}, int64 b = {1}> {
    r = Range(a, n, b) y = ReduceSum<keepdims=0>(r) }"""
MODELS = {
    "g (float[N,2] x) => (float[N,2] y) { y = Relu(x) }": True,
    "g (float[N,M] x) => (float[N,N] y) { t = Transpose(x) y = MatMul(x, t) }": True,
    "g (float[N] x, int64[K] i) => (float[K] y) { y = Gather(x, i) }": True,
    "g (string[N] x) => (string[N] y) { y = Identity(x) }": True,
    "g (int64[1] n) => (float[M] y) { y = ConstantOfShape(n) }": False,
    "g (float[N] x) => (int64[1,M] y) { y = NonZero(x) }": False,
    RANGE: False,
    LOOP: False,
}


@pytest.mark.parametrize("text", MODELS)
def test_sizes_of_inputs_determine_the_work(text: str) -> None:
    assert has_predictable_runs(sx.Session(parse_model(text))) == MODELS[text]


def test_nothing_is_known_of_the_reference_engine() -> None:
    model = parse_model("g (float[N,2] x) => (float[N,2] y) { y = Relu(x) }")
    assert not has_predictable_runs(sx.Session(model, engine="reference"))
