"""The command line: verbs, streams, exit codes."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model, parse_record
from sardonyx._src.cli.main import main, verb_names
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.binary import decode, encode

TEXT = "g (float[N,2] x, float[2] w) => (float[N,2] y) <float[2] w = {1, 2}> { a = Identity(x)  y = Identity(a) }"
Streams = pytest.CaptureFixture[str]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    model_path = tmp_path / "m.onnx"
    sx.save(parse_model(TEXT), model_path)
    return model_path


def call(*words: object) -> int:
    return main([str(w) for w in words])


def test_without_a_verb_the_verbs_are_listed(capsys: Streams) -> None:
    assert call() == 2
    listed = capsys.readouterr().out
    assert all(name in listed for name in verb_names())


@pytest.mark.parametrize("name", list(verb_names()))
def test_every_verb_explains_itself(name: str, capsys: Streams) -> None:
    assert call(name, "--help") == 0
    assert "usage: sardonyx" in capsys.readouterr().out


def test_an_unknown_verb_is_wrong_use(capsys: Streams) -> None:
    assert call("frobnicate") == 2
    assert (
        capsys.readouterr().err == "sardonyx: there is no verb 'frobnicate'; `sardonyx --help` lists them\n"
    )


@pytest.mark.parametrize(
    ("words", "close"),
    [
        (["score", "--kepe", "id"], "--keep"),  # before the missing model and source
        (["run", "m.onnx", "--egine=native"], "--engine"),
        (["check", "m.onnx", "--jsno"], "--json"),
        (["--verson"], "--version"),
    ],
)
def test_an_unknown_option_suggests_the_nearest(words: list[str], close: str, capsys: Streams) -> None:
    assert main(words) == 2
    assert capsys.readouterr().err.endswith(f"; did you mean '{close}'?\n")


@pytest.mark.parametrize("place", [0, 1, 2])
def test_options_may_be_between_inputs(place: int, path: Path, capsys: Streams) -> None:
    words = [str(path), "x=[[1, 2]]"]
    words[place:place] = ["--engine", "reference"]
    assert main(["run", *words]) == 0
    assert capsys.readouterr().out


def test_the_version_is_printed(capsys: Streams) -> None:
    assert call("--version") == 0
    assert capsys.readouterr().out == f"sardonyx {sx.__version__}\n"


def test_a_broken_model_is_a_finding_and_one_line(tmp_path: Path, capsys: Streams) -> None:
    (tmp_path / "m.onnx").write_bytes(b"\x08")
    assert call("show", tmp_path / "m.onnx") == 1
    err = capsys.readouterr().err
    assert err.startswith("sardonyx: ")
    assert err.count("\n") == 1


def test_a_missing_file_is_wrong_use(tmp_path: Path, capsys: Streams) -> None:
    assert call("show", tmp_path / "none.onnx") == 2
    assert "No such file" in capsys.readouterr().err


def test_the_module_runs_as_a_program(path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "sardonyx", "show", path], capture_output=True, text=True, check=True
    )
    assert "float[N,2]" in done.stdout


# --- show ------------------------------------------------------------------------------------


def test_show_describes_a_model(path: Path, capsys: Streams) -> None:
    assert call("show", path) == 0
    out = capsys.readouterr().out
    for fact in (
        "x: float[N,2]",
        "y: float[N,2]",
        "2 Identity",
        "ai.onnx 21",
        "2 elements in 1 tensor (float 1), 8 B",
    ):
        assert fact in out


def test_show_gives_json(path: Path, capsys: Streams) -> None:
    assert call("show", path, "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["operators"] == {"Identity": 2}
    assert facts["inputs"] == [{"name": "x", "type": "float[N,2]"}]
    assert (facts["parameters"], facts["bytes"]) == (2, 8)


def test_show_prints_text_that_loads_again(path: Path, tmp_path: Path, capsys: Streams) -> None:
    assert call("show", path, "--text") == 0
    (tmp_path / "m.onnxtxt").write_text(capsys.readouterr().out)
    assert sx.to_json(sx.load(tmp_path / "m.onnxtxt")) == sx.to_json(sx.load(path))


def test_show_reads_standard_input(path: Path, capsys: Streams, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    assert call("show", "-") == 0
    assert "float[N,2]" in capsys.readouterr().out


def test_show_lists_what_was_repaired(tmp_path: Path, capsys: Streams) -> None:
    (tmp_path / "m.onnx").write_bytes(
        encode(parse_record("g (float[2] x) => (float[2] y) { y = Neg(a)  a = Abs(x) }"))
    )
    assert call("show", tmp_path / "m.onnx") == 0
    assert "sorted" in capsys.readouterr().out


# --- run -------------------------------------------------------------------------------------


def test_run_takes_a_literal(path: Path, capsys: Streams) -> None:
    assert call("run", path, "x=[[1, 2]]", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"y": [[1.0, 2.0]]}


def test_run_prints_for_people(path: Path, capsys: Streams) -> None:
    assert call("run", path, "x=[[1, 2]]") == 0
    assert capsys.readouterr().out == "y: float[1,2]\n[[1. 2.]]\n"


@pytest.mark.parametrize("name", ["x.npy", "x.pb", "x.json"])
def test_run_takes_a_file(path: Path, tmp_path: Path, capsys: Streams, name: str) -> None:
    x = np.array([[1, 2]], np.float32)
    np.save(tmp_path / "x.npy", x)
    (tmp_path / "x.pb").write_bytes(encode(m.TensorProto(dims=[1, 2], data_type=1, raw_data=x.tobytes())))
    (tmp_path / "x.json").write_text("[[1, 2]]")
    assert call("run", path, f"x={tmp_path / name}", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"y": [[1.0, 2.0]]}


def test_run_takes_an_archive_and_saves_one(path: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "in.npz", x=np.array([[1, 2]], np.float32))
    assert call("run", path, tmp_path / "in.npz", "-o", tmp_path / "out.npz") == 0
    assert np.load(tmp_path / "out.npz")["y"].tolist() == [[1, 2]]


def test_run_reads_and_writes_a_folder_of_messages(path: Path, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    record_ = m.TensorProto(dims=[1, 2], data_type=1, float_data=[1.0, 2.0])
    (tmp_path / "data/input_0.pb").write_bytes(encode(record_))
    assert call("run", path, tmp_path / "data", "-o", tmp_path / "out") == 0
    tensor = decode((tmp_path / "out/output_0.pb").read_bytes(), m.TensorProto)
    assert (tensor.name, tensor.dims, bytes(tensor.raw_data)) == (
        "y",
        [1, 2],
        np.array([1, 2], np.float32).tobytes(),
    )


def test_run_makes_random_inputs_that_repeat(path: Path, capsys: Streams) -> None:
    outs = []
    for seed in (0, 0, 1):
        assert call("run", path, "--random", seed, "--dim", "N=3", "--json") == 0
        outs.append(json.loads(capsys.readouterr().out)["y"])
    assert outs[0] == outs[1] != outs[2]
    assert len(outs[0]) == 3


def test_run_reports_the_latency(path: Path, capsys: Streams) -> None:
    assert call("run", path, "--random", 0, "--repeat", 3) == 0
    assert capsys.readouterr().err.splitlines()[1].startswith("3 runs: median ")


@pytest.mark.parametrize(
    ("words", "match"),
    [
        (["y=1"], "no input 'y'"),
        ([], "no value for input 'x'"),
        (["x=[1"], "a literal such as"),
        (["x=[[1, 2, 3]]"], "must have length 2 (float[N,2]); got 3"),
        (["--random", "0", "--dim", "N"], "--dim must be NAME=N"),
        (["--random", "0", "--repeat", "0"], "--repeat must be >= 1"),
    ],
)
def test_wrong_inputs_are_wrong_use(path: Path, capsys: Streams, words: list[str], match: str) -> None:
    assert call("run", path, *words) == 2
    assert match in capsys.readouterr().err


# --- ops -------------------------------------------------------------------------------------


def test_ops_lists_all(capsys: Streams) -> None:
    assert call("ops") == 0
    assert "228 operators, 660 versions" in capsys.readouterr().out


def test_ops_shows_a_signature_by_version(capsys: Streams) -> None:
    assert call("ops", "Softmax") == 0
    out = capsys.readouterr().out
    assert "Softmax-1\n" in out
    assert "axis: INT = 1" in out
    assert "Softmax-13\n" in out
    assert "axis: INT = -1" in out


def test_ops_suggests(capsys: Streams) -> None:
    assert call("ops", "Sofmax") == 2
    assert "did you mean 'Softmax'" in capsys.readouterr().err


def test_ops_exports_a_set(tmp_path: Path, capsys: Streams) -> None:
    assert call("ops", "export", "ai.onnx", 18, "-o", tmp_path / "set.onnxopset") == 0
    assert sx.load_operator_set(tmp_path / "set.onnxopset").version == 18
    assert call("ops", "export", "ai.onnx", 18) == 0
    assert "ONNXOPSET" in capsys.readouterr().out
    assert call("ops", "export", "ai.onnx") == 2
