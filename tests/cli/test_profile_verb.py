"""`sardonyx profile`: times and rates by kernel and by step."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.cli.main import main
from sardonyx._src.compile.program import Kernel, Step
from sardonyx._src.measure.time_shares import TimeShare, by_kernel, by_step
from sardonyx._src.runtime.runs import profile
from sardonyx._src.runtime.runs.native_program import NativeProgram, compile_for_host
from sardonyx._src.runtime.runs.profile import MachinePeak, TimedAction, measure_peaks, profile_program

TEXT = """g (float[N,8] x, float[8,8] w) => (float[N,8] y, float[N,8] i)
    { [product] a = MatMul(x, w)  [soft] y = Softmax(a)  [places] i = RandomNormalLike(a) }"""
Streams = pytest.CaptureFixture[str]


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(profile, "TIME_BUDGET", 0.0)
    monkeypatch.setattr(profile, "PEAK_ROUNDS", 2)
    monkeypatch.setenv("COLUMNS", "200")  # long times would leave no room for the names
    sx.save(parse_model(TEXT), tmp_path / "m.onnx")
    return str(tmp_path / "m.onnx")


def step(key: str, node: str) -> Step:
    return Step(Kernel(key, lambda name, target: ""), (), 1, (), (), nodes=(node,))


TIMED = [
    TimedAction(step("matmul_f32:x", "a"), 2.0, 8, 4),
    TimedAction(step("exp", "b"), 5.0, 0, 10),
    TimedAction(step("matmul_f32:y", "c"), 4.0, 8, 4),
]


def test_the_longest_time_comes_first() -> None:
    assert [share.what for share in by_step(TIMED)] == ["b", "c", "a"]


def test_steps_of_one_kernel_are_summed_over_all_epilogues() -> None:
    assert by_kernel(TIMED) == [
        TimeShare("matmul_f32", "2 steps", 2, 6.0, 16, 8),
        TimeShare("exp", "1 step", 1, 5.0, 0, 10),
    ]


def test_rates_are_per_second() -> None:
    rates = TimeShare("matmul_f32", "a", 1, 2.0, 8, 4).as_json(MachinePeak(16.0, 8.0, 8.0))
    assert (rates["flops"], rates["flops_of_peak"]) == (4.0, 0.25)
    assert (rates["bytes"], rates["bytes_of_peak"]) == (2.0, 0.25)
    assert TimeShare("exp", "b", 1, 0.0, 8, 4).rate(8) == 0.0


def test_peaks_are_those_of_a_processor() -> None:
    peak = measure_peaks()
    assert 1e8 < peak.flops < 1e13  # from a slow core to one with wide registers
    assert 1e7 < peak.traffic < 1e12 and 1e7 < peak.reads < 1e12


def test_the_tables_name_kernels_and_nodes(path: str, capsys: Streams) -> None:
    assert main(["profile", path, "--dim", "N=4"]) == 0
    out = capsys.readouterr().out
    assert all(
        word in out
        for word in (
            "by step",
            "by kernel",
            "product",
            "soft",
            "fallback RandomNormalLike",
            "GFLOP/s",
        )
    )
    assert "timed separately" in out.splitlines()[-2]
    assert out.splitlines()[-1] == "1 fallback node; no bailouts"


def test_the_shares_of_all_steps_make_the_whole(path: str, capsys: Streams) -> None:
    assert main(["profile", path, "--by", "step", "--json", "--threads", "2"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert {share["nodes"] for share in report["by_step"]} >= {"product", "places"}
    assert "by_kernel" not in report
    assert report["seconds"] > 0 and report["peak"]["flops"] > 0


def test_iterations_of_a_loop_are_summed(path: str) -> None:
    text = """g (float[2] s, float[T,2] x) => (float[2] y) {
      y = Scan <num_scan_inputs = 1, body = each (float[2] s, float[2] v) => (float[2] t) {
        [sum] t = Add(s, v)
      }> (s, x)
    }"""
    native = NativeProgram(compile_for_host(parse_model(text)), 1)
    for length in (1, 5, 0):
        feeds = {"s": np.ones(2, np.float32), "x": np.ones((length, 2), np.float32)}
        timed, _ = profile_program(native, feeds)
        (accumulation,) = (
            timing
            for timing in timed
            if isinstance(timing.action, Step) and set(timing.action.nodes) == {"sum"}
        )
        assert accumulation.flops == length * 4
        assert length > 0 or accumulation.seconds == 0


def test_long_tables_are_cut(path: str, capsys: Streams) -> None:
    assert main(["profile", path, "--by", "step", "--most", "1"]) == 0
    assert " more" in capsys.readouterr().out


def test_threads_are_counted_from_one(path: str, capsys: Streams) -> None:
    assert main(["profile", path, "--threads", "0"]) == 2
    assert "--threads must be an integer >= 1" in capsys.readouterr().err
