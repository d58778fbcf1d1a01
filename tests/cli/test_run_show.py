"""`sardonyx run --show`: stages of the compilation of a model."""

from __future__ import annotations

from pathlib import Path

import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.cli.main import main

TEXT = """g (float[N,3] x) => (float[N,4] y, float[N,4] i) <float[3,4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}>
    { [product] a = MatMul(x, w)  [positive] r = Relu(a)  s = Exp(r)  y = Add(s, r)  [places] i = RandomNormalLike(a) }"""
Streams = pytest.CaptureFixture[str]


@pytest.fixture
def path(tmp_path: Path) -> str:
    sx.save(parse_model(TEXT), tmp_path / "m.onnx")
    return str(tmp_path / "m.onnx")


def show_stage(path: str, stage: str, capsys: Streams, *words: str) -> str:
    assert main(["run", path, "--show", stage, *words]) == 0
    return capsys.readouterr().out


def test_a_step_is_a_line_with_kernel_nodes_tensors_and_size(path: str, capsys: Streams) -> None:
    (line,) = (text for text in show_stage(path, "steps", capsys).splitlines() if "product" in text)
    assert "mat" in line.split()[1]
    assert "x[N,3]" in line and "[N,4]" in line
    assert "FLOP" in line


def test_given_dims_replace_their_names(path: str, capsys: Streams) -> None:
    text = show_stage(path, "steps", capsys, "--dim", "N=1000")
    assert "x[1000,3]" in text and "24.0 kFLOP" in text
    assert "N" not in text.split("product:")[1].splitlines()[0].replace("RandomNormalLike", "")


def test_a_fallback_node_states_the_reason(path: str, capsys: Streams) -> None:
    (line,) = (
        text for text in show_stage(path, "steps", capsys).splitlines() if "fallback RandomNormalLike" in text
    )
    assert "places: no native RandomNormalLike of " in line and line.endswith("drawn from NumPy's stream")


def test_the_arguments_of_a_kernel_are_a_line_after_its_step(path: str, capsys: Streams) -> None:
    lines = show_stage(path, "steps", capsys).splitlines()
    step = next(i for i, line in enumerate(lines) if "product" in line)
    assert lines[step + 1].startswith("     (") and "=x[N,3], " in lines[step + 1]


def test_loops_have_the_expression_and_the_nest_of_each_step(path: str, capsys: Streams) -> None:
    lines = [line.strip() for line in show_stage(path, "loops", capsys).splitlines()]
    start = lines.index("t0 = relu(i0)")
    assert lines[start + 1] == "y = exp(t0) + t0"
    assert lines[start + 2].startswith("for ") and " load <" in lines[start + 2]


@pytest.mark.parametrize("stage", ["regions", "layouts"])
def test_regions_are_shown_before_and_after_layout_assignment(path: str, stage: str, capsys: Streams) -> None:
    (line,) = (text for text in show_stage(path, stage, capsys).splitlines() if "product" in text)
    assert line.split()[:2] == ["0", "MatMul"]


def test_kernels_have_a_line_each(path: str, capsys: Streams) -> None:
    lines = show_stage(path, "kernels", capsys).splitlines()
    assert lines and all("1 step " in line for line in lines)


def test_the_plan_has_a_line_for_each_storage(path: str, capsys: Streams) -> None:
    first, *lines = show_stage(path, "plan", capsys, "--dim", "N=64").splitlines()
    assert first.startswith("arena: ")
    assert all(" to " in line and "slot" in line for line in lines)
    assert any(line.endswith("1.0 kB  a") for line in lines)


def test_a_plan_of_known_sizes_has_offsets(tmp_path: Path, capsys: Streams) -> None:
    text = "g (float[2,8] x) => (float[2,8] y) { a = Softmax(x)  b = LogSoftmax(a)  y = Softmax(b) }"
    sx.save(parse_model(text), tmp_path / "m.onnx")
    _, *lines = show_stage(str(tmp_path / "m.onnx"), "plan", capsys).splitlines()
    assert lines and all("at 0" in line or "at 64" in line for line in lines)


def test_every_kernel_is_written_once(path: str, capsys: Streams) -> None:
    text = show_stage(path, "llvm", capsys)
    names = [line for line in text.splitlines() if line.startswith("define void @kernel_")]
    assert names and len(set(names)) == len(names)


def test_names_of_a_model_steer_no_terminal(tmp_path: Path, capsys: Streams) -> None:
    model = parse_model("g (float[N] x) => (float[N] y) { y = Exp(x) }")
    next(iter(model.graph.nodes)).name = "a\x1b[31m"
    sx.save(model, tmp_path / "m.onnx")
    assert "\x1b" not in show_stage(str(tmp_path / "m.onnx"), "steps", capsys)


def test_a_model_that_cannot_be_run_is_a_finding(tmp_path: Path, capsys: Streams) -> None:
    sx.save(parse_model("g (float[2] x) => (float[2] y) { y = Nowhere(x) }"), tmp_path / "m.onnx")
    assert main(["run", str(tmp_path / "m.onnx"), "--show", "steps"]) == 1
    assert "Nowhere" in capsys.readouterr().err
