"""Gradients of random graphs whose sizes are not kind: weights are inputs, and the elements of the output count differently."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from compile.random_graphs import F
from compile.unkind_agreement import Runs
from compile.unkind_anchors import add_anchor_with_epilogue, add_elementwise, add_residual, conv, gemm, matmul
from compile.unkind_fed_sizes import expand, reshape, resize, slice_axis
from compile.unkind_graphs import CONTRADICTIONS, UnkindGraphBuilder, UnkindModel, number
from compile.unkind_joins import add_concat, add_neck, add_skip
from sardonyx._src.grad.gradient import gradient
from sardonyx._src.ir import Array

CHANNELS = (24, 30, 31, 33, 40, 46, 47, 48, 62, 63, 64, 65, 80)  # beside the tiles of a kernel


class GradientGraphBuilder(UnkindGraphBuilder):
    """Builds a graph whose weights are mostly inputs, with few or many channels."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.fed_share = self.choose((50, 90, 100)) / 100
        self.number_share = self.choose((50, 100, 100)) / 100
        if self.flip(0.35):
            self.channels = number(self.choose(CHANNELS))
            small = [n for n in self.sizes if n < 7] or [2]
            self.height, self.width = (self.draw_shared_size(name, small) for name in "HW")

    def draw_normal(self, shape: Sequence[int]) -> Array:
        return self.spread(super().draw_normal(shape))

    def draw_signs(self, shape: Sequence[int]) -> Array:
        return self.spread(super().draw_signs(shape))

    def spread(self, x: Array) -> Array:
        """Numbers near others: of equal ones, as an operator chooses among, the rounding would decide which has the gradient."""
        return np.asarray(x * self.rng.uniform(0.9, 1.1, x.shape), np.float32)

    def draw_channels(self) -> int:
        return self.choose(CHANNELS) if self.flip(0.2) else super().draw_channels()


def add_product(g: UnkindGraphBuilder) -> object:
    """A product with weights, of an image or of rows."""
    x = g.pick_value(lambda m: m.rank > 1)
    return x and g.choose_from((conv, conv, gemm, matmul))(g, x)


def add_fed_sizes(g: UnkindGraphBuilder) -> object:
    x = g.pick_value(lambda m: m.rank > 0)
    return x and g.choose_from((reshape, resize, expand, slice_axis))(g, x)


IMAGES = (add_product, add_product, add_anchor_with_epilogue, add_neck, add_skip, add_concat, add_residual)
MATRICES = (add_product, add_product, add_anchor_with_epilogue, add_elementwise, add_fed_sizes, add_residual)


def gradient_sample(seed: int) -> UnkindModel:
    """The random model of a seed, with 2 to 7 nodes or a few more."""
    g = GradientGraphBuilder(seed)
    families = IMAGES if g.flip(0.6) else MATRICES
    (g.add_image if families is IMAGES else g.add_rows)(g.choose((1, 2, 2)) + (families is MATRICES))
    count = 2 + g.draw_int(5)
    for _ in range(3 * count):
        g.choose_from(families)(g)
        if len(g.builder.graph.nodes) >= count:
            break
    return weigh_last_value(g, seed)


def weigh_last_value(g: UnkindGraphBuilder, seed: int) -> UnkindModel:
    """The model with one output: the last value, each element times a fed number."""
    value = [v for v in g.values if v.dtype is F][-1]
    factors = g.add_fed([g.draw_normal(a.shape) for a in value.arrays])
    g.builder.output(g.builder.op("Mul", value.value, factors.value))
    for node in reversed(list(g.builder.graph.nodes)):
        if not any(v.uses or v.is_graph_output for v in node.outputs):
            g.builder.graph.remove(node)
    g.remove_unused()
    contradictions = [g.draw_contradiction() for _ in range(CONTRADICTIONS)]
    return UnkindModel(seed, g.builder.model(), g.feeds, {}, contradictions)


def with_gradients(runs: Runs) -> Runs:
    """The runs of the model that also computes the gradients of its output by all floats that are fed.

    Raises DifferentiationError where there are none.
    """
    names = [v.name for v in runs.model.graph.inputs if runs.feeds[0][v.name].dtype.kind == "f"]
    return replace(runs, model=gradient(runs.model, runs.model.graph.outputs[0].name, names), is_sound=False)
