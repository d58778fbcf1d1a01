"""Loop nest of a direct or indirect convolution around the GEMM microkernel.

    for unit (group of rows, channel group, panel of weights):     # units of work, which threads share
        prepare the rows of the group, if not done already         # indirection buffer, im2row buffer
        for reduction_block in taps x channels:                    # its weights stay in the cache
            for row_block in group by MR:                          # one register tile
                for tap in reduction_block:
                    microkernel over the channels of the tap
                add the sums of the blocks before; spill them to scratch, or apply the epilogue and store

A row is an output pixel, counted through all images; a tap is a position of the window, which adds `channels` terms.
Weights are packed as [groups, panels, taps, channels, NR].  A `RowSource` defines the address of the input of a row and a
tap: see `pointwise.py`, `indirection.py`, `im2row.py`.  Each reduction block is summed from zero, like a block of k in a
matrix product, so that rounding errors do not grow with the whole reduction.
Source: Goto and van de Geijn (2008); BLIS.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from sardonyx._src.compile.codegen import I64, LLVMValue, MemoryLocation
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.gemm.tile.accumulators import (
    F32,
    Microkernel,
    accumulate,
    accumulate_tiles,
    init_accumulators,
)
from sardonyx._src.compile.kernels.gemm.tile.amx_tiles import AmxOperands, share_panel
from sardonyx._src.compile.kernels.gemm.tile.output import OutputMatrix, TileStore
from sardonyx._src.compile.kernels.gemm.tile.prefetch import CACHE_LINE_BYTES, Prefetch, share_bytes
from sardonyx._src.compile.kernels.gemm.tile.row_blocks import RowBlock, count_blocks, loop_row_blocks
from sardonyx._src.dataclass import dataclass

if TYPE_CHECKING:
    from sardonyx._src.compile.kernels.gemm.tile.nest import EmitRows


AddTaps: TypeAlias = "Callable[[Convolution, RowSource, ConvUnit, ReductionBlock, RowBlock], EmitRows]"


@dataclass(frozen=True, slots=True)
class RowGroup:
    """Stack slots of the group of rows that was prepared last: its first row, its number of rows, and its own number."""

    first_row: MemoryLocation
    num_rows: MemoryLocation
    index: MemoryLocation


@dataclass(frozen=True, slots=True)
class Convolution:
    """The kernel of a convolution: its microkernel and its arguments.

    size: the integer arguments by name.
    row_group: the group of rows that was prepared last.
    group_channels: the channels of the input that a channel group reads.
    add_taps: the products of a reduction block for the rows of a tile; by default, the function of that name.
    """

    m: Microkernel
    x: str
    weights: str
    bias: str
    size: Mapping[str, LLVMValue]
    output: OutputMatrix
    row_group: RowGroup
    group_channels: LLVMValue | int
    add_taps: AddTaps

    @property
    def b(self) -> KernelBuilder:
        return self.m.b


@dataclass(frozen=True, slots=True)
class RowSource:
    """Functions that emit the addresses of the input of each row and tap.

    partial_sums: the address of scratch for the partial sums of a group, [rows + `spare_rows`, width].
    prepare_rows: stores the first row and the number of rows of a group, and the data that `input_addresses` reads.
    input_addresses: given a number of rows, a row block, a tap and a channel: the addresses of the first rows of the
        block.  Addresses of rows past the last one are readable.
    next_input_address: the address that a block prefetches for the next group of rows; None if it is not known.
    emit_prologue: emits code that runs once in a call.
    row_stride: words between the inputs of adjacent rows; None if they are not equally far apart.
    """

    partial_sums: str
    prepare_rows: Callable[[LLVMValue], None]
    input_addresses: Callable[[int, RowBlock, LLVMValue, LLVMValue], list[str]]
    next_input_address: Callable[[RowBlock], str] | None = None
    emit_prologue: Callable[[], None] = lambda: None
    row_stride: LLVMValue | None = None


@dataclass(frozen=True, slots=True)
class ConvUnit:
    """A panel of a channel group.

    weights, bias: the addresses of the weights and the bias of the panel.
    column, end_column: the first output column of the panel, and the end of the columns of the group.
    """

    group: LLVMValue
    weights: str
    bias: str
    column: LLVMValue
    end_column: LLVMValue
    is_last_panel: LLVMValue


@dataclass(frozen=True, slots=True)
class ReductionBlock:
    """A block of the reduction: taps and channels that are summed while their weights are in the cache.

    first_channel: the first channel, counted through all channel groups.
    weights: the address of the weights of the block.
    is_first, is_last: whether the block is the first, or the last one, of the reduction.
    share: the bytes of the next block of weights that each row block prefetches for each term.
    """

    first_tap: LLVMValue
    num_taps: LLVMValue
    first_channel: LLVMValue
    num_channels: LLVMValue
    weights: str
    is_first: LLVMValue
    is_last: LLVMValue
    share: LLVMValue


def emit_convolution(conv: Convolution, source: RowSource) -> None:
    """The loops over units, reduction blocks and row blocks.

    Panels vary fastest, so that the rows of a group are prepared once for all of them.
    """
    b, size, prepared = conv.b, conv.size, conv.row_group
    b.store(prepared.index, b.constant(-1, I64))
    source.emit_prologue()
    with b.loop(b.first_unit, b.end_unit, 1, "unit") as index:
        rest, panel = b.udivmod(index, size["panels"])
        row_group, group = b.udivmod(rest, size["groups"])
        with b.if_then(row_group.ne(b.load(prepared.index))):
            source.prepare_rows(row_group)
            b.store(prepared.index, row_group)
        emit_unit(conv, source, group, panel)


def emit_unit(conv: Convolution, source: RowSource, group: LLVMValue, panel: LLVMValue) -> None:
    """The prepared rows times a panel of a channel group: the loops over reduction blocks and row blocks."""
    b, size = conv.b, conv.size
    unit = conv_unit(conv, group, panel)
    with (
        loop_at_least_once(b, size["taps"], size["block_taps"]) as tap,
        loop_at_least_once(b, size["channels"], size["block_channels"]) as channel,
    ):
        reduction = reduction_block(conv, unit, tap, channel)
        with loop_row_blocks(conv.m, b.load(conv.row_group.num_rows)) as block:
            emit_tile(conv, source, unit, reduction, block)


def conv_unit(conv: Convolution, group: LLVMValue, panel: LLVMValue) -> ConvUnit:
    """The weights and the columns of a panel of a channel group."""
    b, size, width = conv.b, conv.size, conv.m.tile.width
    panel_index = group * size["panels"] + panel
    weights = b.gep(conv.weights, panel_index * size["taps"] * size["channels"] * conv.m.panel_row)
    bias = b.gep(conv.bias, panel_index * width)
    first = group * size["columns"]
    column, end = first + panel * width, first + size["columns"]
    return ConvUnit(group, weights, bias, column, end, (panel + 1).eq(size["panels"]))


def reduction_block(conv: Convolution, unit: ConvUnit, tap: LLVMValue, channel: LLVMValue) -> ReductionBlock:
    """The block that begins at a tap and a channel of the channel group."""
    b, size = conv.b, conv.size
    channels_before = unit.group * conv.group_channels
    taps = b.min(size["block_taps"], size["taps"] - tap)
    channels = b.min(size["block_channels"], size["channels"] - channel)
    is_last = (tap + taps >= size["taps"]) & (channel + channels >= size["channels"])
    start = b.gep(unit.weights, (tap * size["channels"] + channel) * conv.m.panel_row)
    first_channel, is_first = channels_before + channel, (tap + channel).eq(0)
    num_blocks = count_blocks(b, conv.m.tile, b.load(conv.row_group.num_rows))
    num_blocks = b.select(num_blocks < 1, b.constant(1, I64), num_blocks)  # an image without pixels has none
    share = b.min(share_bytes(b, conv.m.panel_row * F32.bits // 8, num_blocks), CACHE_LINE_BYTES)
    return ReductionBlock(tap, taps, first_channel, channels, start, is_first, is_last, share)


def emit_tile(
    conv: Convolution, source: RowSource, unit: ConvUnit, reduction: ReductionBlock, block: RowBlock
) -> None:
    """One register tile: adds the terms of a reduction block to the bias, or to the sums of the blocks before."""
    from sardonyx._src.compile.kernels.gemm.tile import nest  # lazy: only the text of a kernel needs it

    # Lazy: only the text of a kernel needs it.
    from sardonyx._src.compile.kernels.gemm.tile.nest import (
        EarlierSums,
        TileSums,
    )

    b, m, width = conv.b, conv.m, conv.m.tile.width
    spill = b.gep(source.partial_sums, block.index * (m.tile.rows * width))  # room for whole tiles
    taps = conv.add_taps(conv, source, unit, reduction, block)
    row = b.load(conv.row_group.first_row) + block.first_row
    begin = partial(init_accumulators, m, bias=unit.bias)
    store = TileStore(conv.output, row, unit.column, unit.end_column, spill, reduction.is_last)
    added = EarlierSums(spill, partial(reduction.is_first.eq, 0))
    nest.emit_tile(m, block.num_rows, TileSums(store, reduction.is_first, begin, added=added), taps)


def add_taps(
    conv: Convolution, source: RowSource, unit: ConvUnit, reduction: ReductionBlock, block: RowBlock
) -> EmitRows:
    """Adds the products of a reduction block to accumulators in vectors."""
    b, m = conv.b, conv.m
    prefetch = next_share(conv, source, unit, reduction, block)

    def add(rows: int) -> None:
        with b.loop(b.constant(0, I64), reduction.num_taps, 1, "tap") as i:
            panel = b.gep(reduction.weights, i * conv.size["channels"] * m.panel_row)
            addresses = source.input_addresses(rows, block, reduction.first_tap + i, reduction.first_channel)
            offset = i * reduction.num_channels * prefetch.bytes_per_term
            share = replace(prefetch, address=b.gep(prefetch.address, offset, "i8"))
            accumulate(m, addresses, panel, reduction.num_channels, prefetch=share)

    return add


def add_amx_taps(
    conv: Convolution, source: RowSource, unit: ConvUnit, reduction: ReductionBlock, block: RowBlock
) -> EmitRows:
    """Adds the products of the only reduction block, which has one tap, to AMX tiles."""
    b, m = conv.b, conv.m
    assert m.amx is not None, "the microkernel must have AMX tiles"
    assert source.row_stride is not None, "AMX tiles need rows that are equally far apart"
    next_weights = b.gep(reduction.weights, reduction.num_channels * m.panel_row)
    num_blocks = count_blocks(b, m.tile, b.load(conv.row_group.num_rows))
    share = share_panel(b, m.amx, next_weights, block.index, num_blocks)
    (left,) = source.input_addresses(1, block, reduction.first_tap, reduction.first_channel)
    operands = AmxOperands(left, source.row_stride, reduction.weights, reduction.num_channels, share)
    return partial(accumulate_tiles, m, operands)


def next_share(
    conv: Convolution, source: RowSource, unit: ConvUnit, reduction: ReductionBlock, block: RowBlock
) -> Prefetch:
    """The prefetches of a row block: an equal share of the next block of weights.

    In the last block of the last panel it is the input of the next group of rows instead, if its address is known.  Shares
    are so small that prefetches leave line fill buffers to the loads of the microkernel.
    """
    b, m = conv.b, conv.m
    num_terms = reduction.num_taps * reduction.num_channels
    share = reduction.share
    next_weights = b.gep(reduction.weights, num_terms * m.panel_row)
    address = b.gep(next_weights, block.index * num_terms * share, "i8")
    if source.next_input_address is None:
        return Prefetch(address, share)
    is_last = reduction.is_last & unit.is_last_panel
    address = b.select_pointer(is_last, source.next_input_address(block), address)
    return Prefetch(address, b.select(is_last, b.constant(m.tile.rows * F32.bits // 8, I64), share))


@contextmanager
def loop_at_least_once(b: KernelBuilder, end: LLVMValue, step: LLVMValue) -> Iterator[LLVMValue]:
    """A loop for 0, step, 2 * step, ... below `end`; the first iteration runs even if `end` is 0.

    So a sum of no terms is computed, too: it is the bias.
    """
    slot = b.new_slot("step", I64)
    b.store(slot, b.constant(0, I64))
    head, done = b.new_label("head"), b.new_label("done")
    b.enter_block(head)
    index = b.load(slot)
    yield index
    b.store(slot, index + step)
    b.lines.append(f" br {index + step < end}, label %{head}, label %{done}")
    b.start_block(done)
