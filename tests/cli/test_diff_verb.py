"""`sardonyx diff`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.cli.main import main

TEXT = "g (float[2] x) => (float[2] y) <float[2] k = {1, 2}> { a = Neg(x)  y = Mul(a, k) }"


@pytest.fixture
def paths(tmp_path: Path) -> list[str]:
    sx.save(parse_model(TEXT), tmp_path / "a.onnx")
    sx.save(parse_model(TEXT.replace("{1, 2}", "{1, 2.25}")), tmp_path / "b.onnx")
    return [str(tmp_path / "a.onnx"), str(tmp_path / "b.onnx")]


def test_equal_models_are_fine_and_silent(paths: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", paths[0], paths[0]]) == 0
    assert capsys.readouterr().out == ""


def test_a_difference_is_a_finding(paths: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", *paths]) == 1
    assert capsys.readouterr().out.startswith("~ weight 'k': 1 elements differ, by 0.25 at [1]")
    assert main(["diff", *paths, "--json"]) == 1
    (change,) = json.loads(capsys.readouterr().out)["changes"]
    assert (change["kind"], change["at"], change["distance"]["max_abs"]) == ("weight", "'k'", 0.25)


def test_tolerance_and_kinds_are_the_callers(paths: list[str]) -> None:
    assert main(["diff", *paths, "--weights-tolerance", "0.25"]) == 0
    assert main(["diff", *paths, "--ignore", "weight"]) == 0


def test_an_infinite_error_is_text_in_json(paths: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    sx.save(parse_model(TEXT.replace("{1, 2}", "{1, nan}")), paths[1])
    assert main(["diff", *paths, "--json"]) == 1
    (change,) = json.loads(capsys.readouterr().out)["changes"]
    assert change["distance"]["max_abs"] == "inf"


def test_a_negative_tolerance_is_wrong_use(paths: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", *paths, "--weights-tolerance", "nan"]) == 2
    assert "must be >= 0" in capsys.readouterr().err


def test_an_error_in_the_second_model_is_reported_under_its_name(
    paths: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    (Path(paths[1])).write_bytes(b"\x08")
    assert main(["diff", *paths]) == 1
    assert capsys.readouterr().err.startswith(f"sardonyx: {paths[1]}: ")
