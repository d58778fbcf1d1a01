"""Programs for the elements of fed parameters: native from the first run on, compared with feeds, few, shared and stored."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.compile.program.steps.assumptions import ElementsObserved, RankObserved, format_assumptions
from sardonyx._src.errors import DecodeError
from sardonyx._src.io import file_stamps
from sardonyx._src.ir import Array
from sardonyx._src.runtime.engine.engine import NativeEngine
from sardonyx._src.runtime.engine.shared_programs import SHARED_PROGRAMS
from sardonyx._src.runtime.saved_programs import disk_cache
from sardonyx._src.runtime.saved_programs.container import Json
from sardonyx._src.runtime.saved_programs.encoded_values import decode_assumptions, encode_assumptions
from sardonyx._src.runtime.specialization.programs import MAX_ELEMENTS, SpecializedPrograms

RNG = np.random.default_rng(11)
REDUCED = "g (float[N,4,6] x, int64[1] axes) => (float[?,?,?] y) { a = ReduceSum(x, axes)  y = Neg(a) }"
X = RNG.standard_normal((3, 4, 6), np.float32)


def opened(text: str) -> sx.Session:
    return sx.Session(parse_model(text), engine="native", threads=1)


def programs_of(session: sx.Session) -> SpecializedPrograms:
    assert isinstance(session._runner, NativeEngine)
    assert session._runner.specialized is not None
    return session._runner.specialized


def reduced(session: sx.Session, axis: int, x: Array = X) -> Array:
    """The result of REDUCED, compared with NumPy."""
    y = np.asarray(session.run({"x": x, "axes": np.array([axis], np.int64)})["y"])
    np.testing.assert_allclose(y, -x.sum(axis, keepdims=True), 1e-5, 1e-6)
    return y


def test_the_first_run_is_native_and_later_ones_have_its_bits() -> None:
    session = opened(REDUCED)
    first = reduced(session, 1)
    program = programs_of(session).last_program
    assert format_assumptions(program.assumptions) == "axes == [1]"
    assert session.stats.fallback_nodes == program.native.fallback_nodes == 0
    for _ in range(4):
        np.testing.assert_array_equal(reduced(session, 1), first)
    assert session.stats.fast_path_runs > 0


def test_a_fed_condition_has_a_program_for_each_branch() -> None:
    """As in decoders that are merged of one for prompts and one for later tokens."""
    session = opened(
        """g (float[N,3] x, float[P,3] past, bool[1] has_past) => (float[M,3] y) { n = Exp(x)  y = If(has_past) <
          then_branch = t () => (float[M,3] a) { a = Concat<axis = 0>(past, n) },
          else_branch = f () => (float[M,3] b) { b = Neg(n) }> }"""
    )
    x, past = RNG.standard_normal((2, 2, 3), np.float32)
    for is_first in (True, False, False, True, False):
        feeds = {"x": x, "past": past, "has_past": np.array([not is_first])}
        expected = -np.exp(x) if is_first else np.concatenate([past, np.exp(x)])
        np.testing.assert_allclose(np.asarray(session.run(feeds)["y"]), expected, 1e-6)
        assert session.stats.fallback_nodes == 0
    assert (session.stats.specializations, dict(session.stats.bailouts)) == (2, {})


def test_the_first_elements_have_programs() -> None:
    session = opened(REDUCED)
    firsts = {axis: reduced(session, axis) for axis in (1, 2, 0)}
    assert len(programs_of(session).programs) == MAX_ELEMENTS
    for axis in (0, 1, 2, 2, 1, 0, 0, 0, 1):
        np.testing.assert_array_equal(reduced(session, axis), firsts[axis])
    reduced(session, 1, x=X[:1])
    assert format_assumptions(programs_of(session).last_program.assumptions) == "axes == [1]"


def test_threads_share_the_programs() -> None:
    session = opened(REDUCED)
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: reduced(session, 1), range(40)))
    assert len(programs_of(session).programs) == 1
    for result in results:
        np.testing.assert_array_equal(result, results[0])


def test_fast_paths_compare_the_elements() -> None:
    session = opened("g (float[3,4,6] x, int64[1] axes) => (float[?,?,?] y) { y = ReduceSum(x, axes) }")
    for _ in range(8):
        session.run({"x": X, "axes": np.array([1])})
    before = session.stats.fast_path_runs
    assert before > 0
    for axis in (2, 1, 0, 1):
        y = session.run({"x": X, "axes": np.array([axis])})["y"]
        np.testing.assert_allclose(y, X.sum(axis, keepdims=True), 1e-6, 1e-6)
    axes = np.array([1])
    for axis in (1, 2, 0, 1):
        axes[0] = axis  # the same array, in place
        y = session.run({"x": X, "axes": axes})["y"]
        np.testing.assert_allclose(y, X.sum(axis, keepdims=True), 1e-6, 1e-6)


def test_elements_that_change_with_every_run_compile_little() -> None:
    session = opened("g (float[5,5] x, int64 k) => (float[5,5] y) { a = Trilu(x, k)  y = Neg(a) }")
    x, before = RNG.standard_normal((5, 5), np.float32), session.stats.compilations
    for k in range(-4, 5):
        y = session.run({"x": x, "k": np.array(k)})["y"]
        np.testing.assert_array_equal(y, -np.triu(x, k))
    assert session.stats.compilations == before + MAX_ELEMENTS
    assert not programs_of(session).watches_elements


def test_elements_that_are_refused_compile_little() -> None:
    session = opened(REDUCED)
    before = session.stats.compilations
    for axis in range(3, 12):
        with pytest.raises(sx.errors.EvaluationError, match="ReduceSum"):
            session.run({"x": X, "axes": np.array([axis])})
    assert session.stats.compilations <= before + MAX_ELEMENTS
    reduced(session, 1)


def test_data_are_no_parameters() -> None:
    session = opened("g (float[4] x, int64[2] s) => (float[] y) { a, i, j, c = Unique(x)  y = Neg(a) }")
    for _ in range(4):
        session.run({"x": np.ones(4, np.float32), "s": np.zeros(2, np.int64)})
    engine = session._runner
    assert isinstance(engine, NativeEngine)
    assert engine.native.program.parameters == ()


def test_parameters_may_be_computed() -> None:
    session = opened(
        """g (float[3,4,6] x, int32[1] p) => (float[] y) <int64[1] one = {1}> {
        q = Cast <to = 7>(p)  axes = Sub(q, one)  y = ReduceMean <keepdims = 0>(x, axes) }"""
    )
    for _ in range(4):
        y = session.run({"x": X, "p": np.array([2], np.int32)})["y"]
    np.testing.assert_allclose(y, X.mean(1), 1e-6, 1e-6)
    assert session.stats.fallback_nodes == 0


def test_what_elements_refuse_is_refused() -> None:
    session = opened("g (float[N,4] x, int64[2] s) => (float[?,?] y) { a = Reshape(x, s)  y = Sin(a) }")
    x = RNG.standard_normal((3, 4), np.float32)
    session.run({"x": x, "s": np.array([2, 6])})
    with pytest.raises(sx.errors.EvaluationError, match="Reshape"):
        session.run({"x": x[:2], "s": np.array([2, 6])})
    with pytest.raises(sx.errors.EvaluationError, match="Reshape"):
        session.run({"x": x, "s": np.array([2, 5])})


def test_a_later_process_has_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SARDONYX_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(file_stamps, "RACY_WINDOW", -(1 << 62))
    path = tmp_path / "model.onnx"
    sx.save(parse_model(REDUCED), path)
    first = sx.Session(path, engine="native", threads=1)
    y = reduced(first, 1)
    del first
    disk_cache.OPEN_PROGRAMS.clear()
    SHARED_PROGRAMS.clear()
    second = sx.Session(path, engine="native", threads=1)
    np.testing.assert_array_equal(reduced(second, 1), y)
    assert second.stats.fallback_nodes == 0 == second.stats.compilations


def test_assumptions_in_documents() -> None:
    elements = ElementsObserved.of("axes", np.array([[1], [-2]], np.int32))
    assumptions = (frozenset({RankObserved("a", 2)}), frozenset({elements}))
    document = encode_assumptions(assumptions)
    assert decode_assumptions(document) == assumptions
    damages: list[Json] = [
        ["float32", [2], "00"],
        ["O", [1], "00" * 8],
        ["int64", [1 << 40], ""],
        ["int64", [1], "0"],
    ]
    for damaged in damages:
        with pytest.raises((DecodeError, ValueError)):
            decode_assumptions([[["axes", damaged]]])
