"""gather-instead-of-long-step, and the loops of exporters that it makes native."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from rewrite.rewriting import assert_becomes, assert_unchanged

PASS = "gather-instead-of-long-step"
NUMBERS = """int64[1] e = {2147483647}, int64[1] o = {0}, int64[1] k = {1}, int64[1] t = {100}, int64[1] two = {2},
    bool[1] never = {0}, float[1] far = {1e+09}, int64[1] least = {-2147483648}"""
HEAD = "g (float[5,3] x, int64[1] s, int64[1] n, float[1] r, bool[1] c) => (float[] y)"
GATHER = "<int64 low = {{-5}}, int64[1] o = {{0}}> {{ {0} i = Max(s, low) b = Gather <axis = 0>(x, i) y = Squeeze(b, o) }}"


@pytest.mark.parametrize(
    "nodes",
    [
        "b = Slice(x, s, e, o, t)",
        "f = Max(n, e) b = Slice(x, s, f, o, t)",
        "m = Max(r, far) f = Cast <to = 7>(m) b = Slice(x, s, f, o, t)",
        "m = Max(n, t) f = Where(never, least, m) b = Slice(x, s, f, o, t)",
        "m = Max(n, t) f = Where(c, e, m) b = Slice(x, s, f, o, t)",
    ],
)
def test_the_only_entry_is_gathered(nodes: str) -> None:
    before = f"{HEAD} <{NUMBERS}> {{ {nodes} y = Squeeze(b, o) }}"
    assert_becomes(before, f"{HEAD} {GATHER.format('')}", PASS)


@pytest.mark.parametrize(
    "nodes",
    [
        "b = Slice(x, s, e, o, k) y = Squeeze(b, o)",
        "b = Slice(x, s, n, o, t) y = Squeeze(b, o)",
        "b = Slice(x, s, two, o, t) y = Squeeze(b, o)",
        "f = Where(c, two, e) b = Slice(x, s, f, o, t) y = Squeeze(b, o)",
        "b = Slice(x, s, e, o, t) y = Neg(b)",
        "b = Slice(x, s, e, o, t) z = Squeeze(b, o) w = Neg(b) y = Add(z, w)",
    ],
)
def test_other_slices_are_kept(nodes: str) -> None:
    assert_unchanged(
        f"{HEAD} <{NUMBERS}> {{ {nodes} }}", PASS, proof=False
    )  # random starts may leave several


LOOP = """g (float[6,3] x, float[3] h) => (float[3] y, float[T,3] z) <int32 first = {0}, bool go = {1}, float six = {6}> {
  n, y, z = Loop <body = b (int64 i, bool c, int32 t, float[3] a) => (bool d, int32 u, float[3] v, float[3] w) <
      int32 one = {1}, int32[1] far = {1000000000}, int32[1] o = {0}, int64[1] axis = {0}> {
    s = Unsqueeze(t, axis)  e = Slice(x, s, far, o, far)  r = Squeeze(e, axis)  m = Mul(a, r)  v = Sigmoid(m)  w = Identity(v)
    u = Add(t, one)  f = Cast <to = 1>(u)  d = Less(f, six) }> (, go, first, h) }"""


def test_loops_that_slice_a_sequence_are_native() -> None:
    model = parse_model(LOOP, opset=17)
    native, reference = (sx.Session(model, engine=engine) for engine in ("native", "reference"))
    rng = np.random.default_rng(2)
    feeds = {"x": rng.normal(size=(6, 3)).astype(np.float32), "h": rng.normal(size=3).astype(np.float32)}
    expected = reference.run(feeds)
    for name, actual in native.run(feeds).items():
        np.testing.assert_allclose(np.asarray(actual), np.asarray(expected[name]), 1e-6)
    assert native.stats.fallback_nodes == 0


@pytest.mark.parametrize("start", [-9, -5, -1, 0, 4])
def test_starts_are_clamped(start: int) -> None:
    text = f"{HEAD} <{NUMBERS}> {{ b = Slice(x, s, e, o, t) y = Squeeze(b, o) }}"
    model = parse_model(text, opset=17)
    feeds = {
        "x": np.arange(15, dtype=np.float32).reshape(5, 3),
        "s": np.array([start]),
        "n": np.array([9]),
        "r": np.zeros(1, np.float32),
        "c": np.array([True]),
    }
    native, reference = (
        sx.Session(model, engine=engine).run(feeds)["y"] for engine in ("native", "reference")
    )
    np.testing.assert_array_equal(np.asarray(native), np.asarray(reference))
