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
    assert "random inputs: M=3, N=1, x:2=1\n" in capsys.readouterr().err


def test_an_error_of_the_run_names_the_sizes(capsys: Streams) -> None:
    sx.save(parse_model("g (float[N] x, int64[1] i) => (y) { y = Gather(x, i) }"), "m.onnx")
    assert main(["run", "m.onnx", "i=[3]", "--random", "0"]) == 1
    assert capsys.readouterr().err.endswith(
        "; the inputs are random with N=1; choose other sizes with --dim, as --dim N=8, or pass values for 'x'\n"
    )
    assert main(["run", "m.onnx", "i=[3]", "--random", "0", "--dim", "N=8"]) == 0


def test_values_that_were_given_are_not_called_random(capsys: Streams) -> None:
    sx.save(parse_model("g (float[N] x) => (y) <int64[1] i = {3}> { y = Gather(x, i) }"), "m.onnx")
    assert main(["run", "m.onnx", "x=[1, 2]", "--random", "0"]) == 1
    assert "random" not in capsys.readouterr().err


def test_a_model_of_fixed_sizes_has_nothing_to_choose(capsys: Streams) -> None:
    sx.save(parse_model("g (float[2] x) => (y) { y = Relu(x) }"), "m.onnx")
    assert main(["run", "m.onnx", "--random", "0"]) == 0
    assert capsys.readouterr().err == ""


def test_a_size_without_a_name_is_set_by_its_axis(capsys: Streams) -> None:
    sx.save(
        parse_model("g (float[N,?] x) => (y) <int64[1] i = {3}> { y = Gather<axis = 1>(x, i) }"), "m.onnx"
    )
    assert main(["run", "m.onnx", "--random", "0", "--dim", "x:1=4"]) == 0
    assert "random inputs: N=1, x:1=4\n" in capsys.readouterr().err
    assert main(["run", "m.onnx", "--random", "0", "--dim", "x:0=4"]) == 2
    assert "must be one of 'N', 'x:1'; got 'x:0'" in capsys.readouterr().err


# A network of images that joins what a stride of 2 has halved, and one of sound that reads windows.
JOINED = """g (float[N,2,H,W] x) => (y) <float[4] s = {1, 1, 2, 2}> {
    a = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(x)  b = Resize<mode = "nearest">(a, , s)  y = Concat<axis = 1>(b, x) }"""
WINDOWS = (
    """g (float[?,1,?] x, float[N,T] z) => (y, w) <float[1,1,100] k = {1.5}> { y = Conv(x, k)  w = Neg(z) }"""
)
BRANCH = """g (float[B,1,T] x, bool c) => (y) <float[1,1,100] k = {1.5}> {
    y = If(c) <then_branch = t () => (float[B,1,M] a) { a = Conv(x, k) }, else_branch = e () => (float[B,1,K] b) { b = Neg(x) }> }"""


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        (JOINED, "H=8, N=1, W=8"),
        (WINDOWS.replace("{1.5}", f"{{{', '.join(['1.5'] * 100)}}}"), "N=1, T=224, x:0=1, x:2=224"),
        (BRANCH.replace("{1.5}", f"{{{', '.join(['1.5'] * 100)}}}"), "B=1, T=224"),
    ],
)
@pytest.mark.parametrize("words", [["run", "--random", "0"], ["compare", "--against", "reference"]])
def test_sizes_are_those_that_the_operators_accept(
    words: list[str], text: str, sizes: str, capsys: Streams
) -> None:
    sx.save(parse_model(text), "m.onnx")
    verb, *options = words
    assert main([verb, "m.onnx", *options]) == 0
    assert f"random inputs: {sizes}\n" in capsys.readouterr().err


def test_the_sizes_of_given_values_hold_for_random_ones(capsys: Streams) -> None:
    sx.save(parse_model("g (float[N] x, float[N] z) => (y) { y = Add(x, z) }"), "m.onnx")
    assert main(["run", "m.onnx", "x=[1, 2, 3]", "--random", "0"]) == 0
    assert "random inputs: N=3\n" in capsys.readouterr().err


def test_a_result_without_elements_may_be_meant(capsys: Streams) -> None:
    sx.save(parse_model("g (float[N,0] x) => (y) { y = Relu(x) }"), "m.onnx")
    assert main(["run", "m.onnx", "--random", "0"]) == 0
    assert "random inputs: N=1\n" in capsys.readouterr().err
