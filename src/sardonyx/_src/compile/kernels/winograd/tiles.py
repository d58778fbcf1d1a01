"""Tiles of a Winograd convolution: their geometry, the kernels' specialization key and common arguments.

A tile is m x m output pixels, with the (m + 2) x (m + 2) input pixels that they read.  Tiles are numbered row by row, image
by image.  For each group of tiles, the transformed input is a block [points, tiles, channels] with padding between points.
"""

from __future__ import annotations

from collections.abc import Mapping

from sardonyx._src.compile.codegen import I64, LLVMValue, Parameters
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.gemm.tile.prefetch import CACHE_LINE_FLOATS
from sardonyx._src.compile.kernels.gemm.tile.register_tile import RegisterTile
from sardonyx._src.compile.kernels.winograd.transforms import WinogradTransform
from sardonyx._src.dataclass import dataclass

WINOGRAD_SIZES = (
    "height", "width", "top", "left",  # pixels and padding of the input
    "image_stride", "row_stride", "pixel_stride",  # strides of the input, in floats
    "rows", "columns", "tiles_down", "tiles_across", "tiles",  # output: its pixels, the tiles of an image, all tiles
    "group_tiles", "joint_groups",  # tiles of a group; maximum number of groups that share the reads of a panel
    "channels", "features", "panels",  # channels of the input and the output
    "input_point_stride", "product_point_stride",  # floats from point to point
)  # fmt: skip
TILE_PARAMETERS = Parameters("x", "zeros", "transformed_input", *WINOGRAD_SIZES)
# Floats of scratch for the addresses of a tile's pixels; `load_products` checks that they suffice.
ADDRESS_TABLE_FLOATS = 512
DISCARD_OFFSET = ADDRESS_TABLE_FLOATS  # offset in scratch of the pixel that receives results past the border


def products_offset(width: int) -> int:
    """The offset of the products in scratch, in floats, for panels of `width` columns; it is at a cache line."""
    return DISCARD_OFFSET + -(-width // CACHE_LINE_FLOATS) * CACHE_LINE_FLOATS


@dataclass(frozen=True, slots=True)
class TileTransforms:
    """The transforms of a tile, one along its columns (vertical) and one along its rows (horizontal)."""

    vertical: WinogradTransform
    horizontal: WinogradTransform

    @property
    def num_points(self) -> int:
        return self.vertical.inputs * self.horizontal.inputs

    @property
    def outputs(self) -> int:
        return self.vertical.outputs * self.horizontal.outputs


@dataclass(frozen=True, slots=True)
class WinogradVariant:
    """The specialization of the kernels, apart from the epilogue.

    tile: the register tile of the products.
    channel_lanes: the lanes of vectors along the channels; at most the number of channels.
    has_partial_vector: whether the last vector of features may be partial.
    """

    transforms: TileTransforms
    tile: RegisterTile
    channel_lanes: int
    has_partial_vector: bool

    @property
    def key(self) -> str:
        tile, transforms = self.tile, self.transforms
        outputs = f"{transforms.vertical.outputs}x{transforms.horizontal.outputs}"
        return f"{outputs}_{tile.rows}x{tile.vectors}x{tile.lanes}_{self.channel_lanes}{'_ragged' if self.has_partial_vector else ''}"


@dataclass(frozen=True, slots=True)
class WinogradTiles:
    """The tiles of a convolution in a kernel: the arguments of `TILE_PARAMETERS`.

    zeros: the address of a pixel of zeros.
    transformed_input: the address of the transformed input of all groups; a fused kernel does not use it.
    """

    b: KernelBuilder
    variant: WinogradVariant
    x: str
    zeros: str
    transformed_input: str
    size: Mapping[str, LLVMValue]

    @property
    def transforms(self) -> TileTransforms:
        return self.variant.transforms


@dataclass(frozen=True, slots=True)
class TileOrigin:
    """A tile's image, and the row and column of its first output pixel."""

    image: LLVMValue
    row: LLVMValue
    column: LLVMValue


def load_tiles(b: KernelBuilder, variant: WinogradVariant) -> WinogradTiles:
    """Loads the arguments that all kernels of a convolution have."""
    x, zeros, transformed_input = b.pointers("x", "zeros", "transformed_input")
    size = {name: b.integer(name) for name in WINOGRAD_SIZES}
    return WinogradTiles(b, variant, x, zeros, transformed_input, size)


def tile_origin(tiles: WinogradTiles, tile: LLVMValue) -> TileOrigin:
    b, size, transforms = tiles.b, tiles.size, tiles.transforms
    image, image_tile = b.udivmod(tile, size["tiles_down"] * size["tiles_across"])
    row, column = b.udivmod(image_tile, size["tiles_across"])
    return TileOrigin(image, row * transforms.vertical.outputs, column * transforms.horizontal.outputs)


def group_bounds(tiles: WinogradTiles, group: LLVMValue) -> tuple[LLVMValue, LLVMValue]:
    """The first tile of a group, and its number of tiles."""
    first = group * tiles.size["group_tiles"]
    return first, tiles.b.min(tiles.size["group_tiles"], tiles.size["tiles"] - first)


# --- the address table, at the beginning of scratch ----------------------------------------------


def store_address(b: KernelBuilder, index: int, address: str) -> None:
    slot = b.gep(b.scratch, b.constant(index, I64), "ptr")
    b.lines.append(f" store ptr {address}, ptr {slot}, align 8")


def load_address(b: KernelBuilder, index: int) -> str:
    return b.load_pointer(b.gep(b.scratch, b.constant(index, I64), "ptr"))


def prefetch_l1(b: KernelBuilder, base: str, index: LLVMValue, *, write: bool = False) -> None:
    """Prefetches a float's cache line into L1; its address need not be valid."""
    b.declarations["declare void @llvm.prefetch.p0(ptr, i32 immarg, i32 immarg, i32 immarg)"] = None
    pointer = b.gep(base, index)
    b.lines.append(f" call void @llvm.prefetch.p0(ptr {pointer}, i32 {int(write)}, i32 3, i32 1)")
