"""Loops that end by their condition run natively, however large their trip count is."""

from __future__ import annotations

import numpy as np

import sardonyx as sx
from models import parse_model

MODEL = """g (float[N] x, int64 count) => (float[M] y) <int64 most = {9223372036854775807}, bool go = {1}, int64 first = {0}> {
  last, y = Loop <body = step (int64 i, bool unread, int64 t) => (bool on, int64 next, float out) {
    one = Constant <value_int = 1> ()  next = Add(t, one)  on = Less(next, count)  out = Gather(x, t)
  }> (most, go, first)
}"""


def test_a_loop_that_ends_by_its_condition_does_not_bail_out() -> None:
    x = np.arange(5, dtype=np.float32)
    session = sx.Session(parse_model(MODEL), engine="native")
    result = session.run({"x": x, "count": np.int64(3)})["y"]
    np.testing.assert_array_equal(result, np.array([0, 1, 2], np.float32))
    assert session.stats.fallback_nodes == 0 and not session.stats.bailouts
