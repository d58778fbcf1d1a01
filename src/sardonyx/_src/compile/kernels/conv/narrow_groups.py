"""Grouped convolutions with few channels per group (equal in and out): several groups share one SIMD vector.

A vector of input channels [lanes] holds lanes / n groups of n channels, and yields the same groups of the output.  For
each c < n a shuffle gives every lane channel c of its own group, which is multiplied with weights [taps, n, lanes].  No
lane reads another group's channels, so that NaN and infinities stay in their groups.  The loop nest is that of the indirect
convolution (`indirection.py`), with a vector of groups as one group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from sardonyx._src.compile.codegen import I64, LLVMValue
from sardonyx._src.compile.kernels.conv.indirection import emit_indirect
from sardonyx._src.compile.kernels.conv.loop_nest import Convolution, ConvUnit, ReductionBlock, RowSource
from sardonyx._src.compile.kernels.conv.variant import ConvVariant
from sardonyx._src.compile.kernels.conv.window_origins import WINDOW_SIZES
from sardonyx._src.compile.kernels.gemm.tile.accumulators import Microkernel, vector_slot
from sardonyx._src.compile.kernels.gemm.tile.row_blocks import RowBlock
from sardonyx._src.compile.kernels.loops.lanes import shuffle

if TYPE_CHECKING:
    from sardonyx._src.compile.kernels.gemm.tile.nest import EmitRows


def narrow_groups(channels: int) -> ConvVariant:
    """The variant for groups of a number of channels."""
    emit = partial(emit_narrow_groups, channels=channels)
    return ConvVariant(f"narrow{channels}", emit, WINDOW_SIZES)


def emit_narrow_groups(conv: Convolution, channels: int) -> None:
    """The loop nest of an indirect convolution, with the products of groups of `channels` channels."""
    tile = conv.m.tile
    assert tile.vectors == 1, f"a tile of narrow groups must have one vector; got {tile.vectors}"
    emit_indirect(replace(conv, group_channels=tile.lanes, add_taps=partial(add_narrow_taps, channels)))


def add_narrow_taps(
    channels: int,
    conv: Convolution,
    source: RowSource,
    _unit: ConvUnit,
    reduction: ReductionBlock,
    block: RowBlock,
) -> EmitRows:
    """Adds the products of a reduction block; its weights are so few that nothing is prefetched."""
    b, m = conv.b, conv.m

    def add(rows: int) -> None:
        with b.loop(b.constant(0, I64), reduction.num_taps, 1, "tap") as i:
            weights = b.gep(reduction.weights, i * channels * m.tile.lanes)
            addresses = source.input_addresses(rows, block, reduction.first_tap + i, reduction.first_channel)
            accumulate_narrow_tap(m, addresses, weights, channels)

    return add


def accumulate_narrow_tap(m: Microkernel, rows: Sequence[str], weights: str, channels: int) -> None:
    """Adds the products of a tap, for the groups of one vector, with weights [channels, lanes]."""
    b, zero = m.b, m.b.constant(0, I64)
    factors = [b.load(vector_slot(m, weights, zero + c * m.tile.lanes)) for c in range(channels)]
    for row, (accumulator,) in zip(rows, m.accumulators, strict=False):
        pixel = b.load(vector_slot(m, row, zero))
        for channel, factor in enumerate(factors):
            own_channel = select_group_channel(m, pixel, channels, channel)
            b.store(accumulator, b.fma(own_channel, factor, b.load(accumulator)))


def select_group_channel(m: Microkernel, pixel: LLVMValue, channels: int, channel: int) -> LLVMValue:
    """A vector with, in each lane, the given channel of the lane's own group."""
    poison = LLVMValue(m.b, pixel.type, "poison")
    lanes = [lane // channels * channels + channel for lane in range(m.tile.lanes)]
    return shuffle(m.b, pixel, poison, lanes)
