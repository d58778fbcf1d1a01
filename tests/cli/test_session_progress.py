"""What slow sessions say on standard error: a line that is rewritten on a terminal, plain lines elsewhere, nothing for --json."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.cli.main import main
from sardonyx._src.cli.output.progress import opening_progress, progress
from sardonyx._src.measure.starts import PHASES
from sardonyx._src.phases import current_watcher, phase, report_bytes
from sardonyx._src.rewrite.optimize import run_passes
from sardonyx._src.runtime.session import activity as activities
from sardonyx._src.runtime.session.activity import WORDS, Activity, watch_sessions, write_lines
from sardonyx.train import Adam, prepare, without_training
from train.classification import classifier, task

Streams = pytest.CaptureFixture[str]
PATIENCE = 20.0  # seconds
TRAINING_PHASES = {"data", "gradients"}
RUN_PASSES = "sardonyx._src.compile.prepare.prepare.run_passes"


def test_phases_have_words() -> None:
    assert (
        WORDS.keys()
        == set(PHASES) - {"interpreter", "imports", "open", "rest", "first run"} | TRAINING_PHASES
    )


def test_an_activity_is_described_with_numbers() -> None:
    counts = 7, 30
    activity = Activity(lambda: counts)
    assert activity.describe() == ""
    activity.enter("optimize")
    assert activity.describe() == "optimizing"
    activity.enter("weights")
    assert activity.describe() == "packing weights"
    activity.advance(1_234_567_890, 3_800_000_000)
    assert activity.describe() == "packing weights 1.2 of 3.8 GB"
    activity.advance(250_000, 2_000_000)
    assert activity.describe() == "packing weights 0.2 of 2.0 MB"
    activity.leave()
    assert activity.describe() == "optimizing"
    activity.enter("kernels")
    assert activity.describe() == "loading kernels"
    counts = 7 + 37, 30 + 120
    assert activity.describe() == "compiling kernels 37/120"


@pytest.fixture
def fast_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(activities, "LINES_DELAY", 0.0)
    monkeypatch.setattr(activities, "POLL_SECONDS", 0.01)


def wait_for(text: str, capsys: Streams) -> str:
    """What was written on standard error until the text was."""
    written, end = "", time.monotonic() + PATIENCE
    while text not in written and time.monotonic() < end:
        time.sleep(0.01)
        written += capsys.readouterr().err
    return written


@pytest.mark.usefixtures("fast_lines")
def test_each_phase_has_a_line(capsys: Streams) -> None:
    with watch_sessions() as activity, write_lines(activity):
        with phase("optimize"):
            assert wait_for("\n", capsys) == "optimizing\n"
        with phase("weights"):
            report_bytes(1_000_000, 4_000_000)
            assert wait_for("\n", capsys) == "packing weights 1.0 of 4.0 MB\n"
            report_bytes(2_000_000, 4_000_000)
            time.sleep(0.1)
    assert capsys.readouterr().err == ""


def test_an_operation_of_less_than_two_seconds_has_none(
    capsys: Streams, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(activities, "LINES_DELAY", 3600.0)
    monkeypatch.setattr(activities, "POLL_SECONDS", 0.001)
    with progress(1, sessions=True), phase("optimize"):
        time.sleep(0.1)
    assert capsys.readouterr().err == ""


def slow(function: Callable[..., object], seconds: float = 0.5) -> Callable[..., object]:
    def run(*args: object, **options: object) -> object:
        time.sleep(seconds)
        return function(*args, **options)

    return run


@pytest.fixture
def written(capsys: Streams, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What standard error has when the first session of the test optimizes, which takes until a line says so."""
    seen: list[str] = []

    def run(*args: object, **options: object) -> object:
        if not seen:
            seen.append(wait_for("optimizing\n", capsys))
        return run_passes(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(RUN_PASSES, run)
    return seen


@pytest.mark.usefixtures("fast_lines")
@pytest.mark.parametrize(
    "words", [["run", "--random", "0"], ["bench", "--turns", "1", "--threads", "1"], ["compile"], ["profile"]]
)
def test_verbs_say_what_a_slow_session_does(words: list[str], tmp_path: Path, written: list[str]) -> None:
    text = f"{words[0]}_model (float[2] x) => (float[2] y) {{ a = Exp(x)  y = Neg(a) }}"  # which no session has opened
    sx.save(parse_model(text), tmp_path / "m.onnx")
    verb, *options = words
    destination = ["--out", str(tmp_path / "m.sdx")] if verb == "compile" else []
    assert main([verb, str(tmp_path / "m.onnx"), *options, *destination]) == 0
    assert written[0].endswith("optimizing\n")


@pytest.mark.usefixtures("fast_lines")
def test_scoring_says_what_its_session_does(tmp_path: Path, written: list[str]) -> None:
    text = "score_model (float[N] x) => (float[N] y) { a = Exp(x)  y = Neg(a) }"
    sx.save(parse_model(text), tmp_path / "m.onnx")
    (tmp_path / "in.csv").write_text("x\n1.5\n2.5\n")
    assert (
        main(
            [
                "score",
                *(str(tmp_path / name) for name in ("m.onnx", "in.csv")),
                "-o",
                str(tmp_path / "out.csv"),
            ]
        )
        == 0
    )
    assert written[0].endswith("optimizing\n")


@pytest.mark.usefixtures("fast_lines")
def test_training_says_what_its_session_does(tmp_path: Path, written: list[str], capsys: Streams) -> None:
    model = prepare(
        without_training(classifier()), optimizer=Adam(rate=0.0471)
    )  # which no session has opened
    sx.save(model, tmp_path / "m.onnx")
    np.savez(tmp_path / "data.npz", allow_pickle=False, **task())
    data, out = str(tmp_path / "data.npz"), str(tmp_path / "out.onnx")
    assert main(["train", str(tmp_path / "m.onnx"), "--data", data, "-o", out, "--epochs", "2"]) == 0
    assert written[0].endswith("optimizing\n")
    lines = capsys.readouterr().err.splitlines()
    epochs = [index for index, line in enumerate(lines) if line.startswith("epoch ")]
    assert epochs == [len(lines) - 2, len(lines) - 1], "no line about sessions follows the first epoch"


@pytest.mark.usefixtures("fast_lines")
def test_the_first_result_ends_what_is_said_of_sessions(capsys: Streams) -> None:
    with opening_progress("opening the model") as end_opening:
        with phase("optimize"):
            assert wait_for("\n", capsys) == "optimizing\n"
        end_opening()
        with phase("lower"):
            assert current_watcher() is None
        end_opening()
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("fast_lines")
def test_json_comes_without_lines(tmp_path: Path, capsys: Streams, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "json_model (float[2] x) => (float[2] y) { a = Exp(x)  y = Neg(a) }"
    sx.save(parse_model(text), tmp_path / "m.onnx")
    monkeypatch.setattr(RUN_PASSES, slow(run_passes))
    assert main(["run", str(tmp_path / "m.onnx"), "x=[1, 2]", "--json"]) == 0
    assert capsys.readouterr().err == ""


def test_a_terminal_has_one_line_that_is_rewritten(monkeypatch: pytest.MonkeyPatch, capsys: Streams) -> None:
    monkeypatch.setattr("sardonyx._src.cli.output.progress.BAR_DELAY", 0.0)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    with progress(1, "opening the model", sessions=True):
        assert "opening the model" in wait_for("opening the model", capsys)
        with phase("partition"):
            written = wait_for("partitioning", capsys)
        with phase("layouts"):
            written += wait_for("choosing layouts", capsys)
    assert "partitioning" in written and "choosing layouts" in written
    assert "\n" not in written.replace("\r\n", "\n").strip("\n"), "the line is rewritten in place"
