"""Grouped convolutions with few channels per group (equal in and out): several groups share one SIMD vector.

A vector of input channels [lanes] holds lanes / n groups of n channels, and yields the same groups of the output.  For
each c < n a shuffle gives every lane channel c of its own group, which is multiplied with weights [taps, n, lanes].  No
lane reads another group's channels, so that NaN and infinities stay in their groups.
"""

from __future__ import annotations

from sardonyx._src.compile.codegen.blocks import I64
from sardonyx._src.compile.codegen.builder import LLVMValue
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.conv.indirection import IndirectConvEmitter
from sardonyx._src.compile.kernels.conv.loop_nest import ReductionBlock
from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.kernels.gemm.row_blocks import RowBlock


class NarrowGroupsConvEmitter(IndirectConvEmitter):
    """Emits a convolution of groups of `group_channels` channels; the loop nest counts a vector of them as one group."""

    variant = "narrow"

    def __init__(self, vectors: int, epilogue: Epilogue, target: Target, group_channels: int) -> None:
        assert vectors == 1, f"a tile of narrow groups must have one vector; got {vectors}"
        super().__init__(vectors, epilogue, target)
        self.group_channels = group_channels

    def count_input_channels(self, groups: LLVMValue) -> LLVMValue:
        return groups * self.tile.lanes

    def accumulate_taps(self, rows: int, block: RowBlock, reduction: ReductionBlock, prefetch: str) -> None:
        def accumulate_tap(i: LLVMValue) -> None:
            weights = self.gep(reduction.weights, i * self.group_channels * self.tile.lanes)
            addresses = self.input_addresses(rows, block, reduction.first_tap + i, reduction.first_channel)
            self.accumulate_tap(addresses, weights)

        self.loop_call(self.constant(0, I64), reduction.num_taps, 1, accumulate_tap, "tap")

    def accumulate_tap(self, rows: list[str], weights: str) -> None:
        """Adds the products of a tap, for the groups of one vector, with weights [group_channels, lanes]."""
        zero, lanes = self.constant(0, I64), self.tile.lanes
        factors = [self.load(self.vector_slot(weights, zero + c * lanes)) for c in range(self.group_channels)]
        for row, accumulators in zip(rows, self.accumulators, strict=False):
            pixel = self.load(self.vector_slot(row, zero))
            for channel, factor in enumerate(factors):
                own_channel = self.select_group_channel(pixel, channel)
                self.store(accumulators[0], self.fma(own_channel, factor, self.load(accumulators[0])))

    def select_group_channel(self, pixel: LLVMValue, channel: int) -> LLVMValue:
        """A vector with, in each lane, the given channel of the lane's own group."""
        lanes = range(self.tile.lanes)
        mask = ", ".join(
            f"i32 {lane // self.group_channels * self.group_channels + channel}" for lane in lanes
        )
        shuffle = f"shufflevector {pixel}, {self.vector_type} poison, <{self.tile.lanes} x i32> <{mask}>"
        return self.emit(self.vector_type, shuffle)
