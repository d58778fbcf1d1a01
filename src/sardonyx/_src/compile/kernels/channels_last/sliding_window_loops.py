"""Loop nest of sliding-window kernels (depthwise convolution, pooling) over channels-last images.

x: [N, H, W, C], y: [N, Ho, Wo, C].  A unit of work is one output row for one block of channels.  Loop nest:

    with loop_output_rows(b, window) as row:                              # units of work
        with loop_tiles(b, window) as (column, left):                     # tile of windows, along the row
            for vector in loop_tile_vectors(b, window, row, column, left):    # vector of channels
                with b.loop(*row.tap_rows) as tap_row:                    # kernel row
                    for i, x in loop_columns(b, window, vector, ...):     # input columns under the tile, unrolled
                        ...
                for pixel in range(tile.pixels):                          # store the results of the tile

The tile's accumulators, one vector of channels for each of `pixels` windows, stay in registers during the loops over taps.
With unrolled taps, an input vector that several windows of the tile share is loaded once.

Padding is never materialized: columns outside the image are masked.  In interior tiles only the outermost columns can be
outside, and their masks are computed once for all channels.  Border tiles, and the remainder of the channels, compute a mask
for every load.  Rows outside the image are left out of the loop over kernel rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeAlias

from sardonyx._src.compile.codegen import I64, LLVMValue, MemoryLocation
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.channels_last.sliding_window import WINDOW_SIZES, WindowTile
from sardonyx._src.compile.kernels.gemm.tile.prefetch import CACHE_LINE_FLOATS
from sardonyx._src.compile.kernels.loops.vectors import first_lanes, i64, sdiv
from sardonyx._src.compile.kernels.tuning import tuning_for
from sardonyx._src.dataclass import dataclass

# Loads a vector, given an address and a mask.
LoadInput: TypeAlias = Callable[[str, "LLVMValue | None"], LLVMValue]


@dataclass(frozen=True, slots=True)
class WindowArguments:
    """The loaded arguments of a sliding-window kernel, `WINDOW_PARAMETERS`, and the tile that it is specialized on.

    x_element: LLVM's type of the elements of x.
    ring_rows: the rows of x if x is a ring buffer, in which row r of an image has the index r modulo `ring_rows`; None if x
        contains whole images.
    """

    tile: WindowTile
    x_element: str
    x: str
    y: str
    x_pixel_stride: LLVMValue
    y_pixel_stride: LLVMValue
    height: LLVMValue
    width: LLVMValue
    out_height: LLVMValue
    out_width: LLVMValue
    channels: LLVMValue
    rows: LLVMValue
    channel_block: LLVMValue
    kernel_height: LLVMValue
    kernel_width: LLVMValue
    stride_height: LLVMValue
    stride_width: LLVMValue
    dilation_height: LLVMValue
    dilation_width: LLVMValue
    pad_top: LLVMValue
    pad_left: LLVMValue
    pad_bottom: LLVMValue
    pad_right: LLVMValue
    ring_rows: LLVMValue | None = None


@dataclass(frozen=True, slots=True)
class OutputRow:
    """A unit of work: one output row, for the channels [begin_channel, end_channel).

    image: the number of the row's image.
    number: the number of the row among the rows of all images.
    top: the input row of its first tap.
    tap_rows: the kernel rows [first, end) that are inside the image.
    next_channel: a stack slot for the first channel that the current tile has not computed yet.
    is_large_image: whether the image is so large that the next row is prefetched.
    """

    image: LLVMValue
    number: LLVMValue
    top: LLVMValue
    tap_rows: tuple[LLVMValue, LLVMValue]
    begin_channel: LLVMValue
    end_channel: LLVMValue
    next_channel: MemoryLocation
    is_large_image: LLVMValue


@dataclass(frozen=True, slots=True)
class TileVector:
    """A vector of channels of a tile of windows.

    column: the output column of the first window.
    left: the input column of the first tap of that window.
    remaining: the number of channels from `channel` on.
    mask: the lanes of these channels; None in an interior tile, where vectors are whole.
    border_masks: masks of the columns of an interior tile that may be outside the image, by column; all lanes or none.
    """

    row: OutputRow
    column: LLVMValue
    left: LLVMValue
    channel: LLVMValue
    remaining: LLVMValue
    mask: LLVMValue | None
    border_masks: Mapping[int, LLVMValue]


def load_window(b: KernelBuilder, tile: WindowTile, x_element: str = "float") -> WindowArguments:
    """Loads the arguments; those that the tile determines are constants."""
    constants = {"kernel_width": tile.taps, "stride_width": tile.stride, "dilation_width": tile.dilation}

    def load(name: str) -> LLVMValue:
        constant = constants.get(name, 0)
        return i64(b, constant) if constant else b.integer(name)

    x, y = b.pointers("x", "y")
    return WindowArguments(tile, x_element, x, y, *map(load, WINDOW_SIZES))


# --- rows and tiles --------------------------------------------------------------------------


@contextmanager
def loop_output_rows(b: KernelBuilder, window: WindowArguments) -> Iterator[OutputRow]:
    """The loop over the units of work of the call."""
    next_channel = b.new_slot("reached", I64)
    min_floats = tuning_for(b.target).channels_last.prefetch_min_floats
    is_large_image = window.height * window.width * window.x_pixel_stride >= min_floats
    with b.loop(b.first_unit, b.end_unit, name="unit") as unit:
        block, number = b.udivmod(unit, window.rows)
        image, out_row = b.udivmod(number, window.out_height)
        begin = block * window.channel_block
        end = b.min(begin + window.channel_block, window.channels)
        top, tap_rows = locate_window(b, window, out_row)
        yield OutputRow(image, number, top, tap_rows, begin, end, next_channel, is_large_image)


def locate_window(
    b: KernelBuilder, window: WindowArguments, out_row: LLVMValue
) -> tuple[LLVMValue, tuple[LLVMValue, LLVMValue]]:
    """The input row of the first tap of an output row, and the kernel rows [first, end) that are inside the image."""
    top = out_row * window.stride_height - window.pad_top
    return top, tap_range(b, top, i64(b, 0), window.height, window.kernel_height, window.dilation_height)


def tap_range(
    b: KernelBuilder,
    start: LLVMValue,
    low: LLVMValue,
    high: LLVMValue,
    taps: LLVMValue,
    dilation: LLVMValue,
) -> tuple[LLVMValue, LLVMValue]:
    """The taps [first, end) for which the position start + tap * dilation is in [low, high)."""

    def taps_below(limit: LLVMValue) -> LLVMValue:
        distance = limit - start
        distance = b.select(distance > i64(b, 0), distance, i64(b, 0))
        count = distance if dilation.name == "1" else sdiv(b, distance + dilation - 1, dilation)
        return b.min(count, taps)

    return taps_below(low), taps_below(high)


@contextmanager
def loop_tiles(b: KernelBuilder, window: WindowArguments) -> Iterator[tuple[LLVMValue, LLVMValue]]:
    """The loop over the tiles of a row: yields the output column of a tile, and the input column of its first tap."""
    pixels = window.tile.pixels
    with b.loop(i64(b, 0), window.out_width + (pixels - 1), pixels, "tile") as column:
        yield column, column * window.stride_width - window.pad_left


def prefetch_next_row(b: KernelBuilder, window: WindowArguments, row: OutputRow, left: LLVMValue) -> None:
    """If the image is large, prefetches the input rows that the tile one output row below reads but this row does not.

    This hides memory latency, which short runs of pixels expose.  It costs 10 % or more if the image is cached; hence the
    minimum size.
    """
    tile = window.tile
    with b.if_then(row.is_large_image):
        bottom = row.top + window.stride_height + window.dilation_height * (window.kernel_height - 1)
        new_rows = b.min(window.stride_height, window.kernel_height)
        with b.loop(i64(b, 0), new_rows, name="new_row") as rows_up:
            pixel = ((row.image * window.height + bottom) - rows_up) * window.width + left
            base = b.gep(window.x, pixel * window.x_pixel_stride, window.x_element)
            end = row.end_channel + (CACHE_LINE_FLOATS - 1)
            with b.loop(row.begin_channel, end, CACHE_LINE_FLOATS, "line") as channel:
                for offset in range(tile.pixels * tile.stride):
                    prefetch_l2(b, b.gep(base, window.x_pixel_stride * offset + channel, window.x_element))


def prefetch_l2(b: KernelBuilder, address: str) -> None:
    """Prefetches a line into the level-2 cache; the address may be invalid."""
    b.declarations["declare void @llvm.prefetch.p0(ptr, i32 immarg, i32 immarg, i32 immarg)"] = None
    b.lines.append(f" call void @llvm.prefetch.p0(ptr {address}, i32 0, i32 2, i32 1)")


# --- vectors of channels ---------------------------------------------------------------------


def loop_tile_vectors(
    b: KernelBuilder, window: WindowArguments, row: OutputRow, column: LLVMValue, left: LLVMValue
) -> Iterator[TileVector]:
    """Two loops over the vectors of channels of a tile: over whole vectors of interior tiles, and over masked vectors.

    The body is emitted for both.  In an interior tile, the second loop computes the channels that do not fill a vector; in a
    border tile, where the first loop does not run, it computes all channels.
    """
    lanes = b.target.lanes
    b.store(row.next_channel, row.begin_channel)
    with b.if_then(is_interior(b, window, column, left)):
        border_masks = {
            offset: column_mask(b, window, left + offset) for offset in window.tile.border_columns
        }
        with b.loop(row.begin_channel, row.end_channel, lanes, "channel") as channel:
            yield TileVector(row, column, left, channel, row.end_channel - channel, None, border_masks)
        b.store(row.next_channel, channel)
    with b.loop(b.load(row.next_channel), row.end_channel + (lanes - 1), lanes, "channel") as channel:
        remaining = row.end_channel - channel
        yield TileVector(row, column, left, channel, remaining, first_lanes(b, remaining), {})


def is_interior(b: KernelBuilder, window: WindowArguments, column: LLVMValue, left: LLVMValue) -> LLVMValue:
    """Whether all windows of a tile exist, and all columns without border masks are inside the image."""
    tile, first = window.tile, i64(b, 0)
    last = window.stride_width * (tile.pixels - 1) + window.dilation_width * (window.kernel_width - 1)
    if tile.is_unrolled:
        first, last = (i64(b, offset) for offset in tile.interior_columns)
    is_inside = (left + first >= 0) & (left + last < window.width)
    return is_inside & (column + tile.pixels <= window.out_width)


def column_mask(b: KernelBuilder, window: WindowArguments, column: LLVMValue) -> LLVMValue:
    """All lanes if an input column is inside the image, else none."""
    is_inside = (column >= 0) & (column < window.width)
    return first_lanes(b, b.select(is_inside, b.target.lanes, i64(b, 0)))


# --- taps ------------------------------------------------------------------------------------


def loop_columns(
    b: KernelBuilder, window: WindowArguments, vector: TileVector, tap_row: LLVMValue, load: LoadInput
) -> Iterator[tuple[int, LLVMValue]]:
    """The unrolled taps of a kernel row: loads each input column under the tile once.

    Yields the index of the column in `tile.columns`, and its vector.
    """
    base = tap_row_address(b, window, vector, tap_row)
    for i, offset in enumerate(window.tile.columns):
        border_mask = vector.border_masks.get(offset)
        yield i, load_column(b, window, vector, base, i64(b, offset), load, border_mask)


def loop_taps(
    b: KernelBuilder, window: WindowArguments, vector: TileVector, tap_row: LLVMValue, load: LoadInput
) -> Iterator[tuple[int, LLVMValue, LLVMValue]]:
    """The loop over the taps of a kernel row that are not unrolled: (window of the tile, tap, its input vector)."""
    base = tap_row_address(b, window, vector, tap_row)
    with b.loop(i64(b, 0), window.kernel_width, name="tap") as tap:
        for pixel in range(window.tile.pixels):
            offset = window.stride_width * pixel + tap * window.dilation_width
            yield pixel, tap, load_column(b, window, vector, base, offset, load)


def tap_row_address(b: KernelBuilder, window: WindowArguments, vector: TileVector, tap_row: LLVMValue) -> str:
    """The address of the vector's first input column under a kernel row, which may be outside the image."""
    row = vector.row.image * window.height + vector.row.top + tap_row * window.dilation_height
    if window.ring_rows is not None:
        row = b.select(row < window.ring_rows, row, row - window.ring_rows)
    offset = (row * window.width + vector.left) * window.x_pixel_stride + vector.channel
    return b.gep(window.x, offset, window.x_element)


def load_column(
    b: KernelBuilder,
    window: WindowArguments,
    vector: TileVector,
    base: str,
    offset: LLVMValue,
    load: LoadInput,
    border_mask: LLVMValue | None = None,
) -> LLVMValue:
    """The input vector `offset` columns right of the column at address `base`; columns outside the image are masked."""
    address = b.gep(base, offset * window.x_pixel_stride, window.x_element)
    if vector.mask is None:
        return load(address, border_mask)
    column = vector.left + offset
    is_inside = (column >= 0) & (column < window.width)
    return load(address, first_lanes(b, b.select(is_inside, vector.remaining, i64(b, 0))))


# --- results ---------------------------------------------------------------------------------


def first_pixel(window: WindowArguments, vector: TileVector) -> LLVMValue:
    """The number of the output pixel of the tile's first window."""
    return vector.row.number * window.out_width + vector.column


def result_mask(
    b: KernelBuilder, window: WindowArguments, vector: TileVector, pixel: int
) -> LLVMValue | None:
    """The mask of the lanes to store for a window of the tile: no lanes if its output column does not exist; None: all lanes."""
    if vector.mask is None:
        return None
    exists = vector.column + pixel < window.out_width
    return first_lanes(b, b.select(exists, vector.remaining, i64(b, 0)))
