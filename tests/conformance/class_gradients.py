"""Gradients of random graphs and of layers, and networks with training steps, whose bits classes of processors share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np

import sardonyx as sx
from compile.unkind_agreement import Runs
from compile.unkind_gradients import gradient_sample, with_gradients
from conformance.class_layers import Layer
from sardonyx._src.errors import SardonyxError
from sardonyx._src.grad.gradient import gradient
from sardonyx._src.ir import Array, Model, TensorType
from sardonyx.train import Adam, AdamW, prepare

EXPORTS = Path(__file__).parents[1] / "train" / "exports"
TRAINING_STEPS = 3
GradientCase = tuple[str, Model, Mapping[str, Array]]
CONVOLUTIONS = Layer(
    "float[8,3,30,30] x, float[40,3,3,3] c, float[40] d, float[40] d2, float[40] d3, float[40] dp, float[50,40,3,3] c2, "
    "float[33,2450] e, float[33] e2",
    "h = Conv<pads=[1,1,1,1]>(x, c) n = BatchNormalization(h, d, d2, d3, dp) r = Relu(n) "
    "p = MaxPool<kernel_shape=[2,2],strides=[2,2]>(r) k = Conv<pads=[1,1,1,1]>(p, c2) g = Gelu(k) "
    "a = AveragePool<kernel_shape=[2,2],strides=[2,2]>(g) f = Flatten(a) y = Gemm<transB=1>(f, e, e2)",
)


def graph_gradients(seeds: Iterable[int]) -> Iterator[GradientCase]:
    """The gradients of random graphs by their weights and inputs, where there are any; sizes are those that are fed."""
    for seed in seeds:
        runs = Runs.of(gradient_sample(seed))
        feeds = runs.feeds[0]
        for value in runs.model.graph.inputs:
            assert isinstance(value.type, TensorType)
            value.type = TensorType(value.type.dtype, feeds[value.name].shape)
        try:
            yield str(seed), with_gradients(runs).model, feeds
        except SardonyxError:
            continue


def layer_gradients(layers: Iterable[Layer]) -> Iterator[GradientCase]:
    """The gradients of the sum of squares of each layer's result by all its floats, where there are any."""
    for layer in layers:
        squares = Layer(layer.signature, f"{layer.body} z9 = Mul(y, y)")
        model, feeds = squares.load()
        values = [*model.graph.inputs, *model.graph.initializers.values()]
        names = [v.name for v in values if isinstance(v.type, TensorType) and v.type.dtype.is_float]
        try:
            yield str(squares), gradient(model, "z9", names), feeds
        except SardonyxError:
            continue


def training_models() -> Iterator[GradientCase]:
    """Networks with a training step, and what a step is fed."""
    draw = np.random.default_rng(7)
    images, words = draw.standard_normal((2, 3, 6, 6), np.float32), draw.integers(0, 9, (2, 4))
    exports = {name: sx.load(EXPORTS / f"{name}_training.onnx") for name in ("images", "encoder")}
    prepared = prepare(exports["images"], optimizer=Adam(), loss="mse")
    yield "images", prepared, {"x": images, "target": images[:, 0, :1, 0]}
    prepared = prepare(exports["encoder"], optimizer=AdamW())
    yield "encoder", prepared, {"x": words, "target": draw.integers(0, 4, (2, 5))}
    model, feeds = CONVOLUTIONS.load()
    inputs = {**feeds, "target": draw.integers(0, 33, 8)}
    for optimizer in ("adam", "sgd"):
        prepared = prepare(model, optimizer=optimizer, initialization="he_normal", clip_norm=1.0)
        yield f"convolutions, {optimizer}", prepared, inputs
