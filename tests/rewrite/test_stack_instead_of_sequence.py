"""stack-instead-of-sequence."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from rewrite.rewriting import apply_passes, assert_unchanged

PASS = "stack-instead-of-sequence"


def collecting(axis: int, new_axis: int, insert: str = "SequenceInsert(p, r)", shape: str = "2,3") -> str:
    return f"""g (float[{shape}] x, int64 n) => (float[] y, float[] z) {{
      e = SequenceEmpty()  k = CastLike(n, x)
      w, s, z = Loop<body = b (int64 i, bool c, float v, seq(float[{shape}]) p)
          => (bool d, float u, seq(float[{shape}]) q, float m) {{
        d = Identity(c)  j = CastLike(i, x)  u = Add(v, j)  r = Mul(x, u)  m = Neg(u)  q = {insert} }}>(n, , k, e)
      y = ConcatFromSequence<axis = {axis}, new_axis = {new_axis}>(s) }}"""


@pytest.mark.parametrize(
    ("axis", "new_axis"), [(0, 0), (1, 0), (-1, 0), (-2, 0), (0, 1), (1, 1), (2, 1), (-1, 1), (-3, 1)]
)
def test_results_are_collected(axis: int, new_axis: int) -> None:
    before = parse_model(collecting(axis, new_axis))
    after = apply_passes(collecting(axis, new_axis), PASS)
    assert not any(
        node.op_type.startswith("Sequence") or "Sequence" in node.op_type for node in after.graph.nodes
    )
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for n in (1, 2, 5):
        feeds = {"x": x, "n": np.array(n)}
        expected = sx.Session(before, engine="reference").run(feeds)
        rows = [x * (n + i * (i + 1) / 2) for i in range(n)]
        joined = np.stack(rows, axis) if new_axis else np.concatenate(rows, axis)
        np.testing.assert_array_equal(np.asarray(expected["y"]), joined.astype(np.float32))
        for engine in ("reference", "native"):
            actual = sx.Session(after, engine=engine).run(feeds)
            for name, value in expected.items():
                np.testing.assert_array_equal(np.asarray(actual[name]), np.asarray(value))


def test_no_iteration_is_refused() -> None:
    after = apply_passes(collecting(0, 0), PASS)
    feeds = {"x": np.ones((2, 3), np.float32), "n": np.array(0)}
    for engine in ("reference", "native"):
        for model in (parse_model(collecting(0, 0)), after):
            with pytest.raises(sx.errors.EvaluationError):
                sx.Session(model, engine=engine).run(feeds)


@pytest.mark.parametrize(
    "text",
    [
        collecting(0, 0, shape="N,3"),
        collecting(0, 0, shape="0,3"),
        collecting(0, 0, insert="SequenceInsert(p, r, i)"),
        collecting(0, 0).replace("(float[] y, ", "(seq(float[2,3]) s, float[] y, "),
        collecting(0, 0).replace("e = SequenceEmpty()", "e = SequenceConstruct(x)"),
    ],
    ids=["open", "empty", "inserted", "public", "begun"],
)
def test_other_sequences_are_kept(text: str) -> None:
    assert_unchanged(text, PASS, proof=False)


def test_bags_of_rows_are_native() -> None:
    """What torch writes for EmbeddingBag."""
    text = """g (float[N,8] x, int64[B] o, int64 n) => (float[K,8] y)
        <bool c = {1}, int64[1] one = {1}, int64[1] ax = {0}> {
      e = SequenceEmpty<dtype=1>()
      s = Loop<body = b (int64 i, bool ci, seq(float[J,8]) q) => (bool co, seq(float[J,8]) r) {
        co = Identity(ci)  i1 = Unsqueeze(i, ax)  st = Gather(o, i1)  j1 = Add(i1, one)  en = Gather(o, j1)
        p = Slice(x, st, en, ax)  t = ReduceMean<keepdims=1>(p, ax)  r = SequenceInsert(q, t) }>(n, c, e)
      y = ConcatFromSequence<axis=0>(s) }"""
    session = sx.Session(parse_model(text, opset=18), engine="native", threads=1)
    x = np.random.default_rng(3).random((20, 8), np.float32)
    for starts in ([0, 4, 9, 20], [0, 1, 2, 20], [0, 5, 20]):
        y = session.run({"x": x, "o": np.array(starts), "n": np.array(len(starts) - 1)})["y"]
        means = [x[a:b].mean(0) for a, b in pairwise(starts)]
        np.testing.assert_allclose(np.asarray(y), means, 1e-6)
