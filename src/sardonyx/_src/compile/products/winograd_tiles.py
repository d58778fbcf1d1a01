"""Tiles of images for Winograd's convolutions: where they are in what goes in, in between and in what comes out.

Tiles are counted along rows of the image, row by row, image by image.  Their values at the points stand in a block for
each group of tiles: [points, tiles of the group, channels], with room between points.
"""

from __future__ import annotations

from dataclasses import dataclass

from sardonyx._src.compile.blocks import I64
from sardonyx._src.compile.products.micro import Micro
from sardonyx._src.compile.products.tiles import Tile
from sardonyx._src.compile.products.winograd_form import Form
from sardonyx._src.compile.tail import Tail
from sardonyx._src.compile.text import Kind, Value

SIZES = (
    "height", "width", "top", "left",  # of the input: pixels and padding
    "by_image", "by_row", "by_pixel",  # floats from one to the next
    "rows", "columns", "down", "across", "tiles",  # of the result: pixels, and tiles of an image and of all
    "group", "channels", "features", "panels",  # tiles of a group, numbers of a pixel before and behind
    "there", "back",  # floats from point to point, of values of the input and of the products
)  # fmt: skip
LINE = 16  # floats of a line of the cache
TABLE = 512  # floats of scratch for the addresses of a tile's pixels
DEAD = TABLE  # where results that nobody reads are written, in floats of scratch


def products_at(width: int) -> int:
    """Where products begin, in floats of scratch, if a panel has so many columns; after a whole line of the cache."""
    return DEAD + -(-width // LINE) * LINE


@dataclass(frozen=True, slots=True)
class Forms:
    """The form of either axis."""

    vertical: Form
    horizontal: Form

    @property
    def points(self) -> int:
        return self.vertical.inputs * self.horizontal.inputs

    @property
    def outputs(self) -> int:
        return self.vertical.outputs * self.horizontal.outputs


@dataclass(frozen=True, slots=True)
class Variant:
    """What the code of kernels depends on besides the tail.

    tile: of the products.  depth: floats of a vector along the channels, no more than there are.  ragged: whether the
    features may leave a vector in part.
    """

    forms: Forms
    tile: Tile
    depth: int
    ragged: bool

    @property
    def key(self) -> str:
        tile, forms = self.tile, self.forms
        outputs = f"{forms.vertical.outputs}x{forms.horizontal.outputs}"
        return f"{outputs}_{tile.rows}x{tile.vectors}x{tile.lanes}_{self.depth}{'_ragged' if self.ragged else ''}"


@dataclass(frozen=True, slots=True)
class Corner:
    """A tile's image, and the first row and column of its results."""

    image: Value
    row: Value
    column: Value


class Tiles(Micro):
    """The arguments of the kernels, and what finds a tile.

    Arguments: x; a pixel of zeros; values of all groups at the points, if they are shared; `SIZES`.  Scratch: addresses
    of a tile's pixels, and what the kernel puts behind them.
    """

    def __init__(self, variant: Variant, tail: Tail, fused: bool) -> None:
        super().__init__(variant.tile, tail, fused)
        self.forms = variant.forms
        self.depth = Kind("float", variant.depth)
        self.x, self.zeros, self.shared = (self.pointer(i) for i in range(3))
        self.sizes = {name: self.size(i) for i, name in enumerate(SIZES, 3)}
        self.zero = self.constant(0, I64)

    def corner(self, tile: Value) -> Corner:
        of_image = self.sizes["down"] * self.sizes["across"]
        image = self.quotient(tile, of_image)
        rest = tile - image * of_image
        row = self.quotient(rest, self.sizes["across"])
        column = rest - row * self.sizes["across"]
        return Corner(image, row * self.forms.vertical.outputs, column * self.forms.horizontal.outputs)

    # --- addresses and integers --------------------------------------------------------------

    def put_address(self, index: int, address: str) -> None:
        place = self.address(self.scratch, self.constant(index, I64), "ptr")
        self.lines.append(f" store ptr {address}, ptr {place}, align 8")

    def taken_address(self, index: int) -> str:
        return self.pointer_at(self.address(self.scratch, self.constant(index, I64), "ptr"))

    def fetch(self, base: str, index: Value, *, write: bool = False) -> None:
        """Asks for the cache line of a float, counted from an address; it need not be one that there is."""
        self.declarations["declare void @llvm.prefetch.p0(ptr, i32 immarg, i32 immarg, i32 immarg)"] = None
        place = self.address(base, index)
        self.lines.append(f" call void @llvm.prefetch.p0(ptr {place}, i32 {int(write)}, i32 3, i32 1)")

    def within(self, index: Value, end: Value) -> Value:
        return (index >= 0) & (index < end)
