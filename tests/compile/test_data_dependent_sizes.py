"""Data-dependent sizes: what follows a node whose result has them is native, for every size of every run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.compile.printing.formatter import ProgramFormatter
from sardonyx._src.compile.printing.steps import format_steps
from sardonyx._src.compile.program.steps.program import BindSizes, FallbackOp, Program
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array
from sardonyx._src.runtime.engine.engine import NativeEngine
from sardonyx._src.runtime.saved_programs.writing import save_compiled

RNG = np.random.default_rng(3)
COUNTS = (5, 5, 0, 300, 2, 300, 1, 40)  # rows of successive runs: they grow, shrink, and stay


def floats(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype(np.float32)


def native(session: sx.Session) -> Program:
    assert isinstance(session._runner, NativeEngine)
    return session._runner.native.program


def fallback_operators(session: sx.Session) -> list[str]:
    return [action.node.op_type for action in native(session).actions if isinstance(action, FallbackOp)]


def assert_runs(
    text: str, feeds: Sequence[Mapping[str, Array]], fallbacks: list[str], opset: int = 21
) -> sx.Session:
    """Both engines agree on all feeds, and only these operators are fallback operations."""
    session = sx.Session(parse_model(text, opset=opset), engine="native", threads=1)
    reference = sx.Session(parse_model(text, opset=opset), engine="reference")
    assert fallback_operators(session) == fallbacks
    for fed in feeds:
        actual, expected = session.run(fed), reference.run(fed)
        for name, array in expected.items():
            np.testing.assert_allclose(np.asarray(actual[name]), np.asarray(array), 1e-5, 1e-6, err_msg=name)
    assert not session.stats.bailouts
    return session


ROWS = """g (float[N,4] x) => (float[?,4] y, float[N,4] z) <int64[1] one = {1}, int64[1] zero = {0}> {
  before = Sin(x)  m = ReduceMax <keepdims = 0>(x, one)  r = Relu(m)  nz = NonZero(r)  t = Squeeze(nz, zero)
  rows = Gather(x, t)  s = Sin(rows)  y = Mul(s, rows)  z = Add(before, x)
}"""


def test_what_follows_nonzero_is_native() -> None:
    assert_runs(ROWS, [{"x": floats(n, 4) - 1} for n in COUNTS], [])


COMPRESS = """g (float[N,4] x, bool[N] c) => (float[?,4] y, int64[2] n) {
  a = Compress <axis = 0>(x, c)  b = Relu(a)  y = Neg(b)  n = Shape(a)
}"""


def test_what_follows_compress_is_native() -> None:
    feeds = [{"x": floats(n, 4), "c": RNG.random(n) < 0.5} for n in COUNTS]
    assert_runs(COMPRESS, feeds, [])


UNIQUE = """g (float[N] x) => (float[?] y, int64[N] where) {
  u, first, inverse, counts = Unique(x)  a = Sin(u)  f = Cast <to = 1>(counts)  y = Mul(a, f)  where = Neg(inverse)
}"""


def test_results_of_one_node_share_a_size() -> None:
    feeds = [{"x": RNG.integers(0, 9, n).astype(np.float32)} for n in COUNTS if n]
    assert_runs(UNIQUE, feeds, [])


COMPUTED = {
    "TopK": """g (float[N,40] x, int64[1] k) => (float[N,K] y) { v, i = TopK(x, k)  a = Relu(v)  y = Neg(a) }""",
    "Slice": """g (float[N,40] x, int64[1] k) => (float[N,K] y) <int64[1] zero = {0}, int64[1] one = {1}> {
      v = Slice(x, zero, k, one)  a = Relu(v)  y = Neg(a) }""",
    "Expand": """g (float[1,N] x, int64[1] k) => (float[K,N] y) <int64[1] one = {1}> {
      s = Concat <axis = 0>(k, one)  v = Expand(x, s)  a = Relu(v)  y = Neg(a) }""",
    "ConstantOfShape": """g (float[N,1] x, int64[1] k) => (float[N,K] y) <int64[1] one = {1}> {
      s = Concat <axis = 0>(one, k)  v = ConstantOfShape(s)  a = Add(x, v)  y = Neg(a) }""",
    "Resize": """g (float[1,1,N,8] x, int64[1] k) => (float[1,1,K,8] y) <int64[2] ones = {1, 1}, int64[1] w = {8}> {
      s = Concat <axis = 0>(ones, k, w)  v = Resize(x, , , s)  a = Relu(v)  y = Neg(a) }""",
}


@pytest.mark.parametrize("operator", COMPUTED)
def test_what_follows_computed_sizes_is_native(operator: str) -> None:
    lead = {"Expand": (1, 7), "ConstantOfShape": (3, 1), "Resize": (1, 1, 5, 8)}.get(operator, (3, 40))
    feeds = [{"x": floats(*lead), "k": np.array([k], np.int64)} for k in (3, 3, 40, 1, 17)]
    assert_runs(COMPUTED[operator], feeds, [operator])


SCAN_OUTPUTS = """g (float[3] x, int64 m) => (float[?,3] a, float[?] b) <int64[1] one = {1}> {
  y, u, v = Loop <body = each (int64 i, bool on, float[3] s) => (bool goes, float[3] t, float[3] p, float[3] q) {
    goes = Identity(on)  t = Sub(x, s)  p = Neg(s)  q = Relu(s)
  }> (m, , x)
  a = Mul(u, v)  b = ReduceSum <keepdims = 0>(v, one)
}"""


def test_what_follows_scan_outputs_is_native() -> None:
    assert_runs(SCAN_OUTPUTS, [{"x": floats(3), "m": np.array(m)} for m in (3, 3, 1, 500, 2)], [])


@pytest.mark.parametrize("unused", ["u", "v", "w"])
def test_scan_outputs_without_readers_bind_no_sizes(unused: str) -> None:
    used = [name for name in "uvw" if name != unused]
    text = f"""g (float[3] x, int64 m) => (float[?,3] a) {{
      y, u, v, w = Loop <body = each (int64 i, bool on, float[3] s) => (bool goes, float[3] t, float[3] p, float[3] q, float[3] r) {{
        goes = Identity(on)  t = Sub(x, s)  p = Neg(s)  q = Relu(s)  r = Sin(s)
      }}> (m, , x)
      a = Mul({used[0]}, {used[1]})
    }}"""
    assert_runs(text, [{"x": floats(3), "m": np.array(m)} for m in (3, 3, 1, 50, 2)], [])


TWICE = """g (float[N] x) => (float[?,3] y) <int64[1] zero = {0}, int64[2] column = {-1, 1}, float[1,3] w> {
  a = NonZero(x)  b = Squeeze(a, zero)  c = Gather(x, b)  d = Relu(c)  e = NonZero(d)  f = Squeeze(e, zero)
  h = Gather(d, f)  i = Reshape(h, column)  j = Gather(c, f)  k = Reshape(j, column)  l = Add(i, k)  y = Mul(l, w)
}"""


def test_values_before_a_binding_are_kept() -> None:
    """Values between two bindings are read after the second one, which enlarges the memory of the run."""
    text = TWICE.replace("w>", "w = {1.0, 2.0, 3.0}>")
    assert_runs(text, [{"x": np.maximum(floats(n), -0.5)} for n in COUNTS], [])


def test_unchanged_sizes_compute_nothing_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    session = sx.Session(parse_model(ROWS), engine="native", threads=1)
    x = floats(9, 4)
    session.run({"x": x})
    assert isinstance(session._runner, NativeEngine)
    calls: list[object] = []
    compute = session._runner.native.size_function

    def count_calls(*arguments: object) -> object:
        calls.append(arguments)
        return compute(*arguments)

    monkeypatch.setattr(session._runner.native, "size_function", count_calls)
    session.run({"x": x})
    assert not calls
    session.run({"x": -np.abs(x)})
    assert len(calls) == 1


GUARDED = """g (float[N,4] x) => (float[?,4] y) <int64[1] one = {1}, int64[1] zero = {0}, int64[1] three = {3}> {
  m = ReduceMax <keepdims = 0>(x, one)  nz = NonZero(m)  t = Squeeze(nz, zero)
  rows = Gather(x, t)  first = Slice(rows, zero, three, zero)  y = Add(first, rows)
}"""


def test_a_guard_on_a_data_dependent_size_names_it() -> None:
    session = sx.Session(parse_model(GUARDED), engine="native", threads=1)
    x = floats(5, 4)
    x[2:] = 0
    np.testing.assert_array_equal(session.run({"x": x})["y"], 2 * x[:2])
    assert not session.stats.bailouts
    with pytest.raises(EvaluationError):
        session.run({"x": floats(5, 4)})
    (guard,) = session.stats.bailouts
    (binding,) = native(session).bindings
    assert binding.symbols[1] in guard
    np.testing.assert_array_equal(session.run({"x": x})["y"], 2 * x[:2])


def test_sizes_of_the_last_run_hold_no_memory_against_the_next() -> None:
    """The sizes expected of a run may take more memory than its own do."""
    limits = sx.RunLimits(bytes=3_000_000)
    text = "g (float[N] x, int64[2] s) => (float[?,?] z) { y = Expand(x, s)  a = Sin(y)  z = Mul(a, y) }"
    session = sx.Session(parse_model(text), engine="native", threads=1, limits=limits)
    session.run({"x": floats(1), "s": np.array([300, 500], np.int64)})
    session.run({"x": floats(1000), "s": np.array([2, 1000], np.int64)})
    session.run({"x": floats(1), "s": np.array([300, 500], np.int64)})
    assert not session.stats.bailouts


def test_saved_programs_bind_sizes(tmp_path: Path) -> None:
    save_compiled(parse_model(ROWS), tmp_path / "m.sdx")
    session, reference = sx.Session(tmp_path / "m.sdx"), sx.Session(parse_model(ROWS), engine="reference")
    for n in COUNTS:
        x = floats(n, 4) - 1
        actual, expected = session.run({"x": x}), reference.run({"x": x})
        for name, array in expected.items():
            np.testing.assert_allclose(np.asarray(actual[name]), np.asarray(array), 1e-5, 1e-6)


def test_steps_say_which_sizes_are_bound() -> None:
    session = sx.Session(parse_model(ROWS), engine="native", threads=1)
    (binding,) = native(session).bindings
    lines = list(format_steps(native(session), ProgramFormatter()))
    (line,) = [line for line in lines if "bind sizes" in line]
    assert f"nz: {binding.symbols[1]} = length of axis 1" in line


def test_sizes_that_only_fallback_operations_need_are_not_bound() -> None:
    session = sx.Session(parse_model("g (string[N] x) => (string[?] y) { y = Unique(x) }"), engine="native")
    assert not any(isinstance(action, BindSizes) for action in native(session).actions)
