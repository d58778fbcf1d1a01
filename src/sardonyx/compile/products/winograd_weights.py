"""Constants of convolutions, taken to the points of Winograd's forms when a program is made."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sardonyx.compile.llvm.target import Target
from sardonyx.compile.products.packing import constant, packed, packed_bias
from sardonyx.compile.products.tiles import tile_for
from sardonyx.compile.products.winograd_form import TAPS
from sardonyx.compile.products.winograd_tiles import Forms, Variant
from sardonyx.compile.tensor import Tensor
from sardonyx.ir.tensors import Array

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
        constant(packed(transformed(weights, forms), tile), "weights"),
        constant(packed_bias(first, tile), "bias"),
        channels,
        features,
    )


def transformed(weights: Array, forms: Forms) -> Array:
    """Weights [features, channels, 3, 3] at the points: [points, channels, features] float32, rounded once."""
    features, channels, *window = weights.shape
    assert window == [TAPS, TAPS], f"a window of {window} is not three by three"
    both = np.kron(forms.vertical.weights(), forms.horizontal.weights())
    values = np.empty((len(both), features, channels), np.float32)
    some = max(BLOCK // channels, 1)  # features
    for first in range(0, features, some):
        windows = weights[first : first + some].astype(np.float64).reshape(-1, TAPS * TAPS)
        values[:, first : first + some] = (both @ windows.T).reshape(len(both), -1, channels)
    return values.transpose(0, 2, 1)
