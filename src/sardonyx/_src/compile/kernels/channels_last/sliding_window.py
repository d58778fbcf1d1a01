"""Sliding windows over channels-last images: register tiles, units of work and kernel arguments.

Depthwise convolution and pooling share these; their loops are in `sliding_window_loops`.
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.compile.codegen import Parameters
from sardonyx._src.compile.kernels.channels_last.images import pixel_stride
from sardonyx._src.compile.kernels.tuning import ChannelsLastTuning
from sardonyx._src.compile.program import KernelArgument, TensorView, Window
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir.dims import Known

WINDOW_SIZES = (
    "x_pixel_stride", "y_pixel_stride", "height", "width", "out_height", "out_width", "channels", "rows", "channel_block",
    "kernel_height", "kernel_width", "stride_height", "stride_width", "dilation_height", "dilation_width",
    "pad_top", "pad_left", "pad_bottom", "pad_right",
)  # fmt: skip
WINDOW_PARAMETERS = Parameters("x", "y", *WINDOW_SIZES)  # the first parameters of every sliding-window kernel


@dataclass(frozen=True, slots=True)
class WindowTile:
    """The register tile on which a sliding-window kernel is specialized: `pixels` output pixels of one row.

    taps, stride, dilation: those of a kernel row if its taps are unrolled; otherwise 0, and the kernel reads its arguments.
    """

    pixels: int
    taps: int = 0
    stride: int = 0
    dilation: int = 0

    @property
    def is_unrolled(self) -> bool:
        return self.taps > 0

    @property
    def columns(self) -> list[int]:
        """The input columns that the tile reads, relative to the left column of its first window."""
        pixels, taps = range(self.pixels), range(self.taps)
        return sorted({p * self.stride + t * self.dilation for p in pixels for t in taps})

    @property
    def interior_columns(self) -> tuple[int, int]:
        """The first and last column that lie inside the image for every interior tile; columns outside are masked."""
        border = self.taps // 2 * self.dilation
        return border, max(self.columns) - border

    @property
    def border_columns(self) -> list[int]:
        """The columns of an interior tile that may be outside the image; none unless taps are unrolled."""
        if not self.is_unrolled:
            return []
        first, last = self.interior_columns
        return [offset for offset in self.columns if not first <= offset <= last]

    def windows_over(self, column: int) -> Iterator[tuple[int, int]]:
        """The windows of the tile that read an input column, each with the tap that reads it."""
        for p in range(self.pixels):
            tap, remainder = divmod(column - p * self.stride, self.dilation)
            if remainder == 0 and 0 <= tap < self.taps:
                yield p, tap

    @property
    def key(self) -> str:
        """The part of the kernel's cache key for the tile."""
        return f"{self.pixels}x{self.taps}s{self.stride}d{self.dilation}"


def choose_window_tile(window: Window, width: Known) -> WindowTile:
    """The tile for output rows of `width` pixels: the tile that leaves the fewest pixels unused at the end of a row."""
    choices, pixels = ChannelsLastTuning.tile_pixels, ChannelsLastTuning.dynamic_tile_pixels
    if isinstance(width, int):
        pixels = min(choices, key=lambda p: (-(-width // p) * p, choices.index(p)))
    taps, stride, dilation = window.kernel[1], window.strides[1], window.dilations[1]
    if taps > ChannelsLastTuning.max_unrolled_taps or stride > 2 or dilation > 2:
        return WindowTile(pixels)
    return WindowTile(pixels, taps, stride, dilation)


def sliding_window_arguments(x: TensorView, y: TensorView, window: Window) -> dict[str, KernelArgument]:
    """The arguments of `WINDOW_PARAMETERS` by name.  x: [N, H, W, C], y: [N, Ho, Wo, C].

    rows: the output rows of all images.
    channel_block: the channels of a unit of work.
    """
    n, height, width, channels = x.shape
    rows = n * y.shape[1]
    block = window_channel_block(x, rows, window)
    sizes = (
        pixel_stride(x), pixel_stride(y), height, width, y.shape[1], y.shape[2], channels, rows, block,
        *window.kernel, *window.strides, *window.dilations, *window.begin_pads, *window.end_pads,
    )  # fmt: skip
    return {"x": x, "y": y, **dict(zip(WINDOW_SIZES, sizes, strict=True))}


def count_window_units(x: TensorView, y: TensorView, window: Window) -> Known:
    """The number of units of work: output rows times channel blocks."""
    rows = x.shape[0] * y.shape[1]
    channels, block = x.shape[3], window_channel_block(x, rows, window)
    assert isinstance(channels, int), f"channels must be a number; got {channels}"
    return rows * -(-channels // block)


def window_channel_block(x: TensorView, rows: Known, window: Window) -> int:
    """Channels of a unit of work: all, or fewer where output rows are few or input rows exceed the cache."""
    channels, width = x.shape[3], x.shape[2]
    assert isinstance(channels, int), f"channels must be a number; got {channels}"
    block = max(channels, 1)
    if isinstance(rows, int) and rows < ChannelsLastTuning.few_rows:
        block = min(block, ChannelsLastTuning.few_rows_channels)
    if isinstance(width, int):
        cached_channels = ChannelsLastTuning.cache_budget_bytes // (4 * max(width, 1) * window.kernel[0])
        steps = max(cached_channels // ChannelsLastTuning.channel_step, 1)
        block = min(block, steps * ChannelsLastTuning.channel_step)
    return block
