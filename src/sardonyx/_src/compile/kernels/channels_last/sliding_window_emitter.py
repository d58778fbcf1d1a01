"""Loop nest of sliding-window kernels (depthwise convolution, pooling) over channels-last images.

x: [N, H, W, C], y: [N, Ho, Wo, C].  A unit of work is one output row for one block of channels.  Loop nest:

    tile of output pixels -> vector of channels -> kernel row (tap row) -> input columns under the tile

The tile's accumulators, `pixels` x one vector of channels, stay in registers while the taps run; with unrolled taps, an
input vector that several windows of the tile share is loaded once.

Padding is never materialised: columns outside the image are masked.  In interior tiles only the outermost columns can be
outside, and their masks are computed once for all channels.  Border tiles, and the remainder of the channels, compute a mask
for every load.  Rows outside the image are left out of the loop over kernel rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from sardonyx._src.compile.codegen.blocks import I64
from sardonyx._src.compile.codegen.builder import LLVMValue
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.channels_last.channels_last_emitter import ChannelsLastEmitter
from sardonyx._src.compile.kernels.channels_last.sliding_window import NUM_WINDOW_ARGUMENTS, WindowTile
from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.kernels.gemm.accumulators import CACHE_LINE_FLOATS

PREFETCH_MIN_FLOATS = 2**21  # of an image, which is then assumed to be in memory, not in a cache


class SlidingWindowEmitter(ChannelsLastEmitter, ABC):
    """Emits the loop nest; subclasses define what is accumulated.

    args: those of `sliding_window_arguments`, the subclass's (see `load_arguments`), the epilogue's.  tile: the register
    tile, on which the kernel is specialized.  padding_value: the value of taps outside the image.
    """

    padding_value = 0.0

    def __init__(self, target: Target, epilogue: Epilogue, tile: WindowTile) -> None:
        super().__init__(target, epilogue)
        self.tile = tile
        self.x, self.y = self.pointer_argument(0), self.pointer_argument(1)
        self.x_pixel_stride, self.y_pixel_stride, self.height, self.width = (
            self.size_argument(i) for i in range(2, 6)
        )
        self.out_height, self.out_width, self.channels, self.rows, self.block = (
            self.size_argument(i) for i in range(6, 11)
        )
        self.kernel_height = self.size_argument(11)
        self.kernel_width = self.constant_or_argument(12, tile.taps)
        self.stride_height = self.size_argument(13)
        self.stride_width = self.constant_or_argument(14, tile.stride)
        self.dilation_height = self.size_argument(15)
        self.dilation_width = self.constant_or_argument(16, tile.dilation)
        self.pads = [self.size_argument(i) for i in range(17, 21)]
        self.load_arguments(NUM_WINDOW_ARGUMENTS)
        self.accumulators = [self.new_slot("sum", self.vector_type) for _ in range(self.num_accumulators())]
        self.next_channel = self.new_slot("reached", I64)
        self.is_large_image = self.height * self.width * self.x_pixel_stride >= PREFETCH_MIN_FLOATS
        self.loop_call(self.first_unit, self.end_unit, 1, self.emit_unit, "unit")

    def constant_or_argument(self, index: int, constant: int) -> LLVMValue:
        """The constant that the kernel is specialized on, or the argument with this index if it is 0."""
        return self.constant(constant, I64) if constant else self.size_argument(index)

    # --- hooks of subclasses -----------------------------------------------------------------

    def load_arguments(self, index: int) -> None:
        """Loads the arguments of the subclass, the first of which has this index; called before any loop."""
        self.load_operands(index)

    def num_accumulators(self) -> int:
        """The number of accumulator vectors: one for each window of a tile."""
        return self.tile.pixels

    def begin_row(self) -> None:
        """Called before the tiles of an output row."""

    def begin_tile(self, left: LLVMValue) -> None:
        """Called before the channels of a tile; left: the input column of its first tap."""

    def initial_value(self, channel: LLVMValue, mask: LLVMValue | None) -> LLVMValue:
        """The initial value of the accumulators."""
        return self.constant(self.padding_value, self.vector_type)

    def begin_tap_row(self, tap_row: LLVMValue, channel: LLVMValue, mask: LLVMValue | None) -> None:
        """Called before the taps of a kernel row."""

    @abstractmethod
    def accumulate(self, total: LLVMValue, x: LLVMValue, tap: int | LLVMValue) -> LLVMValue:
        """The accumulator `total` updated with the input vector x; tap: the column of the kernel."""

    def window_result(self, pixel: int) -> LLVMValue:
        """The result of a window of the tile, before the epilogue."""
        return self.load(self.accumulators[pixel])

    # --- rows and tiles ----------------------------------------------------------------------

    def emit_unit(self, unit: LLVMValue) -> None:
        """One output row for one block of channels."""
        block, self.row = self.udivmod(unit, self.rows)
        self.image, out_row = self.udivmod(self.row, self.out_height)
        self.begin_channel = block * self.block
        self.end_channel = self.min(self.begin_channel + self.block, self.channels)
        self.top = out_row * self.stride_height - self.pads[0]
        self.tap_rows = self.tap_range(
            self.top, self.zero, self.height, self.kernel_height, self.dilation_height
        )
        self.begin_row()
        pixels = self.tile.pixels
        self.loop_call(self.zero, self.out_width + (pixels - 1), pixels, self.emit_tile, "tile")

    def tap_range(
        self, start: LLVMValue, low: LLVMValue, high: LLVMValue, taps: LLVMValue, dilation: LLVMValue
    ) -> tuple[LLVMValue, LLVMValue]:
        """The taps [first, end) whose positions start + tap * dilation are in [low, high)."""

        def taps_below(limit: LLVMValue) -> LLVMValue:
            distance = self.max(limit - start, self.zero)
            count = distance if dilation.name == "1" else self.sdiv(distance + dilation - 1, dilation)
            return self.min(count, taps)

        return taps_below(low), taps_below(high)

    def emit_tile(self, column: LLVMValue) -> None:
        """The windows from an output column on: whole vectors if the tile is interior, then the remaining channels.

        A border tile has no channels done when the second loop begins, so that it does all of them with masks.
        """
        left = column * self.stride_width - self.pads[1]
        self.begin_tile(left)
        self.if_then_call(self.is_large_image, lambda: self.prefetch_tile(left))
        self.store(self.next_channel, self.begin_channel)

        def emit_interior() -> None:
            self.border_masks = {offset: self.column_mask(left + offset) for offset in self.border_columns()}
            end = self.loop_call(
                self.begin_channel,
                self.end_channel,
                self.lanes,
                lambda channel: self.emit_channel_vector(column, left, channel, is_interior=True),
                "channel",
            )
            self.store(self.next_channel, end)

        self.if_then_call(self.is_interior(column, left), emit_interior)
        self.loop_call(
            self.load(self.next_channel),
            self.end_channel + (self.lanes - 1),
            self.lanes,
            lambda channel: self.emit_channel_vector(column, left, channel, is_interior=False),
            "channel",
        )

    def prefetch_tile(self, left: LLVMValue) -> None:
        """Prefetches the input that the tile one output row below is the first to read.

        Hides memory latency, which short runs of pixels expose; costs 10 % or more if the image is cached, hence the minimum
        size.
        """
        bottom = self.top + self.stride_height + self.dilation_height * (self.kernel_height - 1)
        new_rows = self.min(self.stride_height, self.kernel_height)

        def prefetch_row(rows_up: LLVMValue) -> None:
            pixel = ((self.image * self.height + bottom) - rows_up) * self.width + left
            base = self.gep(self.x, pixel * self.x_pixel_stride)

            def prefetch_lines(channel: LLVMValue) -> None:
                for offset in range(self.tile.pixels * self.tile.stride):
                    self.prefetch_l2(self.gep(base, self.x_pixel_stride * offset + channel))

            end = self.end_channel + (CACHE_LINE_FLOATS - 1)
            self.loop_call(self.begin_channel, end, CACHE_LINE_FLOATS, prefetch_lines, "line")

        self.loop_call(self.zero, new_rows, 1, prefetch_row, "new_row")

    def prefetch_l2(self, address: str) -> None:
        """Prefetches a line into the level-2 cache; the address may be invalid."""
        self.declarations["declare void @llvm.prefetch.p0(ptr, i32 immarg, i32 immarg, i32 immarg)"] = None
        self.lines.append(f" call void @llvm.prefetch.p0(ptr {address}, i32 0, i32 2, i32 1)")

    def is_interior(self, column: LLVMValue, left: LLVMValue) -> LLVMValue:
        """Whether all windows of a tile exist, and all columns but those with border masks are inside the image."""
        first, last = (
            self.zero,
            self.stride_width * (self.tile.pixels - 1) + self.dilation_width * (self.kernel_width - 1),
        )
        if self.tile.is_unrolled:
            first, last = (self.constant(offset, I64) for offset in self.tile.interior_columns)
        is_inside = (left + first >= 0) & (left + last < self.width)
        return is_inside & (column + self.tile.pixels <= self.out_width)

    def border_columns(self) -> list[int]:
        """The columns of an interior tile that may be outside the image; none unless taps are unrolled."""
        if not self.tile.is_unrolled:
            return []
        first, last = self.tile.interior_columns
        return [offset for offset in self.tile.columns if not first <= offset <= last]

    def column_mask(self, column: LLVMValue) -> LLVMValue:
        """All lanes if an input column is inside the image, else none."""
        is_inside = (column >= 0) & (column < self.width)
        return self.channel_mask(self.select(is_inside, self.lanes, self.zero))

    # --- taps --------------------------------------------------------------------------------

    def emit_channel_vector(
        self, column: LLVMValue, left: LLVMValue, channel: LLVMValue, *, is_interior: bool
    ) -> None:
        """All windows of a tile for one vector of channels."""
        remaining = self.end_channel - channel
        mask = None if is_interior else self.channel_mask(remaining)
        initial = self.initial_value(channel, mask)
        for slot in self.accumulators:
            self.store(slot, initial)
        masked_channels = None if is_interior else remaining

        def emit_tap_row(tap_row: LLVMValue) -> None:
            self.begin_tap_row(tap_row, channel, mask)
            row = self.image * self.height + self.top + tap_row * self.dilation_height
            base = self.gep(self.x, (row * self.width + left) * self.x_pixel_stride + channel)
            if self.tile.is_unrolled:
                self.emit_unrolled_taps(base, left, masked_channels)
            else:
                taps = self.kernel_width
                self.loop_call(
                    self.zero, taps, 1, lambda tap: self.emit_tap(tap, base, left, masked_channels), "tap"
                )

        self.loop_call(*self.tap_rows, 1, emit_tap_row, "tap_row")
        self.store_tile(column, channel, masked_channels)

    def emit_unrolled_taps(self, base: str, left: LLVMValue, masked_channels: LLVMValue | None) -> None:
        """The taps of a kernel row; each input column under the tile is loaded once."""
        for i, offset in enumerate(self.tile.columns):
            border_mask = self.border_masks.get(offset)
            x = self.load_column(base, left, self.constant(offset, I64), masked_channels, border_mask)
            self.accumulate_column(i, x)

    def accumulate_column(self, index: int, x: LLVMValue) -> None:
        """Updates the accumulators of all windows that cover the column with this index in `tile.columns`."""
        tile = self.tile
        for p, slot in enumerate(self.accumulators):
            tap, remainder = divmod(tile.columns[index] - p * tile.stride, tile.dilation)
            if remainder == 0 and 0 <= tap < tile.taps:
                self.store(slot, self.accumulate(self.load(slot), x, tap))

    def emit_tap(self, tap: LLVMValue, base: str, left: LLVMValue, masked_channels: LLVMValue | None) -> None:
        """One tap of a kernel row for each window; taps are a loop where they are not unrolled."""
        for p, slot in enumerate(self.accumulators):
            offset = self.stride_width * p + tap * self.dilation_width
            x = self.load_column(base, left, offset, masked_channels)
            self.store(slot, self.accumulate(self.load(slot), x, tap))

    def load_column(
        self,
        base: str,
        left: LLVMValue,
        offset: LLVMValue,
        masked_channels: LLVMValue | None,
        border_mask: LLVMValue | None = None,
    ) -> LLVMValue:
        """The input vector `offset` columns right of `left`; `padding_value` outside the image.

        masked_channels: the number of channels left, of a border tile or the last channels; None in an interior tile, whose
        border columns have a mask.
        """
        address = self.gep(base, offset * self.x_pixel_stride)
        if masked_channels is None:
            return self.load_vector(address, border_mask, self.padding_value)
        column = left + offset
        is_inside = (column >= 0) & (column < self.width)
        mask = self.channel_mask(self.select(is_inside, masked_channels, self.zero))
        return self.load_vector(address, mask, self.padding_value)

    def store_tile(self, column: LLVMValue, channel: LLVMValue, masked_channels: LLVMValue | None) -> None:
        """Applies the epilogue to the results of a tile and stores them."""
        first = self.row * self.out_width + column
        for p in range(self.tile.pixels):
            mask = None
            if masked_channels is not None:
                mask = self.channel_mask(self.select(column + p < self.out_width, masked_channels, self.zero))
            value = self.apply_epilogue(self.window_result(p), first + p, channel, mask)
            self.store_vector(value, self.gep(self.y, (first + p) * self.y_pixel_stride + channel), mask)
