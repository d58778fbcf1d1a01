"""Tiles of a Winograd convolution: their geometry, the kernels' specialization key and arguments.

A tile is m x m output pixels, and the (m + 2) x (m + 2) input pixels that they read.  Tiles are numbered row by row, image
by image.  The transformed input is a block [points, tiles, channels] for each group of tiles, with padding between points.
"""

from __future__ import annotations

from dataclasses import dataclass

from sardonyx._src.compile.codegen.blocks import I64
from sardonyx._src.compile.codegen.builder import LLVMType, LLVMValue
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.kernels.gemm.accumulators import CACHE_LINE_FLOATS
from sardonyx._src.compile.kernels.gemm.microkernel import MicrokernelEmitter
from sardonyx._src.compile.kernels.gemm.register_tile import RegisterTile
from sardonyx._src.compile.kernels.winograd.transforms import WinogradTransform

WINOGRAD_SIZES = (
    "height", "width", "top", "left",  # of the input: pixels and padding
    "image_stride", "row_stride", "pixel_stride",  # of the input, in floats
    "rows", "columns", "tiles_down", "tiles_across", "tiles",  # of the output: pixels; tiles of an image and of all
    "group_tiles", "channels", "features", "panels",  # tiles of a group; channels of the input and the output
    "input_point_stride", "product_point_stride",  # floats from point to point
)  # fmt: skip
ADDRESS_TABLE_FLOATS = 512  # of scratch, for the addresses of a tile's pixels
DISCARD_OFFSET = ADDRESS_TABLE_FLOATS  # of the pixel that is written for pixels past the border


def products_offset(width: int) -> int:
    """Where products begin in scratch, in floats, at a cache line, for panels of `width` columns."""
    return DISCARD_OFFSET + -(-width // CACHE_LINE_FLOATS) * CACHE_LINE_FLOATS


@dataclass(frozen=True, slots=True)
class TileTransforms:
    """The transforms of a tile: that of its columns (vertical) and that of its rows (horizontal)."""

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
    """The specialization key of the kernels, apart from the epilogue.

    tile: the register tile of the products.  channel_lanes: the lanes of vectors along the channels, at most as many as
    there are channels.  has_partial_vector: whether the last vector of features may be partial.
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
class TileOrigin:
    """A tile's image, and the row and column of its first output pixel."""

    image: LLVMValue
    row: LLVMValue
    column: LLVMValue


class WinogradEmitter(MicrokernelEmitter):
    """Base class of the kernels' emitters: arguments, tile numbering, and the address table.

    Arguments: x; a pixel of zeros; the transformed input of all groups, unless the kernel is fused; `WINOGRAD_SIZES`.
    Scratch: the address table of ADDRESS_TABLE_FLOATS, then what subclasses add.
    """

    def __init__(self, variant: WinogradVariant, epilogue: Epilogue, target: Target) -> None:
        super().__init__(variant.tile, epilogue, target)
        self.transforms = variant.transforms
        self.channel_vector = LLVMType("float", variant.channel_lanes)
        self.x, self.zeros, self.transformed_input = (self.pointer_argument(i) for i in range(3))
        self.sizes = {name: self.size_argument(i) for i, name in enumerate(WINOGRAD_SIZES, 3)}
        self.zero = self.constant(0, I64)

    def tile_origin(self, tile: LLVMValue) -> TileOrigin:
        tiles_of_image = self.sizes["tiles_down"] * self.sizes["tiles_across"]
        image = self.udiv(tile, tiles_of_image)
        image_tile = tile - image * tiles_of_image
        row = self.udiv(image_tile, self.sizes["tiles_across"])
        column = image_tile - row * self.sizes["tiles_across"]
        return TileOrigin(
            image, row * self.transforms.vertical.outputs, column * self.transforms.horizontal.outputs
        )

    # --- the address table -------------------------------------------------------------------

    def store_address(self, index: int, address: str) -> None:
        slot = self.gep(self.scratch, self.constant(index, I64), "ptr")
        self.lines.append(f" store ptr {address}, ptr {slot}, align 8")

    def load_address(self, index: int) -> str:
        return self.load_pointer(self.gep(self.scratch, self.constant(index, I64), "ptr"))

    def prefetch_l1(self, base: str, index: LLVMValue, *, write: bool = False) -> None:
        """Prefetches a float's cache line into L1; its address need not be valid."""
        self.declarations["declare void @llvm.prefetch.p0(ptr, i32 immarg, i32 immarg, i32 immarg)"] = None
        pointer = self.gep(base, index)
        self.lines.append(f" call void @llvm.prefetch.p0(ptr {pointer}, i32 {int(write)}, i32 3, i32 1)")

    def is_in_range(self, index: LLVMValue, end: LLVMValue) -> LLVMValue:
        return (index >= 0) & (index < end)
