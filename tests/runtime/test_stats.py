"""`Session.stats`: runs, failed guards, fallback nodes, and faults of the compiler are counted and logged."""

from __future__ import annotations

import dataclasses
import json
import logging
import threading
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model, parse_record
from sardonyx._src.cli.main import main
from sardonyx._src.compile.linker import features
from sardonyx._src.ops.api import RunLimits
from sardonyx._src.runtime.engine.engine import NativeEngine
from sardonyx._src.runtime.runs import native_program, profile
from sardonyx._src.runtime.saved_programs.disk_cache import CachedEngine
from sardonyx._src.runtime.session.session import Engine

F = np.float32
GATHER = "g (float[3] x, int64[M] i) => (float[M] y) { y = Gather(x, i) }"
SUM = "g (float[N] x) => (float[N] y) { y = Add(x, x) }"
# Slice clamps its end, so that y has min(N, 4) elements: the Add is valid if N is at most 4, or min(N, 4) is 1.
CLAMPED = """g (float[N] x) => (float[M] y) <int64[1] s = {0}, int64[1] e = {4}>
    { a = Slice(x, s, e)  y = Add(a, x) }"""
FALLBACK = "g (float[N] x) => (float[N] y, float[N] i) { y = Neg(x)  i = RandomNormalLike(y) }"
DEFAULT = "g (float[2] x, float[2] b) => (float[2] y) <float[2] b = {1, 2}> { y = Add(x, b) }"
BRANCHES = """g (float[N] x, bool[1,1] fed) => (float[M] y)
    { b = Squeeze(fed)  y = If (b) <then_branch = p () => (float[M] u) { u = Unique(x) }, else_branch = q () => (float[M] v) { v = Neg(x) }> }"""


def session(text: str, engine: Engine = "native", limits: RunLimits | None = None) -> sx.Session:
    return sx.Session(parse_record(text), engine=engine, threads=1, limits=limits)


def ones(count: int) -> dict[str, object]:
    return {"x": np.ones(count, F)}


def warnings_in(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [entry.getMessage() for entry in caplog.records if entry.levelno >= logging.WARNING]


def test_a_new_session_has_run_nothing() -> None:
    stats = session(SUM).stats
    assert stats == sx.SessionStats(
        runs=0,
        fast_path_runs=0,
        bailouts={},
        fallback_nodes=0,
        compiler_faults={},
        programs=1,
        compilations=1,
        compiled_kernels=1,
    )
    with pytest.raises(dataclasses.FrozenInstanceError):
        stats.runs = 1  # type: ignore[misc]


def test_runs_on_the_fast_path_are_counted() -> None:
    compiled = session(SUM)
    for _ in range(5):
        compiled.run(ones(3))
    compiled.run(ones(4))
    assert (compiled.stats.runs, compiled.stats.fast_path_runs) == (6, 4)


def test_runs_of_several_threads_are_counted() -> None:
    compiled = session(SUM)

    def run_often() -> None:
        for _ in range(200):
            compiled.run(ones(3))

    threads = [threading.Thread(target=run_often) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert compiled.stats.runs == 800
    assert 0 < compiled.stats.fast_path_runs < 800


def test_a_failed_guard_is_named_by_its_dims(caplog: pytest.LogCaptureFixture) -> None:
    compiled = session(CLAMPED)
    np.testing.assert_array_equal(compiled.run(ones(3))["y"], np.full(3, 2, F))
    assert compiled.stats.bailouts == {} and not warnings_in(caplog)
    with caplog.at_level(logging.DEBUG), pytest.raises(sx.EvaluationError):
        compiled.run(ones(6))
    (guard,) = compiled.stats.bailouts
    assert guard.endswith(" == 0") and "min(N,4)" in guard
    assert compiled.stats.bailouts[guard] == 1
    assert len(warnings_in(caplog)) == 1 and guard in warnings_in(caplog)[0]


def test_a_guard_is_a_warning_once_and_then_for_debugging(caplog: pytest.LogCaptureFixture) -> None:
    compiled = session(GATHER)
    with caplog.at_level(logging.DEBUG, logger="sardonyx"):
        for _ in range(3):
            with pytest.raises(sx.EvaluationError):
                compiled.run({"x": np.ones(3, F), "i": np.array([7])})
    assert compiled.stats.bailouts == {"index out of range": 3}
    assert len(warnings_in(caplog)) == 1
    assert sum("index out of range" in entry.getMessage() for entry in caplog.records) == 3


def test_the_memory_limit_is_a_guard() -> None:
    compiled = session(
        "g (float[N] x) => (float[N] y) { a = Softmax(x)  y = Softmax(a) }", limits=RunLimits(bytes=4000)
    )
    compiled.run(ones(10))
    compiled.run(ones(5000))
    assert compiled.stats.bailouts == {"memory limit": 1}


def test_an_overridden_initializer_is_a_guard() -> None:
    compiled = session(DEFAULT)
    compiled.run({"x": np.ones(2, F), "b": np.ones(2, F)})
    compiled.run({"x": np.ones(2, F)})
    assert compiled.stats.bailouts == {"overridden initializer": 1}
    assert compiled.stats.runs == 2


def test_fallback_nodes_are_counted_and_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "sardonyx")
    assert session(SUM).stats.fallback_nodes == 0
    assert not caplog.records
    compiled = session(FALLBACK)
    assert compiled.stats.fallback_nodes == 1
    for _ in range(3):
        compiled.run(ones(2))
    (record,) = caplog.records
    assert (record.levelname, record.name.split(".")[0]) == ("INFO", "sardonyx")
    assert "reference engine: 1 " in record.getMessage()


def test_the_reference_engine_counts_its_runs() -> None:
    interpreted = session(SUM, "reference")
    interpreted.run(ones(2))
    stats = interpreted.stats
    assert (stats.runs, stats.fast_path_runs, stats.fallback_nodes, stats.programs) == (1, 0, 0, 0)


def test_a_closed_session_keeps_its_statistics() -> None:
    compiled = session(SUM)
    compiled.run(ones(2))
    compiled.close()
    assert compiled.stats.runs == 1


@pytest.mark.skipif(features.saved_program_machine() is None, reason="programs are not saved here")
def test_cached_and_saved_programs_name_their_guards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SARDONYX_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("sardonyx._src.io.file_stamps.RACY_WINDOW", -(1 << 62))
    sx.save(parse_model(CLAMPED), tmp_path / "m.onnx")
    assert main(["compile", str(tmp_path / "m.onnx"), "-o", str(tmp_path / "m.sdx")]) == 0
    guards = []
    for path in (tmp_path / "m.onnx", tmp_path / "m.sdx"):
        compiled = sx.Session(path, threads=1)
        with pytest.raises(sx.EvaluationError):
            compiled.run(ones(6))
        guards.append([*compiled.stats.bailouts])
    cached = sx.Session(tmp_path / "m.onnx", threads=1)
    assert isinstance(cached._runner, CachedEngine)
    assert guards[0] == guards[1] and "==" in guards[0][0]


# --- faults of the compiler -----------------------------------------------------------------


@pytest.fixture
def broken_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(model: object, **options: object) -> None:
        raise AssertionError("the tile has 0 rows")

    monkeypatch.delenv("SARDONYX_FATAL_DEFECTS")
    monkeypatch.setattr("sardonyx._src.runtime.engine.engine.compile_for_host", fail)


@pytest.mark.usefixtures("broken_compiler")
def test_a_fault_of_the_compiler_leaves_the_reference_engine() -> None:
    with pytest.warns(sx.CompilerWarning, match="the tile has 0 rows.*please report it"):
        interpreted = session("g (float[N] x) => (float[N] y) { y = Sub(x, x) }", "auto")
    assert interpreted.engine == "reference"
    assert interpreted.stats.compiler_faults == {"compile: AssertionError: the tile has 0 rows": 1}
    np.testing.assert_array_equal(interpreted.run(ones(2))["y"], np.zeros(2, F))


@pytest.mark.usefixtures("broken_compiler")
def test_a_fault_of_the_compiler_is_a_typed_error_of_the_native_engine() -> None:
    with pytest.raises(sx.CompilationError, match="the tile has 0 rows"):
        session("g (float[N] x) => (float[N] y) { y = Mul(x, x) }", "native")


def test_a_fault_in_a_subgraph_leaves_it_interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SARDONYX_FATAL_DEFECTS")
    compiled = sx.Session(parse_record(BRANCHES), engine="auto", threads=1)
    assert compiled.stats.fallback_nodes == 1

    def fail(model: object, **options: object) -> None:
        raise AssertionError("no such register")

    monkeypatch.setattr(native_program, "compile_for_host", fail)
    with pytest.warns(sx.CompilerWarning, match="no such register"):
        np.testing.assert_array_equal(compiled.run({**ones(2), "fed": np.array([[True]])})["y"], [1])
    np.testing.assert_array_equal(compiled.run({**ones(2), "fed": np.array([[True]])})["y"], [1])
    assert list(compiled.stats.compiler_faults.values()) == [1]


# --- command line ---------------------------------------------------------------------------


def test_a_profile_shows_fallback_nodes_and_bailouts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(profile, "TIME_BUDGET", 0.0)
    monkeypatch.setattr(profile, "PEAK_ROUNDS", 2)
    sx.save(parse_model(FALLBACK), tmp_path / "m.onnx")
    assert main(["profile", str(tmp_path / "m.onnx"), "--dim", "N=4"]) == 0
    assert "1 fallback node; no bailouts" in capsys.readouterr().out
    assert main(["profile", str(tmp_path / "m.onnx"), "--dim", "N=4", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["fallback_nodes"], report["bailouts"]) == (1, {})


def test_a_profile_names_the_guard_that_its_feeds_fail() -> None:
    engine = NativeEngine(parse_model(GATHER), threads=1)
    with pytest.raises(sx.EvaluationError, match="must not fail a guard; got: index out of range"):
        profile.profile_program(engine.native, {"x": np.ones(3, F), "i": np.array([7])})
