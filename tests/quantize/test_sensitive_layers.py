"""Layers whose operands one scale is too coarse for keep floats, weights that are stored in 8 bits, and shifts that are measured."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from quantize.networks import operators, run_elsewhere, signal_to_noise, weight
from sardonyx._src.ir import Array
from sardonyx._src.quantize.activations.choice import choose_layers
from sardonyx._src.quantize.activations.sensitivity import ChannelErrors
from sardonyx._src.quantize.equalization.bias_correction import last_layers, significant_mean
from sardonyx._src.quantize.schemes.scheme import LayerPatterns
from sardonyx._src.rewrite.engine.view import View

IMAGES = np.random.default_rng(3).standard_normal((8, 4, 6, 6)).astype(np.float32)
MAGNITUDES = np.array(
    [1000, 1, 1, 1], np.float32
)  # of the channels: those of 1 are less than a step of 8 bits


def uneven(*, bias: bool = False) -> sx.Model:
    """A depthwise convolution of channels of very different ranges, whose results are then of equal ranges, and a second layer."""
    b = sx.Builder(opset=17)
    x = b.input("x", "float32", ["N", 4, 6, 6])
    scaled = b.Mul(x, MAGNITUDES[:, None, None])
    kernels = weight(4, 1, 3, 3) / MAGNITUDES[:, None, None, None]
    depthwise = b.Conv(scaled, kernels, group=4, name="depthwise")
    extra = [weight(5)] if bias else []
    return b.model(y=b.Conv(b.Sigmoid(depthwise), weight(5, 4, 1, 1), *extra, name="second"))


@pytest.mark.parametrize("scheme", ["int8", "int8-dynamic"])
def test_an_uneven_operand_stays_float(scheme: str, tmp_path: Path) -> None:
    model, feeds = uneven(), {"x": IMAGES}
    exact = sx.Session(model).run(feeds)["y"]
    result = sx.quantize(model, scheme, data=feeds, force=True, rounds=0)
    everything = sx.quantize(model, scheme, data=feeds, force=True, rounds=0, bound=-100)
    ours, coarse = (sx.Session(each.model).run(feeds)["y"] for each in (result, everything))
    assert signal_to_noise(ours, exact) > 30 > signal_to_noise(coarse, exact)
    notes = {layer.layer: layer.note for layer in result.report.layers}
    assert notes["depthwise"].startswith("its operand stays float32") and not notes["second"]
    assert not any(layer.note for layer in everything.report.layers)
    (conv,) = (node for node in result.model.graph.nodes if node.name == "depthwise")
    assert conv.inputs[0] is not None and conv.inputs[1] is not None
    assert [value.producer.op_type for value in conv.inputs if value and value.producer] == [
        "Mul",
        "DequantizeLinear",
    ]
    assert signal_to_noise(ours, run_elsewhere(result.model, feeds, tmp_path)["y"]) > 45


def test_the_ratio_of_a_layer_is_the_least_of_the_whole_and_the_mean_over_channels() -> None:
    (first, _), _ = choose_layers(View(uneven()), LayerPatterns())
    exact, errors = np.ones((2, 4, 3, 3), np.float32), np.array([0.1, 0.01, 0, 0.1], np.float32)
    whole = ChannelErrors(first)
    whole.add(exact, exact + errors[:, None, None])
    assert whole.ratio() == pytest.approx(10 * np.log10(4 / 0.0201), abs=1e-3)
    exact[:, 0] = 100  # a loud channel without much error beside three others
    channels = ChannelErrors(first)
    channels.add(exact, exact + errors[:, None, None])
    assert channels.ratio() == pytest.approx(
        (60 + 40 + 20) / 3, abs=1e-2
    )  # without the channel without error


@pytest.mark.parametrize("scheme", ["int8", "int8-dynamic"])
def test_weights_of_recurrences_and_tables_are_stored_in_8_bits(scheme: str, tmp_path: Path) -> None:
    b = sx.Builder(opset=17)
    tokens = b.input("tokens", "int64", [7, 2])
    rows = b.Gather(weight(11, 16), tokens)
    gates = [weight(2, 24, 16), weight(2, 24, 6)]
    states = b.LSTM(rows, *gates, direction="bidirectional", hidden_size=6)
    model = b.model(y=states[0])
    feeds = {"tokens": np.random.default_rng(0).integers(0, 11, (7, 2))}
    result = sx.quantize(model, scheme, data=feeds, force=True, rounds=0)
    assert operators(result.model).count("DequantizeLinear") == 3
    assert {layer.note for layer in result.report.layers} == {"its weight alone is in 8 bits"}
    exact, ours = (sx.Session(each).run(feeds)["y"] for each in (model, result.model))
    assert signal_to_noise(ours, exact) > 35
    assert signal_to_noise(ours, run_elsewhere(result.model, feeds, tmp_path)["y"]) > 60


def test_last_layers_are_those_that_no_layer_depends_on() -> None:
    view = View(uneven())
    layers, _ = choose_layers(view, LayerPatterns())
    assert [layer.name for layer in last_layers(view, layers)] == ["second"]


def test_a_mean_counts_where_it_is_significant() -> None:
    rows = np.array(
        [[1.0, 1.0, 0.0, 0.9], [1.0, -1.0, 2.0, 1.1], [1.0, 1.0, 1.0, 1.0], [1.0, -1.0, 1.0, 1.0]]
    )
    # standard errors 0, 0.58, 0.41 and 0.04
    np.testing.assert_allclose(significant_mean(rows), [1, 0, 0, 1], rtol=1e-6)
    np.testing.assert_array_equal(significant_mean(rows[:1]), [0, 0, 0, 0])


@pytest.mark.parametrize("scheme", ["int8", "int8-dynamic"])
def test_the_mean_of_the_last_error_vanishes(scheme: str) -> None:
    """What is left of the mean error over the calibration data is not significant."""
    model, feeds = uneven(bias=True), {"x": np.concatenate([IMAGES] * 4)}
    result = sx.quantize(model, scheme, data=feeds, force=True, rounds=0)
    exact, ours = (sx.Session(each).run(feeds)["y"] for each in (model, result.model))
    errors: Array = (ours - exact).astype(np.float64).mean(axis=(2, 3))
    assert (np.abs(errors.mean(axis=0)) < 4.5 * errors.std(axis=0, ddof=1) / np.sqrt(len(errors))).all()
