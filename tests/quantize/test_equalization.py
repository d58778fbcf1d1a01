"""What equalization and bias correction promise: the same function, with ranges that are easier to quantize."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from quantize.networks import signal_to_noise, weight
from sardonyx._src.ir import Array, Model
from sardonyx._src.quantize.activations.choice import choose_layers
from sardonyx._src.quantize.activations.layers import ProductLayer
from sardonyx._src.quantize.activations.mean_shift import mean_shift
from sardonyx._src.quantize.calibration import calibration_data
from sardonyx._src.quantize.equalization.bias_correction import channel_means
from sardonyx._src.quantize.equalization.cross_layer import equalize_cross_layer
from sardonyx._src.quantize.equalization.smooth_quant import smooth_activations
from sardonyx._src.quantize.schemes.scheme import LayerPatterns
from sardonyx._src.rewrite.engine.view import View

SCALES = np.geomspace(0.02, 20, 8).astype(np.float32)  # of the channels between layers
IMAGE = np.random.default_rng(0).standard_normal((4, 3, 9, 9)).astype(np.float32)


def uneven_chain(groups: int = 1) -> sx.Model:
    """A convolution whose channels have very different ranges, and two more."""
    b = sx.Builder(opset=17)
    x = b.input("x", "float32", ["N", 3, 9, 9])
    first = weight(8, 3, 3, 3) * SCALES[:, None, None, None]
    second = weight(8, 8 // groups, 3, 3)
    second = second / SCALES[:, None, None, None] if groups > 1 else second / SCALES[None, :, None, None]
    hidden = b.Relu(b.Conv(x, first, SCALES / 2, name="first"))
    hidden = b.MaxPool(
        b.Relu(b.Conv(hidden, second, SCALES * 0, group=groups, name="second")), kernel_shape=[2, 2]
    )
    return b.model(y=b.Conv(hidden, weight(5, 8, 1, 1), name="third"))


def layers_of(model: Model) -> list[ProductLayer]:
    return choose_layers(View(model), LayerPatterns())[0]


def keys_of(model: Model) -> list[str]:
    return [layer.key for layer in layers_of(model)]


def channel_ranges(layer: ProductLayer) -> Array:
    return np.asarray(np.abs(layer.tensor.numpy()).max(axis=(1, 2, 3)))


@pytest.mark.parametrize("groups", [1, 8])
def test_cross_layer_equalization_computes_the_same_with_equal_ranges(groups: int) -> None:
    model = uneven_chain(groups)
    equal = equalize_cross_layer(model, keys_of(model))
    exact, actual = (sx.Session(each).run({"x": IMAGE})["y"] for each in (model, equal))
    np.testing.assert_allclose(actual, exact, rtol=1e-4, atol=1e-4 * np.abs(exact).max())
    first, second, _ = layers_of(equal)
    reads = np.abs(second.tensor.numpy()).max(axis=(0, 2, 3) if groups == 1 else (1, 2, 3))
    np.testing.assert_allclose(channel_ranges(first), reads, rtol=0.02)


def test_cross_layer_equalization_reduces_the_error() -> None:
    model = uneven_chain(8)
    errors = [
        sx.quantize(model, "int8", data={"x": IMAGE}, force=True, rounds=0, equalize=equalize, bound=0)
        .report.outputs[0]
        .signal_to_noise
        for equalize in (None, "cross-layer")
    ]
    assert errors[1] > errors[0] + 3


def test_results_that_others_read_are_not_scaled() -> None:
    b = sx.Builder(opset=17)
    hidden = b.Relu(b.Conv(b.input("x", "float32", ["N", 3, 9, 9]), weight(8, 3, 1, 1), name="first"))
    model = b.model(y=b.Conv(hidden, weight(8, 8, 1, 1), name="second"), z=hidden)
    assert sx.to_text(equalize_cross_layer(model, keys_of(model))) == sx.to_text(model)


def normalized() -> sx.Model:
    """Products of a normalization with an outlier channel, and one that reads something else."""
    b = sx.Builder(opset=17)
    x = b.input("x", "float32", ["N", 6, 16])
    scale = np.ones(16, np.float32)
    scale[3] = 60
    normal = b.LayerNormalization(x, scale, np.full(16, 0.1, np.float32))
    first, second = (
        b.MatMul(normal, weight(16, 24), name="first"),
        b.MatMul(normal, weight(16, 24), name="second"),
    )
    return b.model(y=b.MatMul(b.Add(first, second), weight(24, 4), name="third"))


def test_smoothing_computes_the_same_and_reduces_the_error() -> None:
    model = normalized()
    rows = {"x": np.random.default_rng(1).standard_normal((7, 6, 16)).astype(np.float32)}
    data = calibration_data(model, rows, 0, None)
    smooth = smooth_activations(model, keys_of(model), data)
    exact = sx.Session(model).run(rows)["y"]
    np.testing.assert_allclose(sx.Session(smooth).run(rows)["y"], exact, rtol=1e-3, atol=1e-4)
    errors = [
        signal_to_noise(sx.Session(quantized.model).run(rows)["y"], exact)
        for quantized in (
            sx.quantize(model, "int8", data=rows, force=True, rounds=0, equalize=equalize)
            for equalize in (None, "smooth")
        )
    ]
    assert errors[1] > errors[0] + 2


def test_the_mean_of_an_error_is_that_of_the_results() -> None:
    model = uneven_chain(8)
    layers = layers_of(model)
    means = channel_means(model, layers, calibration_data(model, {"x": IMAGE}, 0, None))
    np.testing.assert_allclose(means["x"], IMAGE.mean(axis=(0, 2, 3)), rtol=1e-5, atol=1e-7)
    errors = np.random.default_rng(2).standard_normal((8, 1, 3, 3)).astype(np.float32)
    operand = np.random.default_rng(3).standard_normal(8)
    shift = mean_shift(layers[1], errors, operand)
    np.testing.assert_allclose(shift, errors.sum(axis=(1, 2, 3)) * operand, rtol=1e-5)


def test_bias_correction_centers_the_error() -> None:
    b = sx.Builder(opset=17)
    matrix, bias = weight(64, 12), np.zeros(12, np.float32)
    model = b.model(y=b.Gemm(b.input("x", "float32", ["N", 64]), matrix, bias, name="only"))
    rows = (np.random.default_rng(4).standard_normal((500, 64)) + 3).astype(np.float32)
    exact = rows @ matrix
    means = [
        np.abs((sx.Session(quantized.model).run({"x": rows})["y"] - exact).mean(axis=0)).max()
        for quantized in (
            sx.quantize(model, "int8", data={"x": rows}, force=True, rounds=0, bias_correction=corrects)
            for corrects in (False, True)
        )
    ]
    assert means[1] < 0.3 * means[0]
