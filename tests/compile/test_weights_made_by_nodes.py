"""Weights that nodes make of constants are constants of the program, whatever their size."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.compile.partition.regions.registry import is_supported
from sardonyx._src.compile.prepare.prepare import prepare_model

INITIALIZERS = """float c = {0.5}, uint8[1,1] byte = {3}, float[1,2] pair = {1, 2}, int64[2] shape = {1500, 5000},
    int64[2] times = {1500, 2500}, float zero = {0}, float end = {7500000}, float one = {1}"""  # 30 MB of float32


@pytest.mark.parametrize(
    "nodes",
    [
        "w = ConstantOfShape<value = float[1] {0.5}>(shape)",
        "w = Expand(c, shape)",
        "w = Tile(pair, times)",
        "r = Range(zero, end, one) w = Reshape(r, shape)",
        "h = Expand(byte, shape) w = Cast<to = 1>(h)",
        "a = Expand(c, shape) b = ConstantOfShape<value = float[1] {2}>(shape) w = Add(a, b)",
        "w = RandomNormal<shape = [1500, 5000], seed = 1.0>()",
        "a = Tile(pair, times) t = Transpose(a) n = Neg(t) w = Transpose(n)",
    ],
)
def test_weights_are_computed_once(nodes: str) -> None:
    model = parse_model(
        f"g (float[N,1500] x) => (float[N,5000] y) <{INITIALIZERS}> {{ {nodes} y = MatMul(x, w) }}"
    )
    prepared = prepare_model(model, is_supported).model
    assert [node.op_type for node in prepared.graph.nodes] == ["MatMul"]


def test_random_tensors_without_a_seed_are_drawn_in_every_run() -> None:
    model = parse_model(
        "g (float[2,2] x) => (float[2,2] y) { w = RandomNormal<shape = [2, 2]>() y = Add(x, w) }"
    )
    session = sx.Session(model, engine="native")
    zeros = {"x": np.zeros((2, 2), np.float32)}
    first, second = session.run(zeros)["y"], session.run(zeros)["y"]
    assert isinstance(first, np.ndarray) and np.any(first != second)


def test_seeded_random_tensors_have_the_numbers_of_the_reference_engine() -> None:
    model = parse_model(
        "g (float[2,2] x) => (float[2,2] y) "
        "{ w = RandomNormal<shape = [2, 2], seed = 7.0>() v = RandomUniform<shape = [2, 2], seed = 7.0>() s = Add(w, v) y = Add(x, s) }"
    )
    feeds = {"x": np.zeros((2, 2), np.float32)}
    expected, actual = (
        sx.Session(model, engine=engine).run(feeds)["y"] for engine in ("reference", "native")
    )
    np.testing.assert_array_equal(actual, expected)
