"""Loop nest of a direct or indirect convolution around the GEMM microkernel.

    for unit (group of rows, channel group, panel of weights):     # units of work, which threads share
        prepare the rows of the group, if not done already         # indirection buffer, im2row buffer
        for reduction_block in taps x channels:                    # its weights stay in the cache
            for row_block in group by MR:                          # one register tile
                for tap in reduction_block:
                    microkernel over the channels of the tap
                spill partial sums to scratch, or apply the epilogue and store

A row is an output pixel, counted through all images; a tap is a position of the window, which adds `channels` terms.
Weights are packed as [groups, panels, taps, channels, NR].  Subclasses define where the input of a row and a tap is:
`pointwise.py`, `indirection.py`, `im2row.py`, `narrow_groups.py`, `transposed.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from sardonyx._src.compile.codegen.blocks import I64
from sardonyx._src.compile.codegen.builder import LLVMValue
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.kernels.gemm.accumulators import CACHE_LINE_FLOATS
from sardonyx._src.compile.kernels.gemm.output import TileStore
from sardonyx._src.compile.kernels.gemm.register_tile import make_tile
from sardonyx._src.compile.kernels.gemm.row_blocks import RowBlock, RowBlockEmitter

CONV_SIZES = (
    "taps", "channels", "columns", "groups", "panels", "rows", "group_rows", "block_taps", "block_channels",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ReductionBlock:
    """A block of the reduction: the taps and channels whose products are added while their weights are in the cache.

    first_channel: counted through all channel groups.
    """

    first_tap: LLVMValue
    num_taps: LLVMValue
    first_channel: LLVMValue
    num_channels: LLVMValue
    weights: str  # the address of those of the block
    is_first: LLVMValue
    is_last: LLVMValue


class ConvEmitter(RowBlockEmitter, ABC):
    """Emits the kernel of a convolution; subclasses add the addresses of the input.

    Arguments: x; weights [groups, panels, taps, channels, width]; bias [groups, panels, width]; `CONV_SIZES`, of which
    channels, columns and panels are those of one channel group; `extra_sizes`; those of `output.output_arguments`.
    variant: names the subclass in cache keys.
    """

    variant: ClassVar[str]
    extra_sizes: tuple[str, ...] = ()  # further arguments of a subclass

    def __init__(self, vectors: int, epilogue: Epilogue, target: Target) -> None:
        super().__init__(make_tile(vectors, target.lanes, target.registers), epilogue, target)
        self.x, self.weights, self.bias = (self.pointer_argument(i) for i in range(3))
        names = (*CONV_SIZES, *self.extra_sizes)
        self.sizes = {name: self.size_argument(i) for i, name in enumerate(names, 3)}
        self.output = self.output_matrix(3 + len(names))
        self.first_row, self.num_rows = (self.new_slot(name, I64) for name in ("row", "count"))
        self.prepared_group = self.new_slot("prepared", I64)  # the group of rows that is prepared
        self.partial_sums = self.scratch

    def emit_units(self) -> None:
        """Emits the loop over units: panels vary fastest, so that the rows of a group are prepared once for all of them."""
        self.store(self.prepared_group, self.constant(-1, I64))
        self.emit_prologue()
        self.loop_call(self.first_unit, self.end_unit, 1, self.emit_unit, "unit")

    def emit_unit(self, unit: LLVMValue) -> None:
        panels, groups = self.sizes["panels"], self.sizes["groups"]
        rest, panel = self.udivmod(unit, panels)
        row_group, group = self.udivmod(rest, groups)

        def prepare_rows() -> None:
            self.prepare_rows(row_group)
            self.store(self.prepared_group, row_group)

        self.if_then_call(row_group.ne(self.load(self.prepared_group)), prepare_rows)
        self.emit_panel(group, panel)

    # --- defined by subclasses ---------------------------------------------------------------

    def emit_prologue(self) -> None:
        """Emits what is done once in a call."""

    @abstractmethod
    def prepare_rows(self, group: LLVMValue) -> None:
        """Stores `first_row` and `num_rows` of a group of rows, and whatever `input_addresses` needs."""

    @abstractmethod
    def input_addresses(self, rows: int, block: RowBlock, tap: LLVMValue, channel: LLVMValue) -> list[str]:
        """The addresses of the input for each row of a block, a tap and a channel; rows past the last are readable."""

    def next_input_address(self, block: RowBlock) -> str | None:
        """The address that a block prefetches for the next group of rows; None if it is not known."""
        return None

    def count_input_channels(self, groups: LLVMValue) -> LLVMValue:
        """The number of input channels of `groups` channel groups."""
        return groups * self.sizes["channels"]

    # --- loops -------------------------------------------------------------------------------

    def emit_panel(self, group: LLVMValue, panel: LLVMValue) -> None:
        """Multiplies the prepared rows with a panel of the weights, one reduction block after the other."""
        size, width = self.sizes, self.tile.width
        panel_index = group * size["panels"] + panel
        weights = self.gep(self.weights, panel_index * size["taps"] * size["channels"] * width)
        bias = self.gep(self.bias, panel_index * width)
        first = group * size["columns"]
        column, end = first + panel * width, first + size["columns"]
        is_last_panel = (panel + 1).eq(size["panels"])

        def emit_reduction_block(tap: LLVMValue, channel: LLVMValue) -> None:
            reduction = self.reduction_block(tap, channel, self.count_input_channels(group), weights)
            self.loop_row_blocks(
                self.load(self.num_rows),
                lambda block: self.emit_tile(block, reduction, bias, (column, end), is_last_panel),
            )

        def loop_channels(tap: LLVMValue) -> None:
            self.loop_at_least_once(
                size["channels"], size["block_channels"], lambda channel: emit_reduction_block(tap, channel)
            )

        self.loop_at_least_once(size["taps"], size["block_taps"], loop_channels)

    def reduction_block(
        self, tap: LLVMValue, channel: LLVMValue, channels_before: LLVMValue, weights: str
    ) -> ReductionBlock:
        """The block that begins at a tap and a channel of a channel group."""
        size = self.sizes
        taps = self.min(size["block_taps"], size["taps"] - tap)
        channels = self.min(size["block_channels"], size["channels"] - channel)
        is_last = (tap + taps >= size["taps"]) & (channel + channels >= size["channels"])
        start = self.gep(weights, (tap * size["channels"] + channel) * self.tile.width)
        return ReductionBlock(
            tap, taps, channels_before + channel, channels, start, (tap + channel).eq(0), is_last
        )

    def emit_tile(
        self,
        block: RowBlock,
        reduction: ReductionBlock,
        bias: str,
        columns: tuple[LLVMValue, LLVMValue],
        is_last_panel: LLVMValue,
    ) -> None:
        """One register tile: continues the sums from the bias or from partial sums, then stores or spills them.

        columns: the first column and the end of the channel group's.
        """
        width = self.tile.width
        spill = self.gep(self.partial_sums, block.index * (self.tile.rows * width))  # room for whole tiles
        start = self.select_pointer(reduction.is_first, bias, spill)
        row_stride = self.select(reduction.is_first, 0, self.constant(width, I64))
        line = self.min(block.index, self.constant(-(-width // CACHE_LINE_FLOATS) - 1, I64))
        num_terms = reduction.num_taps * reduction.num_channels
        prefetch = self.gep(reduction.weights, num_terms * (line * CACHE_LINE_FLOATS + width))
        next_inputs = self.next_input_address(block)
        if next_inputs is not None:
            prefetch = self.select_pointer(reduction.is_last & is_last_panel, next_inputs, prefetch)

        def accumulate_rows(rows: int) -> None:
            self.load_accumulators(rows, start, row_stride)
            self.accumulate_taps(rows, block, reduction, prefetch)

        column, end = columns
        row = self.load(self.first_row) + block.first_row
        tile_store = TileStore(self.output, row, column, end, spill, reduction.is_last)
        self.emit_block(block.num_rows, accumulate_rows, tile_store)

    def accumulate_taps(self, rows: int, block: RowBlock, reduction: ReductionBlock, prefetch: str) -> None:
        """Adds the products of a reduction block; each row block prefetches a share of what is needed next."""

        def accumulate_tap(i: LLVMValue) -> None:
            panel = self.gep(reduction.weights, i * self.sizes["channels"] * self.tile.width)
            addresses = self.input_addresses(rows, block, reduction.first_tap + i, reduction.first_channel)
            line = self.gep(prefetch, i * reduction.num_channels * CACHE_LINE_FLOATS)
            self.accumulate(addresses, panel, reduction.num_channels, prefetch=line)

        self.loop_call(self.constant(0, I64), reduction.num_taps, 1, accumulate_tap, "tap")

    # --- loops over integers -----------------------------------------------------------------

    def loop_at_least_once(self, end: LLVMValue, step: LLVMValue, body: Callable[[LLVMValue], None]) -> None:
        """Emits a loop for 0, step, 2 * step, ... below `end`, whose first iteration is not conditional.

        A sum of no terms is so computed, too: it is the bias.
        """
        slot = self.new_slot("step", I64)
        self.store(slot, self.constant(0, I64))
        head, done = self.new_label("head"), self.new_label("done")
        self.enter_block(head)
        index = self.load(slot)
        body(index)
        self.store(slot, index + step)
        self.lines.append(f" br {index + step < end}, label %{head}, label %{done}")
        self.start_block(done)
