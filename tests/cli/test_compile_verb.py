"""`sardonyx compile`: models compiled to files that run."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.cli.main import main
from sardonyx._src.compile.linker import features
from sardonyx._src.compile.llvm.host_target import find_class
from sardonyx._src.runtime.saved_programs.container import read_container

pytestmark = pytest.mark.skipif(
    features.saved_program_machine() is None, reason="programs are not saved here"
)
TEXT = "g (float[N,2] x) => (float[N,2] y) { y = Relu(x) }"
Streams = pytest.CaptureFixture[str]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    sx.save(parse_model(TEXT), tmp_path / "m.onnx")
    return tmp_path / "m.onnx"


def test_the_file_runs(path: Path, capsys: Streams) -> None:
    assert main(["compile", str(path), "-o", str(path.parent / "other.sdx")]) == 0
    assert "other.sdx (" in capsys.readouterr().out
    y = sx.Session(path.parent / "other.sdx").run({"x": np.array([[-1, 2]], np.float32)})["y"]
    np.testing.assert_array_equal(y, [[0, 2]])


def test_run_takes_the_file_for_a_model(path: Path, capsys: Streams) -> None:
    assert main(["compile", str(path)]) == 0
    capsys.readouterr()
    assert main(["run", str(path.with_suffix(".sdx")), "x=[[-1, 2]]", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"y": [[0, 2]]}


def test_the_file_takes_the_name_of_the_model(path: Path) -> None:
    assert main(["compile", str(path)]) == 0
    assert path.with_suffix(".sdx").exists()


def test_a_model_that_cannot_be_run_is_a_finding(path: Path, capsys: Streams) -> None:
    sx.save(parse_model("g (float[2] x) => (float[2] y) { y = Nowhere(x) }"), path)
    assert main(["compile", str(path)]) == 1
    assert "Nowhere" in capsys.readouterr().err
    assert not path.with_suffix(".sdx").exists()


def test_a_model_without_a_name_needs_one(capsys: Streams) -> None:
    assert main(["compile", "-"]) == 2
    assert "-o FILE.sdx" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["aarch64", "aarch64-i8mm", "riscv64", "riscv64-v", "x86-64-v2"])
def test_a_program_for_another_class(name: str, path: Path, capsys: Streams) -> None:
    """It contains no code of this machine; a machine of another kind refuses it."""
    out = path.parent / "other.sdx"
    assert main(["compile", str(path), "-o", str(out), "--target", name]) == 0
    machine = find_class(name).machine
    assert read_container(out).document["machine"] == machine
    assert read_container(out).document["features"] == required_of(name)
    if machine != features.saved_program_machine():
        with pytest.raises(sx.UnsupportedProcessor, match=f"is for Linux on {machine}"):
            sx.Session(out)


def required_of(name: str) -> list[str]:
    """The features of a class, by Linux's names."""
    chosen = find_class(name)
    return sorted(features.FLAGS_BY_MACHINE[chosen.machine][feature] for feature in chosen.features)


def test_a_class_that_does_not_exist(path: Path, capsys: Streams) -> None:
    assert main(["compile", str(path), "--target", "sparc"]) == 2
    assert "riscv64-v" in capsys.readouterr().err
    with pytest.raises(sx.InputError, match="target must be one of"):
        sx.tools.compile(path, path.parent / "m.sdx", processor="sparc")


def test_a_cache_for_another_kind_of_machine_is_refused(path: Path, capsys: Streams) -> None:
    other = "aarch64" if features.saved_program_machine() != "aarch64" else "riscv64"
    assert main(["warm", str(path), "--target", other]) == 2
    assert f"sardonyx compile --target {other}" in capsys.readouterr().err
