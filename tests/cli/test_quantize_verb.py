"""`sardonyx quantize`: files, options and reports."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from sardonyx._src.cli.main import main


@pytest.fixture
def path(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    b = sx.Builder(opset=17)
    x = b.input("x", "float32", ["N", 64])
    product = b.MatMul(x, rng.standard_normal((64, 48)).astype(np.float32), name="product")
    sx.save(b.model(y=product), tmp_path / "m.onnx")
    np.savez(tmp_path / "data.npz", x=rng.standard_normal((40, 64)).astype(np.float32))
    return tmp_path / "m.onnx"


def test_a_model_is_written_with_a_summary(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = path.with_name("q.onnx")
    options = ["--data", str(path.with_name("data.npz")), "--scheme", "int8-weights", "--force"]
    assert main(["quantize", str(path), "-o", str(out), *options]) == 0
    assert "1 layer quantized" in capsys.readouterr().out
    assert [node.op_type for node in sx.load(out).graph.nodes] == ["DequantizeLinear", "MatMul"]


def test_the_report_is_json(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = str(path.with_name("data.npz"))
    assert main(["quantize", str(path), "--data", data, "--data", data, "--force", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["runs"], report["is_random"]) == (4, False)
    assert [layer["layer"] for layer in report["layers"]] == ["product"]
    assert report["bytes"] == [64 * 48 * 4, 64 * 48 // 2 + 2 * 48 * 4]


def test_layers_are_chosen_by_patterns(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["quantize", str(path), "--except", "prod*"]) == 0
    assert "as it is: product: it is excluded" in capsys.readouterr().out


def test_a_wrong_block_is_a_usage_error(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["quantize", str(path), "--block", "48"]) == 2
    assert "block must be 0, or a power of two" in capsys.readouterr().err


def test_integers_throughout(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, losses = path.with_name("q.onnx"), path.with_name("losses.json")
    options = ["--data", str(path.with_name("data.npz")), "--scheme", "int8", "--force", "--ranges", "mse"]
    bound = ["--accuracy", "0.01", "--metric", "mse", "--resume", str(losses)]
    assert main(["quantize", str(path), "-o", str(out), *options, *bound]) == 0
    assert "ranges by mse, bias correction: 1 layer quantized" in capsys.readouterr().out
    assert [node.op_type for node in sx.load(out).graph.nodes if "Linear" not in node.op_type] == ["MatMul"]
    assert len(json.loads(losses.read_text())["losses"]) == 1


def test_an_option_of_another_scheme_is_a_usage_error(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["quantize", str(path), "--scheme", "int8-dynamic", "--ranges", "mse"]) == 2
    assert "ranges must be None for the scheme 'int8-dynamic'" in capsys.readouterr().err


def test_mixed_bits_and_external_data(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, out = path.with_name("e.onnx"), path.with_name("q.onnx")
    sx.save(path, source, external=True)
    options = ["--scheme", "mixed", "--size", "0.3", "--format", "com.microsoft", "--force", "--report"]
    assert main(["quantize", str(source), "-o", str(out), *options]) == 0
    printed = capsys.readouterr().out
    assert "q.onnx.data" in printed and "   8  64 x 48" in printed
    assert out.with_name("q.onnx.data").stat().st_size >= 64 * 48
    assert [node.op_type for node in sx.load(out).graph.nodes] == ["MatMulNBits"]


def test_types_of_inputs_and_outputs_are_chosen(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    half, back = path.with_name("h.onnx"), path.with_name("b.onnx")
    data = str(path.with_name("data.npz"))
    assert (
        main(["quantize", str(path), "-o", str(half), "--scheme", "float16", "--io", "half", "--data", data])
        == 0
    )
    assert str(sx.load(half).graph.inputs[0].type) == "float16[N,64]"
    assert main(["quantize", str(half), "-o", str(back), "--scheme", "float32", "--io", "half"]) == 0
    assert [node.op_type for node in sx.load(back).graph.nodes] == ["Cast", "MatMul", "Cast"]
    assert "1 layer quantized" in capsys.readouterr().out
