"""`sardonyx run --digest`, `run --certificate` and `verify`."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.cli.main import main

TEXT = "g (float[N,2] x) => (float[N,2] y, float[N,2] z) <float[2] w = {1, 2}> { y = Add(x, w)  z = Tanh(y) }"
Streams = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    sx.save(parse_model(TEXT), "m.onnx")
    np.savez("inputs.npz", x=np.array([[1, 2]], np.float32))


def certify(*words: str) -> None:
    assert main(["run", "m.onnx", *words, "--certificate", "c.json"]) == 0


def test_a_digest_is_a_line(capsys: Streams) -> None:
    expected = sx.tools.digest(sx.Session("m.onnx").run({"x": np.array([[1, 2]], np.float32)}))
    assert main(["run", "m.onnx", "inputs.npz", "--digest"]) == 0
    assert capsys.readouterr().out == f"{expected}\n"
    assert main(["run", "m.onnx", "inputs.npz", "--digest", "--json", "-o", "o.npz"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["digest"] == expected and list(facts["outputs"]) == ["y", "z"]
    assert sx.tools.digest(dict(np.load("o.npz"))) == expected


@pytest.mark.parametrize("engine", ["native", "reference"])
def test_a_certificate_is_verified_with_the_same_inputs(engine: str, capsys: Streams) -> None:
    certify("inputs.npz", "--engine", engine)
    assert "written: c.json" in capsys.readouterr().out
    assert main(["verify", "c.json", "m.onnx", "x=[[1, 2]]", "--threads", "2"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("y: equal\nz: equal\n2 of 2 outputs have the certified bits; certified on ")
    assert main(["verify", "c.json", "m.onnx", "x=[[1, 2]]", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["ok"] is True


def test_random_inputs_and_chosen_outputs_are_certified() -> None:
    random = ["--random", "3", "--dim", "N=4"]
    certify(*random, "--output", "z")
    assert [*json.loads(Path("c.json").read_text())["outputs"]] == ["z"]
    assert main(["verify", "c.json", "m.onnx", *random]) == 0
    assert main(["verify", "c.json", "m.onnx", "--random", "4", "--dim", "N=4"]) == 2


def test_an_output_that_differs_is_a_finding(capsys: Streams) -> None:
    mine, other = (sx.tools.certify("m.onnx", {"x": np.array([[1, last]], np.float32)}) for last in (2, 2.5))
    replace(mine, outputs=other.outputs).save("c.json")
    assert main(["verify", "c.json", "m.onnx", "x=[[1, 2]]"]) == 1
    assert capsys.readouterr().out.startswith("y: differs: 1 of 2 elements, by at most 0.5, relative 0.111\n")


@pytest.mark.parametrize(
    ("words", "match"),
    [
        (["c.json", "other.onnx", "x=[[1, 2]]"], "the model must be that of the certificate"),
        (["c.json", "m.onnx", "x=[[1, 3]]"], "'x' must have the certified bits"),
        (["c.json", "m.onnx", "x=[[1, 2]]", "--dim", "N=1"], "--dim requires --random"),
        (["inputs.npz", "m.onnx", "x=[[1, 2]]"], "inputs.npz must be a certificate"),
        (["damaged.json", "m.onnx", "x=[[1, 2]]"], "damaged.json is damaged"),
        (["none.json", "m.onnx", "x=[[1, 2]]"], "none.json: No such file"),
        (["old.json", "m.onnx", "x=[[1, 2]]"], "--any-version"),
    ],
)
def test_what_cannot_be_verified_is_wrong_use(words: list[str], match: str, capsys: Streams) -> None:
    certify("inputs.npz")
    sx.save(parse_model(TEXT.replace("Tanh", "Sinh")), "other.onnx")
    text = Path("c.json").read_text()
    Path("damaged.json").write_text(text.replace('"seed": 0', '"seed": 1'))
    certified = sx.tools.certify("m.onnx", {"x": np.array([[1, 2]], np.float32)})
    replace(certified, version="0.0.1").save("old.json")
    assert main(["verify", *words]) == 2
    assert match in capsys.readouterr().err


def test_runs_without_a_certificate_are_refused(capsys: Streams) -> None:
    assert main(["run", "m.onnx", "inputs.npz", "--certificate", "c.json", "--repeat", "2"]) == 2
    assert "omit --repeat" in capsys.readouterr().err
    sx.tools.compile("m.onnx", "m.sdx")
    assert main(["run", "m.sdx", "inputs.npz", "--certificate", "c.json"]) == 2
    assert "--certificate requires the model; got m.sdx" in capsys.readouterr().err


def test_another_model_is_not_blamed_on_random_inputs(capsys: Streams) -> None:
    random = ["--random", "0", "--dim", "N=4"]
    certify(*random)
    sx.save(parse_model(TEXT.replace("Tanh", "Sinh")), "other.onnx")
    assert main(["verify", "c.json", "other.onnx", *random]) == 2
    assert "choose other sizes" not in capsys.readouterr().err
    assert main(["verify", "c.json", "m.onnx", "--random", "0", "--dim", "N=5"]) == 2
    assert "choose other sizes" in capsys.readouterr().err


def test_names_in_a_certificate_add_no_lines(capsys: Streams) -> None:
    certified = sx.tools.certify("m.onnx", {"x": np.array([[1, 2]], np.float32)})
    replace(certified, machine={"class": "a\nw: equal\x1b[0m"}).save("c.json")
    assert main(["verify", "c.json", "m.onnx", "x=[[1, 2]]"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3 and r"certified on a\nw: equal\x1b[0m" in lines[-1]
