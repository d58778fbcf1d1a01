"""Native sessions and processes: forks, pickles, interrupts, threads, shared programs and released memory."""

from __future__ import annotations

import gc
import io
import json
import os
import pickle
import subprocess
import sys
import weakref
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model, parse_record
from sardonyx._src.errors import InputError, SardonyxError
from sardonyx._src.runtime.engine.engine import NativeEngine

F = np.float32
TESTS = Path(__file__).parents[1]
CHAIN = "g (float[N,64] x) => (float[N,64] y) { a = Sin(x)  b = Softmax(a)  y = Mul(b, x) }"
HEAD = f"""
import os, signal, sys, threading, time, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # of a fork with threads, which is the subject
import numpy as np
import numpy.random  # now: a fork in the middle of an import leaves the import lock held in the child
import sardonyx as sx
from models import parse_record
from sardonyx._src.runtime.limits.thread_pool import PROCESS
def make_session(threads):
    return sx.Session(parse_record({CHAIN!r}), engine="native", threads=threads)
def feeds(rows, seed=0):
    return {{"x": np.random.default_rng(seed).standard_normal((rows, 64), np.float32)}}
reference = sx.Session(parse_record({CHAIN!r}), engine="reference")
def check(session, rows, seed=0):
    fed = feeds(rows, seed)
    assert np.allclose(session.run(fed)["y"], reference.run(fed)["y"], rtol=1e-4, atol=1e-6)
"""


def run_python(code: str) -> str:
    """The output of a fresh interpreter."""
    process = subprocess.run(
        [sys.executable, "-c", HEAD + code],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "PYTHONPATH": str(TESTS)},
    )
    assert process.returncode == 0, process.stderr
    return process.stdout.strip()


needs_forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform has no fork")


@needs_forks
@pytest.mark.parametrize("threads", [1, 2])
def test_a_forked_child_runs_its_parents_session(threads: int) -> None:
    code = f"""
session = make_session({threads})
for _ in range(4):
    check(session, 3000)
children = []
for seed in range(4):
    child = os.fork()
    if child == 0:
        for i in range(40):
            check(session, (3000, 2)[i % 8 == 0], seed + i)
        os._exit(0)
    children.append(child)
for i in range(40):
    check(session, 3000, i)
assert all(os.waitpid(child, 0)[1] == 0 for child in children)
print("end")
"""
    assert run_python(code) == "end"


@needs_forks
def test_a_fork_while_other_threads_run_leaves_both_sound() -> None:
    code = """
session, over = make_session(2), []
def go_on():
    while not over:
        check(session, 500)
threads = [threading.Thread(target=go_on) for _ in range(2)]
for thread in threads:
    thread.start()
for _ in range(8):
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        check(session, 500)
        check(make_session(1), 7)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
over.append(1)
for thread in threads:
    thread.join()
print("end")
"""
    assert run_python(code) == "end"


@pytest.mark.skipif(sys.platform == "win32", reason="signals work differently")
def test_an_interrupted_session_still_runs() -> None:
    code = """
session = make_session(1)
fed = feeds(30_000)
for _ in range(3):
    session.run(fed)
threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
start = time.perf_counter()
try:
    while time.perf_counter() - start < 60:
        session.run(fed)
except KeyboardInterrupt:
    check(session, 30_000)
    check(session, 3)
    print("end")
"""
    assert run_python(code) == "end"


def test_a_session_of_one_thread_starts_no_workers() -> None:
    code = """
session = make_session(1)
for _ in range(4):
    check(session, 100_000)
print(PROCESS.workers is None)
"""
    assert run_python(code) == "True"


def test_the_default_number_of_threads_is_the_number_of_available_cpus() -> None:
    from sardonyx._src.runtime.limits.cpus import available_cpus
    from sardonyx._src.runtime.limits.thread_pool import HAS_THREADS

    session = sx.Session(parse_record(CHAIN), engine="native")
    assert isinstance(session._runner, NativeEngine)
    assert session._runner.native.pool.threads == (available_cpus() if HAS_THREADS else 1)


@pytest.mark.parametrize("engine", ["native", "reference"])
def test_a_pickled_session_is_its_model(engine: sx.Engine) -> None:  # type: ignore[name-defined]
    session = sx.Session(parse_record(CHAIN), engine=engine, threads=1)
    restored = pickle.loads(pickle.dumps(session))
    fed = {"x": np.random.default_rng(1).standard_normal((3, 64), F)}
    assert restored.engine == engine
    y, expected = restored.run(fed)["y"], session.run(fed)["y"]
    assert isinstance(y, np.ndarray)
    assert np.array_equal(y, expected)


def test_a_pickled_session_of_a_file_is_the_files_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = "w (float[4000] x) => (float[4000] y) { y = Mul(x, x) }"
    sx.save(parse_model(weights), tmp_path / "m.onnx")
    monkeypatch.chdir(tmp_path)
    pickled = pickle.dumps(sx.Session("m.onnx", engine="native", threads=1))
    monkeypatch.chdir("/")
    assert str(tmp_path).encode() in pickled
    assert len(pickled) < 2000
    x = np.arange(4000, dtype=F)
    assert np.array_equal(pickle.loads(pickled).run({"x": x})["y"], x * x)


def test_a_closed_session_releases_its_memory() -> None:
    gc.collect()
    gc.disable()  # nothing waits for the collector
    try:
        session = sx.Session(parse_record(CHAIN), engine="native", threads=1)
        for _ in range(3):
            session.run({"x": np.zeros((5, 64), F)})
        assert isinstance(session._runner, NativeEngine)
        native = session._runner.native
        held: list[weakref.ref[object]] = [weakref.ref(native), weakref.ref(native.idle_contexts[0])]
        del native
        session.close()
        assert [reference() for reference in held] == [None, None]
        with pytest.raises(SardonyxError, match="was closed"):
            session.run({"x": np.zeros((5, 64), F)})
    finally:
        gc.enable()


def test_a_session_closes_at_the_end_of_its_block() -> None:
    with sx.Session(parse_record(CHAIN), engine="native", threads=1) as session:
        session.run({"x": np.zeros((5, 64), F)})
    with pytest.raises(SardonyxError, match="was closed"):
        session.run({"x": np.zeros((5, 64), F)})


def test_the_memory_report_is_consistent() -> None:
    session = sx.Session(parse_record(CHAIN), engine="native", threads=2)
    plan = session.plan({"N": 1000})
    assert plan.peak <= plan.arena
    assert sum(memory.bytes for memory in plan.held) == plan.peak
    assert all(memory.first <= plan.peak_step <= memory.last for memory in plan.held)
    assert plan.arena >= 2 * session.plan({"N": 500}).peak > 0
    assert json.loads(json.dumps(plan.as_json()))["peak"] == plan.peak
    assert "at the peak" in str(plan)


def test_a_memory_report_needs_the_dims_of_the_inputs() -> None:
    session = sx.Session(parse_record(CHAIN), engine="native")
    with pytest.raises(InputError, match=r"got none for 'N': pass .* session\.plan\(\{'N': 1\}\)"):
        session.plan()
    text = "g (float[N,?] x, float[M] y) => (float[N,?] z) { n = ReduceSum<keepdims = 0>(y)  z = Add(x, n) }"
    several = sx.Session(parse_model(text), engine="native")
    with pytest.raises(InputError, match=r"none for 'x\.1', 'M': .*\.plan\(\{'N': 3, 'x\.1': 1, 'M': 1\}\)"):
        several.plan({"N": 3})
    assert several.plan({"N": 3, "x.1": 1, "M": 1}).peak >= 0
    with pytest.raises(InputError, match="no dimension 'M'; it has 'N'"):
        session.plan({"M": 2})
    with pytest.raises(InputError, match="must be at least 0; got -1"):
        session.plan({"N": -1})
    with pytest.raises(SardonyxError, match="native engine"):
        sx.Session(parse_record(CHAIN), engine="reference").plan({"N": 2})


def test_a_saved_session_needs_no_file() -> None:
    content = io.BytesIO()
    sx.save(parse_model(CHAIN), content)
    session = pickle.loads(pickle.dumps(sx.Session(content.getvalue(), engine="native")))
    assert session.run({"x": np.zeros((1, 64), F)})["y"].shape == (1, 64)


def save_model(path: Path, factor: int, *, external: bool = False) -> Path:
    """Saves a model that multiplies by `factor`; returns its path."""
    text = f"g (float[N,2] x) => (float[N,2] y) <float[2,2] w = {{{factor}, 0, 0, {factor}}}> {{ y = MatMul(x, w) }}"
    sx.save(parse_model(text), path, external=external or None, threshold=1)
    return path


def shared_program(of: sx.Session) -> object:
    assert isinstance(of._runner, NativeEngine)
    return of._runner.native.program


def product(of: sx.Session) -> float:
    y = of.run({"x": np.ones((1, 2), F)})["y"]
    assert isinstance(y, np.ndarray)
    return float(y[0, 0])


def test_sessions_of_an_unchanged_file_share_a_program(tmp_path: Path) -> None:
    path = save_model(tmp_path / "m.onnx", 2)
    first, second = (sx.Session(path, engine="native", threads=n) for n in (1, 2))
    assert shared_program(first) is shared_program(second)
    assert (product(first), product(second)) == (2, 2)
    first.close()
    assert product(second) == 2


def test_a_changed_file_is_another_program(tmp_path: Path) -> None:
    first = sx.Session(save_model(tmp_path / "m.onnx", 2), engine="native", threads=1)
    second = sx.Session(save_model(tmp_path / "m.onnx", 3), engine="native", threads=1)
    assert (product(first), product(second)) == (2, 3)
    assert shared_program(first) is not shared_program(second)


def test_models_share_a_program_while_their_external_data_are_equal(tmp_path: Path) -> None:
    path = save_model(tmp_path / "m.onnx", 2, external=True)
    first, second = (sx.Session(path, engine="native", threads=1) for _ in range(2))
    assert shared_program(first) is shared_program(second)
    assert product(second) == 2
    data = next(file for file in tmp_path.iterdir() if file != path)
    (tmp_path / "other").mkdir()
    save_model(tmp_path / "other" / "m.onnx", 3, external=True)
    (tmp_path / "other" / data.name).replace(data)
    third = sx.Session(path, engine="native", threads=1)
    assert shared_program(third) is not shared_program(first)
    assert product(third) == 3


def test_a_model_changed_in_memory_is_recompiled() -> None:
    model = parse_model(CHAIN)
    first = sx.Session(model, engine="native", threads=1)
    next(node for node in model.graph.nodes if node.op_type == "Sin").op_type = "Cos"
    second = sx.Session(model, engine="native", threads=1)
    fed = {"x": np.ones((1, 64), F) * np.arange(64, dtype=F)}
    assert not np.allclose(first.run(fed)["y"], second.run(fed)["y"])


def test_weights_are_stored_once() -> None:
    text = (
        "g (float[N,2] x) => (float[N,2] y, float[2,2] w) <float[2,2] w = {1, 2, 3, 4}> { y = MatMul(x, w) }"
    )
    source = parse_model(text)
    session = sx.Session(source, engine="native", threads=1)
    assert isinstance(session._runner, NativeEngine)
    fed = {"x": np.eye(2, dtype=F)}
    for _ in range(3):
        results = session.run(fed)
        assert np.array_equal(results["y"], results["w"])
    plain = sx.Session(parse_model(text.replace(", float[2,2] w)", ")", 1)), engine="native", threads=1)
    assert isinstance(plain._runner, NativeEngine)
    assert not plain._runner.native.program.model.graph.initializers
    assert list(source.graph.initializers) == ["w"]
    assert [node.op_type for node, _ in plain.trace(fed)] == ["MatMul"]
