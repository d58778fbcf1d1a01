"""Programs for the elements of fed parameters: native at the second equal run, guarded, few, stored, and given up where they vary."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.compile.program.assumptions import ElementsObserved, RankObserved, format_assumptions
from sardonyx._src.errors import DecodeError
from sardonyx._src.io import file_stamps
from sardonyx._src.ir.tensors import Array
from sardonyx._src.runtime.engine import NativeEngine
from sardonyx._src.runtime.parameter_watch import MAX_ATTEMPTS
from sardonyx._src.runtime.saved_programs import disk_cache
from sardonyx._src.runtime.saved_programs.container import Json
from sardonyx._src.runtime.saved_programs.encoded_assumptions import decode_assumptions, encode_assumptions
from sardonyx._src.runtime.shared_programs import SHARED_PROGRAMS
from sardonyx._src.runtime.specialization import SpecializedPrograms

RNG = np.random.default_rng(11)
REDUCED = (
    "g (float[N,4,6] x, int64[K] axes) => (float[] y) { a = ReduceMax <keepdims = 0>(x, axes)  y = Neg(a) }"
)
X = RNG.standard_normal((3, 4, 6), np.float32)


def opened(text: str) -> sx.Session:
    return sx.Session(parse_model(text), engine="native", threads=1)


def programs_of(session: sx.Session) -> SpecializedPrograms:
    assert isinstance(session._runner, NativeEngine)
    assert session._runner.specialized is not None
    return session._runner.specialized


def reduced(session: sx.Session, *axes: int, x: Array = X) -> None:
    """Runs REDUCED and compares with NumPy."""
    y = session.run({"x": x, "axes": np.array(axes, np.int64)})["y"]
    np.testing.assert_array_equal(y, -x.max(axis=axes))


def test_the_second_equal_run_is_native_for_ranks_and_the_third_for_elements() -> None:
    session = opened(REDUCED)
    for _ in range(3):
        reduced(session, 1)
    program = programs_of(session).last_program
    assert format_assumptions(program.assumptions) == "rank of a == 2, axes == [1]"
    assert program.native.fallback_nodes == 0
    assert session.stats.fallback_nodes == 0


def test_other_elements_go_to_the_program_for_their_rank() -> None:
    session = opened(REDUCED)
    for _ in range(3):
        reduced(session, 1)
    for axes in ((2,), (0,), (1,), (0, 2), (2,)):
        reduced(session, *axes)
    reduced(session, 1, x=X[:1])
    assert format_assumptions(programs_of(session).last_program.assumptions) == "rank of a == 2, axes == [1]"


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


def test_elements_that_change_with_every_run_compile_nothing() -> None:
    session = opened("g (float[N] x, int64[1] k) => (float[M] y, int64[M] i) { y, i = TopK(x, k) }")
    x = RNG.standard_normal(40).astype(np.float32)
    before = session.stats.compilations
    for k in range(1, 30):
        y = session.run({"x": x, "k": np.array([k])})["y"]
        np.testing.assert_array_equal(y, -np.sort(-x)[:k])
    assert session.stats.compilations == before
    assert programs_of(session).watch.is_over(())


def test_programs_for_elements_are_few() -> None:
    session = opened("g (float[5,5] x, int64 k) => (float[5,5] y) { a = Trilu(x, k)  y = Neg(a) }")
    x = RNG.standard_normal((5, 5), np.float32)
    for k in range(-4, 5):
        for _ in range(3):
            y = session.run({"x": x, "k": np.array(k)})["y"]
            np.testing.assert_array_equal(y, -np.triu(x, k))
    assert session.stats.compilations <= 1 + MAX_ATTEMPTS


def test_data_are_no_parameters() -> None:
    session = opened("g (float[4] x, int64[2] s) => (float[] y) { a, i, j, c = Unique(x)  y = Neg(a) }")
    for _ in range(4):
        session.run({"x": np.ones(4, np.float32), "s": np.zeros(2, np.int64)})
    engine = session._runner
    assert isinstance(engine, NativeEngine)
    assert engine.native.program.parameters == ()


def test_parameters_may_be_computed() -> None:
    session = opened(
        """g (float[3,4,6] x, int32[K] p) => (float[] y) <int64[1] one = {1}> {
        q = Cast <to = 7>(p)  axes = Sub(q, one)  y = ReduceMean <keepdims = 0>(x, axes) }"""
    )
    for _ in range(4):
        y = session.run({"x": X, "p": np.array([2], np.int32)})["y"]
    np.testing.assert_allclose(y, X.mean(1), 1e-6, 1e-6)
    assert session.stats.fallback_nodes == 0


def test_what_elements_refuse_is_refused() -> None:
    session = opened("g (float[N,4] x, int64[2] s) => (float[?,?] y) { a = Reshape(x, s)  y = Sin(a) }")
    x = RNG.standard_normal((3, 4), np.float32)
    for _ in range(4):
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
    for _ in range(3):
        reduced(first, 1)
    del first
    disk_cache.OPEN_PROGRAMS.clear()
    SHARED_PROGRAMS.clear()
    second = sx.Session(path, engine="native", threads=1)
    reduced(second, 1)
    assert second.stats.fallback_nodes == 0


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
