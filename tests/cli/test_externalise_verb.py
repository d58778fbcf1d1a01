"""`sardonyx externalise` and `internalise`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from sardonyx._src.cli.main import main


@pytest.fixture
def path(tmp_path: Path) -> Path:
    b = sx.Builder(opset=21)
    x = b.input("x", sx.DataType.FLOAT, [1000])
    model_path = tmp_path / "m.onnx"
    sx.save(b.model(y=b.Add(x, b.constant("w", np.ones(1000, np.float32)))), model_path)
    return model_path


def test_out_and_in_again(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, back = path.with_name("out.onnx"), path.with_name("back.onnx")
    assert main(["externalise", str(path), "-o", str(out), "--location", "w.bin", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report == {"files": [{"location": "w.bin", "tensors": 1, "bytes": 4000}]}
    assert main(["internalise", str(out), "-o", str(back)]) == 0
    assert capsys.readouterr().out.startswith("1 tensor moved into the model\n")


def test_nothing_to_move_is_said(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(path.with_name("out.onnx"))
    assert main(["externalise", str(path), "-o", out, "--threshold", "5000"]) == 0
    assert capsys.readouterr().out.startswith("no tensor has 5000 bytes or more: all remain in the model\n")


def test_options_out_of_range_are_wrong_use(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["externalise", str(path), "-o", str(path.with_name("o.onnx")), "--align", "0"]) == 2
    assert "--align >= 1" in capsys.readouterr().err


def test_a_model_beyond_the_limit_is_a_finding(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["internalise", str(path), "-o", str(path.with_name("o.onnx")), "--limit", "100"]) == 1
    assert "keep the weights external" in capsys.readouterr().err
