"""`sardonyx compile --emit`: models compiled to libraries for C."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.cli.main import main
from sardonyx._src.compile.linker.features import saved_program_machine

pytestmark = pytest.mark.skipif(saved_program_machine() is None, reason="libraries are not compiled here")
Streams = pytest.CaptureFixture[str]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    model = parse_model(
        "g (float[N,2] x, int64[1] axes) => (float[A] y) { y = ReduceMax <keepdims = 0> (x, axes) }"
    )
    sx.save(model, tmp_path / "m.onnx")
    return tmp_path / "m.onnx"


def test_a_library_and_its_header_are_written(path: Path, capsys: Streams) -> None:
    out = path.parent / "out"
    words = [
        "compile",
        str(path),
        "--emit",
        "static",
        "-o",
        str(out),
        "--dim",
        "N=3",
        "--constant",
        "axes=[1]",
    ]
    assert main([*words, "--prefix", "top"]) == 0
    assert sorted(file.name for file in out.iterdir()) == ["libtop.a", "top.h"]
    assert "libtop.a (" in capsys.readouterr().out
    assert "#define TOP_OUTPUT_Y_DIMS {3}" in (out / "top.h").read_text()


def test_the_folder_has_the_name_of_the_model(path: Path, capsys: Streams) -> None:
    words = [
        "compile",
        str(path),
        "--emit",
        "shared",
        "--dim",
        "N=3",
        "--constant",
        "axes=[0]",
        "--weights-file",
    ]
    assert main([*words, "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    names = [Path(name) for name in summary["paths"]]
    assert names == [
        path.parent / "m" / name for name in ("model.h", "libmodel.so", "model.weights", "model.py")
    ]
    assert summary["arena_bytes"] % 64 == 0 and summary["code_bytes"] > 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--emit", "static", "-o", "m.sdx"], "--out must be a folder"),
        (["--prefix", "net"], "--prefix requires --emit"),
        (["--dim", "N=3"], "--dim requires --emit"),
        (["--emit", "static"], "--dim N=8"),
        (["--emit", "static", "--prefix", "2"], "prefix must be an identifier"),
        (["--emit", "static", "--dim", "N=3"], "may be constants of the library: 'axes'"),
        (["-o", "folder/"], "must end in .sdx without --emit"),
        (["-o", "/"], "must end in .sdx without --emit"),
    ],
)
def test_options_that_do_not_fit_are_usage_errors(
    path: Path, words: list[str], message: str, capsys: Streams
) -> None:
    assert main(["compile", str(path), *words]) == 2
    assert message in capsys.readouterr().err
    assert [file.name for file in path.parent.iterdir()] == ["m.onnx"]
