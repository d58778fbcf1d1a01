"""Winograd weight transform, U = G g G^T, at compile time.

Weights [features, channels, 3, 3] become panels [panels, points, channels, NR] for the GEMMs at the points.  The transform
is one product with the Kronecker product of the two G matrices, in float64, rounded once.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.kernels.gemm.packing.packing import make_constant, pack_bias
from sardonyx._src.compile.kernels.gemm.tile.register_tile import RegisterTile, choose_tile
from sardonyx._src.compile.kernels.tuning import WinogradTuning
from sardonyx._src.compile.kernels.winograd.tiles import TileTransforms, WinogradVariant
from sardonyx._src.compile.kernels.winograd.transforms import TAPS
from sardonyx._src.compile.program import TensorView
from sardonyx._src.compile.program.operands.lazy_constants import LazyConstant
from sardonyx._src.dataclass import dataclass
from sardonyx._src.io.memory_release import release_pages
from sardonyx._src.ir import Array

MAX_LANES = 16  # lanes of the widest target: a multiple of it fills whole vectors on every target


@dataclass(frozen=True, slots=True)
class WinogradWeights:
    """The transformed and packed constants of a convolution.

    panels: [panels, points, channels, width].
    bias: [panels, width].
    features: the columns without padding.
    """

    variant: WinogradVariant
    panels: TensorView
    bias: TensorView
    channels: int
    features: int


def pack_winograd_weights(
    weights: Array, bias: Array | None, transforms: TileTransforms, target: Target
) -> WinogradWeights:
    """Transforms and packs weights [features, channels, 3, 3] and bias [features]."""
    features, channels = weights.shape[:2]
    assert channels > 0, "a Winograd convolution must have channels; got 0"
    tile = choose_tile(features, target)
    channel_lanes = min(target.lanes, 1 << channels.bit_length() - 1)
    biases = np.zeros(features, np.float32) if bias is None else bias
    return WinogradWeights(
        WinogradVariant(transforms, tile, channel_lanes, features % MAX_LANES != 0),
        make_constant(transform_weights(weights, transforms, tile), "weights"),
        make_constant(pack_bias(biases, tile), "bias"),
        channels,
        features,
    )


def transform_weights(weights: Array, transforms: TileTransforms, tile: RegisterTile) -> LazyConstant:
    """The transform of weights [features, channels, 3, 3] as a lazy constant [panels, points, channels, width]."""
    features, channels, *window = weights.shape
    assert window == [TAPS, TAPS], f"a window must be 3x3; got {window}"
    kronecker = np.kron(transforms.vertical.weight_matrix(), transforms.horizontal.weight_matrix())
    width = tile.width

    def compute_rows(rows: Array, first_row: int) -> None:
        for panel, panel_rows in enumerate(rows, first_row):
            features_of_panel = weights[panel * width : (panel + 1) * width]
            transform_panel(
                panel_rows,
                features_of_panel.reshape(len(features_of_panel), channels, TAPS * TAPS),
                kronecker,
            )
            release_pages(features_of_panel)

    return LazyConstant((-(-features // width), len(kronecker), channels, width), 3, weights, compute_rows)


def transform_panel(result: Array, weights: Array, kronecker: Array) -> None:
    """Transforms weights [features, channels, taps] into a panel [points, channels, width], padded with zeros."""
    points, channels, width = result.shape
    block_channels = max(WinogradTuning.max_blas_columns // width, 1)
    for first_channel in range(0, channels, block_channels):
        block = weights[:, first_channel : first_channel + block_channels].transpose(2, 1, 0)
        windows = np.zeros((*block.shape[:2], width))
        windows[:, :, : block.shape[2]] = block
        transformed = kronecker @ windows.reshape(len(windows), -1)
        result[:, first_channel : first_channel + block_channels] = transformed.reshape(points, -1, width)
