"""Specialization: programs for the branches and ranks of runs are native at the second run, guarded, few, and shared."""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.compile.program.steps.assumptions import BranchTaken, RankObserved, format_assumptions
from sardonyx._src.io import file_stamps
from sardonyx._src.ir import Array, Model
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.runtime.engine.engine import NativeEngine
from sardonyx._src.runtime.specialization.programs import SpecializedPrograms
from sardonyx._src.runtime.specialization.shared import MAX_PROGRAMS

RNG = np.random.default_rng(5)
TRUE, FALSE = np.array(True), np.array(False)


def branching(name: str, source: str, condition: str) -> str:
    """An If whose branches differ in rank."""
    return f"""{name} = If <
      then_branch = t{name} () => (float[?] p{name}) {{ p{name} = ReduceSum <keepdims = 0>({source}, last) }},
      else_branch = e{name} () => (float[?,?] q{name}) {{ q{name} = Neg({source}) }}>({condition})"""


ONE_IF = f"""g (float[N,4] x, bool c) => (float[] y) <int64[1] last = {{-1}}> {{
  a = Sin(x)  {branching("b", "a", "c")}  d = Mul(b, b)  y = Sigmoid(d) }}"""
NESTED = f"""g (float[N,4] x, bool c, bool d) => (float[] y) <int64[1] last = {{-1}}> {{
  b = If <then_branch = t () => (float[?] p) {{ p = ReduceSum <keepdims = 0>(x, last) }},
          else_branch = e () => (float[] q) {{ r = Sin(x) {branching("s", "r", "d")}  q = Relu(s) }}>(c)
  y = Sigmoid(b) }}"""
THREE_IFS = f"""g (float[N,4] x, bool a, bool b, bool c) => (float[] y, float[] z, float[] w) <int64[1] last = {{-1}}> {{
  {branching("i", "x", "a")}  {branching("j", "x", "b")}  {branching("k", "x", "c")}
  y = Sin(i)  z = Sin(j)  w = Sin(k) }}"""
RESHAPED = (
    "g (float[N] x, int64[K] s) => (float[] y) { a = Reshape(x, s)  b = Sin(a)  c = Mul(b, b)  y = Neg(c) }"
)


def opened(text: str) -> sx.Session:
    return sx.Session(parse_model(text), engine="native", threads=1)


def programs_of(session: sx.Session) -> SpecializedPrograms:
    assert isinstance(session._runner, NativeEngine)
    assert session._runner.specialized is not None
    return session._runner.specialized


def expected(text: str, feeds: Mapping[str, Array]) -> dict[str, RuntimeValue]:
    return sx.Session(parse_model(text), engine="reference").run(feeds)


def assert_equal(actual: Mapping[str, RuntimeValue], answers: Mapping[str, RuntimeValue]) -> None:
    assert actual.keys() == answers.keys()
    for name, array in answers.items():
        np.testing.assert_allclose(np.asarray(actual[name]), np.asarray(array), 1e-5, 1e-6, err_msg=name)


def floats(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("condition", [TRUE, FALSE])
def test_the_second_run_is_native(condition: Array) -> None:
    session, feeds = opened(ONE_IF), {"x": floats(5, 4), "c": condition}
    assert_equal(session.run(feeds), expected(ONE_IF, feeds))
    assert session.stats.specializations == 0
    assert session.stats.fallback_nodes == 3
    for _ in range(5):
        assert_equal(session.run(feeds), expected(ONE_IF, feeds))
    stats = session.stats
    assert (stats.specializations, stats.fallback_nodes, dict(stats.bailouts)) == (1, 0, {})
    assert stats.fast_path_runs == 3
    assert stats.runs == 6


def test_a_program_serves_all_sizes_of_its_ranks() -> None:
    session = opened(ONE_IF)
    for n in (3, 3, 8, 0, 1, 500):
        feeds = {"x": floats(n, 4), "c": FALSE}
        assert_equal(session.run(feeds), expected(ONE_IF, feeds))
    assert session.stats.specializations == 1
    assert programs_of(session).shared.compiled == 1


def test_ranks_that_change_between_runs() -> None:
    session = opened(ONE_IF)
    for condition in (TRUE, FALSE) * 6:
        feeds = {"x": floats(5, 4), "c": condition}
        assert_equal(session.run(feeds), expected(ONE_IF, feeds))
    stats = session.stats
    assert stats.specializations == 2
    assert stats.bailouts.keys() == {"b takes then_branch", "b takes else_branch"}
    assert stats.runs == 12


def test_branches_inside_a_branch_are_specialized_at_once() -> None:
    session, feeds = opened(NESTED), {"x": floats(5, 4), "c": FALSE, "d": TRUE}
    for _ in range(3):
        assert_equal(session.run(feeds), expected(NESTED, feeds))
    assert session.stats.fallback_nodes == 0
    (program,) = programs_of(session).programs
    assert len(program.assumptions) == 2
    for c, d in itertools.product((TRUE, FALSE), repeat=2):
        feeds = {"x": floats(5, 4), "c": c, "d": d}
        assert_equal(session.run(feeds), expected(NESTED, feeds))


def test_observed_ranks_are_guards() -> None:
    session = opened(RESHAPED)
    for shape in ([6, 4], [2, 12], [2, 3, 4], [4, 3, 2], [24], [6, 4], [2, 3, 4]):
        feeds = {"x": floats(24), "s": np.array(shape, np.int64)}
        assert_equal(session.run(feeds), expected(RESHAPED, feeds))
    stats = session.stats
    assert stats.specializations == 3
    assert "rank of a == 2" in stats.bailouts
    assert stats.fallback_nodes == 1


def test_programs_are_few_and_compiled_ever_more_rarely() -> None:
    session = opened(THREE_IFS)
    cases = [dict(zip("abc", flags, strict=True)) for flags in itertools.product((TRUE, FALSE), repeat=3)]
    answers = [expected(THREE_IFS, {"x": np.ones((2, 4), np.float32), **case}) for case in cases]
    for index in RNG.integers(0, len(cases), 60):
        outputs = session.run({"x": np.ones((2, 4), np.float32), **cases[index]})
        assert_equal(outputs, answers[index])
        assert session.stats.specializations <= MAX_PROGRAMS
    shared = programs_of(session).shared
    assert len(shared.programs) == MAX_PROGRAMS
    assert shared.compiled <= MAX_PROGRAMS + 5  # 1, 2, 4, 8 and 16 runs without a program


def test_sessions_share_programs() -> None:
    feeds = {"x": floats(5, 4), "c": TRUE}
    first, second = opened(ONE_IF), opened(ONE_IF)
    for _ in range(2):
        first.run(feeds)
    assert_equal(second.run(feeds), expected(ONE_IF, feeds))
    assert (second.stats.specializations, second.stats.fallback_nodes) == (1, 0)
    assert programs_of(first).shared is programs_of(second).shared
    assert programs_of(first).shared.compiled == 1


def test_threads_run_different_ranks() -> None:
    session = opened(ONE_IF)
    cases = [{"x": floats(n, 4), "c": c} for n in (2, 3) for c in (TRUE, FALSE)]
    answers = [expected(ONE_IF, feeds) for feeds in cases]

    def run(index: int) -> None:
        for _ in range(25):
            assert_equal(session.run(cases[index]), answers[index])

    with ThreadPoolExecutor(len(cases)) as pool:
        list(pool.map(run, range(len(cases))))
    for index in range(
        len(cases)
    ):  # a thread that finds another one compiling goes on, maybe to its last run
        run(index)
    assert session.stats.specializations == 2


FAILING = """g (float[N] x, int64 i, bool c) => (float[] y) <float[1] one = {1.0}> {
  b = If <then_branch = t () => (float p) { p = Gather(x, i) }, else_branch = e () => (float[1] q) { q = Neg(one) }>(c)
  y = Mul(b, b) }"""


def test_a_branch_that_is_not_taken_raises_nothing() -> None:
    session = opened(FAILING)
    for condition, index in ((TRUE, 1), (TRUE, 1), (FALSE, 99), (FALSE, 99), (TRUE, 2)):
        feeds = {"x": floats(3), "i": np.array(index), "c": condition}
        assert_equal(session.run(feeds), expected(FAILING, feeds))
    with pytest.raises(sx.EvaluationError):
        session.run({"x": floats(3), "i": np.array(7), "c": TRUE})


def test_a_fault_of_the_compiler_leaves_the_general_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SARDONYX_FATAL_DEFECTS")
    text = ONE_IF.replace("Sigmoid", "Tanh")
    session = sx.Session(parse_model(text), threads=1)
    feeds = {"x": floats(5, 4), "c": TRUE}
    session.run(feeds)

    def fail(model: object, **options: object) -> None:
        raise AssertionError("no such register")

    monkeypatch.setattr("sardonyx._src.runtime.engine.engine.compile_for_host", fail)
    with pytest.warns(sx.CompilerWarning, match="no such register"):
        assert_equal(session.run(feeds), expected(text, feeds))
    for _ in range(3):
        assert_equal(session.run(feeds), expected(text, feeds))
    assert session.stats.specializations == 0
    assert list(session.stats.compiler_faults.values()) == [1]


def test_models_without_unknown_ranks_have_no_further_programs() -> None:
    session = opened("g (float[N] x) => (float[N] y) { y = Sin(x) }")
    assert isinstance(session._runner, NativeEngine)
    assert session._runner.specialized is None
    assert session._try_run == session._runner.native.try_run


def test_cached_programs_are_specialized(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_stamps, "RACY_WINDOW", -(1 << 62))
    monkeypatch.setenv("SARDONYX_CACHE", str(tmp_path / "cache"))
    model: Model = parse_model(RESHAPED)
    sx.save(model, tmp_path / "m.onnx")
    sx.Session(tmp_path / "m.onnx")
    session = sx.Session(tmp_path / "m.onnx")
    for shape in ([6, 4], [2, 12], [2, 3, 4], [3, 8], [4, 3, 2]):
        feeds = {"x": floats(24), "s": np.array(shape, np.int64)}
        assert_equal(session.run(feeds), expected(RESHAPED, feeds))
    assert type(session._runner).__name__ == "CachedEngine"
    assert session.stats.specializations == 2


def test_assumptions_are_printed() -> None:
    rounds = (
        frozenset({BranchTaken("b", is_then=True)}),
        frozenset({RankObserved("v", 3), RankObserved("u", 1)}),
    )
    assert format_assumptions(rounds) == "b takes then_branch, rank of u == 1, rank of v == 3"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform has no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of a fork with threads
def test_a_forked_child_has_locks_of_its_own() -> None:
    session = opened(ONE_IF)
    programs = programs_of(session)
    locks = [programs.lock, programs.shared.lock, programs.shared.compiling]
    for lock in locks:
        lock.acquire()  # as another thread may have them at the time of the fork
    child = os.fork()
    if child == 0:
        renewed = [programs.lock, programs.shared.lock, programs.shared.compiling]
        os._exit(any(lock.locked() for lock in renewed))
    for lock in locks:
        lock.release()
    assert os.waitpid(child, 0)[1] == 0
