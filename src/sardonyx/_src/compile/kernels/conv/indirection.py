"""Indirect convolution: an indirection buffer holds the address of the input of each row and tap.

The buffer is [row blocks, taps, MR] pointers in scratch, written for each group of rows before its GEMM; taps outside of
the image point to a row of zeros, so that the microkernel has no bounds checks.  It is filled by vectors whose lanes are
rows: the origin of each row's window (address, line, pixel) is computed once, and each tap adds the same offset to all.
Windows have any size, strides, dilations and pads.  Source: Dukhan, "The Indirect Convolution Algorithm" (2019).
"""

from __future__ import annotations

from collections.abc import Callable

from sardonyx._src.compile.codegen.blocks import I64, StackSlot
from sardonyx._src.compile.codegen.builder import LLVMType, LLVMValue
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.conv.loop_nest import ConvEmitter
from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.kernels.gemm.register_tile import SPARE_ROWS
from sardonyx._src.compile.kernels.gemm.row_blocks import RowBlock

ORIGIN_LANES = 8  # rows whose window origins are computed in one vector
ORIGINS = LLVMType("i64", ORIGIN_LANES)
LINE_OUTSIDE = -(1 << 40)  # outside of every image
WINDOW_SIZES = (
    "height", "width", "out_height", "out_width", "kernel_height", "kernel_width", "stride_y", "stride_x",
    "dilation_y", "dilation_x", "top", "left", "image_stride", "row_stride", "pixel_stride",
)  # fmt: skip


class IndirectConvEmitter(ConvEmitter):
    """Emits an indirect convolution.

    Scratch: the indirection buffer [rows, taps] pointers; partial sums [rows, width]; a row of zeros [channels of all
    groups].  `rows` are those of a group and SPARE_ROWS.  position: image, y and x of the next output pixel.
    geometry: the sizes of the image that windows move over, which subclasses may replace.
    """

    variant = "windows"
    extra_sizes: tuple[str, ...] = WINDOW_SIZES

    def __init__(self, vectors: int, epilogue: Epilogue, target: Target) -> None:
        super().__init__(vectors, epilogue, target)
        size = self.sizes
        table_slots = (size["group_rows"] + SPARE_ROWS) * size["taps"] + 7 & -8
        self.partial_sums = self.gep(self.scratch, table_slots, "i64")
        self.zero_row = self.gep(self.partial_sums, (size["group_rows"] + SPARE_ROWS) * self.tile.width)
        self.geometry = {name: size[name] for name in WINDOW_SIZES}
        self.position = [self.new_slot(name, I64) for name in ("image", "y", "x")]
        self.allocas += [
            f" %{name} = alloca [{SPARE_ROWS} x i64], align 64" for name in ("offsets", "lines", "pixels")
        ]

    def emit_prologue(self) -> None:
        """Zeroes the row that taps outside of the image point to."""
        zeros = self.constant(0.0, self.vector_type)

        def clear_vector(index: LLVMValue, count: LLVMValue | None) -> None:
            self.store_first_lanes(self.zero_row, index, zeros, count)

        self.loop_vectors(
            self.constant(0, I64), self.count_input_channels(self.sizes["groups"]), clear_vector
        )

    def prepare_rows(self, group: LLVMValue) -> None:
        size = self.sizes
        first = group * size["group_rows"]
        self.store(self.first_row, first)
        self.store(self.num_rows, self.min(size["group_rows"], size["rows"] - first))
        line, x = self.udivmod(first, size["out_width"])
        image, y = self.udivmod(line, size["out_height"])
        for slot, value in zip(self.position, (image, y, x), strict=True):
            self.store(slot, value)
        self.fill_indirection(self.x)

    # --- the indirection buffer --------------------------------------------------------------

    def fill_indirection(self, source: str) -> None:
        """Fills the buffer for the group's windows, from `position` on, over images at an address."""
        base, zeros = self.pointer_to_int(source), self.pointer_to_int(self.zero_row)

        def fill_rows(block: RowBlock) -> None:
            is_wide = self.geometry["out_width"] >= SPARE_ROWS
            self.if_then_call(is_wide, lambda: self.store_origins_simd(block.num_rows))
            self.if_then_call(is_wide.eq(0), lambda: self.store_origins_scalar(block.num_rows))
            table = self.gep(self.scratch, block.index * self.tile.rows * self.sizes["taps"], "i64")
            self.fill_block(table, base, zeros)

        self.loop_row_blocks(self.load(self.num_rows), fill_rows)

    def store_origins_simd(self, num_rows: LLVMValue) -> None:
        """Stores the origins of the windows of a block that reaches no further than into the next output line."""
        grid = self.geometry
        image, y, x = (self.load(slot) for slot in self.position)
        width = grid["out_width"]
        for start in range(0, self.tile.rows, ORIGIN_LANES):
            rows = LLVMValue(self, ORIGINS, f"<{', '.join(f'i64 {start + i}' for i in range(ORIGIN_LANES))}>")
            columns = rows + self.splat(x, ORIGIN_LANES)
            is_next_line = columns >= self.splat(width, ORIGIN_LANES)
            zeros = self.constant(0, ORIGINS)
            columns = columns - self.select(is_next_line, self.splat(width, ORIGIN_LANES), zeros)
            is_next_image = is_next_line & self.splat((y + 1).eq(grid["out_height"]), ORIGIN_LANES)
            first, below = self.splat(y, ORIGIN_LANES), self.splat(y + 1, ORIGIN_LANES)
            lines = self.select(is_next_image, zeros, self.select(is_next_line, below, first))
            line_starts = lines * self.splat(grid["stride_y"], ORIGIN_LANES) - self.splat(
                grid["top"], ORIGIN_LANES
            )
            pixel_starts = columns * self.splat(grid["stride_x"], ORIGIN_LANES) - self.splat(
                grid["left"], ORIGIN_LANES
            )
            image_stride = self.splat(grid["image_stride"], ORIGIN_LANES)
            offsets = self.splat(image * grid["image_stride"], ORIGIN_LANES) + self.select(
                is_next_image, image_stride, zeros
            )
            offsets = offsets + line_starts * self.splat(grid["row_stride"], ORIGIN_LANES)
            offsets = offsets + pixel_starts * self.splat(grid["pixel_stride"], ORIGIN_LANES)
            line_starts = self.select(
                rows < self.splat(num_rows, ORIGIN_LANES), line_starts, self.constant(LINE_OUTSIDE, ORIGINS)
            )
            self.store_origins(self.constant(start, I64), offsets, line_starts, pixel_starts)
        self.advance_position(num_rows)

    def store_origins(self, row: LLVMValue, offset: LLVMValue, line: LLVMValue, pixel: LLVMValue) -> None:
        """Stores the origins of one row of a block, or of a vector of rows: offsets into the images, lines, pixels."""
        for name, value in (("offsets", offset), ("lines", line), ("pixels", pixel)):
            self.store(StackSlot(self.gep(f"%{name}", row, "i64"), value.type), value)

    def store_origins_scalar(self, num_rows: LLVMValue) -> None:
        """Stores the origins of the windows of a block row by row, for output lines shorter than a tile."""
        num_origins = self.constant(-(-self.tile.rows // ORIGIN_LANES) * ORIGIN_LANES, I64)
        self.loop_call(
            self.constant(0, I64), num_origins, 1, lambda row: self.store_origin(row, num_rows), "row"
        )

    def store_origin(self, row: LLVMValue, num_rows: LLVMValue) -> None:
        """Stores the origin of a row's window, outside of the image for rows past the last, and advances the position."""
        grid = self.geometry
        image, y, x = (self.load(slot) for slot in self.position)
        is_row = row < num_rows
        line, pixel = y * grid["stride_y"] - grid["top"], x * grid["stride_x"] - grid["left"]
        offset = image * grid["image_stride"] + line * grid["row_stride"] + pixel * grid["pixel_stride"]
        line = self.select(is_row, line, self.constant(LINE_OUTSIDE, I64))
        self.store_origins(row, offset, line, pixel)
        self.advance_position(self.select(is_row, 1, self.constant(0, I64)))

    def advance_position(self, step: LLVMValue) -> None:
        """Advances the position by `step` output pixels, at most into the next line."""
        image, y, x = (self.load(slot) for slot in self.position)
        width = self.geometry["out_width"]
        is_end = x + step >= width
        is_last = is_end & (y + 1).eq(self.geometry["out_height"])
        zero = self.constant(0, I64)
        self.store(self.position[2], self.select(is_end, x + step - width, x + step))
        self.store(self.position[1], self.select(is_last, zero, self.select(is_end, y + 1, y)))
        self.store(self.position[0], self.select(is_last, image + 1, image))

    def fill_block(self, table: str, base: LLVMValue, zeros: LLVMValue) -> None:
        """Writes the addresses of all taps of a block, in order: lanes past the tile's rows are overwritten by the next tap."""
        grid, zero = self.geometry, self.constant(0, I64)
        starts = [self.constant(start, I64) for start in range(0, self.tile.rows, ORIGIN_LANES)]
        rows = [self.load_origins(start, base) for start in starts]
        zero_rows = self.splat(zeros, ORIGIN_LANES)
        height, width = self.splat(grid["height"], ORIGIN_LANES), self.splat(grid["width"], ORIGIN_LANES)

        def fill_tap(ky: LLVMValue, kx: LLVMValue) -> None:
            dy, dx = ky * grid["dilation_y"], kx * grid["dilation_x"]
            step = self.splat((dy * grid["row_stride"] + dx * grid["pixel_stride"]) << 2, ORIGIN_LANES)
            tap = (ky * grid["kernel_width"] + kx) * self.tile.rows
            for start, (firsts, lines, pixels) in zip(starts, rows, strict=True):
                is_line = self.is_in_range(lines + self.splat(dy, ORIGIN_LANES), height)
                is_pixel = is_line & self.is_in_range(pixels + self.splat(dx, ORIGIN_LANES), width)
                addresses = self.select(is_pixel, firsts + step, zero_rows)
                self.store(StackSlot(self.gep(table, tap + start, "i64"), ORIGINS), addresses)

        def fill_line(ky: LLVMValue) -> None:
            self.loop_call(zero, grid["kernel_width"], 1, lambda kx: fill_tap(ky, kx), "kx")

        self.loop_call(zero, grid["kernel_height"], 1, fill_line, "ky")

    def load_origins(self, start: LLVMValue, base: LLVMValue) -> tuple[LLVMValue, LLVMValue, LLVMValue]:
        """The origins of a vector of rows of a block: addresses, lines, pixels."""
        offsets, lines, pixels = (
            self.load(StackSlot(self.gep(f"%{name}", start, "i64"), ORIGINS))
            for name in ("offsets", "lines", "pixels")
        )
        return (offsets << 2) + self.splat(base, ORIGIN_LANES), lines, pixels

    def is_in_range(self, index: LLVMValue, end: LLVMValue) -> LLVMValue:
        """0 <= index < end, by one unsigned comparison."""
        return self.emit(index.type.with_element("i1"), f"icmp ult {index}, {end.name}")

    def pointer_to_int(self, address: str) -> LLVMValue:
        """An address as an integer."""
        return self.emit(I64, f"ptrtoint ptr {address} to i64")

    def input_addresses(self, rows: int, block: RowBlock, tap: LLVMValue, channel: LLVMValue) -> list[str]:
        first = (block.index * self.sizes["taps"] + tap) * self.tile.rows
        slots = [self.gep(self.scratch, first + r, "ptr") for r in range(rows)]
        return [self.gep(self.load_pointer(slot), channel) for slot in slots]

    # --- vectors -----------------------------------------------------------------------------

    def loop_vectors(
        self, first: LLVMValue, end: LLVMValue, body: Callable[[LLVMValue, LLVMValue | None], None]
    ) -> None:
        """Emits a loop over the vectors of [first, end): body(index, None), and at last body(index, number of lanes left)."""
        first_left = self.loop_call(first, end, self.tile.lanes, lambda index: body(index, None))
        if self.tile.lanes > 1:
            self.if_then_call(first_left < end, lambda: body(first_left, end - first_left))

    def load_first_lanes(self, base: str, index: LLVMValue, count: LLVMValue | None) -> LLVMValue:
        slot = self.vector_slot(base, index)
        if count is None:
            return self.load(slot)
        return self.masked_load(self.lane_mask(count, self.tile.lanes), slot)

    def store_first_lanes(
        self, base: str, index: LLVMValue, value: LLVMValue, count: LLVMValue | None
    ) -> None:
        slot = self.vector_slot(base, index)
        if count is None:
            self.store(slot, value)
        else:
            self.masked_store(self.lane_mask(count, self.tile.lanes), slot, value)
