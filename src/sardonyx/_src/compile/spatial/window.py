"""Where windows lie on images, how their work is shared out, and what their kernels are called with."""

from __future__ import annotations

from dataclasses import dataclass

from sardonyx._src.compile.spatial.channels import pitch
from sardonyx._src.compile.step import Arg
from sardonyx._src.compile.tensor import Tensor
from sardonyx._src.ir.dims import Known

PIXELS = (7, 8, 6, 5, 4)  # that a tile may hold; most images are multiples of 7 wide
WIDEST = 5  # taps in a row that are written out one by one
NEAR = 2**18  # bytes of the input under a row of the output that are to stay in the cache


@dataclass(frozen=True, slots=True)
class Window:
    """Where windows lie: rows first, then columns; pads: top, left, bottom, right."""

    kernel: tuple[int, int]
    strides: tuple[int, int] = (1, 1)
    dilations: tuple[int, int] = (1, 1)
    pads: tuple[Known, Known, Known, Known] = (0, 0, 0, 0)

    @property
    def taps(self) -> int:
        return self.kernel[0] * self.kernel[1]


@dataclass(frozen=True, slots=True)
class Grip:
    """What the code depends on: pixels of a tile, and taps in a row, their stride and dilation; 0 if not known."""

    pixels: int
    width: int = 0
    stride: int = 0
    dilation: int = 0

    @property
    def places(self) -> list[int]:
        """The columns of the input, from the first window on, that the tile touches."""
        windows, taps = range(self.pixels), range(self.width)
        return sorted({p * self.stride + t * self.dilation for p in windows for t in taps})

    @property
    def rim(self) -> tuple[int, int]:
        """The columns of a whole tile that must lie inside of the image, from one up to another; others may not."""
        beyond = self.width // 2 * self.dilation
        return beyond, max(self.places) - beyond

    @property
    def key(self) -> str:
        return f"{self.pixels}x{self.width}s{self.stride}d{self.dilation}"


def grip_for(window: Window, width: Known) -> Grip:
    """The grip for rows of `width` windows: that which wastes the least of its last tile."""
    pixels = PIXELS[0]
    if isinstance(width, int):
        pixels = min(PIXELS, key=lambda p: (-(-width // p) * p, PIXELS.index(p)))
    taps, stride, dilation = window.kernel[1], window.strides[1], window.dilations[1]
    if taps > WIDEST or stride > 2 or dilation > 2:
        return Grip(pixels)
    return Grip(pixels, taps, stride, dilation)


def arguments(x: Tensor, y: Tensor, window: Window) -> tuple[Arg, ...]:
    """The arguments that all windows have.  x: [N, H, W, C], y: [N, Ho, Wo, C]."""
    n, height, width, channels = x.shape
    rows = n * y.shape[1]
    block = block_of(x, rows, window)
    return (
        x, y, pitch(x), pitch(y), height, width, y.shape[1], y.shape[2], channels, rows, block,
        *window.kernel, *window.strides, *window.dilations, *window.pads,
    )  # fmt: skip


COUNT = 21  # of those arguments


def units(x: Tensor, y: Tensor, window: Window) -> Known:
    rows = x.shape[0] * y.shape[1]
    channels, block = x.shape[3], block_of(x, rows, window)
    assert isinstance(channels, int), "channels are a number"
    return rows * -(-channels // block)


def block_of(x: Tensor, rows: Known, window: Window) -> int:
    """Channels of a unit: fewer than all where there are few rows, or where rows are too long for the cache."""
    channels, width = x.shape[3], x.shape[2]
    assert isinstance(channels, int), "channels are a number"
    block = max(channels, 1)
    if isinstance(rows, int) and rows < 32:
        block = min(block, 256)
    if isinstance(width, int):
        fitting = NEAR // (4 * max(width, 1) * window.kernel[0])
        block = min(block, max(fitting // 64 * 64, 64))
    return block
