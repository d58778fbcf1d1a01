"""`mixed`: bits by layer, to a bound on size or accuracy."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np
import pytest

import sardonyx as sx
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, Model, Tensor, Value
from sardonyx._src.quantize.calibration import calibration_data
from sardonyx._src.quantize.schemes.mixed import quantize_mixed
from sardonyx._src.quantize.schemes.scheme import LayerPatterns, SchemeResult, SchemeSettings
from sardonyx._src.quantize.weights.bit_choice import BitStep, hull_steps
from sardonyx._src.quantize.weights.grid import IntegerGrid
from sardonyx._src.quantize.weights.layer_times import LayerTimes
from sardonyx._src.quantize.weights.layers import WeightLayer
from sardonyx._src.quantize.weights.rounding import WeightRounding

RNG = np.random.default_rng(5)
WIDTH = 128
ROWS = RNG.standard_normal((60, WIDTH)).astype(np.float32)
TAILS = {"even": 30, "heavy": 2, "usual": 4}  # degrees of freedom of each layer's weights
WEIGHTS = {
    name: (RNG.standard_t(degrees, (WIDTH, WIDTH)) / 16).astype(np.float32) for name, degrees in TAILS.items()
}


def chain() -> Model:
    b = sx.Builder(opset=21)
    x: Value | sx.ir.Value = b.input("x", "float32", ["N", WIDTH])
    for name, weight in WEIGHTS.items():
        x = b.Tanh(b.MatMul(x, weight, name=name))
    return b.model(y=x)


def exact() -> Array:
    y = ROWS
    for weight in WEIGHTS.values():
        y = np.tanh(y @ weight)
    return y


@pytest.mark.parametrize("size", [0.5, 0.3, 0.2])
def test_the_size_is_reached_with_the_layers_of_least_error(size: float) -> None:
    report = sx.quantize(chain(), "mixed", data={"x": ROWS}, size=size, force=True, rounds=0).report
    assert report.bytes[1] <= size * report.bytes[0]
    bits = {layer.layer: layer.bits for layer in report.layers}
    # One step fewer would be too large: the layer with most bits could not have more.
    finest = max(bits, key=lambda name: bits[name])
    more = {4: 8.25, 8: 32}[bits[finest]] - {4: 5, 8: 9}[bits[finest]]
    assert report.bytes[1] + more * WIDTH**2 / 8 > size * report.bytes[0]
    if size == 0.2:
        assert sorted(bits.values()) == [4, 4, 8] and bits["even"] == 4


@pytest.mark.parametrize(("ratio", "share"), [(15, 0.25), (25, 0.6), (40, 1)])
def test_the_accuracy_is_that_of_the_outputs(ratio: float, share: float) -> None:
    result = sx.quantize(chain(), "mixed", data={"x": ROWS}, signal_to_noise=ratio, force=True, rounds=0)
    actual = np.asarray(sx.Session(result.model).run({"x": ROWS})["y"])
    assert 10 * np.log10(np.square(exact()).sum() / np.square(actual - exact()).sum()) >= ratio
    assert result.report.bytes[1] < share * result.report.bytes[0]


def test_scaled_terms_have_mixed_bits() -> None:
    settings = {"data": {"x": ROWS}, "size": 0.3, "force": True, "rounds": 0}
    report = sx.quantize(chain(), "mixed", algorithm="awq", **settings).report  # type: ignore[arg-type]
    assert report.bytes[1] <= 0.3 * report.bytes[0] and report.outputs[0].signal_to_noise > 12


def seconds_of(
    model: Model, choices: Mapping[WeightLayer, Sequence[WeightRounding]], feeds: Mapping[str, object]
) -> LayerTimes:
    """A run of 10 s, of which layers take 3 s, 2 s and 2 s; 4 bits halve the time, and 8 bits of `heavy` save nothing."""
    floats = {layer: {"even": 3.0, "heavy": 2.0, "usual": 2.0}[layer.name] for layer in choices}
    ratios = {
        (layer, rounding): 0.5 if rounding.grid.bits == 4 else 1.0 if layer.name == "heavy" else 0.75
        for layer, roundings in choices.items()
        for rounding in roundings
    }
    return LayerTimes(10.0, floats, ratios)


def test_the_latency_is_reached_with_the_layers_of_least_error() -> None:
    data = calibration_data(chain(), {"x": ROWS}, 0, None)

    def quantize(latency: float) -> SchemeResult:
        patterns = LayerPatterns()
        settings = SchemeSettings("mixed", patterns, True, lambda done, total: None, latency=latency)
        return quantize_mixed(chain(), data, settings, seconds_of)

    # 8 bits save 0.75 s and 0.5 s with the least errors for each second, and nothing at the heavy tails.
    assert {layer.layer: layer.bits for layer in quantize(0.93).layers} == {"even": 8}
    assert {layer.layer: layer.bits for layer in quantize(0.88).layers} == {"even": 8, "usual": 8}
    # All layers at 4 bits save 3.5 s.
    everything = quantize(0.65)
    assert {layer.layer: layer.bits for layer in everything.layers} == dict.fromkeys(TAILS, 4)
    assert everything.title.endswith("predicted latency 65%")
    with pytest.raises(sx.InputError, match=r"latency must be at least 0\.650, which fewest bits"):
        quantize(0.6)


def test_times_are_measured_where_none_are_given() -> None:
    """The bound of the whole time holds without any step, whatever the times are."""
    report = sx.quantize(chain(), "mixed", data={"x": ROWS}, latency=1.0, rounds=0).report
    assert not report.layers and report.scheme.endswith("predicted latency 100%")


def test_layers_that_the_bound_leaves_are_named() -> None:
    report = sx.quantize(chain(), "mixed", data={"x": ROWS}, size=0.9, force=True, rounds=0).report
    assert len(report.layers) == 1
    assert {item.why for item in report.kept} == {"the bound leaves it as it is"}


def layer() -> WeightLayer:
    tensor = Tensor.of(WEIGHTS["even"], DataType.FLOAT)
    return WeightLayer((), Value("w"), tensor, "product", 0, False, ())


@pytest.mark.parametrize(("eight", "four"), [(1e-4, 1e-2), (1e-2, 1.1e-2)])
def test_steps_are_those_of_least_error_for_each_byte(eight: float, four: float) -> None:
    """The best choice for each price of a byte, by exhaustive search, is one that the steps reach."""
    roundings = [WeightRounding("nearest", 32, IntegerGrid(bits, True)) for bits in (8, 4)]
    steps: list[BitStep] = list(hull_steps(layer(), dict(zip(roundings, (eight, four), strict=True))))
    sizes = [4 * WIDTH**2, *(rounding.bytes_of(layer()) for rounding in roundings)]
    assert sizes == [4 * WIDTH**2, WIDTH**2 * 9 // 8, WIDTH**2 * 5 // 8]
    choices = list(zip(sizes, (0.0, eight, four), strict=True))
    reached: list[tuple[float, float]] = [choices[0]]
    for step in steps:
        reached.append((reached[-1][0] - step.saved, reached[-1][1] + step.added))
    for price in np.geomspace(1e-10, 1e-3, 200):
        costs = [[error + price * size for size, error in part] for part in (choices, reached)]
        assert min(costs[1]) == pytest.approx(min(costs[0]))
    assert len(steps) == (2 if four > 9 * eight else 1)
    assert all(a.added / a.saved <= b.added / b.saved for a, b in itertools.pairwise(steps))


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ({}, "mixed requires one of size, signal_to_noise, latency; got none"),
        ({"size": 0.3, "signal_to_noise": 20}, "got size and signal_to_noise"),
        ({"latency": 0.0}, "latency must be above 0 and at most 1"),
        ({"size": 1.5}, "size must be above 0 and at most 1"),
        ({"size": 0.1}, "size must be at least 0.156"),
    ],
)
def test_wrong_bounds(bounds: dict[str, float], message: str) -> None:
    with pytest.raises(sx.InputError, match=message):
        sx.quantize(chain(), "mixed", data={"x": ROWS}, force=True, rounds=0, **bounds)  # type: ignore[arg-type]
