"""Constants that are outputs of a graph are copied by a kernel, as the reference engine returns them."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from compile.native_agreement import assert_engines_agree
from models import parse_model


@pytest.mark.parametrize(
    "constant",
    [
        "float y) {{ y = Constant <value_float = 1.5> ()",
        "float[2] y) {{ y = Constant <value_floats = [1.5, -2.0]> ()",
        "int64 y) {{ y = Constant <value_int = 3> ()",
        "int64[3] y) {{ y = Constant <value_ints = [3, 4, 5]> ()",
        "float[2] y) {{ y = Constant <value = float[2] {{1, 2}}> ()",
        "bool[2] y) {{ y = Constant <value = bool[2] {{1, 0}}> ()",
        "int8[0] y) {{ y = Constant <value = int8[0] {{}}> ()",
        "float16[1,2] y) {{ y = Constant <value = float16[1,2] {{1, 2}}> ()",
        "double y) {{ y = Constant <value = double {{7}}> ()",
        "float[8] y) <int64 n = {{8}}> {{ y = HannWindow(n)",
        "int64[3] y) <int64 a = {{1}}, int64 b = {{10}}, int64 d = {{4}}> {{ y = Range(a, b, d)",
    ],
)
def test_outputs_that_are_constants(constant: str) -> None:
    assert_engines_agree(f"g () => ({constant.format()} }}")


def test_callers_may_write_to_the_result() -> None:
    text = "g (float[2] x) => (float[2] y, float[2] z) { y = Constant <value = float[2] {1, 2}> ()  z = Add(x, y) }"
    session = sx.Session(parse_model(text), engine="native")
    assert session.stats.fallback_nodes == 0
    x = np.ones(2, np.float32)
    np.asarray(session.run({"x": x})["y"])[:] = 9
    again = session.run({"x": x})
    np.testing.assert_array_equal(again["y"], [1, 2])
    np.testing.assert_array_equal(again["z"], [2, 3])
