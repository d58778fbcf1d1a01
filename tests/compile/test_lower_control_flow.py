"""Loop, Scan and If as steps of one program: results, buffers, and fallback operations."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from compile.guarded_programs import run_guarded
from compile.random_subgraphs import SubgraphGenerator
from compile.reference_comparison import normal
from models import parse_model
from sardonyx._src.compile.program import Step
from sardonyx._src.compile.program.steps.program import FallbackOp, Program
from sardonyx._src.errors import EvaluationError, LimitError
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir import Array
from sardonyx._src.ops.api import RunLimits
from sardonyx._src.runtime.engine.engine import NativeEngine

OPSET = 25
Feeds = Mapping[str, Array]


def engine(text: str) -> NativeEngine:
    return NativeEngine(parse_model(text, opset=OPSET), threads=1, seed=3)


def assert_native(text: str, *feeds: Feeds) -> NativeEngine:
    """An engine; asserts that its program has no fallback operations, and equals the reference engine for each feed."""
    compiled = engine(text)
    assert not fallback_op_types(compiled.native.program)
    assert_engine_matches_reference(compiled, text, *feeds)
    return compiled


def assert_engine_matches_reference(compiled: NativeEngine, text: str, *feeds: Feeds) -> None:
    reference = Interpreter(parse_model(text, opset=OPSET), seed=3)
    for feed in (*feeds, *feeds[:1] * 3):
        expected, results = reference.run(feed), compiled.native.try_run(dict(feed))
        if results is None:
            results = compiled.run(feed)
            compiled.record_validated(feed)
        for name, array in expected.items():
            assert isinstance(array, np.ndarray), f"{name} must be a tensor"
            np.testing.assert_array_equal(results[name], array, name)


def fallback_op_types(program: Program) -> list[str]:
    return [action.node.op_type for action in program.actions if isinstance(action, FallbackOp)]


def body_kernels(compiled: NativeEngine) -> list[str]:
    """The kernels in the body of a program's only loop."""
    actions = compiled.native.program.actions
    (end,) = (i for i, a in enumerate(actions) if isinstance(a, Step) and a.jump and a.jump.distance < 0)
    step = actions[end]
    assert isinstance(step, Step) and step.jump is not None
    inside = actions[end + step.jump.distance : end]
    return [step.kernel.key.split("/")[0].split("_")[0] for step in inside if isinstance(step, Step)]


def int64(n: int) -> Array:
    return np.array(n, np.int64)


X, TRUE, FALSE = normal(3), np.array(True), np.array(False)
MATRIX = normal(5, 3)


# --- Loop ------------------------------------------------------------------------------------

ACCUMULATING = """g (float[3] x, int64 m) => (float[3] y) {
  y = Loop <body = each (int64 i, bool on, float[3] s) => (bool goes, float[3] t) {
    goes = Identity(on)  a = Add(s, x)  b = Abs(a)  t = Sub(b, s)
  }> (m, , x)
}"""


def test_a_loop_runs_for_its_trip_count() -> None:
    assert_native(ACCUMULATING, *({"x": X, "m": int64(m)} for m in (0, 1, 2, 20, -1, 1000)))


def test_a_state_is_updated_in_place() -> None:
    assert body_kernels(assert_native(ACCUMULATING, {"x": X, "m": int64(2)})) == ["elementwise"]


CONDITIONAL = """g (float[3] x, int64 m, bool c, int64 last) => (float[3] y) {
  y = Loop <body = each (int64 i, bool on, float[3] s) => (bool goes, float[3] t) {
    goes = Less(i, last)  t = Add(s, x)
  }> (%s)
}"""


@pytest.mark.parametrize("condition", ["m, c, x", "m, , x", ", c, x"])
def test_a_loop_with_a_condition_ends_when_its_body_clears_it(condition: str) -> None:
    feeds = [
        {"x": X, "m": int64(m), "c": c, "last": int64(last)}
        for m in (0, 1, 5)
        for c in (TRUE, FALSE)
        for last in (-1, 0, 3)
    ]
    assert_native(CONDITIONAL % condition, *feeds)


def test_a_body_may_read_its_condition() -> None:
    text = """g (float[3] x, int64 m, bool c) => (float[3] y, bool z) {
      y, z = Loop <body = each (int64 i, bool on, float[3] s, bool was) => (bool goes, float[3] t, bool is) {
        zero = Constant <value = int64 {1}> ()
        early = Less(i, zero)  goes = Xor(on, early)  t = Where(on, s, x)  is = Or(was, on)
      }> (m, %s, x, c)
    }"""
    for condition in ("c", ""):
        assert_native(
            text % condition, *({"x": X, "m": int64(m), "c": c} for m in (0, 1, 4) for c in (TRUE, FALSE))
        )


@pytest.mark.parametrize("shape", ["", "[1]"])
def test_a_body_may_read_its_iteration_number(shape: str) -> None:
    text = f"""g (int64 x, int64 m) => (int64 y, int64{shape} z) {{
      first = Constant <value = int64{shape} {{7}}> ()
      y, z = Loop <body = each (int64{shape} i, bool{shape} on, int64 s, int64{shape} was) => (bool{shape} goes, int64 t, int64{shape} is) {{
        goes = Identity(on)  two = Constant <value = int64 {{2}}> ()
        a = Mul(s, two)  none = Constant <value = int64[0] {{}}> ()  b = Reshape(i, none)  t = Add(a, b)  is = Identity(i)
      }}> (m, , x, first)
    }}"""
    assert_native(text, *({"x": int64(3), "m": int64(m)} for m in (0, 1, 2, 9)))


def test_states_may_be_swapped() -> None:
    text = """g (float[3] x, float[3] w, float[3] v, int64 m) => (float[3] y, float[3] z, float[3] u) {
      y, z, u = Loop <body = each (int64 i, bool on, float[3] a, float[3] b, float[3] c) => (bool goes, float[3] d, float[3] e, float[3] f) {
        goes = Identity(on)  d = Identity(b)  e = Identity(c)  f = Sub(a, b)
      }> (m, , x, w, v)
    }"""
    feeds = {"x": X, "w": X + 1, "v": X * 2}
    assert_native(text, *({**feeds, "m": int64(m)} for m in (0, 1, 2, 3, 10)))


def test_one_result_may_become_several_states() -> None:
    text = """g (float[3] x, float[3] w, int64 m) => (float[3] y, float[3] z, float[3] u) {
      y, z, u = Loop <body = each (int64 i, bool on, float[3] a, float[3] b, float[3] c) => (bool goes, float[3] d, float[3] e, float[3] f) {
        goes = Identity(on)  d = Neg(b)  e = Identity(d)  f = Identity(w)
      }> (m, , x, w, x)
    }"""
    assert_native(text, *({"x": X, "w": X + 1, "m": int64(m)} for m in (0, 1, 2, 3)))


def test_an_invariant_state_is_not_copied() -> None:
    text = """g (float[3] x, float[1000] big, int64 m) => (float[3] y, float[1000] same) {
      y, same = Loop <body = each (int64 i, bool on, float[3] s, float[1000] w) => (bool goes, float[3] t, float[1000] v) {
        goes = Identity(on)  r = ReduceMax(w)  t = Max(s, r)  v = Identity(w)
      }> (m, , x, big)
    }"""
    compiled = assert_native(text, *({"x": X, "big": normal(1000), "m": int64(m)} for m in (0, 3)))
    assert "copy" not in body_kernels(compiled)


def test_a_next_state_may_be_a_view_of_the_current_one() -> None:
    text = """g (float[N,N] x, int64 m) => (float[N,N] y) {
      y = Loop <body = each (int64 i, bool on, float[N,N] s) => (bool goes, float[N,N] t) {
        goes = Identity(on)  t = Transpose <perm = [1, 0]> (s)
      }> (m, , x)
    }"""
    assert_native(text, *({"x": normal(n, n), "m": int64(m)} for n in (4, 0, 1) for m in (0, 1, 2)))


def test_a_loop_writes_scan_outputs() -> None:
    text = """g (float[N,3] x, float[3] s) => (float[3] y, float[N,3] z, float[N] n) {
      shape = Shape(x)  zero = Constant <value = int64 {0}> ()  m = Gather(shape, zero)
      y, z, n = Loop <body = each (int64 i, bool on, float[3] s) => (bool goes, float[3] t, float[3] u, float v) {
        goes = Identity(on)  row = Gather(x, i)  t = Sub(row, s)  u = Identity(s)  v = ReduceMax <keepdims = 0> (t)
      }> (m, , s)
    }"""
    compiled = assert_native(text, *({"x": normal(n, 3), "s": X} for n in (1, 2, 7, 0)))
    assert compiled.loaded_reference is not None and compiled.native.has_fast_path


def test_dynamic_slice_dims_without_iterations_are_those_of_the_reference_engine() -> None:
    text = """g (float[N] x, float[M] w) => (float[M,N] z) {
      y, z = Scan <num_scan_inputs = 1, body = each (float[N] s, float v) => (float[N] t, float[N] u) {
        t = Add(s, v)  u = Neg(t)
      }> (x, w)
    }"""
    assert_native(text, *({"x": normal(n), "w": normal(m)} for n in (2, 0) for m in (3, 0)))


SCAN_OUTPUTS = """g (float[N,3] x, int64 m, bool c) => (float[N,3] y, float[A,N,3] z, int64[B] n, float[C] last) {
  y, z, n = Loop <body = each (int64 i, bool on, float[N,3] s) => (bool goes, float[N,3] t, float[N,3] u, int64 k) {
    most = Constant <value = int64 {2000}> ()  goes = Less(i, most)  t = Sub(x, s)  u = Neg(s)  k = Identity(i)
  }> (m, %s, x)
  axes = Constant <value = int64[2] {1, 2}> ()  last = ReduceMax <keepdims = 0> (z, axes)
}"""


@pytest.mark.parametrize("condition", ["", "c"])
def test_scan_outputs_of_unknown_length_are_accumulated(condition: str) -> None:
    text = SCAN_OUTPUTS.replace("%s", condition)
    compiled = engine(text)
    iterations = (1, 2, 15, 16, 17, 32, 100, 1500, 3000)
    assert_engine_matches_reference(
        compiled, text, *({"x": normal(n, 3), "m": int64(m), "c": TRUE} for m in iterations for n in (2, 5))
    )
    assert_engine_matches_reference(compiled, text, {"x": normal(2, 3), "m": int64(3), "c": TRUE})
    assert fallback_op_types(compiled.native.program) == []


DYNAMIC_SCAN_OUTPUT = """g (float[N] x, int64 m) => (float[A,N] z) {
  y, z = Loop <body = each (int64 i, bool on, float[N] s) => (bool goes, float[N] t, float[N] u) {
    goes = Identity(on)  t = Sub(x, s)  u = Neg(s)
  }> (m, , x)
}"""


def test_scan_outputs_without_iterations_fall_back_to_the_reference_engine() -> None:
    assert_native(
        DYNAMIC_SCAN_OUTPUT, *({"x": normal(n), "m": int64(m)} for n in (2, 0) for m in (1, 0, 3, -1))
    )


def test_accumulated_outputs_of_a_failed_run_are_discarded() -> None:
    text = """g (float[3] x, int64 m) => (float[A,3] z) {
      y, z = Loop <body = each (int64 i, bool on, float[3] s) => (bool goes, float[3] t, float[3] u) {
        goes = Identity(on)  t = Sub(x, s)  ten = Constant <value = int64 {300}> ()  r = Div(i, ten)
        g = Gather(x, r)  u = Add(s, g)
      }> (m, , x)
    }"""
    compiled = engine(text)
    for m in (100, 900):
        assert_engine_matches_reference(compiled, text, {"x": X, "m": int64(m)})
        with pytest.raises(EvaluationError, match="Gather"):
            compiled.run({"x": X, "m": int64(1300)})


def test_the_size_of_accumulated_outputs_is_limited() -> None:
    compiled = NativeEngine(
        parse_model(DYNAMIC_SCAN_OUTPUT, opset=OPSET), threads=1, limits=RunLimits(bytes=100_000)
    )
    compiled.run({"x": normal(100), "m": int64(250)})
    with pytest.raises(LimitError, match="scan output 'u' of shape \\[251, 100\\]"):
        compiled.run({"x": normal(100), "m": int64(251)})


def test_a_body_may_read_captured_quantized_weights() -> None:
    text = """g (float[1,8] x, int64 m) => (float[1,8] y) {
      scale = Constant <value = float {0.125}> ()
      w = Constant <value = int8[8,8] {WEIGHTS}> ()
      d = DequantizeLinear(w, scale)
      y = Loop <body = each (int64 i, bool on, float[1,8] s) => (bool goes, float[1,8] t) {
        goes = Identity(on)  a = MatMul(s, d)  b = ReduceMax(a)  t = Sub(a, b)
      }> (m, , x)
    }""".replace("WEIGHTS", ", ".join(str(i % 5 - 2) for i in range(64)))
    compiled = assert_native(text, *({"x": np.ones((1, 8), np.float32), "m": int64(m)} for m in (0, 1, 4)))
    assert "copy" not in body_kernels(compiled)


def test_loops_may_be_nested() -> None:
    text = """g (float[3] x, int64 m, int64 n) => (float[3] y) {
      y = Loop <body = outer (int64 i, bool on, float[3] p) => (bool goes, float[3] q) {
        goes = Identity(on)  k = Add(i, n)  r = Sub(p, x)
        q = Loop <body = inner (int64 j, bool in, float[3] s) => (bool out, float[3] t) {
          out = Identity(in)  a = Add(s, r)  t = Max(a, p)
        }> (k, , p)
      }> (m, , x)
    }"""
    assert_native(text, *({"x": X, "m": int64(m), "n": int64(n)} for m in (0, 1, 3) for n in (-1, 0, 2)))


def test_a_loop_that_computes_nothing_falls_back() -> None:
    text = """g (float[3] x, int64 m, bool c) => (float[3] y) {
      y = Loop <body = each (int64 i, bool on, float[3] s) => (bool goes, float[3] t) {
        goes = Identity(on)  t = Identity(s)
      }> (m, c, x)
    }"""
    compiled = engine(text)
    assert_engine_matches_reference(compiled, text, *({"x": X, "m": int64(m), "c": TRUE} for m in (0, 1, 3)))
    assert fallback_op_types(compiled.native.program) == ["Loop"]


def test_a_loop_may_accumulate_outputs_beside_an_invariant_state() -> None:
    text = """g (float[3] x, int64 m) => (float[3] y, float[A,3] z) {
      y, z = Loop <body = each (int64 i, bool on, float[3] s) => (bool goes, float[3] t, float[3] u) {
        goes = Identity(on)  t = Identity(s)  u = Neg(s)
      }> (m, , x)
    }"""
    assert_native(text, *({"x": X, "m": int64(m)} for m in (1, 3, 30)))


def test_a_body_reads_a_captured_value_in_the_layout_in_which_it_is_held() -> None:
    text = """g (float[3,2] x, float[2,3] w, int64 m) => (float[2,3] y, float[6] flat) {
      view = Transpose <perm = [1, 0]> (x)
      all = Constant <value = int64[1] {-1}> ()
      flat = Reshape(view, all)  before = Sub(w, view)
      y = Loop <body = each (int64 i, bool on, float[2,3] s) => (bool goes, float[2,3] t) {
        goes = Identity(on)  t = Max(s, view)
      }> (m, , before)
    }"""
    feeds = {"x": normal(3, 2), "w": normal(2, 3)}
    compiled = assert_native(text, *({**feeds, "m": int64(m)} for m in (0, 1, 3)))
    assert body_kernels(compiled) == ["elementwise"]


def test_a_growing_state_falls_back() -> None:
    text = """g (float[N] x, int64 m) => (float[M] y) {
      y = Loop <body = each (int64 i, bool on, float[K] s) => (bool goes, float[L] t) {
        goes = Identity(on)  t = Concat <axis = 0> (s, x)
      }> (m, , x)
    }"""
    compiled = engine(text)
    assert_engine_matches_reference(compiled, text, *({"x": normal(2), "m": int64(m)} for m in (0, 1, 3)))
    assert fallback_op_types(compiled.native.program) == ["Loop"]


def test_a_loop_around_a_node_without_a_lowering_falls_back() -> None:
    text = """g (float[3] x, int64 m) => (float[3] y) {
      w = Neg(x)
      y = Loop <body = each (int64 i, bool on, float[3] s) => (bool goes, float[3] t) {
        goes = Identity(on)  top = ReduceMax <keepdims = 0> (s)
        zero = Constant <value_float = 0.0> ()  one = Constant <value_float = 1.0> ()
        r = Range(zero, top, one)  n = ReduceSum(r)  a = Add(n, w)  t = Add(a, s)
      }> (m, , x)
      z = Abs(w)
    }"""
    compiled = engine(text)
    assert_engine_matches_reference(compiled, text, *({"x": X, "m": int64(m)} for m in (0, 1, 3)))
    assert fallback_op_types(compiled.native.program) == ["Loop"]


def test_a_loop_counts_distinct_elements() -> None:
    text = """g (float[3] x, int64 m) => (float[3] y) {
      y = Loop <body = each (int64 i, bool on, float[3] s) => (bool goes, float[3] t) {
        goes = Identity(on)  u, first, inverse, counts = Unique(s)  n = ReduceMax(counts)
        f = Cast <to = 1> (n)  t = Add(f, s)
      }> (m, , x)
    }"""
    feeds = ({"x": np.array([1, 2, 2], np.float32), "m": int64(m)} for m in (0, 1, 3))
    compiled = assert_native(text, *feeds)
    run = compiled.run({"x": np.array([1, 2, 2], np.float32), "m": int64(1)})
    np.testing.assert_array_equal(run["y"], [3, 4, 4])  # two of the elements are equal


# --- Scan ------------------------------------------------------------------------------------


@pytest.mark.parametrize("backward", [(0, 0), (0, 1), (1, 0), (1, 1)])
@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_slices_are_scanned_along_any_axis_in_either_direction(backward: tuple[int, int], axis: int) -> None:
    shape = [2, 3]
    shape.insert(axis % 3, 4)
    text = f"""g (float[2,3] s, float[{",".join(map(str, shape))}] x) => (float[2,3] y, float[{",".join(map(str, shape))}] z) {{
      y, z = Scan <num_scan_inputs = 1, scan_input_axes = [{axis}], scan_input_directions = [{backward[0]}],
        scan_output_axes = [{axis}], scan_output_directions = [{backward[1]}],
        body = each (float[2,3] s, float[2,3] v) => (float[2,3] t, float[2,3] u) {{
          t = Sub(v, s)  u = Add(t, v)
        }}> (s, x)
    }}"""
    assert_native(text, {"s": normal(2, 3), "x": normal(*shape)})


def test_several_values_are_scanned_together() -> None:
    text = """g (float s, float[T] a, float[T,N] b) => (float y, float[N,T] z) {
      y, z = Scan <num_scan_inputs = 2, scan_output_axes = [1], body = each (float s, float p, float[N] q) => (float t, float[N] u) {
        t = Max(s, p)  u = Mul(q, t)
      }> (s, a, b)
    }"""
    assert_native(
        text, *({"s": normal(), "a": normal(t), "b": normal(t, n)} for t in (1, 5) for n in (3, 1, 0))
    )


def test_scan_inputs_of_different_lengths_are_an_error() -> None:
    text = """g (float[A] a, float[B] b) => (float[T] z) {
      z = Scan <num_scan_inputs = 2, body = each (float p, float q) => (float u) { u = Mul(p, q) }> (a, b)
    }"""
    compiled = engine(text)
    assert_engine_matches_reference(compiled, text, {"a": normal(3), "b": normal(3)})
    with pytest.raises(EvaluationError, match="the lengths of the scan inputs must be equal"):
        compiled.run({"a": normal(3), "b": normal(4)})


# --- If --------------------------------------------------------------------------------------

BRANCHES = """g (float[N,3] x, bool c) => (float[N,3] y, float[3] z) {
  w = Constant <value = float[3] {1, -2, 3}> ()
  y, z = If <
    then_branch = a () => (float[N,3] d, float[3] e) { d = Add(x, w)  e = Identity(w) },
    else_branch = b () => (float[N,3] f, float[3] h) { f = Identity(x)  k = Neg(w)  h = Abs(k) }
  > (c)
}"""


def test_one_of_two_branches_runs() -> None:
    assert_native(BRANCHES, *({"x": normal(n, 3), "c": c} for n in (5, 0, 1) for c in (TRUE, FALSE, TRUE)))


def test_the_branch_not_taken_is_not_evaluated() -> None:
    text = """g (float[3] x, int64 i, bool c) => (float y) {
      y = If <then_branch = a () => (float d) { d = Gather(x, i) }, else_branch = b () => (float e) {
        e = ReduceMax <keepdims = 0> (x)
      }> (c)
    }"""
    compiled = assert_native(text, {"x": X, "i": int64(2), "c": TRUE}, {"x": X, "i": int64(9), "c": FALSE})
    with pytest.raises(EvaluationError, match="Gather"):
        compiled.run({"x": X, "i": int64(9), "c": TRUE})


def test_branches_of_different_shapes_fall_back() -> None:
    text = BRANCHES.replace("f = Identity(x)", "f = Concat <axis = 0> (x, x)").replace(
        "float[N,3] f", "float[M,3] f"
    )
    text = text.replace("=> (float[N,3] y", "=> (float[K,3] y")
    compiled = engine(text)
    assert_engine_matches_reference(compiled, text, *({"x": normal(2, 3), "c": c} for c in (TRUE, FALSE)))
    assert fallback_op_types(compiled.native.program) == ["If"]


def test_branches_may_be_nested_in_loops_and_loops_in_branches() -> None:
    text = """g (float[3] x, int64 m, bool c) => (float[3] y) {
      y = If <then_branch = a () => (float[3] p) {
        p = Loop <body = each (int64 i, bool on, float[3] s) => (bool goes, float[3] t) {
          goes = Identity(on)  one = Constant <value = int64 {2}> ()  low = Less(i, one)
          t = If <then_branch = u () => (float[3] v) { v = Add(s, x) }, else_branch = w () => (float[3] z) {
            z = Sub(s, x)
          }> (low)
        }> (m, , x)
      }, else_branch = b () => (float[3] q) { q = Neg(x) }> (c)
    }"""
    assert_native(text, *({"x": X, "m": int64(m), "c": c} for m in (0, 1, 2, 3, 6) for c in (TRUE, FALSE)))


# --- random bodies ---------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(24))
def test_random_bodies(seed: int) -> None:
    generator = SubgraphGenerator(seed)
    text, feeds = generator.generate_text(), [generator.generate_feeds() for _ in range(4)]
    compiled = engine(text)
    assert_engine_matches_reference(compiled, text, *feeds)
    program = compiled.native.program
    if fallback_op_types(program):
        return
    for feed in feeds:
        expected = compiled.run(feed)
        for at_end, checks in ((True, False), (False, False), (True, True)):
            result = run_guarded(compiled.native.executable, feed, at_end=at_end, seed=seed, checks=checks)
            for name, array in (result or {}).items():
                np.testing.assert_array_equal(array, expected[name], name)
