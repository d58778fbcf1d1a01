"""The share of a layer in the final error is that of a model in which it alone is quantized."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from sardonyx._src.cli.main import main
from sardonyx._src.ir import Array, Model, Value
from sardonyx._src.quantize.report.report import QuantizationReport

RNG = np.random.default_rng(21)
WIDTH = 64
ROWS = RNG.standard_normal((24, WIDTH)).astype(np.float32)
WEIGHTS = {
    name: (RNG.standard_t(degrees, (WIDTH, WIDTH)) / 8).astype(np.float32)
    for name, degrees in (("first", 30), ("second", 2), ("third", 5))
}


def chain() -> Model:
    b = sx.Builder(opset=21)
    x: Value = b.input("x", "float32", ["N", WIDTH])
    for name, weight in WEIGHTS.items():
        x = b.Tanh(b.MatMul(x, weight, name=name))
    return b.model(y=x)


def images() -> Model:
    b = sx.Builder(opset=17)
    x = b.input("x", "float32", ["N", 3, 8, 8])
    kernels = [RNG.standard_normal((8, c, 3, 3)).astype(np.float32) / 4 for c in (3, 8)]
    hidden = b.Relu(b.Conv(x, kernels[0], name="first"))
    hidden = b.Conv(b.MaxPool(hidden, kernel_shape=[2, 2], strides=[2, 2]), kernels[1], name="second")
    return b.model(y=b.Gemm(b.Flatten(hidden), RNG.standard_normal((8, 4)).astype(np.float32), name="third"))


def shared_table() -> Model:
    """A table of embeddings that is the weight of the last product, too."""
    b = sx.Builder(opset=21)
    table = b.constant("table", RNG.standard_normal((40, WIDTH)).astype(np.float32))
    x: Value = b.Gather(table, b.input("x", "int64", ["N"]), name="embed")
    x = b.Tanh(b.MatMul(x, WEIGHTS["first"], name="first"))
    return b.model(y=b.Gemm(x, table, transB=1, name="head"))


def report_of(model: Model, scheme: str, data: Array, nodes: list[str] | None = None) -> QuantizationReport:
    """The report of a model, or of one in which only these layers are quantized, without shares."""
    options = {"nodes": nodes, "shares": False} if nodes else {}
    return sx.quantize(model, scheme, data={"x": data}, force=True, rounds=0, **options).report  # type: ignore[arg-type]


PIXELS = RNG.standard_normal((6, 3, 8, 8)).astype(np.float32)


@pytest.mark.parametrize(
    ("make", "scheme", "data"),
    [
        (chain, "int4", ROWS),
        (chain, "int8", ROWS),
        (chain, "float8", ROWS),
        (images, "int8", PIXELS),
        (images, "int8-dynamic", PIXELS),
        (images, "int8-weights", PIXELS),
        (shared_table, "int4", np.arange(24)),
    ],
)
def test_the_error_of_a_layer_is_that_of_the_model_with_it_alone(
    make: Callable[[], Model], scheme: str, data: Array
) -> None:
    model = make()
    layers = report_of(model, scheme, data).layers
    assert len(layers) >= 2
    for layer in layers:
        alone = report_of(model, scheme, data, [layer.layer]).outputs[0].signal_to_noise
        assert layer.alone == pytest.approx(alone, abs=0.05)
    noise = [10 ** (-layer.alone / 10) for layer in layers]
    assert [layer.share for layer in layers] == pytest.approx([part / sum(noise) for part in noise])


def test_layers_without_a_share(tmp_path: Path) -> None:
    """Scaled models have other values between layers; and shares can be left out."""
    for options in ({"algorithm": "awq"}, {"shares": False}):
        layers = sx.quantize(chain(), "int4", data={"x": ROWS}, force=True, rounds=0, **options).report.layers
        assert all(math.isnan(layer.share) for layer in layers)


def test_text_and_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sx.save(chain(), tmp_path / "m.onnx")
    np.savez(tmp_path / "x.npz", x=ROWS)
    words = ["quantize", str(tmp_path / "m.onnx"), "--data", str(tmp_path / "x.npz"), "--force"]
    assert main([*words, "--json"]) == 0
    shares = {item["layer"]: item["share"] for item in json.loads(capsys.readouterr().out)["layers"]}
    assert sum(shares.values()) == pytest.approx(1)
    assert main(words) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["share", "dB", "alone", "dB", "bits", "weight", "layer"]
    assert lines[1].split()[-1] == max(shares, key=lambda name: shares[name])
    assert lines[1].split()[0] == f"{max(shares.values()):.1%}"
