"""Elementwise kernels with several results, against the reference engine."""

from __future__ import annotations

import numpy as np
import pytest

from compile.reference_comparison import assert_matches_reference, normal
from models import parse_model
from sardonyx._src.runtime.runs.native_program import NativeProgram, compile_for_host

ADAM = """g (float[N,7] w, float[N,7] g, float[N,7] m, float[N,7] v, float r) => (float[N,7] w2, float[N,7] m2, float[N,7] v2)
<float a = {0.9}, float b = {0.1}, float c = {0.999}, float d = {0.001}, float e = {0.00000001}> {
  m1 = Mul (m, a)  g1 = Mul (g, b)  m2 = Add (m1, g1)
  v1 = Mul (v, c)  gg = Mul (g, g)  g2 = Mul (gg, d)  v2 = Add (v1, g2)
  s = Sqrt (v2)  t = Add (s, e)  u = Div (m2, t)  x = Mul (u, r)  w2 = Sub (w, x)
}"""


def test_an_update_of_adam_is_one_step() -> None:
    feeds = {name: normal(5, 7, seed=i) for i, name in enumerate("wgm")}
    feeds |= {"v": np.abs(normal(5, 7, seed=9)), "r": np.array(0.1, np.float32)}
    assert_matches_reference(ADAM, feeds)
    assert len(NativeProgram(compile_for_host(parse_model(ADAM)), 1).program.steps) == 1


@pytest.mark.parametrize("shape", [(2, 8, 4, 5), (1, 8, 1, 1)])
def test_results_of_a_channels_last_operand(shape: tuple[int, ...]) -> None:
    weights = ", ".join(str(i % 7 - 3) for i in range(64))
    text = f"""g (float[N,8,H,W] x) => (float[N,8,H,W] y, float[N,8,H,W] z, bool[N,8,H,W] b)
    <float[8,8,1,1] w = {{{weights}}}, float[1,8,1,1] k = {{1, 2, 3, 4, 5, 6, 7, 8}}> {{
      c = Conv (x, w)  s = Sin (c)  y = Mul (s, k)  b = Less (y, s)  t = Conv (y, w)  z = Add (t, y)
    }}"""
    assert_matches_reference(text, {"x": normal(*shape)})


def test_a_result_may_have_another_element_type() -> None:
    text = """g (float[N] x, int32[N] i) => (float[N] y, int64[N] j, bool[N] b) {
      y = Exp (x)  b = Greater (y, x)  c = Cast <to = 6> (b)  d = Add (c, i)  j = Cast <to = 7> (d)
    }"""
    for count in (0, 1, 33):
        feeds = {"x": normal(count), "i": np.arange(count, dtype=np.int32)}
        assert_matches_reference(text, feeds)
