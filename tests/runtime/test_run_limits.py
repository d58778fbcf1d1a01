"""Timeouts, cancellation, and limits on the memory of whole runs, on both engines."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model, parse_record
from sardonyx._src.cli.main import main
from sardonyx._src.interp.run_memory import RunMemory
from sardonyx._src.ir import Array
from sardonyx._src.proto import messages as m
from sardonyx._src.runtime.engine import engine as engine_module
from sardonyx._src.runtime.fast_path.fast_path import FastPath
from sardonyx._src.runtime.fast_path.sized_path import SizedPath
from sardonyx._src.runtime.session.session import Engine

ENGINES: tuple[Engine, ...] = ("reference", "native")
ENDLESS = sx.RunLimits(iterations=1 << 62, nodes=1 << 62)
LOOP = """g (float[N] x, int64 m) => (float[N] y) {
  y = Loop <body = each (int64 i, bool on, float[N] s) => (bool goes, float[N] t) { goes = Identity(on)  t = Max(s, x) }> (m, , x)
}"""
LONG = {"x": np.ones(3, np.float32), "m": np.array(1 << 60)}
SHORT = {"x": np.ones(3, np.float32), "m": np.array(2)}


def run_y(session: sx.Session, feeds: Mapping[str, Array]) -> Array:
    """The output y."""
    y = session.run(feeds)["y"]
    assert isinstance(y, np.ndarray)
    return y


def open_loop(engine: Engine, limits: sx.RunLimits = ENDLESS) -> sx.Session:
    return sx.Session(parse_model(LOOP), engine=engine, limits=limits)


def assert_runs(session: sx.Session) -> None:
    np.testing.assert_array_equal(session.run(SHORT)["y"], SHORT["x"])


@contextmanager
def cancelled_later(session: sx.Session) -> Iterator[None]:
    """Cancels the session's runs soon after the block begins, until it ends."""
    ended = threading.Event()

    def cancel() -> None:
        while not ended.wait(0.05):
            session.cancel()

    thread = threading.Thread(target=cancel)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


# --- time --------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("runs_before", [0, 4])  # of the same sizes: enough for the fast path
def test_a_run_ends_at_its_timeout_and_the_session_goes_on(engine: Engine, runs_before: int) -> None:
    session = open_loop(engine)
    for _ in range(runs_before):
        assert_runs(session)
    with pytest.raises(sx.LimitError, match=r"at most 0\.05 s") as raised:
        session.run(LONG, timeout=0.05)
    assert raised.value.limit == "timeout"
    assert_runs(session)
    np.testing.assert_array_equal(session.run(SHORT, timeout=60)["y"], SHORT["x"])


@pytest.mark.parametrize("engine", ENGINES)
def test_a_run_ends_after_the_seconds_of_the_sessions_limits(engine: Engine) -> None:
    session = open_loop(engine, sx.RunLimits(iterations=1 << 62, nodes=1 << 62, seconds=0.05))
    for timeout in (None, 60):
        with pytest.raises(sx.LimitError) as raised:
            session.run(LONG, timeout=timeout)
        assert raised.value.limit == "limits.seconds"
    with pytest.raises(sx.LimitError) as raised:
        session.run(LONG, timeout=0.01)
    assert raised.value.limit == "timeout"
    assert_runs(session)


@pytest.mark.parametrize("timeout", ["1", float("nan"), 1j, [1]])
def test_a_timeout_must_be_a_number(timeout: float) -> None:
    with pytest.raises(sx.InputError, match="timeout must be a number of seconds"):
        open_loop("reference").run(SHORT, timeout=timeout)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("bytes", "1"),
        ("bytes", None),
        ("nodes", 1.5),
        ("run_bytes", "1"),
        ("seconds", "1"),
        ("seconds", float("nan")),
    ],
)
def test_a_limit_must_be_a_number(field: str, value: object) -> None:
    with pytest.raises(sx.InputError, match=f"limits.{field} must be"):
        sx.RunLimits(**{field: value})  # type: ignore[arg-type]


def test_a_timeout_ends_a_trace_of_the_reference_engine() -> None:
    session = open_loop("reference", sx.RunLimits(iterations=1 << 62, nodes=1 << 62, seconds=0.05))
    with pytest.raises(sx.LimitError, match=r"at most 0\.05 s"):
        session.trace(LONG)


# --- cancellation ------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("runs_before", [0, 4])
def test_a_cancelled_run_ends_and_the_session_goes_on(engine: Engine, runs_before: int) -> None:
    session = open_loop(engine)
    for _ in range(runs_before):
        assert_runs(session)
    with cancelled_later(session), pytest.raises(sx.CancelledError, match="cancelled"):
        session.run(LONG)
    assert_runs(session)


@pytest.mark.parametrize("engine", ENGINES)
def test_all_runs_in_progress_are_cancelled_and_no_later_one(engine: Engine) -> None:
    session, others = open_loop(engine), open_loop(engine)
    session.cancel()
    assert_runs(session)
    with ThreadPoolExecutor(4) as pool, cancelled_later(session):
        runs = [pool.submit(session.run, LONG) for _ in range(3)]
        other = pool.submit(others.run, LONG, timeout=0.3)
        assert all(isinstance(run.exception(), sx.CancelledError) for run in runs)
        assert isinstance(other.exception(), sx.LimitError)
    assert_runs(session)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("runs_before", [0, 4])
def test_a_token_ends_the_runs_that_have_it(engine: Engine, runs_before: int) -> None:
    session, token = open_loop(engine), sx.CancellationToken()
    for _ in range(runs_before):
        assert_runs(session)
    with ThreadPoolExecutor(2) as pool:
        others = pool.submit(session.run, LONG, timeout=0.3)
        threading.Timer(0.05, token.cancel).start()
        with pytest.raises(sx.CancelledError):
            session.run(LONG, cancellation=token)
        assert isinstance(others.exception(), sx.LimitError)
    with pytest.raises(sx.CancelledError):  # before it begins
        session.run(SHORT, cancellation=token)
    assert_runs(session)


def test_a_saved_program_is_cancelled_and_times_out(tmp_path: Path) -> None:
    sx.save(parse_model(LOOP), tmp_path / "m.onnx")
    assert main(["compile", str(tmp_path / "m.onnx"), "-o", str(tmp_path / "m.sdx")]) == 0
    session = sx.Session(tmp_path / "m.sdx", limits=ENDLESS)
    with pytest.raises(sx.LimitError, match=r"at most 0\.05 s"):
        session.run(LONG, timeout=0.05)
    with cancelled_later(session), pytest.raises(sx.CancelledError):
        session.run(LONG)
    assert_runs(session)


# --- long kernels ------------------------------------------------------------------------------

PRODUCT = "g (float[N,2048] x, float[2048,2048] w) => (float[N,2048] y) { y = MatMul(x, w) }"
SORT = "g (float[N] x) => (float[N] y, int64[N] i) <int64[1] m = {-1}> { n = Shape(x)  y, i = TopK(x, n) }"
RECURRENCE = """g (float[T,1,2] x, float[1,1024,2] w, float[1,1024,256] r) => (float[T,1,1,256] y) {
  y = LSTM<hidden_size = 256>(x, w, r)
}"""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("threads", [1, 2])
def test_a_product_is_cut_short_between_blocks(engine: Engine, threads: int) -> None:
    session = sx.Session(parse_model(PRODUCT), engine=engine, threads=threads)
    weight = np.eye(2048, dtype=np.float32)
    few, many = (np.ones((rows, 2048), np.float32) for rows in (4, 2048))
    with pytest.raises(sx.LimitError):
        session.run({"x": many, "w": weight}, timeout=0.01)
    for x in (few, many, many, few):
        np.testing.assert_array_equal(session.run({"x": x, "w": weight})["y"], x)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_long_row_to_sort_does_not_keep_its_caller(engine: Engine) -> None:
    session = sx.Session(parse_model(SORT), engine=engine)
    for _ in range(2):
        with pytest.raises(sx.LimitError):
            session.run({"x": np.arange(5_000_000, dtype=np.float32)}, timeout=0.005)
        short = np.array([3, 1, 2], np.float32)
        np.testing.assert_array_equal(session.run({"x": short})["y"], np.array([3, 2, 1], np.float32))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_long_sequence_does_not_keep_its_caller(engine: Engine) -> None:
    session = sx.Session(parse_model(RECURRENCE), engine=engine)
    weights = {"w": np.ones((1, 1024, 2), np.float32), "r": np.zeros((1, 1024, 256), np.float32)}
    short, long = (np.zeros((length, 1, 2), np.float32) for length in (3, 20_000))
    for _ in range(2):
        with pytest.raises(sx.LimitError):
            session.run({"x": long, **weights}, timeout=0.005)
        np.testing.assert_array_equal(
            session.run({"x": short, **weights})["y"], np.zeros((3, 1, 1, 256), np.float32)
        )


def test_a_process_can_end_while_a_kernel_is_left_behind() -> None:
    code = f"""
import numpy as np, sardonyx as sx
from models import parse_model
session = sx.Session(parse_model({SORT!r}), engine="native")
assert session.stats.fallback_nodes == 0
try:
    session.run({{"x": np.arange(10_000_000, dtype=np.float32)}}, timeout=0.005)
except sx.LimitError:
    print("end")
"""
    process = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])},
        check=False,
        capture_output=True,
        text=True,
    )
    assert (process.returncode, process.stdout.strip()) == (0, "end"), process.stderr


# --- memory ------------------------------------------------------------------------------------

MIB = 1 << 20
COLLECTED = """g (float[N] x, int64 m) => (float[K,N] y) {
  y = Loop <body = each (int64 i, bool on) => (bool goes, float[N] t) { goes = Identity(on)  t = Neg(x) }> (m, )
}"""
GROWING = """g (float[N] x, int64 m) => (float[K] y) {
  empty = SequenceEmpty()
  all = Loop <body = each (int64 i, bool on, seq(float[N]) s) => (bool goes, seq(float[N]) t) {
    goes = Identity(on)  a = Neg(x)  t = SequenceInsert(s, a)
  }> (m, , empty)
  y = ConcatFromSequence<axis = 0>(all)
}"""


GROWING_IN_A_BRANCH = """g (float[N] x, int64 m) => (float[K] y) {
  empty = SequenceEmpty()
  all = Loop <body = each (int64 i, bool on, seq(float[N]) s) => (bool goes, seq(float[N]) t) {
    goes = Identity(on)
    t = If <then_branch = a () => (seq(float[N]) u) { e = Neg(x)  f = Exp(e)  u = SequenceInsert(s, f) },
            else_branch = b () => (seq(float[N]) v) { v = Identity(s) }> (on)
  }> (m, , empty)
  y = ConcatFromSequence<axis = 0>(all)
}"""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("text", [COLLECTED, GROWING, GROWING_IN_A_BRANCH])
def test_what_loops_collect_counts_for_the_whole_run(engine: Engine, text: str) -> None:
    session = sx.Session(parse_model(text), engine=engine, limits=sx.RunLimits(run_bytes=8 * MIB))
    x = np.ones(MIB // 16, np.float32)  # 256 KiB
    assert run_y(session, {"x": x, "m": np.array(4)}).size == 4 * x.size
    with pytest.raises(sx.LimitError) as raised:
        session.run({"x": x, "m": np.array(1_000_000)})
    assert raised.value.limit == "limits.run_bytes"
    assert "ConcatFromSequence" not in str(raised.value)  # which reads what has been collected
    assert run_y(session, {"x": x, "m": np.array(4)}).size == 4 * x.size


@pytest.mark.parametrize("engine", ENGINES)
def test_tiny_elements_count_with_the_arrays_that_hold_them(engine: Engine) -> None:
    session = sx.Session(parse_model(COLLECTED), engine=engine, limits=sx.RunLimits(run_bytes=MIB))
    with pytest.raises(sx.LimitError) as raised:
        session.run({"x": np.ones(1, np.float32), "m": np.array(1_000_000)})
    assert raised.value.limit == "limits.run_bytes"


LIVE = """g (float[N] x) => (float[N] y) {
  a = Neg(x)  b = Exp(a)  c = Sin(b)  d = CumSum(c, zero)  e = CumSum(b, zero)  f = CumSum(a, zero)
  p = Add(d, e)  y = Add(p, f)
}""".replace(" {\n", " <int64 zero = {0}> {\n", 1)


@pytest.mark.parametrize("engine", ENGINES)
def test_live_results_count_together_and_freed_ones_do_not(engine: Engine) -> None:
    x = np.ones(MIB // 4, np.float32)  # 1 MiB
    roomy = sx.Session(parse_model(LIVE), engine=engine, limits=sx.RunLimits(run_bytes=6 * MIB))
    assert run_y(roomy, {"x": x}).shape == x.shape  # eight results, of which at most five live at a time
    tight = sx.Session(parse_model(LIVE), engine=engine, limits=sx.RunLimits(run_bytes=2 * MIB))
    with pytest.raises(sx.LimitError) as raised:
        tight.run({"x": x})
    assert raised.value.limit == "limits.run_bytes"
    assert run_y(tight, {"x": x[:8]}).shape == (8,)


def test_the_memory_of_a_saved_program_is_limited(tmp_path: Path) -> None:
    sx.save(parse_model(LIVE), tmp_path / "m.onnx")
    assert main(["compile", str(tmp_path / "m.onnx"), "-o", str(tmp_path / "m.sdx")]) == 0
    x = np.ones(MIB // 4, np.float32)
    for limits, name in (
        (sx.RunLimits(run_bytes=2 * MIB), "limits.run_bytes"),
        (sx.RunLimits(bytes=2 * MIB), "limits.bytes"),
    ):
        with pytest.raises(sx.LimitError) as raised:
            sx.Session(tmp_path / "m.sdx", limits=limits).run({"x": x})
        assert raised.value.limit == name


def test_memory_is_counted_until_it_is_freed() -> None:
    memory = RunMemory(100_000)
    first = np.zeros(2_000, np.float64)
    memory.add([first])
    memory.add([first.reshape(2, 1_000), first[1:], None, [first]])
    assert memory.used == 16_000
    view = first[:1_000]
    del first
    assert memory.used == 16_000
    del view
    assert memory.used == 0
    fed = np.zeros(2_000)
    fed.flags.writeable = False
    memory.add([fed[1:]])
    assert memory.used == 0


def test_default_memory_is_a_share_of_the_machines() -> None:
    session = sx.Session(parse_model(LOOP), engine="reference")
    assert session._limits.run_bytes is not None
    assert MIB < session._limits.run_bytes < 1 << 62


# --- memory that the system refuses ----------------------------------------------------------------


def raise_memory_error(*_: object, **__: object) -> None:
    raise MemoryError


def test_no_memory_for_the_compiler_is_a_limit_and_the_reference_engine_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(engine_module, "compile_for_host", raise_memory_error)
    model = parse_model("g (float[N,7] x) => (float[N,7] y) { y = Selu(x) }")
    with pytest.raises(sx.LimitError, match="too little memory to compile"):
        sx.Session(model, engine="native")
    session = sx.Session(model)
    assert session.engine == "reference"
    assert session.stats.compiler_faults == {}


def test_no_memory_for_the_content_digest_is_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    from sardonyx._src.runtime.identity import content_hash

    monkeypatch.setattr(content_hash, "encode", raise_memory_error)
    with pytest.raises(sx.LimitError, match="too little memory"):
        sx.Session(parse_model("g (float[N,7] x) => (float[N,7] y) { y = Selu(x) }"), engine="native")


def test_no_memory_for_outputs_on_the_fast_path_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    session = sx.Session(parse_model("g (float[N] x) => (float[N] y) { y = Neg(x) }"), engine="native")
    x = np.ones(3, np.float32)
    for _ in range(4):
        session.run({"x": x})
    fast = session.stats.fast_path_runs
    monkeypatch.setattr(FastPath, "new_outputs", raise_memory_error)
    monkeypatch.setattr(SizedPath, "new_outputs", raise_memory_error)
    np.testing.assert_array_equal(session.run({"x": x})["y"], -x)
    assert session.stats.fast_path_runs == fast


@pytest.mark.parametrize("engine", ENGINES)
def test_no_memory_for_a_run_is_a_limit(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    session = sx.Session(parse_model("g (float[N] x) => (float[N] y) { y = Neg(x) }"), engine=engine)
    monkeypatch.setattr(session._runner, "run", raise_memory_error)
    with pytest.raises(sx.LimitError, match="too little memory to run the model"):
        session.run({"x": np.ones(3, np.float32)})


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("engine", ["reference", "auto"])
def test_a_huge_sparse_initializer_takes_no_memory_when_a_session_opens(engine: Engine) -> None:
    record = parse_record("g (int64[1] i) => (float[1] y) { y = Gather(w, i) }")
    assert record.graph is not None
    values = m.TensorProto(name="w", dims=[1], data_type=1, float_data=[3.0])
    indices = m.TensorProto(dims=[1], data_type=7, int64_data=[1])
    record.graph.sparse_initializer = [m.SparseTensorProto(values=values, indices=indices, dims=[1 << 30])]
    before = resident_bytes()
    session = sx.Session(record, engine=engine)
    assert resident_bytes() - before < 1 << 28
    assert session.run({"i": np.array([1])})["y"] == 3.0
    with pytest.raises(sx.LimitError, match="as a dense tensor") as raised:
        sx.Session(record, engine=engine, limits=sx.RunLimits(bytes=1 << 20))
    assert raised.value.limit == "limits.bytes"


# --- the command line --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--limit-seconds", "0.05", "--limit-iterations", str(1 << 61)], "limits.seconds"),
        (["--limit-iterations", "10"], "limits.iterations"),
        (["--limit-nodes", "10", "--limit-iterations", str(1 << 61)], "limits.nodes"),
        (["--limit-run-bytes", "1K", "--engine", "reference"], "limits.run_bytes"),
        (["--limit-bytes", "100", "--engine", "reference"], "limits.bytes"),
    ],
)
def test_limits_are_options_of_run(
    options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = COLLECTED if "bytes" in message else LOOP
    sx.save(parse_model(text), tmp_path / "m.onnx")
    count = 1000 if "bytes" in message else 1 << 60
    assert main(["run", str(tmp_path / "m.onnx"), "x=[1, 2]", f"m={count}", *options]) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    "option", ["--limit-bytes=x", "--limit-bytes=-1", "--limit-seconds=0", "--limit-nodes=1.5"]
)
def test_a_limit_of_the_command_line_must_be_a_number(
    option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "m.onnx", option]) == 2
    assert "must be a number" in capsys.readouterr().err


def test_deadlines_are_no_obstacle_for_runs_in_time() -> None:
    session = sx.Session(parse_model("g (float[N] x) => (float[N] y) { y = Neg(x) }"), engine="native")
    start, x = time.monotonic(), np.ones(3, np.float32)
    while time.monotonic() - start < 1.1:  # the first deadlines pass meanwhile
        np.testing.assert_array_equal(session.run({"x": x}, timeout=1)["y"], -x)
    assert session.stats.fast_path_runs > 1
