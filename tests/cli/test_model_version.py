"""Versions of models, plain or semantic: printed by `show` and `diff`, written by the verbs that write models."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.cli.main import main
from sardonyx._src.errors import InputError
from sardonyx._src.ir.model_version import format_model_version, parse_model_version

Streams = pytest.CaptureFixture[str]
PAIRS = [
    (0, "0"),
    (7, "7"),
    ((1 << 32) - 1, "4294967295"),
    (1 << 32, "0.1.0"),
    ((1 << 48) + (2 << 32) + 3, "1.2.3"),
    ((0x7FFF << 48) + (0xFFFF << 32) + 0xFFFFFFFF, "32767.65535.4294967295"),
    (-(1 << 63), "32768.0.0"),
    (-1, "65535.65535.4294967295"),
]


@pytest.mark.parametrize(("version", "text"), PAIRS)
def test_a_version_is_printed_and_parsed(version: int, text: str) -> None:
    assert format_model_version(version) == text
    assert parse_model_version(text) == version


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1.2", "must be major.minor.patch"),
        ("-1", "must be major.minor.patch"),
        ("v1.2.3", "must be major.minor.patch"),
        ("4294967296", "a number below"),
        ("0.0.3", "must not be 0; got '0.0.3'; write 3"),
        ("65536.0.0", "the major number .* below 2"),
        ("1.65536.0", "the minor number"),
        ("1.0.4294967296", "the patch number"),
    ],
)
def test_other_texts_are_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_model_version(text)


@pytest.fixture
def path(tmp_path: Path) -> str:
    model = parse_model("g (float[N] x) => (float[N] y) { y = Abs(x) }", opset=21)
    model.model_version = (1 << 48) + (2 << 32) + 3
    sx.save(model, tmp_path / "m.onnx")
    return str(tmp_path / "m.onnx")


def test_show_prints_it(path: str, capsys: Streams) -> None:
    assert main(["show", path]) == 0
    assert "model version  1.2.3\n" in capsys.readouterr().out
    assert main(["show", path, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["model_version"], facts["model_version_text"]) == (281483566645251, "1.2.3")


WRITERS = {
    "convert": ["--opset", "22"],
    "infer": [],
    "externalise": [],
    "internalise": [],
    "optimize": [],
    "extract": ["--output", "y"],
    "rename": ["--input", "x=z"],
    "set-dims": ["--dim", "N=2"],
    "inline": [],
    "check": ["--fix"],
}


@pytest.mark.parametrize("verb", WRITERS)
def test_verbs_that_write_set_it(path: str, tmp_path: Path, verb: str, capsys: Streams) -> None:
    out = str(tmp_path / "out.onnx")
    assert main([verb, path, *WRITERS[verb], "-o", out, "--model-version", "4.5.6"]) == 0
    assert sx.load(out).model_version == (4 << 48) + (5 << 32) + 6
    assert main([verb, path, *WRITERS[verb], "-o", out, "--model-version", "12"]) == 0
    assert sx.load(out).model_version == 12
    assert main([verb, path, *WRITERS[verb], "-o", out]) == 0
    assert sx.load(out).model_version == (1 << 48) + (2 << 32) + 3
    capsys.readouterr()
    assert main([verb, path, *WRITERS[verb], "-o", out, "--model-version", "1.x"]) == 2
    assert "must be major.minor.patch" in capsys.readouterr().err


def test_merge_sets_it(path: str, tmp_path: Path) -> None:
    out = str(tmp_path / "out.onnx")
    assert main(["merge", path, path, "--map", "y=x", "-o", out, "--model-version", "2.0.0"]) == 0
    assert sx.load(out).model_version == 2 << 48


@pytest.mark.parametrize("verb", ["convert", "infer", "optimize"])
def test_it_requires_a_file_to_write(path: str, verb: str, capsys: Streams) -> None:
    assert main([verb, path, *WRITERS[verb], "--model-version", "1.0.0"]) == 2
    assert "--model-version requires -o" in capsys.readouterr().err


def test_diff_prints_it(path: str, tmp_path: Path, capsys: Streams) -> None:
    model = sx.load(path)
    model.model_version = 3
    sx.save(model, tmp_path / "b.onnx")
    main(["diff", path, str(tmp_path / "b.onnx")])
    assert capsys.readouterr().out == "~ model model_version: 1.2.3 -> 3\n"
