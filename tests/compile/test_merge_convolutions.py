"""Narrow convolutions of one image are merged, and so are the depthwise convolutions that read their parts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.compile.prepare.merge_convolutions import merge_convolutions
from sardonyx._src.ir import Model, Tensor

F = np.float32
DEPTHWISE = "pads = [1, 1, 1, 1]"


def heads(
    channels: Sequence[int], *, depthwise: bool = True, pads: str = DEPTHWISE, opset: int = 22
) -> Model:
    """Pointwise convolutions of an image of six channels, each before a depthwise one; all even ones have a bias."""
    constants, nodes, outputs = [], [], []
    for i, count in enumerate(channels):
        bias = "" if i % 2 else f", b{i}"
        constants += [f"float[1] w{i} = {{0}}", f"float[1] d{i} = {{0}}", f"float[1] b{i} = {{0}}"]
        second = (
            f"Conv <group = {count}, {pads if i else DEPTHWISE}> (p{i}, d{i}{bias})"
            if depthwise
            else f"Relu(p{i})"
        )
        nodes.append(f"p{i} = Conv(x, w{i}{bias}) y{i} = {second}")
        outputs.append(f"float[N,C{i},P{i},Q{i}] y{i}")
    text = f"g (float[N,6,H,W] x) => ({', '.join(outputs)}) <{', '.join(constants)}> {{ {' '.join(nodes)} }}"
    model = parse_model(text, opset=opset)
    draw = np.random.default_rng(3)
    for i, count in enumerate(channels):
        shapes = {f"w{i}": (count, 6, 1, 1), f"d{i}": (count, 1, 3, 3), f"b{i}": (count,)}
        for name, shape in shapes.items():
            value = model.graph.initializers[name]
            value.initializer = Tensor.of(draw.integers(-3, 4, shape).astype(F), name=name)
            value.type = None
    return model


def operators(model: Model) -> list[str]:
    return [node.op_type for node in model.graph.nodes]


def assert_results_are_equal(model: Model) -> None:
    """Of integers, so that sums are exact in any order."""
    x = np.random.default_rng(1).integers(-3, 4, (2, 6, 9, 7)).astype(F)
    native, reference = (sx.Session(model, engine=engine, threads=1) for engine in ("native", "reference"))
    actual, expected = native.run({"x": x}), reference.run({"x": x})
    for name in (value.name for value in model.graph.outputs):
        np.testing.assert_array_equal(actual[name], expected[name])


@pytest.mark.parametrize("channels", [(1, 4, 1, 10), (2, 3), (15, 15, 2)])
def test_heads_are_two_convolutions(channels: Sequence[int]) -> None:
    model = heads(channels)
    assert_results_are_equal(model)
    merge_convolutions(model)
    assert operators(model) == ["Conv", "Conv", "Split"]
    assert_results_are_equal(model)


def test_other_readers_read_the_parts() -> None:
    model = heads((1, 4, 10), depthwise=False)
    merge_convolutions(model)
    assert operators(model) == ["Conv", "Split", "Relu", "Relu", "Relu"]
    assert_results_are_equal(model)


def test_depthwise_convolutions_with_other_windows_stay() -> None:
    model = heads((1, 4, 10), pads="pads = [0, 1, 1, 1]")
    merge_convolutions(model)
    assert operators(model) == ["Conv", "Split", "Conv", "Conv", "Conv"]
    assert_results_are_equal(model)


def test_parts_with_further_readers_stay() -> None:
    model = heads((1, 4, 10))
    model.graph.outputs.append(model.graph.value("p1"))
    merge_convolutions(model)
    assert operators(model) == ["Conv", "Split", "Conv", "Conv", "Conv"]
    assert_results_are_equal(model)


@pytest.mark.parametrize("channels", [(16, 16), (10, 10), (4,)])
def test_convolutions_that_need_as_many_vectors_stay(channels: Sequence[int]) -> None:
    model = heads(channels)
    merge_convolutions(model)
    assert operators(model) == ["Conv"] * (2 * len(channels))


def test_computed_weights_stay() -> None:
    model = heads((1, 4))
    weights = model.graph.initializers["w0"]
    model.graph.remove_initializer(weights)
    weights.initializer = None
    model.graph.add_input(weights)
    merge_convolutions(model)
    assert operators(model).count("Split") == 0
