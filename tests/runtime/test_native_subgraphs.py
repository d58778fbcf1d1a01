"""Bodies of Loop, If, Scan and SequenceMap as native programs, compared with the reference engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from models import parse_model
from sardonyx._src.errors import EvaluationError, LimitError
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir import Array
from sardonyx._src.ops.api import RunLimits, RuntimeValue
from sardonyx._src.runtime.engine.engine import NativeEngine
from sardonyx._src.runtime.fallbacks.native_subgraphs import (
    MAX_SPECIALIZATIONS,
    CompiledSubgraph,
    NativeSubgraphProgram,
)

F = np.float32
CHAIN = "a = Add(s, c)  b = Tanh(a)  d = Mul(b, s)"
C = "c = Constant <value = float[3] {0.5, -1, 2}> ()"
# The rank of x is unknown, so the body is compiled at run time for the rank of the feed.
LOOP = f"""g (float[] x, int64 m) => (float[] y, float[] z) {{
  {C}
  y, z = Loop <body = each (int64 i, bool on, float[] s) => (bool goes, float[] t, float[] u) {{
    goes = Identity(on)  {CHAIN}  t = Sub(d, c)  u = Add(t, x)
  }}> (m, , x)
}}"""


def make_engine(text: str, limits: RunLimits | None = None, opset: int = 25) -> NativeEngine:
    return NativeEngine(parse_model(text, opset=opset), threads=1, limits=limits, seed=3)


def reached_bodies(engine: NativeEngine) -> Iterator[NativeSubgraphProgram]:
    """The bodies that runs have reached, nested ones included."""
    waiting = [engine.native.fallback.interpreted]
    while waiting:
        body = waiting.pop()
        inside = [inner for inner in body.subprograms.values() if isinstance(inner, NativeSubgraphProgram)]
        inside += [
            fallback.interpreted
            for specialization in compiled_subgraphs(body)
            if (fallback := getattr(specialization.native, "fallback", None))
        ]
        waiting += inside
        if body.graph.parent is not None:
            yield body


def compiled_subgraphs(body: NativeSubgraphProgram) -> list[CompiledSubgraph]:
    return [specialization for specialization in body.specializations.values() if specialization is not None]


def assert_matches_reference(text: str, *feeds: Mapping[str, RuntimeValue], opset: int = 25) -> NativeEngine:
    """Asserts that both engines give the same results for each of the feeds; returns the native engine."""
    engine, reference = make_engine(text, opset=opset), Interpreter(parse_model(text, opset=opset), seed=3)
    for feed in feeds:
        expected = reference.run(feed)
        for name, result in engine.run(feed).items():
            assert_same(result, expected[name])
    return engine


def assert_matches_reference_with_strings(text: str, feed: Mapping[str, RuntimeValue]) -> NativeEngine:
    """`assert_matches_reference` for outputs of which some are strings."""
    engine, expected = make_engine(text), Interpreter(parse_model(text, opset=25)).run(feed)
    for name, result in engine.run(feed).items():
        if np.asarray(result).dtype.kind == "O":
            assert np.array_equal(result, expected[name])  # type: ignore[arg-type]
        else:
            assert_same(result, expected[name])
    return engine


def assert_same(actual: RuntimeValue, expected: RuntimeValue) -> None:
    """Equal to the rounding of a few dozen operations on float32."""
    if isinstance(expected, list):
        assert isinstance(actual, list) and len(actual) == len(expected)
        for actual_item, expected_item in zip(actual, expected, strict=True):
            assert_same(actual_item, expected_item)
        return
    assert isinstance(actual, np.ndarray) and isinstance(expected, np.ndarray)
    assert actual.dtype == expected.dtype
    np.testing.assert_allclose(actual, expected, 1e-4, 1e-6)


def floats(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=shape).astype(F)


# --- compiled bodies -------------------------------------------------------------------------


@pytest.mark.parametrize("trips", [0, 1, 2, 20])
def test_the_body_of_a_loop_is_compiled(trips: int) -> None:
    engine = assert_matches_reference(
        LOOP, {"x": floats(3), "m": np.array(trips)}, {"x": floats(3, seed=1), "m": np.array(3)}
    )
    (body,) = reached_bodies(engine)
    assert len(compiled_subgraphs(body)) == 1


def test_the_results_of_a_loop_are_those_of_float64() -> None:
    x = floats(3)
    results = make_engine(LOOP).run({"x": x, "m": np.array(4)})
    s, c, rows = x.astype(np.float64), np.array([0.5, -1, 2]), []
    for _ in range(4):
        s = np.tanh(s + c) * s - c
        rows.append(s + x)
    np.testing.assert_allclose(results["y"], s, 1e-5)  # type: ignore[arg-type]
    np.testing.assert_allclose(results["z"], rows, 1e-5)  # type: ignore[arg-type]


def test_branches_are_compiled_when_they_are_first_taken() -> None:
    text = f"""g (float[N,3] s, bool[1,1] fed) => (float[M,3] y) {{
      {C}
      which = Squeeze(fed)
      y = If <
        then_branch = a () => (float[N,3] d) {{ {CHAIN} }},
        else_branch = b () => (float[M,3] e) {{ f = Sub(s, c)  k = Exp(f)  e = Concat <axis = 0> (k, s) }}
      > (which)
    }}"""
    feeds = [
        {"s": floats(n, 3), "fed": np.array([[which]])} for n in (1, 5, 0) for which in (True, True, False)
    ]
    engine = assert_matches_reference(text, *feeds[:2])
    assert sorted(len(compiled_subgraphs(body)) for body in reached_bodies(engine)) == [0, 1]
    engine = assert_matches_reference(text, *feeds)
    assert sorted(len(compiled_subgraphs(body)) for body in reached_bodies(engine)) == [1, 1]


def test_slices_are_scanned() -> None:
    text = f"""g (float[3] x, float[T,3] rows) => (float[3] y, float[T,3] z) {{
      {C}
      y, z = Scan <num_scan_inputs = 1, body = each (float[3] v, float[3] s) => (float[3] t, float[3] u) {{
        {CHAIN}  t = Add(d, v)  u = Neg(t)
      }}> (x, rows)
    }}"""
    engine = assert_matches_reference(
        text, *({"x": floats(3), "rows": floats(n, 3, seed=n)} for n in (0, 1, 7))
    )
    assert not list(reached_bodies(engine))  # they are steps of the program


def test_sequences_are_mapped() -> None:
    text = f"""g (seq(float[]) two) => (seq(float[]) y) {{
      y = SequenceMap <body = each (float[] s) => (float[] e) {{
        c = Constant <value = float {{0.5}}> ()  {CHAIN}  e = Exp(d)
      }}> (two)
    }}"""
    engine = assert_matches_reference(text, {"two": [floats(3), floats(8)]}, {"two": [floats(0), floats(1)]})
    (body,) = reached_bodies(engine)
    assert len(compiled_subgraphs(body)) == 1


def test_nested_loops() -> None:
    text = f"""g (float[] x, int64 m) => (float[] y) {{
      {C}
      y = Loop <body = each (int64 i, bool on, float[] p) => (bool goes, float[] q) {{
        goes = Identity(on)  n = Add(i, m)  r = Mul(p, x)
        q = Loop <body = again (int64 j, bool in, float[3] s) => (bool out, float[3] t) {{
          out = Identity(in)  {CHAIN}  t = Add(d, r)
        }}> (n, , p)
      }}> (m, , x)
    }}"""
    engine = assert_matches_reference(text, {"x": floats(3) / 4, "m": np.array(3)})
    assert any(compiled_subgraphs(body) for body in reached_bodies(engine))


@pytest.mark.parametrize("nodes", [1, 3, 25])
def test_a_carried_value_may_grow(nodes: int) -> None:
    """A body of very few nodes is interpreted, because each call has other sizes."""
    text = f"""g (float[N] x, int64 m) => (float[M] y) {{
      y = Loop <body = each (int64 i, bool on, float[K] s) => (bool goes, float[L] t) {{
        goes = Identity(on)
        {" ".join(f"a{k + 1} = Sin(a{k})" for k in range(nodes)).replace("a0", "s")}
        t = Concat <axis = 0> (a{nodes}, x)
      }}> (m, , x)
    }}"""
    engine = assert_matches_reference(
        text, {"x": floats(2), "m": np.array(5)}, {"x": floats(0), "m": np.array(2)}
    )
    (body,) = reached_bodies(engine)
    assert len(compiled_subgraphs(body)) == (nodes > 1)


def test_values_that_a_body_passes_through_are_not_copied() -> None:
    text = f"""g (float[] x, float[1000] big, int64 m) => (float[] y, float[1000] same, bool last) {{
      {C}
      on = Constant <value = bool {{1}}> ()
      y, same = Loop <body = each (int64 i, bool on, float[] s, float[1000] w) => (bool goes, float[] t, float[1000] v) {{
        goes = Identity(on)  {CHAIN}  t = Add(d, c)  v = Identity(w)
      }}> (m, on, x, big)
      last = Identity(on)
    }}"""
    big = floats(1000)
    engine = assert_matches_reference(text, {"x": floats(3), "big": big, "m": np.array(3)})
    (specialization,) = (
        specialization for body in reached_bodies(engine) for specialization in compiled_subgraphs(body)
    )
    assert [v.name for v in specialization.native.program.outputs] == ["t"]


def test_sequences_are_carried_through_compiled_bodies() -> None:
    text = f"""g (float[3] x, int64 m) => (seq(float[3]) y) {{
      {C}
      empty = SequenceEmpty()
      y = Loop <body = each (int64 i, bool on, seq(float[3]) had) => (bool goes, seq(float[3]) has) {{
        goes = Identity(on)
        {" ".join(f"s{k + 1} = Sin(t{k})  t{k + 1} = Add(s{k + 1}, c)" for k in range(20)).replace("t0", "x")}
        u = Unsqueeze(i, axes)  w = Cast <to = 1> (u)  z = Add(t20, w)
        has = SequenceInsert(had, z)
      }}> (m, , empty)
    }}""".replace("empty = Seq", "axes = Constant <value = int64[1] {0}> ()  empty = Seq")
    engine = assert_matches_reference(
        text, {"x": floats(3), "m": np.array(4)}, {"x": floats(3), "m": np.array(0)}
    )
    assert any(compiled_subgraphs(body) for body in reached_bodies(engine))


def test_strings_bypass_compiled_bodies() -> None:
    text = f"""g (float[3] x, string[N] words, int64 m) => (float[3] y, string[M] more) {{
      {C}
      y, more = Loop <body = each (int64 i, bool on, float[3] s, string[K] v) => (bool goes, float[3] t, string[L] w) {{
        goes = Identity(on)
        {" ".join(f"a{k + 1} = Sin(a{k})  b{k + 1} = Cos(a{k + 1})" for k in range(20)).replace("a0", "s")}
        t = Add(b20, c)
        w = Concat <axis = 0> (v, words)
      }}> (m, , x, words)
    }}"""
    engine = assert_matches_reference_with_strings(
        text, {"x": floats(3), "words": np.array(["a", "b"], object), "m": np.array(3)}
    )
    assert any(compiled_subgraphs(body) for body in reached_bodies(engine))


def test_noncontiguous_slices_are_scanned() -> None:
    text = f"""g (float[3] x, float[3,T] rows) => (float[3] y) {{
      {C}
      y = Scan <num_scan_inputs = 1, scan_input_axes = [1], body = each (float[3] v, float[3] s) => (float[3] t) {{
        {CHAIN}  t = Add(d, v)
      }}> (x, rows)
    }}"""
    assert_matches_reference(text, {"x": floats(3), "rows": floats(3, 9)})


# --- interpreted bodies ----------------------------------------------------------------------


def test_bodies_of_too_many_types_are_interpreted() -> None:
    text = """g (float[A] p) => (float y) {
      y = Loop <body = each (int64 i, bool on, float[] s) => (bool goes, float[] t) {
        goes = Identity(on)
        a = Exp(s)  b = Neg(a)  d = Exp(b)
        front = Constant <value = int64[1] {0}> ()
        t = Unsqueeze(d, front)
      }> (m, , p)
    }"""
    text = text.replace("=> (float y)", "=> (float[] y)").replace("(float[A] p)", "(float[A] p, int64 m)")
    engine = assert_matches_reference(text, {"p": floats(3), "m": np.array(MAX_SPECIALIZATIONS + 6)})
    (body,) = reached_bodies(engine)
    assert len(body.specializations) == MAX_SPECIALIZATIONS


def test_a_body_that_gains_little_is_interpreted() -> None:
    text = """g (float[3] x, int64 m) => (float[3] y) {
      y = Loop <body = each (int64 i, bool on, float[3] s) => (bool goes, float[3] t) {
        goes = Identity(on)  top = ReduceMax <keepdims = 0> (s)
        zero = Constant <value_float = 0.0> ()  one = Constant <value_float = 1.0> ()
        r = Range(zero, top, one)  n = ReduceSum(r)  t = Add(n, s)
      }> (m, , x)
    }"""
    engine = assert_matches_reference(text, {"x": floats(3), "m": np.array(5)})
    (body,) = reached_bodies(engine)
    assert not compiled_subgraphs(body)


def test_random_numbers_have_the_same_order() -> None:
    text = f"""g (float[3] x, int64 m) => (float[3] y) {{
      {C}
      y = Loop <body = each (int64 i, bool on, float[3] s) => (bool goes, float[3] t) {{
        goes = Identity(on)  {CHAIN}  r = RandomUniformLike(d)  t = Add(d, r)
      }}> (m, , x)
    }}"""
    assert_matches_reference(text, {"x": floats(3), "m": np.array(5)})


# --- limits and errors -----------------------------------------------------------------------


def test_iterations_are_limited() -> None:
    limits = RunLimits(iterations=7)
    engine = make_engine(LOOP, limits)
    engine.run({"x": floats(3), "m": np.array(7)})
    with pytest.raises(LimitError, match="7 iterations"):
        engine.run({"x": floats(3), "m": np.array(8)})


COLLECTED = LOOP.replace("float[]", "float[3]").replace("float[3] z", "float[K,3] z")
NATIVE = COLLECTED.replace("y, z =", "y =").replace(", float[K,3] z", "").replace(", float[3] u)", ")")


def test_iterations_of_native_loops_are_limited() -> None:
    engine = make_engine(NATIVE, RunLimits(iterations=7))
    fits, passes = ({"x": floats(3), "m": np.array(m)} for m in (7, 8))
    for _ in range(3):
        engine.run(fits)
        engine.record_validated(fits)
        assert engine.native.try_run(dict(passes)) is None
        with pytest.raises(LimitError, match="the loop exceeds 7 iterations"):
            engine.run(passes)
    assert engine.native.try_run(dict(fits)) is not None


def test_native_loops_of_too_many_iterations_are_refused_before_the_first() -> None:
    engine = make_engine(NATIVE, RunLimits(iterations=1000, nodes=60))
    with pytest.raises(LimitError, match="at most 60 nodes"):
        engine.run({"x": floats(3), "m": np.array(1000)})
    with pytest.raises(LimitError, match="the loop exceeds 1000 iterations"):
        engine.run({"x": floats(3), "m": np.array(1001)})


def test_native_loops_without_an_end_are_limited() -> None:
    text = NATIVE.replace("(m, , x)", "(, on, x)").replace("int64 m", "bool on")
    with pytest.raises(LimitError, match="the loop exceeds 100 iterations"):
        make_engine(text, RunLimits(iterations=100)).run({"x": floats(3), "on": np.array(True)})


def test_slices_of_native_scans_are_limited() -> None:
    text = """g (float s, float[T] x) => (float y) {
      y = Scan <num_scan_inputs = 1, body = each (float s, float v) => (float t) { t = Max(s, v) }> (s, x)
    }"""
    engine = make_engine(text, RunLimits(iterations=7))
    engine.run({"s": floats(), "x": floats(7)})
    with pytest.raises(LimitError, match="8 slices"):
        engine.run({"s": floats(), "x": floats(8)})


def test_nodes_of_native_loops_are_counted() -> None:
    engine = make_engine(NATIVE, RunLimits(nodes=60))
    for m in (5, 10, 5, 9):
        engine.run({"x": floats(3), "m": np.array(m)})
        engine.record_validated({"x": floats(3), "m": np.array(m)})
    with pytest.raises(LimitError, match="60 nodes"):
        engine.run({"x": floats(3), "m": np.array(20)})


def test_nodes_of_native_loops_in_fallback_bodies_are_counted() -> None:
    text = f"""g (float[] x, int64 m, int64 n) => (float[] y) {{
      {C}
      y = Loop <body = each (int64 i, bool on, float[] p) => (bool goes, float[] q) {{
        goes = Identity(on)  r = Mul(p, x)
        q = Loop <body = again (int64 j, bool in, float[] s) => (bool out, float[] t) {{
          out = Identity(in)  {CHAIN}  t = Add(d, r)
        }}> (n, , p)
      }}> (m, , x)
    }}"""
    engine = make_engine(text, RunLimits(nodes=1000))
    engine.run({"x": floats(3), "m": np.array(10), "n": np.array(15)})
    with pytest.raises(LimitError, match="1000 nodes"):
        engine.run({"x": floats(3), "m": np.array(10), "n": np.array(40)})


def test_nodes_of_bodies_are_counted() -> None:
    engine = make_engine(LOOP, RunLimits(nodes=60))
    engine.run({"x": floats(3), "m": np.array(5)})
    with pytest.raises(LimitError, match="60 nodes"):
        engine.run({"x": floats(3), "m": np.array(20)})


def test_a_bad_index_in_a_body_is_an_error() -> None:
    text = f"""g (float[3] x, int64 m) => (float[3] y) {{
      {C}
      y = Loop <body = each (int64 i, bool on, float[3] s) => (bool goes, float[3] t) {{
        goes = Identity(on)  {CHAIN}  e = Gather(d, i)  t = Add(d, e)
      }}> (m, , x)
    }}"""
    engine = assert_matches_reference(text, {"x": floats(3), "m": np.array(3)})
    with pytest.raises(EvaluationError, match="Gather"):
        engine.run({"x": floats(3), "m": np.array(4)})


def test_carried_values_of_incompatible_shapes_are_an_error() -> None:
    text = """g (float[A] x, float[B] w) => (float[C] y) {
      m = Constant <value = int64 {3}> ()
      y = Loop <body = each (int64 i, bool on, float[K] s) => (bool goes, float[L] t) {
        goes = Identity(on)  a = Exp(s)  b = Add(a, w)  t = Neg(b)
      }> (m, , x)
    }"""
    engine = assert_matches_reference(
        text, {"x": floats(3), "w": floats(3)}, {"x": floats(1), "w": floats(4)}
    )
    with pytest.raises(EvaluationError):
        engine.run({"x": floats(3), "w": floats(2)})


@pytest.mark.parametrize("text", [LOOP, NATIVE, COLLECTED])
def test_bodies_run_concurrently(text: str) -> None:
    feeds = [{"x": floats(3, seed=i), "m": np.array(30 + i % 3)} for i in range(12)]
    expected = [make_engine(text).run(feed) for feed in feeds]
    engine = make_engine(text)
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(engine.run, feeds))
    for result, expected_result in zip(results, expected, strict=True):
        assert all(np.array_equal(result[name], expected_result[name]) for name in expected_result)  # type: ignore[arg-type]
