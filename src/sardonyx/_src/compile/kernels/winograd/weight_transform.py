"""Winograd weight transform, U = G g G^T, at compile time.

Weights [features, channels, 3, 3] become panels [panels, points, channels, NR] for the GEMMs at the points, by a kernel.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.kernels.gemm.packing.packing import make_constant, pack_bias
from sardonyx._src.compile.kernels.gemm.tile.register_tile import RegisterTile, choose_tile
from sardonyx._src.compile.kernels.winograd.tiles import TileTransforms, WinogradVariant
from sardonyx._src.compile.kernels.winograd.transforms import TAPS
from sardonyx._src.compile.kernels.winograd.weight_kernel import transform_into_panels, weight_kernel
from sardonyx._src.compile.llvm.loaded_kernels import compile_kernel_async
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
    width = tile.width

    def compute_rows(rows: Array, first_row: int) -> None:
        features_of_rows = weights[first_row * width : (first_row + len(rows)) * width]
        if len(features_of_rows) < len(rows) * width:
            rows[-1] = 0.0
        transform_into_panels(rows, features_of_rows, transforms)
        release_pages(features_of_rows)

    compile_kernel_async(weight_kernel(transforms))
    return LazyConstant(
        (-(-features // width), transforms.num_points, channels, width), 3, weights, compute_rows
    )
