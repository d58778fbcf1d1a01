"""Constants of convolutions, taken to the points of Winograd's forms when a program is made."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.pending import Pending
from sardonyx._src.compile.products.packing import constant, packed_bias
from sardonyx._src.compile.products.tiles import Tile, tile_for
from sardonyx._src.compile.products.winograd_form import TAPS
from sardonyx._src.compile.products.winograd_tiles import Forms, Variant
from sardonyx._src.compile.tensor import Tensor
from sardonyx._src.io.pages import let_go
from sardonyx._src.ir.tensors import Array

WIDEST = 16  # lanes of any target
BLOCK = (
    800  # windows at a time: of such products NumPy's BLAS makes no work for threads, which it would wait for
)


@dataclass(frozen=True, slots=True)
class Weights:
    """What `winograd_weights` makes of a convolution's constants.

    panels: [panels, points, channels, width].  bias: [panels, width].  features: columns that are no filling.
    """

    variant: Variant
    panels: Tensor
    bias: Tensor
    channels: int
    features: int


def winograd_weights(weights: Array, bias: Array | None, forms: Forms, target: Target) -> Weights:
    """Weights [features, channels, 3, 3] and bias [features] of a convolution, at the points and in panels."""
    features, channels = weights.shape[:2]
    assert channels > 0, "a convolution of nothing has no vectors"
    tile = tile_for(features, target.lanes, target.registers)
    depth = min(target.lanes, 1 << channels.bit_length() - 1)
    first = np.zeros(features, np.float32) if bias is None else bias
    return Weights(
        Variant(forms, tile, depth, features % WIDEST != 0),
        constant(transformed(weights, forms, tile), "weights"),
        constant(packed_bias(first, tile), "bias"),
        channels,
        features,
    )


def transformed(weights: Array, forms: Forms, tile: Tile) -> Pending:
    """Weights [features, channels, 3, 3] at the points, [panels, points, channels, width], rounded once."""
    features, channels, *window = weights.shape
    assert window == [TAPS, TAPS], f"a window of {window} is not three by three"
    both = np.kron(forms.vertical.weights(), forms.horizontal.weights())
    width = tile.width

    def make(rows: Array, first: int) -> None:
        for number, row in enumerate(rows, first):
            some = weights[number * width : (number + 1) * width]
            panel(row, some.reshape(len(some), channels, TAPS * TAPS), both)
            let_go(some)

    return Pending((-(-features // width), len(both), channels, width), 3, weights, make)


def panel(result: Array, weights: Array, both: Array) -> None:
    """Puts weights [features, channels, taps] at the points into a panel [points, channels, width]; then come zeros."""
    points, channels, width = result.shape
    some = max(BLOCK // width, 1)  # channels
    for first in range(0, channels, some):
        given = weights[:, first : first + some].transpose(2, 1, 0)
        windows = np.zeros((*given.shape[:2], width))
        windows[:, :, : given.shape[2]] = given
        found = both @ windows.reshape(len(windows), -1)
        result[:, first : first + some] = found.reshape(points, -1, width)
