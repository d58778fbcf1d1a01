"""Small networks of float32 for the tests of quantization, with rows like those of runs, and onnxruntime as the other engine."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime as ort

import sardonyx as sx
from sardonyx._src.ir import Array

RNG = np.random.default_rng(5)


def weight(*shape: int) -> Array:
    """Heavy-tailed weights, as trained ones are."""
    fan_in = max(int(np.prod(shape[1:])), 1)
    return np.asarray(RNG.standard_t(5, shape) / np.sqrt(fan_in), np.float32)


def images(rows: int, seed: int = 1) -> Array:
    return np.asarray(np.random.default_rng(seed).standard_normal((rows, 3, 12, 12)), np.float32)


W0, W1, W2, W3, W4 = (
    weight(8, 3, 3, 3),
    weight(8, 1, 3, 3),
    weight(12, 8, 1, 1),
    weight(8, 20, 1, 1),
    weight(10, 8),
)
BIASES = {size: np.asarray(RNG.standard_normal(size) / 4, np.float32) for size in (8, 12, 10)}


def convolutional(rows: int | str = "N", opset: int = 17) -> sx.Model:
    """A convolution, a depthwise one, a Concat, a residual Add, pooling, and a product: [rows, 3, 12, 12] to [rows, 10]."""
    b = sx.Builder(opset=opset)
    x = b.input("x", "float32", [rows, 3, 12, 12])
    first = b.Relu(b.Conv(x, W0, BIASES[8], pads=[1, 1, 1, 1], name="first"))
    depthwise = b.Relu(b.Conv(first, W1, BIASES[8], group=8, pads=[1, 1, 1, 1], name="depthwise"))
    wide = b.Relu(b.Conv(depthwise, W2, BIASES[12], name="wide"))
    joined = b.MaxPool(b.Concat(depthwise, wide, axis=1), kernel_shape=[2, 2], strides=[2, 2])
    narrow = b.Conv(joined, W3, BIASES[8], name="narrow")
    total = b.Relu(b.Add(narrow, b.MaxPool(first, kernel_shape=[2, 2], strides=[2, 2])))
    features = b.Flatten(b.GlobalAveragePool(total))
    return b.model(y=b.Gemm(features, W4, BIASES[10], transB=1, name="last"))


def run_elsewhere(model: sx.Model, feeds: dict[str, Array], folder: Path) -> dict[str, Array]:
    """The outputs that onnxruntime computes."""
    path = folder / "quantized.onnx"
    sx.save(model, path)
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, feeds), strict=True))


def signal_to_noise(actual: Array, exact: Array) -> float:
    """In decibels; infinite for equal arrays."""
    noise = np.square(actual - exact).sum()
    return float(10 * np.log10(np.square(exact).sum() / noise)) if noise else np.inf


def operators(model: sx.Model) -> list[str]:
    return [node.op_type for node in model.graph.nodes]
