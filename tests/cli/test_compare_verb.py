"""`sardonyx compare`: the first value that differs between two models or engines."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.cli.main import main
from sardonyx._src.measure.compare.models import compare

TEXT = """g (float[N,4] x) => (float[N,4] y) <float[4] w = {1, 2, 3, 4}> {
  [first] a = Mul(x, w)  [second] b = Add(a, w)  [third] c = Tanh(b)  [last] y = Neg(c) }"""
Streams = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    sx.save(parse_model(TEXT), "a.onnx")
    sx.save(parse_model(TEXT.replace("Add(a, w)", "Sub(a, w)")), "b.onnx")


def test_the_first_difference_is_named(capsys: Streams) -> None:
    assert main(["compare", "a.onnx", "b.onnx", "--dim", "N=2"]) == 1
    out = capsys.readouterr().out.splitlines()
    assert [line.split()[-4] for line in out[1:4]] == ["b", "c", "y"]
    assert out[4].startswith("first difference: 'b' of node[1] 'second' (Add): error ")
    assert out[5].startswith("outputs: 0 of 1 agree; 'y' (error ")


def test_equal_models_agree(capsys: Streams) -> None:
    assert main(["compare", "a.onnx", "a.onnx"]) == 0
    assert capsys.readouterr().out == "outputs: 1 of 1 agree\n"
    assert main(["compare", "a.onnx", "a.onnx", "--full"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 6


@pytest.mark.parametrize("against", ["reference", "onnxruntime"])
def test_engines_are_compared(against: str, capsys: Streams) -> None:
    assert main(["compare", "a.onnx", "--engine", "native", "--against", against, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["ok"] and [value["name"] for value in facts["values"]] == ["a", "b", "c", "y"]


def test_feeds_are_used(capsys: Streams) -> None:
    zeros = "x=[[0, 0, 0, 0]]"
    assert main(["compare", "a.onnx", "b.onnx", "--feed", zeros, "--json"]) == 1
    first = json.loads(capsys.readouterr().out)["first"]
    assert (first["name"], first["max_abs"], first["error"]) == ("b", 8.0, 2.0)


@pytest.mark.parametrize(
    "words", [["b.onnx", "INPUT"], ["b.onnx", "--full", "INPUT"], ["INPUT", "--against", "reference"]]
)
@pytest.mark.parametrize("kind", ["literal", "file", "archive"])
def test_inputs_are_words_as_of_run(words: list[str], kind: str, capsys: Streams) -> None:
    zeros = np.zeros((1, 4), np.float32)
    np.save("zeros.npy", zeros)
    np.savez("zeros.npz", x=zeros)
    given = {"literal": "x=[[0, 0, 0, 0]]", "file": "x=zeros.npy", "archive": "zeros.npz"}[kind]
    code = main(["compare", "a.onnx", "--json", *(given if word == "INPUT" else word for word in words)])
    facts = json.loads(capsys.readouterr().out)
    assert code == (0 if "--against" in words else 1)
    assert facts["first"] is None or (facts["first"]["name"], facts["first"]["max_abs"]) == ("b", 8.0)


def test_wrong_use(capsys: Streams) -> None:
    assert main(["compare", "a.onnx"]) == 2
    assert "a second model or --against" in capsys.readouterr().err
    assert main(["compare", "a.onnx", "--against", "tensorflow"]) == 2
    assert (
        "--against must be one of auto, reference, native, onnxruntime, openvino" in capsys.readouterr().err
    )


def test_nan_and_infinity_are_traced() -> None:
    text = "g (float[2] x) => (float[2] y) { a = Abs(x)  [logarithm] b = Log(a)  c = Mul(b, x)  y = Neg(c) }"
    result = compare(parse_model(text), None, {"x": np.array([0, 1], np.float32)}, engine="reference")
    assert result.ok and result.first is None
    nonfinite = result.first_nonfinite
    assert nonfinite is not None
    assert (nonfinite.name, nonfinite.node, nonfinite.nonfinite) == (
        "b",
        "node[1] 'logarithm' (Log)",
        (1, 1),
    )
    assert "first NaN or infinity: 'b' of node[1] 'logarithm' (Log)" in str(result)


def chain(length: int, wrong: int) -> sx.Model:
    """A chain of additions, of which one subtracts."""
    steps = ((f"v{i}", f"v{i - 1}" if i else "x", "Sub" if i == wrong else "Add") for i in range(length))
    nodes = " ".join(f"{out} = {op}({before}, w)" for out, before, op in steps)
    return parse_model(f"g (float[256] x) => (float[256] v{length - 1}) <float[1] w = {{1}}> {{ {nodes} }}")


@pytest.mark.parametrize("wrong", [0, 1, 17, 62, 63])
def test_bisection_finds_the_same_difference(wrong: int) -> None:
    right, damaged = chain(64, -1), chain(64, wrong)
    whole = compare(right, damaged, engine="reference")
    halved = compare(right, damaged, engine="reference", bytes=4096)
    assert whole.first is not None and halved.first is not None
    assert whole.first.name == halved.first.name == f"v{wrong}"
    assert whole.runs == 1 and 4 <= halved.runs <= 6
    assert not halved and repr(halved).startswith("<ModelComparison: outputs: 0 of 1 agree")


def test_an_output_that_is_declared_with_another_rank_is_compared(capsys: Streams) -> None:
    false = parse_model(
        "g (float[N,4] x) => (float[N] y) <int64[3] s = {0, 2, 2}> { a = Neg(x)  y = Reshape(a, s) }"
    )
    sx.save(false, "false.onnx")
    for engines in (["native", "reference"], ["native", "onnxruntime"]):
        assert (
            main(["compare", "false.onnx", "--engine", engines[0], "--against", engines[1], "--dim", "N=3"])
            == 0
        )
        assert capsys.readouterr().out == "outputs: 1 of 1 agree\n"


def test_models_without_a_common_output_are_refused() -> None:
    other = parse_model("g (float[N,4] x) => (float[N,4] z) { z = Neg(x) }")
    with pytest.raises(sx.InputError, match="an output of the same name"):
        compare(parse_model(TEXT), other)
