"""EyeLike as a native kernel."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model


@pytest.mark.parametrize("dims", ["3,5", "A,B"])
@pytest.mark.parametrize("k", [0, 1, -2, 4, 5, -3, 2**63 - 1, -(2**63)])
def test_every_diagonal(k: int, dims: str) -> None:
    text = f"g (float[{dims}] x) => (float[{dims}] y) {{ y = EyeLike <k = {k}> (x) }}"
    session = sx.Session(parse_model(text, opset=22), engine="native")
    assert session.stats.fallback_nodes == 0
    x = np.full((3, 5), 7, np.float32)
    expected = np.eye(3, 5, k, np.float32) if abs(k) < 10 else np.zeros((3, 5), np.float32)
    np.testing.assert_array_equal(np.asarray(session.run({"x": x})["y"]), expected, strict=True)


@pytest.mark.parametrize(
    ("number", "name"),
    [
        (10, "float16"),
        (11, "double"),
        (16, "bfloat16"),
        (9, "bool"),
        (3, "int8"),
        (4, "uint16"),
        (7, "int64"),
    ],
)
def test_element_types(number: int, name: str) -> None:
    text = f"g (float[A,B] x) => ({name}[A,B] y) {{ y = EyeLike <dtype = {number}, k = 3> (x) }}"
    model = parse_model(text, opset=22)
    session = sx.Session(model, engine="native")
    assert session.stats.fallback_nodes == 0
    for shape in ((70, 50), (1, 4), (0, 3), (3, 0)):
        x = np.zeros(shape, np.float32)
        y = np.asarray(session.run({"x": x})["y"])
        np.testing.assert_array_equal(y.astype(np.float64), np.eye(*shape, 3))
        assert y.dtype == np.asarray(sx.Session(model, engine="reference").run({"x": x})["y"]).dtype


def test_a_matrix_that_other_nodes_read() -> None:
    text = "g (float[4,4] x) => (float[4,4] y) { e = EyeLike(x) y = Add(x, e) }"
    x = np.arange(16, dtype=np.float32).reshape(4, 4)
    session = sx.Session(parse_model(text, opset=22), engine="native")
    np.testing.assert_array_equal(np.asarray(session.run({"x": x})["y"]), x + np.eye(4, dtype=np.float32))
