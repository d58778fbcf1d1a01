"""`sardonyx run --verify`: what it reports of equal and of different results."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.cli.main import main
from sardonyx._src.compile.kernels.elementwise.operator_call import operation_rule
from sardonyx._src.compile.kernels.elementwise.operators import SCALAR_OPERATORS

TEXT = """g (float[N,4] x) => (float[N,4] y) <float[4] w = {1, 2, 3, 4.5}> {
  [product] a = Mul(x, w)  [curve] b = Tanh(a)  [normed] y = Softmax(b) }"""
RUN = ["run", "m.onnx", "--random", "0", "--dim", "N=2", "--verify"]
Streams = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SARDONYX_CACHE", "")
    sx.save(parse_model(TEXT), "m.onnx")


def test_equal_results_are_reported_with_the_largest_error(capsys: Streams) -> None:
    assert main([*RUN, "--repeat", "3"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("y: ")
    assert (
        "verified: the outputs are those of the reference engine within the tolerances; largest error " in err
    )


def test_a_wrong_step_is_an_error(capsys: Streams, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = replace(SCALAR_OPERATORS["Tanh"], rule=operation_rule("sin"))
    monkeypatch.setitem(SCALAR_OPERATORS, "Tanh", wrong)
    assert main(RUN) == 1
    out, err = capsys.readouterr()
    assert not out and "the first wrong value is 'b' of node[1] 'curve' (Tanh), by step 0" in err


def test_a_run_of_the_reference_engine_is_not_verified(capsys: Streams) -> None:
    text = "g (float[N] x, float[1] k) => (float[N] y) <float[1] k = {3}> { y = Mul(x, k) }"
    sx.save(parse_model(text), "m.onnx")
    assert main(["run", "m.onnx", "x=[1, 2]", "k=[2]", "--verify"]) == 0
    assert "nothing was verified: the reference engine itself computed the outputs" in capsys.readouterr().err


def test_there_must_be_two_engines(capsys: Streams) -> None:
    assert main([*RUN, "--engine", "reference"]) == 2
    assert 'verify must be "off" for engine="reference"' in capsys.readouterr().err
