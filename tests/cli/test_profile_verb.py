"""`sardonyx profile`: where the time goes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from models import model
from sardonyx._src.cli.main import main
from sardonyx._src.cli.shares import Share, by_kernel, by_step
from sardonyx._src.compile.step import Kernel, Step
from sardonyx._src.runtime import profile
from sardonyx._src.runtime.native import NativeProgram, compile_model
from sardonyx._src.runtime.profile import Peak, Timed, peaks, profiled

TEXT = """g (float[N,8] x, float[8,8] w) => (float[N,8] y, int64[2,?] i)
    { [product] a = MatMul(x, w)  [soft] y = Softmax(a)  [places] i = NonZero(a) }"""
Streams = pytest.CaptureFixture[str]


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(profile, "BUDGET", 0.0)
    monkeypatch.setattr(profile, "PEAK_TURNS", 2)
    sx.save(model(TEXT), tmp_path / "m.onnx")
    return str(tmp_path / "m.onnx")


def step(key: str, node: str) -> Step:
    return Step(Kernel(key, lambda name, target: ""), (), 1, (), (), nodes=(node,))


TIMED = [
    Timed(step("matmul_f32:x", "a"), 2.0, 8, 4),
    Timed(step("exp", "b"), 5.0, 0, 10),
    Timed(step("matmul_f32:y", "c"), 4.0, 8, 4),
]


def test_what_takes_longest_comes_first() -> None:
    assert [one.what for one in by_step(TIMED)] == ["b", "c", "a"]


def test_steps_of_one_kernel_are_taken_together_whatever_their_tail() -> None:
    assert by_kernel(TIMED) == [
        Share("matmul_f32", "2 steps", 2, 6.0, 16, 8),
        Share("exp", "1 step", 1, 5.0, 0, 10),
    ]


def test_rates_are_of_what_a_second_sees() -> None:
    found = Share("matmul_f32", "a", 1, 2.0, 8, 4).as_json(Peak(16.0, 8.0))
    assert (found["flops"], found["flops_of_peak"]) == (4.0, 0.25)
    assert (found["bytes"], found["bytes_of_peak"]) == (2.0, 0.25)
    assert Share("exp", "b", 1, 0.0, 8, 4).rate(8) == 0.0


def test_peaks_are_those_of_a_processor() -> None:
    found = peaks()
    assert 1e8 < found.flops < 1e13  # from a slow core to one with wide registers
    assert 1e7 < found.traffic < 1e12


def test_the_tables_name_kernels_and_nodes(path: str, capsys: Streams) -> None:
    assert main(["profile", path, "--dim", "N=4"]) == 0
    out = capsys.readouterr().out
    assert all(word in out for word in ("by step", "by kernel", "product", "soft", "host NonZero", "GFLOP/s"))
    assert "one by one" in out.splitlines()[-1]


def test_the_shares_of_all_steps_make_the_whole(path: str, capsys: Streams) -> None:
    assert main(["profile", path, "--by", "step", "--json", "--threads", "2"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {one["nodes"] for one in found["by_step"]} >= {"product", "places"}
    assert "by_kernel" not in found
    assert found["seconds"] > 0 and found["peak"]["flops"] > 0


def test_turns_of_a_loop_are_taken_together(path: str) -> None:
    text = """g (float[2] s, float[T,2] x) => (float[2] y) {
      y = Scan <num_scan_inputs = 1, body = each (float[2] s, float[2] v) => (float[2] t) {
        [sum] t = Add(s, v)
      }> (s, x)
    }"""
    native = NativeProgram(compile_model(model(text)), 1)
    for length in (1, 5, 0):
        feeds = {"s": np.ones(2, np.float32), "x": np.ones((length, 2), np.float32)}
        timed, _ = profiled(native, feeds)
        (found,) = (one for one in timed if isinstance(one.action, Step) and set(one.action.nodes) == {"sum"})
        assert found.flops == length * 4
        assert length > 0 or found.seconds == 0


def test_long_tables_are_cut(path: str, capsys: Streams) -> None:
    assert main(["profile", path, "--by", "step", "--most", "1"]) == 0
    assert " more" in capsys.readouterr().out


def test_threads_are_counted_from_one(path: str, capsys: Streams) -> None:
    assert main(["profile", path, "--threads", "0"]) == 2
    assert "--threads 0" in capsys.readouterr().err
