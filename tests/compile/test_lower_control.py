"""Loop, Scan and If as steps of one program: what they make, in whose memory, and what stays with the host."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from compile.guarded_programs import ran
from compile.lowered import normal
from compile.random_bodies import Bodies
from models import model
from sardonyx._src.compile.program import HostCall, Program
from sardonyx._src.compile.step import Step
from sardonyx._src.errors import EvaluationError, LimitError
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.api import RunLimits
from sardonyx._src.runtime.engine import NativeEngine

OPSET = 25
Feeds = Mapping[str, Array]


def engine(text: str) -> NativeEngine:
    return NativeEngine(model(text, opset=OPSET), threads=1, seed=3)


def native(text: str, *feeds: Feeds) -> NativeEngine:
    """The engine of a model that steps run alone, which makes the bits that the reference engine does for each feed."""
    found = engine(text)
    assert not on_host(found.native.program)
    agrees(found, text, *feeds)
    return found


def agrees(found: NativeEngine, text: str, *feeds: Feeds) -> None:
    reference = Interpreter(model(text, opset=OPSET), seed=3)
    for feed in (*feeds, *feeds[:1] * 3):
        wanted, results = reference.run(feed), found.native.again(dict(feed))
        if results is None:
            results = found.run(feed)
            found.approve(feed)
        for name, one in wanted.items():
            assert isinstance(one, np.ndarray), f"{name} is no tensor"
            np.testing.assert_array_equal(results[name], one, name)


def on_host(program: Program) -> list[str]:
    return [action.node.op_type for action in program.actions if isinstance(action, HostCall)]


def turn(found: NativeEngine) -> list[str]:
    """The kernels of a program's only loop, between its two ends."""
    actions = found.native.program.actions
    (end,) = (i for i, a in enumerate(actions) if isinstance(a, Step) and a.jump and a.jump.distance < 0)
    step = actions[end]
    assert isinstance(step, Step) and step.jump is not None
    inside = actions[end + step.jump.distance : end]
    return [one.kernel.key.split("/")[0].split("_")[0] for one in inside if isinstance(one, Step)]


def count(n: int) -> Array:
    return np.array(n, np.int64)


X, ON, OFF = normal(3), np.array(True), np.array(False)
MATRIX = normal(5, 3)


# --- Loop ------------------------------------------------------------------------------------

PLAIN = """g (float[3] x, int64 m) => (float[3] y) {
  y = Loop <body = each (int64 i, bool on, float[3] s) => (bool goes, float[3] t) {
    goes = Identity(on)  a = Add(s, x)  b = Abs(a)  t = Sub(b, s)
  }> (m, , x)
}"""


def test_a_loop_runs_as_often_as_it_is_told() -> None:
    native(PLAIN, *({"x": X, "m": count(m)} for m in (0, 1, 2, 20, -1, 1000)))


def test_the_next_state_is_made_in_the_place_of_the_last_one() -> None:
    assert turn(native(PLAIN, {"x": X, "m": count(2)})) == ["elementwise"]


CONDITION = """g (float[3] x, int64 m, bool c, int64 last) => (float[3] y) {
  y = Loop <body = each (int64 i, bool on, float[3] s) => (bool goes, float[3] t) {
    goes = Less(i, last)  t = Add(s, x)
  }> (%s)
}"""


@pytest.mark.parametrize("given", ["m, c, x", "m, , x", ", c, x"])
def test_a_loop_goes_on_while_its_body_says_so_if_it_has_a_condition(given: str) -> None:
    feeds = [
        {"x": X, "m": count(m), "c": c, "last": count(last)}
        for m in (0, 1, 5)
        for c in (ON, OFF)
        for last in (-1, 0, 3)
    ]
    native(CONDITION % given, *feeds)


def test_a_body_may_look_at_its_condition() -> None:
    text = """g (float[3] x, int64 m, bool c) => (float[3] y, bool z) {
      y, z = Loop <body = each (int64 i, bool on, float[3] s, bool was) => (bool goes, float[3] t, bool is) {
        zero = Constant <value = int64 {1}> ()
        early = Less(i, zero)  goes = Xor(on, early)  t = Where(on, s, x)  is = Or(was, on)
      }> (m, %s, x, c)
    }"""
    for given in ("c", ""):
        native(text % given, *({"x": X, "m": count(m), "c": c} for m in (0, 1, 4) for c in (ON, OFF)))


@pytest.mark.parametrize("shape", ["", "[1]"])
def test_a_body_may_count(shape: str) -> None:
    text = f"""g (int64 x, int64 m) => (int64 y, int64{shape} z) {{
      first = Constant <value = int64{shape} {{7}}> ()
      y, z = Loop <body = each (int64{shape} i, bool{shape} on, int64 s, int64{shape} was) => (bool{shape} goes, int64 t, int64{shape} is) {{
        goes = Identity(on)  two = Constant <value = int64 {{2}}> ()
        a = Mul(s, two)  none = Constant <value = int64[0] {{}}> ()  b = Reshape(i, none)  t = Add(a, b)  is = Identity(i)
      }}> (m, , x, first)
    }}"""
    native(text, *({"x": count(3), "m": count(m)} for m in (0, 1, 2, 9)))


def test_states_may_change_places() -> None:
    text = """g (float[3] x, float[3] w, float[3] v, int64 m) => (float[3] y, float[3] z, float[3] u) {
      y, z, u = Loop <body = each (int64 i, bool on, float[3] a, float[3] b, float[3] c) => (bool goes, float[3] d, float[3] e, float[3] f) {
        goes = Identity(on)  d = Identity(b)  e = Identity(c)  f = Sub(a, b)
      }> (m, , x, w, v)
    }"""
    feeds = {"x": X, "w": X + 1, "v": X * 2}
    native(text, *({**feeds, "m": count(m)} for m in (0, 1, 2, 3, 10)))


def test_one_result_may_become_several_states() -> None:
    text = """g (float[3] x, float[3] w, int64 m) => (float[3] y, float[3] z, float[3] u) {
      y, z, u = Loop <body = each (int64 i, bool on, float[3] a, float[3] b, float[3] c) => (bool goes, float[3] d, float[3] e, float[3] f) {
        goes = Identity(on)  d = Neg(b)  e = Identity(d)  f = Identity(w)
      }> (m, , x, w, x)
    }"""
    native(text, *({"x": X, "w": X + 1, "m": count(m)} for m in (0, 1, 2, 3)))


def test_what_is_handed_on_is_not_copied() -> None:
    text = """g (float[3] x, float[1000] big, int64 m) => (float[3] y, float[1000] same) {
      y, same = Loop <body = each (int64 i, bool on, float[3] s, float[1000] w) => (bool goes, float[3] t, float[1000] v) {
        goes = Identity(on)  r = ReduceMax(w)  t = Max(s, r)  v = Identity(w)
      }> (m, , x, big)
    }"""
    found = native(text, *({"x": X, "big": normal(1000), "m": count(m)} for m in (0, 3)))
    assert "copy" not in turn(found)


def test_a_state_may_be_a_view_of_the_last_one() -> None:
    text = """g (float[N,N] x, int64 m) => (float[N,N] y) {
      y = Loop <body = each (int64 i, bool on, float[N,N] s) => (bool goes, float[N,N] t) {
        goes = Identity(on)  t = Transpose <perm = [1, 0]> (s)
      }> (m, , x)
    }"""
    native(text, *({"x": normal(n, n), "m": count(m)} for n in (4, 0, 1) for m in (0, 1, 2)))


def test_a_loop_leaves_what_each_turn_makes() -> None:
    text = """g (float[N,3] x, float[3] s) => (float[3] y, float[N,3] z, float[N] n) {
      shape = Shape(x)  zero = Constant <value = int64 {0}> ()  m = Gather(shape, zero)
      y, z, n = Loop <body = each (int64 i, bool on, float[3] s) => (bool goes, float[3] t, float[3] u, float v) {
        goes = Identity(on)  row = Gather(x, i)  t = Sub(row, s)  u = Identity(s)  v = ReduceMax <keepdims = 0> (t)
      }> (m, , s)
    }"""
    found = native(text, *({"x": normal(n, 3), "s": X} for n in (1, 2, 7, 0)))
    assert found.behind is not None and found.native.can_repeat


def test_open_dims_of_what_no_turn_left_are_those_of_the_reference_engine() -> None:
    text = """g (float[N] x, float[M] w) => (float[M,N] z) {
      y, z = Scan <num_scan_inputs = 1, body = each (float[N] s, float v) => (float[N] t, float[N] u) {
        t = Add(s, v)  u = Neg(t)
      }> (x, w)
    }"""
    native(text, *({"x": normal(n), "w": normal(m)} for n in (2, 0) for m in (3, 0)))


COLLECTED = """g (float[N,3] x, int64 m, bool c) => (float[N,3] y, float[A,N,3] z, int64[B] n, float[C] last) {
  y, z, n = Loop <body = each (int64 i, bool on, float[N,3] s) => (bool goes, float[N,3] t, float[N,3] u, int64 k) {
    most = Constant <value = int64 {2000}> ()  goes = Less(i, most)  t = Sub(x, s)  u = Neg(s)  k = Identity(i)
  }> (m, %s, x)
  axes = Constant <value = int64[2] {1, 2}> ()  last = ReduceMax <keepdims = 0> (z, axes)
}"""


@pytest.mark.parametrize("given", ["", "c"])
def test_the_host_collects_what_nobody_counts_beforehand(given: str) -> None:
    text = COLLECTED.replace("%s", given)
    found = engine(text)
    turns = (1, 2, 15, 16, 17, 32, 100, 1500, 3000)
    agrees(found, text, *({"x": normal(n, 3), "m": count(m), "c": ON} for m in turns for n in (2, 5)))
    agrees(found, text, {"x": normal(2, 3), "m": count(3), "c": ON})
    assert on_host(found.native.program) == ["ReduceMax"]


LEFT = """g (float[N] x, int64 m) => (float[A,N] z) {
  y, z = Loop <body = each (int64 i, bool on, float[N] s) => (bool goes, float[N] t, float[N] u) {
    goes = Identity(on)  t = Sub(x, s)  u = Neg(s)
  }> (m, , x)
}"""


def test_what_no_turn_left_is_a_matter_of_the_reference_engine() -> None:
    native(LEFT, *({"x": normal(n), "m": count(m)} for n in (2, 0) for m in (1, 0, 3, -1)))


def test_a_run_that_is_given_up_leaves_nothing_for_the_next_one() -> None:
    text = """g (float[3] x, int64 m) => (float[A,3] z) {
      y, z = Loop <body = each (int64 i, bool on, float[3] s) => (bool goes, float[3] t, float[3] u) {
        goes = Identity(on)  t = Sub(x, s)  ten = Constant <value = int64 {300}> ()  r = Div(i, ten)
        g = Gather(x, r)  u = Add(s, g)
      }> (m, , x)
    }"""
    found = engine(text)
    for m in (100, 900):
        agrees(found, text, {"x": X, "m": count(m)})
        with pytest.raises(EvaluationError, match="Gather"):
            found.run({"x": X, "m": count(1300)})


def test_what_is_collected_is_limited() -> None:
    found = NativeEngine(model(LEFT, opset=OPSET), threads=1, limits=RunLimits(bytes=100_000))
    found.run({"x": normal(100), "m": count(250)})
    with pytest.raises(LimitError, match="scan output 'u' of shape \\[251, 100\\]"):
        found.run({"x": normal(100), "m": count(251)})


def test_weights_of_integers_may_be_read_in_a_body() -> None:
    text = """g (float[1,8] x, int64 m) => (float[1,8] y) {
      scale = Constant <value = float {0.125}> ()
      w = Constant <value = int8[8,8] {WEIGHTS}> ()
      d = DequantizeLinear(w, scale)
      y = Loop <body = each (int64 i, bool on, float[1,8] s) => (bool goes, float[1,8] t) {
        goes = Identity(on)  a = MatMul(s, d)  b = ReduceMax(a)  t = Sub(a, b)
      }> (m, , x)
    }""".replace("WEIGHTS", ", ".join(str(i % 5 - 2) for i in range(64)))
    found = native(text, *({"x": np.ones((1, 8), np.float32), "m": count(m)} for m in (0, 1, 4)))
    assert "copy" not in turn(found)


def test_a_loop_that_another_one_is_in_may_run_again() -> None:
    text = """g (float[3] x, int64 m, int64 n) => (float[3] y) {
      y = Loop <body = outer (int64 i, bool on, float[3] p) => (bool goes, float[3] q) {
        goes = Identity(on)  k = Add(i, n)  r = Sub(p, x)
        q = Loop <body = inner (int64 j, bool in, float[3] s) => (bool out, float[3] t) {
          out = Identity(in)  a = Add(s, r)  t = Max(a, p)
        }> (k, , p)
      }> (m, , x)
    }"""
    native(text, *({"x": X, "m": count(m), "n": count(n)} for m in (0, 1, 3) for n in (-1, 0, 2)))


def test_a_growing_state_stays_with_the_host() -> None:
    text = """g (float[N] x, int64 m) => (float[M] y) {
      y = Loop <body = each (int64 i, bool on, float[K] s) => (bool goes, float[L] t) {
        goes = Identity(on)  t = Concat <axis = 0> (s, x)
      }> (m, , x)
    }"""
    found = engine(text)
    agrees(found, text, *({"x": normal(2), "m": count(m)} for m in (0, 1, 3)))
    assert on_host(found.native.program) == ["Loop"]


def test_a_node_that_only_the_host_runs_keeps_its_loop_there() -> None:
    text = """g (float[3] x, int64 m) => (float[3] y) {
      w = Neg(x)
      y = Loop <body = each (int64 i, bool on, float[3] s) => (bool goes, float[3] t) {
        goes = Identity(on)  u = Unique(s)  n = ReduceMax(u)  a = Add(n, w)  t = Add(a, s)
      }> (m, , x)
      z = Abs(w)
    }"""
    found = engine(text)
    agrees(found, text, *({"x": X, "m": count(m)} for m in (0, 1, 3)))
    assert on_host(found.native.program) == ["Loop"]


# --- Scan ------------------------------------------------------------------------------------


@pytest.mark.parametrize("backward", [(0, 0), (0, 1), (1, 0), (1, 1)])
@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_slices_are_scanned_along_any_axis_either_way(backward: tuple[int, int], axis: int) -> None:
    shape = [2, 3]
    shape.insert(axis % 3, 4)
    text = f"""g (float[2,3] s, float[{",".join(map(str, shape))}] x) => (float[2,3] y, float[{",".join(map(str, shape))}] z) {{
      y, z = Scan <num_scan_inputs = 1, scan_input_axes = [{axis}], scan_input_directions = [{backward[0]}],
        scan_output_axes = [{axis}], scan_output_directions = [{backward[1]}],
        body = each (float[2,3] s, float[2,3] v) => (float[2,3] t, float[2,3] u) {{
          t = Sub(v, s)  u = Add(t, v)
        }}> (s, x)
    }}"""
    native(text, {"s": normal(2, 3), "x": normal(*shape)})


def test_several_values_are_scanned_together() -> None:
    text = """g (float s, float[T] a, float[T,N] b) => (float y, float[N,T] z) {
      y, z = Scan <num_scan_inputs = 2, scan_output_axes = [1], body = each (float s, float p, float[N] q) => (float t, float[N] u) {
        t = Max(s, p)  u = Mul(q, t)
      }> (s, a, b)
    }"""
    native(text, *({"s": normal(), "a": normal(t), "b": normal(t, n)} for t in (1, 5) for n in (3, 1, 0)))


def test_lengths_that_differ_are_an_error() -> None:
    text = """g (float[A] a, float[B] b) => (float[T] z) {
      z = Scan <num_scan_inputs = 2, body = each (float p, float q) => (float u) { u = Mul(p, q) }> (a, b)
    }"""
    found = engine(text)
    agrees(found, text, {"a": normal(3), "b": normal(3)})
    with pytest.raises(EvaluationError, match="lengths of the scan inputs differ"):
        found.run({"a": normal(3), "b": normal(4)})


# --- If --------------------------------------------------------------------------------------

BRANCHES = """g (float[N,3] x, bool c) => (float[N,3] y, float[3] z) {
  w = Constant <value = float[3] {1, -2, 3}> ()
  y, z = If <
    then_branch = a () => (float[N,3] d, float[3] e) { d = Add(x, w)  e = Identity(w) },
    else_branch = b () => (float[N,3] f, float[3] h) { f = Identity(x)  k = Neg(w)  h = Abs(k) }
  > (c)
}"""


def test_one_of_two_branches_runs() -> None:
    native(BRANCHES, *({"x": normal(n, 3), "c": c} for n in (5, 0, 1) for c in (ON, OFF, ON)))


def test_the_branch_that_is_not_taken_is_not_looked_at() -> None:
    text = """g (float[3] x, int64 i, bool c) => (float y) {
      y = If <then_branch = a () => (float d) { d = Gather(x, i) }, else_branch = b () => (float e) {
        e = ReduceMax <keepdims = 0> (x)
      }> (c)
    }"""
    found = native(text, {"x": X, "i": count(2), "c": ON}, {"x": X, "i": count(9), "c": OFF})
    with pytest.raises(EvaluationError, match="Gather"):
        found.run({"x": X, "i": count(9), "c": ON})


def test_branches_of_different_shapes_stay_with_the_host() -> None:
    text = BRANCHES.replace("f = Identity(x)", "f = Concat <axis = 0> (x, x)").replace(
        "float[N,3] f", "float[M,3] f"
    )
    text = text.replace("=> (float[N,3] y", "=> (float[K,3] y")
    found = engine(text)
    agrees(found, text, *({"x": normal(2, 3), "c": c} for c in (ON, OFF)))
    assert on_host(found.native.program) == ["If"]


def test_branches_in_a_loop_in_a_branch() -> None:
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
    native(text, *({"x": X, "m": count(m), "c": c} for m in (0, 1, 2, 3, 6) for c in (ON, OFF)))


# --- by chance -------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(24))
def test_bodies_by_chance(seed: int) -> None:
    bodies = Bodies(seed)
    text, feeds = bodies.text(), [bodies.feeds() for _ in range(4)]
    found = engine(text)
    agrees(found, text, *feeds)
    program = found.native.program
    if on_host(program):
        return
    for feed in feeds:
        wanted = found.run(feed)
        for at_end, checks in ((True, False), (False, False), (True, True)):
            made = ran(program, feed, at_end=at_end, seed=seed, checks=checks)
            for name, one in (made or {}).items():
                np.testing.assert_array_equal(one, wanted[name], name)
