"""Sizes that an iteration of a loop, or a branch, binds: native programs agree with the reference engine."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from compile.guarded_programs import run_guarded
from compile.random_local_sizes import draw_feeds, loop_text
from compile.rotation import rotating_range
from compile.stages import compile_stages
from models import parse_model
from sardonyx._src.compile.program import Step
from sardonyx._src.compile.program.steps.program import Program, depends_on
from sardonyx._src.compile.program.verification.verify_local_sizes import verify_local_sizes
from sardonyx._src.ir import Array
from sardonyx._src.runtime.engine.engine import NativeEngine
from sardonyx._src.runtime.saved_programs.writing import save_compiled

LOOPS, GROUP = 12, 4
BAGS = """g (float[V,8] w, int64[M] index, {weights} int64[B] o) => (float[K,8] y)
    <bool c = {{1}}, int64[1] zero = {{0}}, int64[1] one = {{1}}, int64[1] last = {{-1}}, int64[1] big = {{1000}}> {{
  begin = Slice(o, zero, last, zero)  end = Slice(o, one, big, zero)  n = Size(begin)
  y = Loop(n, c)<body = b (int64 i, bool ci) => (bool co, float[8] r) {{
    co = Identity(ci)
    s = Gather(begin, i)  s1 = Unsqueeze(s, zero)  e = Gather(end, i)  e1 = Unsqueeze(e, zero)
    rows = Slice(index, s1, e1, zero)  found = Gather<axis=0>(w, rows)
    {scale}
    r = {reduction}<keepdims=0>(bag, zero) }}> }}"""
SCALE = "pr = Slice(p, s1, e1, zero)  pu = Unsqueeze(pr, one)  bag = Mul(found, pu)"
STARTS = np.array([0, 3, 3, 9, 12])


def bag_model(reduction: str, *, is_weighted: bool = False) -> sx.Model:
    """What torch writes for EmbeddingBag."""
    scale = SCALE if is_weighted else "bag = Identity(found)"
    weights = "float[M] p," if is_weighted else ""
    return parse_model(BAGS.format(reduction=reduction, scale=scale, weights=weights), opset=18)


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize(("reduction", "function"), [("ReduceSum", np.sum), ("ReduceMean", np.mean)])
def test_embedding_bags(reduction: str, function: object, is_weighted: bool) -> None:
    session = sx.Session(bag_model(reduction, is_weighted=is_weighted), engine="native", threads=1)
    assert session.stats.fallback_nodes == 0
    rng = np.random.default_rng(1)
    w, index, p = rng.random((20, 8), np.float32), rng.integers(0, 20, 12), rng.random(12, np.float32)
    feeds = {"w": w, "index": index, "o": STARTS} | ({"p": p} if is_weighted else {})
    rows = w[index] * p[:, None] if is_weighted else w[index]
    for _ in range(3):
        y = np.asarray(session.run(feeds)["y"])
        for bag, (a, b) in zip(y, pairwise(STARTS), strict=True):
            if a == b:
                assert reduction == "ReduceMean" or not bag.any()
            else:
                np.testing.assert_allclose(bag, function(rows[a:b], 0), 1e-5)  # type: ignore[operator]
    assert session.stats.bailouts == {}


def test_the_maximum_of_an_empty_bag_is_that_of_the_operator() -> None:
    session = sx.Session(bag_model("ReduceMax"), engine="native", threads=1)
    w = np.arange(16, dtype=np.float32).reshape(2, 8)
    y = session.run({"w": w, "index": np.array([0, 1, 0]), "o": np.array([0, 2, 2, 3])})["y"]
    np.testing.assert_array_equal(y, [w[1], np.full(8, -np.inf), w[0]])


def test_the_length_of_a_slice_follows_the_text_of_slice_13() -> None:
    """Bounds count from the end if they are negative, and are clamped; each iteration has its own."""
    text = """g (int64[N] x, int64[B] s, int64[B] e) => (int64[B,2] y)
        <bool c = {1}, int64[1] zero = {0}, int64[1] two = {2}, int64[1] one = {1}> {
      n = Size(s)
      y = Loop(n, c)<body = b (int64 i, bool ci) => (bool co, int64[2] r) {
        co = Identity(ci)  i1 = Unsqueeze(i, zero)  a = Gather(s, i1)  b = Gather(e, i1)
        p = Slice(x, a, b, zero, two)  l = Shape(p)  t = ReduceSum(p, zero)  r = Concat<axis=0>(l, t) }> }"""
    session = sx.Session(parse_model(text, opset=18), engine="native", threads=1)
    assert session.stats.fallback_nodes == 0
    x = 2 ** np.arange(7)
    pairs = [(0, 7), (1, 6), (-3, 100), (5, 2), (-100, -4), (7, 9), (3, 3), (6, 7)]
    y = session.run({"x": x, "s": np.array([s for s, _ in pairs]), "e": np.array([e for _, e in pairs])})["y"]
    expected = [x[max(s, -7) : e : 2] for s, e in pairs]
    np.testing.assert_array_equal(y, [(len(part), part.sum()) for part in expected])


def test_an_inner_loop_has_as_many_iterations_as_a_slice_has_rows() -> None:
    """The sum of the prefixes' sums, by a Scan over the slice."""
    text = """g (float[N,2] x, int64[B] o, int64 n) => (float[2] y)
        <bool c = {1}, int64[1] zero = {0}, int64[1] one = {1}> {
      start = ConstantOfShape(shape)
      y = Loop(n, c, start)<body = b (int64 i, bool ci, float[2] s) => (bool co, float[2] r) {
        co = Identity(ci)  i1 = Unsqueeze(i, zero)  a = Gather(o, i1)  j = Add(i1, one)  e = Gather(o, j)
        p = Slice(x, a, e, zero)
        r = Scan<num_scan_inputs=1, body = q (float[2] t, float[2] row) => (float[2] u)
          { h = Add(t, t)  u = Add(h, row) }>(s, p) }> }""".replace(
        "<bool c", "<int64[1] shape = {2}, bool c"
    )
    session = sx.Session(parse_model(text, opset=21), engine="native", threads=1)
    assert session.stats.fallback_nodes == 0
    x, o = np.random.default_rng(2).random((9, 2), np.float32), np.array([0, 4, 4, 5, 9])
    expected = np.zeros(2, np.float32)
    for a, b in pairwise(o):
        for row in x[a:b]:
            expected = expected + expected + row
    for _ in range(3):
        y = session.run({"x": x, "o": o, "n": np.array(4)})["y"]
        np.testing.assert_allclose(np.asarray(y), expected, 1e-6)


def test_a_branch_binds_sizes() -> None:
    text = """g (float[N] x, int64[1] s, int64[1] e, bool[1] f) => (float[1] y) <int64[1] zero = {0}> {
      y = If(f)<then_branch = t () => (float[1] a) { p = Slice(x, s, e, zero)  a = ReduceSum(p, zero) },
        else_branch = u () => (float[1] b) { b = ReduceMax(x, zero) }> }"""
    session = sx.Session(parse_model(text, opset=18), engine="native", threads=1)
    assert session.stats.fallback_nodes == 0
    x = np.arange(6, dtype=np.float32)
    for s, e in ((0, 6), (2, 4), (5, 1)):
        feeds = {"x": x, "s": np.array([s]), "e": np.array([e])}
        assert session.run({**feeds, "f": np.array([True])})["y"] == [x[s:e].sum()]
        assert session.run({**feeds, "f": np.array([False])})["y"] == [5]


def test_an_iteration_counts_elements() -> None:
    """The rows of x whose first element exceeds a threshold, by NonZero in the body of a loop."""
    text = """g (float[N,3] x, float[K] t) => (float[K,3] y, int64[K] c)
        <bool more = {1}, int64[1] zero = {0}, int64 first = {0}, int64[1] minus = {-1}> {
      n = Size(t)
      y, c = Loop(n, more)<body = b (int64 i, bool ci) => (bool co, float[3] r, int64 k) {
        co = Identity(ci)  limit = Gather(t, i)  head = Gather<axis=1>(x, first)  is_above = Greater(head, limit)
        places = NonZero(is_above)  flat = Reshape(places, minus)  rows = Gather<axis=0>(x, flat)
        r = ReduceSum<keepdims=0>(rows, zero)  k = Size(flat) }> }"""
    session = sx.Session(parse_model(text, opset=18), engine="native", threads=1)
    assert session.stats.fallback_nodes == 0
    rng = np.random.default_rng(4)
    for n in (0, 1, 17, 5):
        x, t = rng.standard_normal((n, 3), np.float32), np.array([-9, 0, 0.5, 9], np.float32)
        outputs = session.run({"x": x, "t": t})
        parts = [x[x[:, 0] > limit] for limit in t]
        np.testing.assert_array_equal(outputs["c"], [len(part) for part in parts])
        np.testing.assert_allclose(np.asarray(outputs["y"]), [part.sum(0) for part in parts], 1e-5, 1e-6)


def test_an_iteration_selects_boxes() -> None:
    text = """g (float[B,N,4] boxes, float[B,1,N] scores, int64[1] most) => (int64[B] c)
        <bool more = {1}, int64[1] zero = {0}, int64 first = {0}, float[1] overlap = {0.5}> {
      s = Shape(boxes)  n = Gather(s, first)
      c = Loop(n, more)<body = b (int64 i, bool ci) => (bool co, int64 k) {
        co = Identity(ci)  b0 = Gather(boxes, i)  b1 = Unsqueeze(b0, zero)  s0 = Gather(scores, i)  s1 = Unsqueeze(s0, zero)
        chosen = NonMaxSuppression(b1, s1, most, overlap)  total = Shape<start=0, end=1>(chosen)  k = Squeeze(total) }> }"""
    session = sx.Session(parse_model(text, opset=18), engine="native", threads=1)
    assert session.stats.fallback_nodes == 0
    far = np.array([[0, 0, 1, 1], [2, 2, 3, 3], [4, 4, 5, 5]], np.float32)
    near = np.array([[0, 0, 1, 1], [0, 0, 1, 1], [4, 4, 5, 5]], np.float32)
    feeds = {"boxes": np.stack([far, near, near[:1].repeat(3, 0)]), "scores": np.ones((3, 1, 3), np.float32)}
    assert session.run({**feeds, "most": np.array([9])})["c"].tolist() == [3, 2, 1]
    assert session.run({**feeds, "most": np.array([2])})["c"].tolist() == [2, 2, 1]


def test_a_range_of_unlimited_length_falls_back() -> None:
    text = """g (int64[K] t) => (int64[K] y) <bool more = {1}, int64 one = {1}, int64 none = {0}, int64[1] zero = {0}> {
      n = Size(t)
      y = Loop(n, more)<body = b (int64 i, bool ci) => (bool co, int64 r) {
        co = Identity(ci)  limit = Gather(t, i)  p = Range(none, limit, one)  r = ReduceSum<keepdims=0>(p, zero) }> }"""
    session = sx.Session(parse_model(text, opset=18), engine="native", threads=1)
    assert session.run({"t": np.array([4, 0, 3])})["y"].tolist() == [6, 0, 3]


def test_iterations_whose_sizes_must_be_equal_and_are_not_are_an_error() -> None:
    """Slices that are added must have equal lengths: a run that violates this is the reference engine's."""
    text = """g (float[N] x, int64[B] s, int64[B] e, int64[B] d, int64 n) => (float[1] y)
        <bool c = {1}, int64[1] zero = {0}, int64[1] first = {0}> {
      start = Cast<to=1>(first)
      y = Loop(n, c, start)<body = b (int64 i, bool ci, float[1] t) => (bool co, float[1] r) {
        co = Identity(ci)  i1 = Unsqueeze(i, zero)  a = Gather(s, i1)  b = Gather(e, i1)  k = Gather(d, i1)
        p = Slice(x, a, b, zero)  q = Slice(x, a, k, zero)  m = Reshape(q, back)
        g = Gemm(m, m)  u = ReduceSum(p, zero)  v = ReduceSum<keepdims=0>(g)  w = Add(u, v)  r = Add(t, w) }> }"""
    text = text.replace("int64[1] first", "int64[2] back = {2, -1}, int64[1] first")
    model = parse_model(text, opset=18)
    native, reference = (sx.Session(model, engine=e, threads=1) for e in ("auto", "reference"))
    x = np.arange(9, dtype=np.float32)
    feeds = {"x": x, "s": np.array([0, 1]), "e": np.array([4, 9]), "d": np.array([4, 5]), "n": np.array(2)}
    np.testing.assert_allclose(native.run(feeds)["y"], reference.run(feeds)["y"])
    with pytest.raises(sx.EvaluationError):
        reference.run({**feeds, "d": np.array([4, 4])})
    with pytest.raises(sx.EvaluationError):
        native.run({**feeds, "d": np.array([4, 4])})


@pytest.mark.parametrize("first", rotating_range(LOOPS, GROUP))
def test_random_loops_agree_with_the_reference_engine(first: int) -> None:
    for seed in range(first, first + GROUP):
        model = parse_model(loop_text(seed), opset=24)
        native = sx.Session(model, engine="native", threads=1 + seed % 2)
        reference = sx.Session(model, engine="reference")
        assert native.stats.fallback_nodes == 0, f"seed {seed}"
        rng = np.random.default_rng(seed)
        for _ in range(4):
            assert_equal_runs(native, reference, draw_feeds(rng), f"seed {seed}")


@pytest.mark.parametrize("first", rotating_range(LOOPS, GROUP))
def test_random_loops_access_their_own_memory(first: int) -> None:
    """Slots that steps store are those of the sizes of the iteration, and no kernel leaves its operands."""
    for seed in range(first, first + GROUP):
        compiled = NativeEngine(parse_model(loop_text(seed), opset=24), threads=1)
        feeds = draw_feeds(np.random.default_rng(seed))
        expected = outcome(compiled, feeds)
        for at_end, checks in ((True, False), (False, seed % 4 == 0)):
            result = run_guarded(compiled.native.executable, feeds, at_end=at_end, seed=seed, checks=checks)
            for name, array in (result or {}).items():
                np.testing.assert_array_equal(array, expected[name], f"seed {seed}")


def outcome(compiled: NativeEngine, feeds: dict[str, Array]) -> dict[str, Array]:
    """The outputs of a run; none if it is an error."""
    try:
        return {name: np.asarray(value) for name, value in compiled.run(feeds).items()}
    except sx.EvaluationError:
        return {}


def assert_equal_runs(native: sx.Session, reference: sx.Session, feeds: dict[str, Array], where: str) -> None:
    """Equal outputs, up to rounding, or equal errors; three native runs have equal bits."""
    try:
        expected = reference.run(feeds)
    except sx.EvaluationError:
        with pytest.raises(sx.EvaluationError):
            native.run(feeds)
        return
    runs = [{name: np.asarray(value) for name, value in native.run(feeds).items()} for _ in range(3)]
    for name, value in expected.items():
        np.testing.assert_allclose(runs[0][name], np.asarray(value), 1e-4, 1e-5, err_msg=where)
        assert len({run[name].tobytes() for run in runs}) == 1, where


def test_saved_programs_bind_sizes(tmp_path: Path) -> None:
    model = bag_model("ReduceSum")
    rng = np.random.default_rng(3)
    feeds = {"w": rng.random((20, 8), np.float32), "index": rng.integers(0, 20, 12), "o": STARTS}
    expected = sx.Session(model, engine="native", threads=1).run(feeds)["y"]
    save_compiled(model, tmp_path / "bags.sdx")
    session = sx.Session(tmp_path / "bags.sdx", threads=1)
    for _ in range(3):
        np.testing.assert_array_equal(session.run(feeds)["y"], expected)


# --- what the verifier rejects ---------------------------------------------------------------


def bag_program() -> Program:
    return compile_stages(bag_model("ReduceSum")).program


def test_a_slot_that_no_step_stores_is_found() -> None:
    program = bag_program()
    verify_local_sizes(program)
    i = next(i for i, a in enumerate(program.actions) if isinstance(a, Step) and a.binds is not None)
    step = program.actions[i]
    assert isinstance(step, Step)
    program.actions[i] = replace(step, args=step.args[:4])
    with pytest.raises(AssertionError, match="no step stores"):
        verify_local_sizes(program)


def test_a_size_that_is_used_before_it_is_bound_is_found() -> None:
    program = bag_program()
    i = next(i for i, a in enumerate(program.actions) if isinstance(a, Step) and a.binds is not None)
    program.actions[i], program.actions[i + 1] = program.actions[i + 1], program.actions[i]
    with pytest.raises(AssertionError, match="is not bound"):
        verify_local_sizes(program)


def test_memory_of_a_local_size_is_found() -> None:
    program = bag_program()
    tensors = (tensor for action in program.actions for tensor in action.writes)
    tensor = next(t for t in tensors if any(depends_on(dim, program.local_symbols) for dim in t.shape))
    tensor.buffer.size = tensor.nbytes
    with pytest.raises(AssertionError, match="has a local size"):
        verify_local_sizes(program)
