"""Steps of int8 convolutions as implicit integer GEMMs: int8 x int8 -> int32, on packed int8x4 words.

x is channels-last, [N, H, W, C / 4] words of four channels of a pixel; weights are packed in panels
[groups, panels, taps, C / 4, NR] of words.  The loop nests are those of the float32 convolutions, around the integer
microkernel; taps outside of the image read the zero point.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from sardonyx._src.compile.codegen.blocks import StackSlot
from sardonyx._src.compile.codegen.builder import LLVMType
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.conv.convolution import ConvPartition, partition_rows, partition_step
from sardonyx._src.compile.kernels.conv.indirection import (
    INDIRECT,
    IndirectionBuffer,
    fill_padding,
    indirect_rows,
    new_indirection_buffer,
)
from sardonyx._src.compile.kernels.conv.loop_nest import Convolution, emit_convolution
from sardonyx._src.compile.kernels.conv.packed_weights import ConvWeights, ConvWindow
from sardonyx._src.compile.kernels.conv.pointwise import POINTWISE
from sardonyx._src.compile.kernels.gemm.integer_epilogue import IntegerEpilogue
from sardonyx._src.compile.kernels.gemm.integer_microkernel import int8_arithmetic
from sardonyx._src.compile.kernels.gemm.packed_int8 import pack_int8_panels, pack_int32_bias
from sardonyx._src.compile.kernels.gemm.packing import make_constant
from sardonyx._src.compile.kernels.gemm.register_tile import choose_tile
from sardonyx._src.compile.program.step import Step
from sardonyx._src.compile.program.tensor import TensorView
from sardonyx._src.ir.tensors import Array

BYTE_SPLAT = 0x01010101  # times a byte: the byte in all four bytes of a word


def pack_integer_weights(
    weights: Array, initial_sums: Array, window: ConvWindow, target: Target, groups: int
) -> ConvWeights:
    """Packs weights [columns, channels / groups, height, width] int8 and the initial sums [columns] int32.

    With several groups, the channels of a group must be a multiple of four.
    """
    total, channels, height, width = weights.shape
    assert groups == 1 or channels % 4 == 0, f"channels of a group must be a multiple of 4; got {channels}"
    columns = total // groups
    tile = choose_tile(columns, target)
    taps = weights.reshape(groups, columns, channels, height * width).transpose(0, 3, 2, 1)
    panels = make_constant(pack_int8_panels(taps, tile), "weights")
    biases = np.stack(
        [pack_int32_bias(group_bias, tile) for group_bias in initial_sums.reshape(groups, columns)]
    )
    return ConvWeights(window, tile, panels, make_constant(biases, "bias"), columns, uses_im2row=False)


def integer_convolution_step(
    x: TensorView,
    zero: TensorView,
    weights: ConvWeights,
    y: TensorView,
    epilogue: IntegerEpilogue,
    operands: tuple[TensorView, ...] = (),
    *,
    a_is_signed: bool = False,
) -> Step:
    """y [N, Ho, Wo, Co] = epilogue(conv(x [N, H, W, words], weights) + initial sums), with padding of the byte `zero`.

    a_is_signed: x and `zero` are int8, not uint8; 128 is added to each element.
    """
    partition = int8_partition(partition_rows(x, y, weights), zero, a_is_signed=a_is_signed)
    step = partition_step(x, weights, y, partition, epilogue, operands, ())
    return replace(step, reads=(*step.reads, zero))


def int8_partition(partition: ConvPartition, zero: TensorView, *, a_is_signed: bool) -> ConvPartition:
    """The same partition with int8 arithmetic; `zero` is the padding of an indirect convolution."""
    variant = partition.variant
    assert variant in (POINTWISE, INDIRECT), (
        f"expected a pointwise or indirect convolution; got {variant.key}"
    )
    key = f"{'s8' if a_is_signed else 'u8'}_{variant.key}"
    int8_variant = replace(variant, key=key, arithmetic=int8_arithmetic(a_is_signed=a_is_signed))
    if variant == POINTWISE:
        return replace(partition, variant=int8_variant)
    int8_variant = replace(int8_variant, emit=emit_int8_indirect, pointers=("zero",))
    return replace(partition, variant=int8_variant, arguments={**partition.arguments, "zero": zero})


def emit_int8_indirect(conv: Convolution) -> None:
    """The loop nest of an indirect convolution whose padding is the byte at the address `zero`."""
    buffer = new_indirection_buffer(conv)
    emit_prologue = partial(fill_zero_points, buffer)
    emit_convolution(conv, replace(indirect_rows(buffer), emit_prologue=emit_prologue))


def fill_zero_points(buffer: IndirectionBuffer) -> None:
    """Fills the row that taps outside of the image point to with the zero point."""
    b = buffer.conv.b
    byte = b.load(StackSlot(b.pointer("zero"), LLVMType("u8"))).convert("zext", "i32")
    fill_padding(buffer, b.splat(byte * BYTE_SPLAT, buffer.conv.m.tile.lanes))
