"""Sessions of the native engine in processes: forks, pickles, interrupts, threads, and memory that is given back."""

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
from models import model, record
from sardonyx._src.errors import InputError, SardonyxError
from sardonyx._src.runtime.engine import NativeEngine

F = np.float32
TESTS = Path(__file__).parents[1]
CHAIN = "g (float[N,64] x) => (float[N,64] y) { a = Sin(x)  b = Softmax(a)  y = Mul(b, x) }"
HEAD = f"""
import os, signal, sys, threading, time, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # of a fork with threads, which is the subject
import numpy as np
import numpy.random  # now: a fork in the middle of an import leaves a lock that nobody opens
import sardonyx as sx
from models import record
from sardonyx._src.runtime.pool import PROCESS
def made(threads):
    return sx.Session(record({CHAIN!r}), engine="native", threads=threads)
def feeds(rows, seed=0):
    return {{"x": np.random.default_rng(seed).standard_normal((rows, 64), np.float32)}}
reference = sx.Session(record({CHAIN!r}), engine="reference")
def check(session, rows, seed=0):
    fed = feeds(rows, seed)
    assert np.allclose(session.run(fed)["y"], reference.run(fed)["y"], rtol=1e-4, atol=1e-6)
"""


def python(code: str) -> str:
    """What a fresh interpreter prints."""
    found = subprocess.run(
        [sys.executable, "-c", HEAD + code],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "PYTHONPATH": str(TESTS)},
    )
    assert found.returncode == 0, found.stderr
    return found.stdout.strip()


needs_forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")


@needs_forks
@pytest.mark.parametrize("threads", [1, 2])
def test_a_forked_child_runs_its_parents_session(threads: int) -> None:
    code = f"""
session = made({threads})
for _ in range(4):
    check(session, 3000)
children = []
for seed in range(4):
    child = os.fork()
    if child == 0:
        for turn in range(40):
            check(session, (3000, 2)[turn % 8 == 0], seed + turn)
        os._exit(0)
    children.append(child)
for turn in range(40):
    check(session, 3000, turn)
assert all(os.waitpid(child, 0)[1] == 0 for child in children)
print("end")
"""
    assert python(code) == "end"


@needs_forks
def test_a_fork_while_other_threads_run_leaves_both_sound() -> None:
    code = """
session, over = made(2), []
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
        check(made(1), 7)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
over.append(1)
for thread in threads:
    thread.join()
print("end")
"""
    assert python(code) == "end"


@pytest.mark.skipif(sys.platform == "win32", reason="signals come in another way")
def test_an_interrupt_comes_after_the_run_that_goes_on() -> None:
    code = """
session = made(1)
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
    assert python(code) == "end"


def test_a_session_of_one_thread_makes_no_workers() -> None:
    code = """
session = made(1)
for _ in range(4):
    check(session, 100_000)
print(PROCESS.workers is None)
"""
    assert python(code) == "True"


def test_threads_are_as_many_as_can_run_unless_said() -> None:
    from sardonyx._src.runtime.cpus import available
    from sardonyx._src.runtime.pool import HAS_THREADS

    found = sx.Session(record(CHAIN), engine="native")
    assert isinstance(found._runner, NativeEngine)
    assert found._runner.native.pool.threads == (available() if HAS_THREADS else 1)


@pytest.mark.parametrize("engine", ["native", "reference"])
def test_a_pickled_session_is_its_model(engine: sx.Engine) -> None:  # type: ignore[name-defined]
    found = sx.Session(record(CHAIN), engine=engine, threads=1)
    again = pickle.loads(pickle.dumps(found))
    fed = {"x": np.random.default_rng(1).standard_normal((3, 64), F)}
    assert again.engine == engine
    y, wanted = again.run(fed)["y"], found.run(fed)["y"]
    assert isinstance(y, np.ndarray)
    assert np.array_equal(y, wanted)  # type: ignore[arg-type]


def test_a_pickled_session_of_a_file_is_the_files_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = "w (float[4000] x) => (float[4000] y) { y = Mul(x, x) }"
    sx.save(model(weights), tmp_path / "m.onnx")
    monkeypatch.chdir(tmp_path)
    stored = pickle.dumps(sx.Session("m.onnx", engine="native", threads=1))
    monkeypatch.chdir("/")
    assert str(tmp_path).encode() in stored
    assert len(stored) < 2000
    x = np.arange(4000, dtype=F)
    assert np.array_equal(pickle.loads(stored).run({"x": x})["y"], x * x)


def test_memory_is_given_back_with_the_session() -> None:
    gc.collect()
    gc.disable()  # nothing waits for the collector
    try:
        found = sx.Session(record(CHAIN), engine="native", threads=1)
        for _ in range(3):
            found.run({"x": np.zeros((5, 64), F)})
        assert isinstance(found._runner, NativeEngine)
        native = found._runner.native
        held: list[weakref.ref[object]] = [weakref.ref(native), weakref.ref(native.idle[0])]
        del native
        found.close()
        assert [one() for one in held] == [None, None]
        with pytest.raises(SardonyxError, match="was closed"):
            found.run({"x": np.zeros((5, 64), F)})
    finally:
        gc.enable()


def test_a_session_closes_at_the_end_of_its_block() -> None:
    with sx.Session(record(CHAIN), engine="native", threads=1) as found:
        found.run({"x": np.zeros((5, 64), F)})
    with pytest.raises(SardonyxError, match="was closed"):
        found.run({"x": np.zeros((5, 64), F)})


def test_memory_is_planned() -> None:
    found = sx.Session(record(CHAIN), engine="native", threads=2)
    plan = found.plan({"N": 1000})
    assert plan.peak <= plan.arena
    assert sum(one.bytes for one in plan.held) == plan.peak
    assert all(one.first <= plan.at <= one.last for one in plan.held)
    assert plan.arena >= 2 * found.plan({"N": 500}).peak > 0
    assert json.loads(json.dumps(plan.as_json()))["peak"] == plan.peak
    assert "at the peak" in str(plan)


def test_a_plan_needs_the_lengths_of_the_inputs() -> None:
    found = sx.Session(record(CHAIN), engine="native")
    with pytest.raises(InputError, match="no length for dimension 'N'"):
        found.plan()
    with pytest.raises(InputError, match="no dimension 'M'; it has 'N'"):
        found.plan({"M": 2})
    with pytest.raises(InputError, match="is -1"):
        found.plan({"N": -1})
    with pytest.raises(SardonyxError, match="native engine"):
        sx.Session(record(CHAIN), engine="reference").plan({"N": 2})


def test_a_saved_session_needs_no_file() -> None:
    content = io.BytesIO()
    sx.save(model(CHAIN), content)
    found = pickle.loads(pickle.dumps(sx.Session(content.getvalue(), engine="native")))
    assert found.run({"x": np.zeros((1, 64), F)})["y"].shape == (1, 64)


def stored(path: Path, factor: int, *, external: bool = False) -> Path:
    """A file of a model that multiplies by a number."""
    text = f"g (float[N,2] x) => (float[N,2] y) <float[2,2] w = {{{factor}, 0, 0, {factor}}}> {{ y = MatMul(x, w) }}"
    sx.save(model(text), path, external=external or None, threshold=1)
    return path


def program(of: sx.Session) -> object:
    assert isinstance(of._runner, NativeEngine)
    return of._runner.native.program


def product(of: sx.Session) -> float:
    y = of.run({"x": np.ones((1, 2), F)})["y"]
    assert isinstance(y, np.ndarray)
    return float(y[0, 0])


def test_sessions_of_an_unchanged_file_share_a_program(tmp_path: Path) -> None:
    path = stored(tmp_path / "m.onnx", 2)
    first, second = (sx.Session(path, engine="native", threads=n) for n in (1, 2))
    assert program(first) is program(second)
    assert (product(first), product(second)) == (2, 2)
    first.close()
    assert product(second) == 2


def test_a_file_that_has_changed_is_another_program(tmp_path: Path) -> None:
    first = sx.Session(stored(tmp_path / "m.onnx", 2), engine="native", threads=1)
    second = sx.Session(stored(tmp_path / "m.onnx", 3), engine="native", threads=1)
    assert (product(first), product(second)) == (2, 3)
    assert program(first) is not program(second)


def test_models_with_data_in_other_files_share_a_program_while_these_hold_the_same(tmp_path: Path) -> None:
    path = stored(tmp_path / "m.onnx", 2, external=True)
    first, second = (sx.Session(path, engine="native", threads=1) for _ in range(2))
    assert program(first) is program(second)
    assert product(second) == 2
    data = next(one for one in tmp_path.iterdir() if one != path)
    (tmp_path / "other").mkdir()
    stored(tmp_path / "other" / "m.onnx", 3, external=True)
    (tmp_path / "other" / data.name).replace(data)
    third = sx.Session(path, engine="native", threads=1)
    assert program(third) is not program(first)
    assert product(third) == 3


def test_a_model_that_was_changed_in_memory_is_compiled_anew() -> None:
    one = model(CHAIN)
    first = sx.Session(one, engine="native", threads=1)
    next(node for node in one.graph.nodes if node.op_type == "Sin").op_type = "Cos"
    second = sx.Session(one, engine="native", threads=1)
    fed = {"x": np.ones((1, 64), F) * np.arange(64, dtype=F)}
    assert not np.allclose(first.run(fed)["y"], second.run(fed)["y"])  # type: ignore[arg-type]


def test_weights_are_kept_once() -> None:
    text = (
        "g (float[N,2] x) => (float[N,2] y, float[2,2] w) <float[2,2] w = {1, 2, 3, 4}> { y = MatMul(x, w) }"
    )
    source = model(text)
    found = sx.Session(source, engine="native", threads=1)
    assert isinstance(found._runner, NativeEngine)
    fed = {"x": np.eye(2, dtype=F)}
    for _ in range(3):
        results = found.run(fed)
        assert np.array_equal(results["y"], results["w"])  # type: ignore[arg-type]
    plain = sx.Session(model(text.replace(", float[2,2] w)", ")", 1)), engine="native", threads=1)
    assert isinstance(plain._runner, NativeEngine)
    assert not plain._runner.native.program.model.graph.initializers
    assert list(source.graph.initializers) == ["w"]
    assert [node.op_type for node, _ in plain.trace(fed)] == ["MatMul"]
