"""Origins of the windows of a block of rows: the offset, line and pixel of the input at which each window begins.

If output lines are at least as long as a tile, a block lies in at most two lines, and origins are computed by vectors with a
row in each lane; otherwise they are computed row by row.  Rows past the last one get a line that is outside of every image.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from sardonyx._src.compile.codegen import I64, LLVMType, LLVMValue, MemoryLocation
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.tuning import ConvTuning, GemmTuning
from sardonyx._src.dataclass import dataclass

ORIGINS = LLVMType("i64", ConvTuning.origin_lanes)
LINE_OUTSIDE = -(1 << 40)  # outside of every image, and still outside after the offset of a tap was added
ORIGIN_ARRAYS = ("offsets", "lines", "pixels")  # arrays [`spare_rows`] on the stack
WINDOW_SIZES = (
    "height", "width", "out_height", "out_width", "kernel_height", "kernel_width", "stride_y", "stride_x",
    "dilation_y", "dilation_x", "top", "left", "image_stride", "row_stride", "pixel_stride",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class WindowGrid:
    """The windows of a convolution.

    size: the arguments `WINDOW_SIZES` by name.
    position: stack slots of the image, y and x of the next output pixel.
    """

    b: KernelBuilder
    size: Mapping[str, LLVMValue]
    position: tuple[MemoryLocation, ...]


def new_window_grid(b: KernelBuilder, size: Mapping[str, LLVMValue]) -> WindowGrid:
    """Allocates the position and the arrays of origins."""
    position = tuple(b.new_slot(name, I64) for name in ("image", "y", "x"))
    b.allocas += [f" %{name} = alloca [{GemmTuning.spare_rows} x i64], align 64" for name in ORIGIN_ARRAYS]
    return WindowGrid(b, {name: size[name] for name in WINDOW_SIZES}, position)


def store_block_origins(grid: WindowGrid, tile_rows: int, num_rows: LLVMValue) -> None:
    """Stores the origins of the `num_rows` windows of a block from the position on, which is advanced to the next block."""
    b = grid.b
    is_wide = grid.size["out_width"] >= GemmTuning.spare_rows
    with b.if_then(is_wide):
        store_origins_simd(grid, tile_rows, num_rows)
    with b.if_then(is_wide.eq(0)):
        num_origins = b.constant(-(-tile_rows // ConvTuning.origin_lanes) * ConvTuning.origin_lanes, I64)
        with b.loop(b.constant(0, I64), num_origins, 1, "row") as row:
            store_origin(grid, row, num_rows)


def store_origins_simd(grid: WindowGrid, tile_rows: int, num_rows: LLVMValue) -> None:
    """Stores the origins of a block that lies in at most two output lines, by vectors of rows."""
    b, size = grid.b, grid.size
    splat, zeros = partial(b.splat, lanes=ConvTuning.origin_lanes), b.constant(0, ORIGINS)
    image, y, x = (b.load(slot) for slot in grid.position)
    for start in range(0, tile_rows, ConvTuning.origin_lanes):
        rows = LLVMValue(
            b, ORIGINS, f"<{', '.join(f'i64 {start + i}' for i in range(ConvTuning.origin_lanes))}>"
        )
        columns = rows + splat(x)
        is_next_line = columns >= splat(size["out_width"])
        columns = columns - b.select(is_next_line, splat(size["out_width"]), zeros)
        is_next_image = is_next_line & splat((y + 1).eq(size["out_height"]))
        this_line, next_line = splat(y), splat(y + 1)
        lines = b.select(is_next_image, zeros, b.select(is_next_line, next_line, this_line))
        lines = lines * splat(size["stride_y"]) - splat(size["top"])
        pixels = columns * splat(size["stride_x"]) - splat(size["left"])
        image_stride = splat(size["image_stride"])
        offsets = splat(image * size["image_stride"]) + b.select(is_next_image, image_stride, zeros)
        offsets = offsets + lines * splat(size["row_stride"])
        offsets = offsets + pixels * splat(size["pixel_stride"])
        lines = b.select(rows < splat(num_rows), lines, b.constant(LINE_OUTSIDE, ORIGINS))
        store_origin_arrays(b, b.constant(start, I64), offsets, lines, pixels)
    advance_position(grid, num_rows)


def store_origin(grid: WindowGrid, row: LLVMValue, num_rows: LLVMValue) -> None:
    """Stores the origin of one row, and advances the position by it."""
    b, size = grid.b, grid.size
    image, y, x = (b.load(slot) for slot in grid.position)
    is_row = row < num_rows
    line, pixel = y * size["stride_y"] - size["top"], x * size["stride_x"] - size["left"]
    offset = image * size["image_stride"] + line * size["row_stride"] + pixel * size["pixel_stride"]
    line = b.select(is_row, line, b.constant(LINE_OUTSIDE, I64))
    store_origin_arrays(b, row, offset, line, pixel)
    advance_position(grid, b.select(is_row, 1, b.constant(0, I64)))


def store_origin_arrays(
    b: KernelBuilder, row: LLVMValue, offset: LLVMValue, line: LLVMValue, pixel: LLVMValue
) -> None:
    """Stores the origins of one row of a block, or of a vector of rows: offsets into the images, lines, pixels."""
    for name, value in zip(ORIGIN_ARRAYS, (offset, line, pixel), strict=True):
        b.store(MemoryLocation(b.gep(f"%{name}", row, "i64"), value.type), value)


def load_origins(b: KernelBuilder, row: int) -> tuple[LLVMValue, LLVMValue, LLVMValue]:
    """The origins of the vector of rows from `row` on: offsets, lines, pixels."""
    offsets, lines, pixels = (
        b.load(MemoryLocation(b.gep(f"%{name}", b.constant(row, I64), "i64"), ORIGINS))
        for name in ORIGIN_ARRAYS
    )
    return offsets, lines, pixels


def advance_position(grid: WindowGrid, step: LLVMValue) -> None:
    """Advances the position by `step` output pixels, at most into the next line."""
    b = grid.b
    image, y, x = (b.load(slot) for slot in grid.position)
    width = grid.size["out_width"]
    is_end = x + step >= width
    is_last = is_end & (y + 1).eq(grid.size["out_height"])
    zero = b.constant(0, I64)
    b.store(grid.position[2], b.select(is_end, x + step - width, x + step))
    b.store(grid.position[1], b.select(is_last, zero, b.select(is_end, y + 1, y)))
    b.store(grid.position[0], b.select(is_last, image + 1, image))
