"""Kernel that packs convolution weights into panels, for weights that are computed in the run.

    for panel of a channel group:                              # units of work
        for vector of columns, input channel, block of taps:   # or channels outermost, if columns are adjacent in memory
            transpose [columns, taps] -> a vector of columns for each tap that the convolution has

A panel is [taps, channels, width]: columns are the output channels of a group, channels its input channels, taps the positions
of the kernel window.  Only the taps first + i * step, with i < count, of each direction are packed; a transposed convolution is
one convolution for each phase of its strides, which has every step-th tap.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from sardonyx._src.compile.codegen import I64, LLVMValue, MemoryLocation, Parameters, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.data_movement.indexed_copy import record_error
from sardonyx._src.compile.kernels.loops.lanes import reduce_to_scalar, transpose
from sardonyx._src.compile.kernels.loops.vectors import (
    first_lanes,
    i64,
    load_vector,
    loop_blocks,
    store_vector,
    vector_type,
    zeros,
)
from sardonyx._src.dataclass import dataclass

SIZES = (
    "panels", "columns", "channels", "taps", "kernel_width", "group_stride", "column_stride", "channel_stride",
    "first_y", "step_y", "count_y", "first_x", "step_x", "count_x",
)  # fmt: skip
PARAMETERS = Parameters("weights", "packed", *SIZES)
CHECKED_PARAMETERS = Parameters("weights", "packed", *SIZES, "status")
UNUSED = -1  # the offset of a tap of the weights that the convolution does not use


def packing_module(name: str, target: Target, *, vectors: int, by_channel: bool, is_checked: bool) -> str:
    """The LLVM module of the kernel; a unit of work is a panel.

    The last vector of columns repeats the last column; vectors of the panel beyond it are not written.
    by_channel: whether all columns of a channel are packed before the next one.
    is_checked: whether a weight that is not finite is recorded as an error in the status.
    """
    b = KernelBuilder(target, CHECKED_PARAMETERS if is_checked else PARAMETERS)
    weights, packed = b.pointers("weights", "packed")
    size = {name: b.integer(name) for name in SIZES}
    width = vectors * target.lanes
    fill_offsets(b, size, size["channels"] * width)
    not_finite = b.new_slot("excess", vector_type(b))
    b.store(not_finite, zeros(b))
    panel_floats = size["count_y"] * size["count_x"] * size["channels"] * width
    with b.loop(b.first_unit, b.end_unit, name="unit") as unit:
        group, panel = b.udivmod(unit, size["panels"])
        column = panel * width
        source = b.gep(weights, group * size["group_stride"] + column * size["column_stride"])
        count = b.min(size["columns"] - column, width)
        target_panel = b.gep(packed, unit * panel_floats)
        columns_of_panel = Panel(source, count, target_panel, width)
        with loop_column_blocks(b, size, columns_of_panel, by_channel=by_channel) as (block, channel):
            copy_column_block(b, size, block, channel, not_finite if is_checked else None)
    if is_checked:
        total = reduce_to_scalar(b, lambda x, y: x + y, b.load(not_finite))
        with b.if_then(total.ne(total)):  # NaN
            record_error(b, b.pointer("status"), i64(b, 0))
    return b.build_module(name)


@dataclass(frozen=True, slots=True)
class Panel:
    """A panel of `width` columns at address `target`, which is packed from `count` columns at address `source`."""

    source: str
    count: LLVMValue
    target: str
    width: int


@dataclass(frozen=True, slots=True)
class ColumnBlock:
    """A vector of columns of a panel of `width` columns.

    starts: the address of the first channel of each column.
    target: the address of the columns in the first row of the panel.
    """

    starts: Sequence[str]
    target: str
    width: int


@contextmanager
def loop_column_blocks(
    b: KernelBuilder, size: dict[str, LLVMValue], panel: Panel, *, by_channel: bool
) -> Iterator[tuple[ColumnBlock, LLVMValue]]:
    """The loops over vectors of columns and over channels; the inner one walks through adjacent memory."""
    zero, channels, lanes = i64(b, 0), size["channels"], b.target.lanes
    if by_channel:
        with (
            b.loop(zero, channels, name="channel") as channel,
            loop_blocks(b, panel.count, lanes, "column") as first,
        ):
            yield column_block(b, size, panel, first), channel
        return
    with loop_blocks(b, panel.count, lanes, "column") as first:
        block = column_block(b, size, panel, first)
        with b.loop(zero, channels, name="channel") as channel:
            yield block, channel


def column_block(b: KernelBuilder, size: dict[str, LLVMValue], panel: Panel, first: LLVMValue) -> ColumnBlock:
    """The vector of columns from number `first` of a panel on."""
    numbers = [b.min(first + i, panel.count - 1) for i in range(b.target.lanes)]
    starts = [b.gep(panel.source, number * size["column_stride"]) for number in numbers]
    return ColumnBlock(starts, b.gep(panel.target, first), panel.width)


def fill_offsets(b: KernelBuilder, size: dict[str, LLVMValue], tap_floats: LLVMValue) -> None:
    """Writes to scratch, for each tap of the weights, the offset in a panel of the rows of its channels, or `UNUSED`."""
    with b.loop(i64(b, 0), size["taps"] + b.target.lanes, name="tap") as tap:
        b.store(offset_slot(b, tap), i64(b, UNUSED))
    with (
        b.loop(i64(b, 0), size["count_y"], name="y") as y,
        b.loop(i64(b, 0), size["count_x"], name="x") as x,
    ):
        source_y = size["first_y"] + y * size["step_y"]
        source_x = size["first_x"] + x * size["step_x"]
        tap = source_y * size["kernel_width"] + source_x
        b.store(offset_slot(b, tap), (y * size["count_x"] + x) * tap_floats)


def offset_slot(b: KernelBuilder, tap: LLVMValue) -> MemoryLocation:
    return MemoryLocation(b.gep(b.scratch, tap, "i64"), I64)


def copy_column_block(
    b: KernelBuilder,
    size: dict[str, LLVMValue],
    block: ColumnBlock,
    channel: LLVMValue,
    not_finite: MemoryLocation | None,
) -> None:
    """Copies the taps of a channel for a vector of columns.  not_finite: 0, or NaN if a weight is not finite."""
    lanes = b.target.lanes
    with loop_blocks(b, size["taps"], lanes, "tap") as tap:
        mask, offset = first_lanes(b, size["taps"] - tap, lanes), channel * size["channel_stride"] + tap
        columns = [load_vector(b, b.gep(start, offset), mask) for start in block.starts]
        if not_finite is not None:  # x - x is NaN for an infinity and for NaN, and otherwise 0
            differences = sum_pairwise([column - column for column in columns])
            b.store(not_finite, b.load(not_finite) + differences)
        target = b.gep(block.target, channel * block.width)
        for i, row in enumerate(transpose(b, columns)):
            panel_offset = b.load(offset_slot(b, tap + i))
            with b.if_then(panel_offset >= 0):
                store_vector(b, row, b.gep(target, panel_offset))


def sum_pairwise(values: Sequence[LLVMValue]) -> LLVMValue:
    """The sum of some values, as a tree of additions: those of one level do not wait for one another."""
    if len(values) == 1:
        return values[0]
    half = len(values) // 2
    return sum_pairwise(values[:half]) + sum_pairwise(values[half:])
