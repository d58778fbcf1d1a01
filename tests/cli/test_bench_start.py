"""`sardonyx bench --start`: fresh processes, phase by phase."""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.cli.main import main
from sardonyx._src.cli.output.starts import starts_json, starts_text
from sardonyx._src.compile.linker import features
from sardonyx._src.measure import start_process, starts
from sardonyx._src.measure.start_process import PhaseClock, time_imports
from sardonyx._src.measure.starts import PHASES, StartTiming
from sardonyx._src.phases import phase, report_bytes, watch_phases

TEXT = "g (float[N,8] x) => (float[N,8] y) { a = Exp(x)  y = Softmax(a) }"
Streams = pytest.CaptureFixture[str]
TIMINGS = [
    StartTiming("sardonyx", "empty", 0.25, {"interpreter": 0.05, "load": 0.0125}, 3 << 20, "library"),
    StartTiming("onnxruntime", "", 0.5, {"interpreter": 0.05, "open": 0.4}, None, ""),
]
TABLE = """\
x: float[1]
                 sardonyx, empty cache             onnxruntime
interpreter                    50.0 ms                 50.0 ms
load                           12.5 ms
open                                                  400.0 ms
first result                  250.0 ms                500.0 ms
peak memory                      3 MiB
stage                          library
"""


@pytest.fixture
def path(tmp_path: Path) -> str:
    sx.save(parse_model(TEXT), tmp_path / "m.onnx")
    return str(tmp_path / "m.onnx")


def test_a_table_has_a_row_for_each_phase() -> None:
    assert starts_text({"x": "float[1]"}, TIMINGS) == TABLE


def test_json_has_seconds() -> None:
    report = json.loads(starts_json({"x": "float[1]"}, TIMINGS))
    assert report["inputs"] == {"x": "float[1]"}
    assert [start["seconds"] for start in report["starts"]] == [0.25, 0.5]
    assert report["starts"][0]["phases"] == {"interpreter": 0.05, "load": 0.0125}
    assert (report["starts"][1]["cache"], report["starts"][1]["stage"]) == (None, None)


@pytest.mark.skipif(features.saved_program_machine() is None, reason="programs are not saved here")
def test_starts_are_measured_in_processes_of_their_own(path: str, capsys: Streams) -> None:
    assert main(["bench", path, "--start", "--dim", "N=3", "--threads", "1", "--turns", "1", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["inputs"] == {"x": "float[3,8]"}
    empty, filled, *others = report["starts"]
    assert [(s["engine"], s["cache"]) for s in (empty, filled)] == [
        ("sardonyx", "empty"),
        ("sardonyx", "filled"),
    ]
    assert len(others) == (importlib.util.find_spec("onnxruntime") is not None)
    compiling = {"load", "optimize", "partition", "layouts", "lower", "plan", "verify", "weights"}
    assert compiling <= empty["phases"].keys()
    assert compiling.isdisjoint(filled["phases"]), "the program comes from the cache"
    for start in report["starts"]:
        assert list(start["phases"]) == [name for name in PHASES if name in start["phases"]]
        assert {"interpreter", "imports", "first run"} <= start["phases"].keys()
        assert sum(start["phases"].values()) == pytest.approx(start["seconds"], rel=0.05)
    assert empty["stage"] in ("library", "compiled")


@pytest.mark.parametrize(
    "words", [["--threads", "1,2"], ["--against", "onnxruntime"], ["--precision", "bf16"], ["--turns", "0"]]
)
def test_options_of_latency_are_wrong_use(path: str, words: list[str]) -> None:
    assert main(["bench", path, "--start", *words]) == 2


def test_a_model_that_an_engine_rejects_is_a_finding(
    path: str, capsys: Streams, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(starts, "KINDS", (("sardonyx", "empty"),))
    monkeypatch.setattr(start_process, "__file__", str(Path(path).with_name("fails.py")))
    Path(path).with_name("fails.py").write_text("raise ValueError('no such model')")
    assert main(["bench", path, "--start", "--turns", "1", "--threads", "1"]) == 1
    assert "got ValueError: no such model" in capsys.readouterr().err


# --- the clock -----------------------------------------------------------------------------------


def test_a_phase_inside_another_counts_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    clock = PhaseClock()

    def spend(seconds: float) -> None:
        now[0] += seconds

    with watch_phases(clock):
        spend(1)
        with phase("weights"):
            spend(2)
            report_bytes(1, 2)
            with phase("kernels"):
                spend(4)
            spend(8)
        spend(16)
    with phase("sizes"):  # without a watcher
        spend(32)
    clock.count()
    assert clock.seconds == {"rest": 49.0, "weights": 10.0, "kernels": 4.0}


def test_imports_count_for_themselves_wherever_they_happen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bootstrap: Any = importlib.import_module("importlib._bootstrap")
    (tmp_path / "slow_module_of_a_test.py").write_text("import time\ntime.sleep(0.05)")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(bootstrap, "_find_and_load", bootstrap._find_and_load)
    clock = PhaseClock()
    time_imports(clock)
    clock.enter("load")
    import slow_module_of_a_test  # type: ignore[import-not-found]

    clock.leave()
    assert isinstance(slow_module_of_a_test, ModuleType)
    assert clock.seconds["imports"] >= 0.05
    assert clock.seconds["load"] < clock.seconds["imports"]
    sys.modules.pop("slow_module_of_a_test")
