"""Pointwise (1x1, stride 1) convolutions: a GEMM whose left operand is the input as a matrix [pixels, channels].

The address of a row is computed from its number, without an indirection buffer.
"""

from __future__ import annotations

from sardonyx._src.compile.codegen.blocks import I64
from sardonyx._src.compile.codegen.builder import LLVMValue
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.conv.loop_nest import ConvEmitter
from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.kernels.gemm.row_blocks import RowBlock


class PointwiseConvEmitter(ConvEmitter):
    """Emits a pointwise convolution of pixels that are `pixel_stride` floats apart."""

    variant = "pixels"

    extra_sizes = ("pixel_stride",)

    def __init__(self, vectors: int, epilogue: Epilogue, target: Target) -> None:
        super().__init__(vectors, epilogue, target)
        self.input_offset = self.new_slot("base", I64)  # of the first input of the group of rows

    def prepare_rows(self, group: LLVMValue) -> None:
        size = self.sizes
        row = group * size["group_rows"]
        self.store(self.first_row, row)
        self.store(self.num_rows, self.min(size["group_rows"], size["rows"] - row))
        self.store(self.input_offset, row * size["pixel_stride"])

    def input_addresses(self, rows: int, block: RowBlock, tap: LLVMValue, channel: LLVMValue) -> list[str]:
        stride = self.sizes["pixel_stride"]
        first = self.gep(self.x, self.load(self.input_offset) + block.first_row * stride + channel)
        return [self.gep(first, self.clamp_row(r, block.num_rows) * stride) for r in range(rows)]

    def next_input_address(self, block: RowBlock) -> str:
        row = self.load(self.num_rows) + block.first_row
        return self.gep(self.x, self.load(self.input_offset) + row * self.sizes["pixel_stride"])
