"""Random inputs: the sizes that were chosen are said, and errors of the run name them."""

from __future__ import annotations

from pathlib import Path

import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.cli.main import main

Streams = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("words", [["run", "--random", "0"], ["bench", "--turns", "1"], ["profile"]])
def test_the_sizes_are_said(words: list[str], capsys: Streams) -> None:
    sx.save(parse_model("g (float[N,M,?] x) => (y) { y = Relu(x) }"), "m.onnx")
    verb, *options = words
    assert main([verb, "m.onnx", *options, "--dim", "M=3"]) == 0
    assert "random inputs: M=3, N=1, unknown sizes of 'x' = 1\n" in capsys.readouterr().err


def test_an_error_of_the_run_names_the_sizes(capsys: Streams) -> None:
    sx.save(parse_model("g (float[N] x) => (y) <int64[1] i = {3}> { y = Gather(x, i) }"), "m.onnx")
    assert main(["run", "m.onnx", "--random", "0"]) == 1
    assert capsys.readouterr().err.endswith(
        "; the inputs are random with N=1; choose other sizes with --dim, as --dim N=8, or pass values for 'x'\n"
    )
    assert main(["run", "m.onnx", "--random", "0", "--dim", "N=8"]) == 0


def test_values_that_were_given_are_not_called_random(capsys: Streams) -> None:
    sx.save(parse_model("g (float[N] x) => (y) <int64[1] i = {3}> { y = Gather(x, i) }"), "m.onnx")
    assert main(["run", "m.onnx", "x=[1, 2]", "--random", "0"]) == 1
    assert "random" not in capsys.readouterr().err


def test_a_model_of_fixed_sizes_has_nothing_to_choose(capsys: Streams) -> None:
    sx.save(parse_model("g (float[2] x) => (y) { y = Relu(x) }"), "m.onnx")
    assert main(["run", "m.onnx", "--random", "0"]) == 0
    assert capsys.readouterr().err == ""
