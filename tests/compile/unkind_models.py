"""Models of random graphs whose sizes are not kind: themes, each with its inputs and the families of its nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from compile.random_control_flow import CONTROL
from compile.random_data_movement import DATA_MOVEMENT
from compile.unkind_anchors import (
    add_anchor_with_epilogue,
    add_elementwise,
    add_residual,
    attention,
    gemm,
    matmul,
)
from compile.unkind_counted_sizes import add_late_sizes
from compile.unkind_graphs import UnkindGraphBuilder, UnkindModel
from compile.unkind_joins import add_concat, add_neck, add_skip

GenerateNode = Callable[[UnkindGraphBuilder], object]
ATTEMPTS = 3  # for each node


def add_data_movement(g: UnkindGraphBuilder) -> object:
    return g.choose_from(DATA_MOVEMENT)(g)


def add_control_flow(g: UnkindGraphBuilder) -> object:
    return g.choose_from(CONTROL)(g)


def add_row_product(g: UnkindGraphBuilder) -> object:
    """A Gemm or MatMul of a matrix, or Attention."""
    x = g.pick_value(lambda m: m.rank in (2, 3, 4))
    return x and g.choose_from((gemm, gemm, matmul, attention))(g, x)


def add_images(g: UnkindGraphBuilder) -> None:
    for _ in range(g.choose((1, 1, 2, 3))):
        g.add_image(1 if g.flip(0.25) else 2)


def add_matrices(g: UnkindGraphBuilder) -> None:
    for _ in range(g.choose((1, 1, 2, 3))):
        g.add_rows(g.choose((2, 2, 2, 3, 4)))


def add_any_inputs(g: UnkindGraphBuilder) -> None:
    (add_images if g.flip() else add_matrices)(g)
    if g.flip(0.2):
        g.add_tensor([g.channels])


@dataclass(frozen=True)
class Theme:
    """What adds the inputs of a graph, and the families of its nodes."""

    add_inputs: Callable[[UnkindGraphBuilder], None]
    families: tuple[GenerateNode, ...]


THEMES = (
    Theme(add_images, (add_neck, add_neck, add_skip, add_concat, add_residual)),
    Theme(add_images, (add_skip, add_skip, add_concat, add_late_sizes, add_anchor_with_epilogue, add_residual)),
    Theme(add_images, (add_anchor_with_epilogue, add_anchor_with_epilogue, add_elementwise, add_residual)),
    Theme(add_matrices, (add_row_product, add_row_product, add_anchor_with_epilogue, add_elementwise, add_late_sizes)),
    Theme(add_any_inputs, (add_late_sizes, add_late_sizes, add_concat, add_elementwise, add_data_movement, add_anchor_with_epilogue, add_control_flow)),
)  # fmt: skip


def sample(seed: int) -> UnkindModel:
    """The random model of a seed, with 3 to 12 nodes or a few more."""
    g = UnkindGraphBuilder(seed)
    theme = THEMES[seed % len(THEMES)]
    theme.add_inputs(g)
    count = 3 + g.draw_int(9)
    for _ in range(ATTEMPTS * count):
        g.choose_from(theme.families)(g)
        if len(g.builder.graph.nodes) >= count:
            break
    return g.build_unkind_model(seed)
