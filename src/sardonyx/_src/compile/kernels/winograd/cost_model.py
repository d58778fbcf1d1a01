"""Cost model of 3x3 convolutions: direct or Winograd, and which F(m x m, 3x3), by estimates fitted to measurements.

A cost is a number of cycles of a core that does two multiply-adds of 16 lanes a cycle.  It counts the products, the input and
output transforms, and the reads of the weights from memory, which overlap with the products in part.
"""

from __future__ import annotations

from itertools import product

from sardonyx._src.compile.kernels.gemm.tile.prefetch import CACHE_LINE_FLOATS
from sardonyx._src.compile.kernels.tuning import WinogradTuning
from sardonyx._src.compile.kernels.winograd.tiles import TileTransforms
from sardonyx._src.compile.kernels.winograd.transforms import F2X3, F4X3, TAPS
from sardonyx._src.ir.dims import Known

TRANSFORMS = [TileTransforms(*pair) for pair in product((F4X3, F2X3), repeat=2)]


def choose_transforms(
    images: Known, rows: Known, columns: Known, channels: int, features: int
) -> TileTransforms | None:
    """The cheapest transforms for an output [images, rows, columns, features]; None if a direct convolution is cheaper.

    Images of symbolic size count as large, and a symbolic number of images as one.
    """
    if channels < WinogradTuning.min_channels or features == 0:
        return None
    if not isinstance(rows, int) or not isinstance(columns, int):
        return TRANSFORMS[0]
    pixels = (images if isinstance(images, int) else 1, rows, columns)
    best = min(TRANSFORMS, key=lambda transforms: winograd_cost(pixels, channels, features, transforms))
    return (
        best
        if winograd_cost(pixels, channels, features, best) < direct_cost(pixels, channels, features)
        else None
    )


def winograd_cost(
    pixels: tuple[int, int, int], channels: int, features: int, transforms: TileTransforms
) -> float:
    """Cycles of a Winograd convolution with an output of `pixels`, (images, rows, columns)."""
    images, rows, columns = pixels
    tiles = images * -(-rows // transforms.vertical.outputs) * -(-columns // transforms.horizontal.outputs)
    points, vectors = transforms.num_points, count_vectors(channels) + count_vectors(features)
    transform_cycles = tiles * points * vectors * WinogradTuning.transform_cycles / 2
    product_rows = max(tiles, WinogradTuning.min_product_rows)
    return transform_cycles + product_cost(product_rows, points, channels, features)


def direct_cost(pixels: tuple[int, int, int], channels: int, features: int) -> float:
    """Cycles of a direct convolution: its taps are the points of `product_cost`."""
    images, rows, columns = pixels
    products = product_cost(images * rows * columns, TAPS * TAPS, channels, features)
    return products * WinogradTuning.direct_overhead


def product_cost(rows: int, points: int, channels: int, features: int) -> float:
    """Cycles of the products [rows, channels] @ [channels, features] at each point, with the reads of the weights."""
    product_cycles = rows * points * channels * count_vectors(features) / 2
    load_cycles = points * channels * features * 4 / WinogradTuning.weight_bytes_per_cycle
    return max(product_cycles, load_cycles) + (1 - WinogradTuning.overlap) * min(product_cycles, load_cycles)


def count_vectors(floats: int) -> int:
    return -(-floats // CACHE_LINE_FLOATS)
