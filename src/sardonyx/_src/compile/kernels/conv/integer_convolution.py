"""Steps of int8 convolutions as implicit integer GEMMs: int8 x int8 -> int32, on packed int8x4 words.

x is channels-last, [N, H, W, C / 4] words of four channels of a pixel; weights are packed in panels
[groups, panels, taps, C / 4, NR] of words.  The loop nests are those of the float32 convolutions, around the integer
microkernel; taps outside of the image read the zero point.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sardonyx._src.compile.codegen.blocks import I64, StackSlot
from sardonyx._src.compile.codegen.builder import LLVMValue
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.conv.convolution import partition_rows, partition_step
from sardonyx._src.compile.kernels.conv.indirection import WINDOW_SIZES, IndirectConvEmitter
from sardonyx._src.compile.kernels.conv.loop_nest import CONV_SIZES
from sardonyx._src.compile.kernels.conv.packed_weights import ConvWeights, ConvWindow
from sardonyx._src.compile.kernels.conv.pointwise import PointwiseConvEmitter
from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.kernels.gemm.integer_epilogue import IntegerEpilogue
from sardonyx._src.compile.kernels.gemm.integer_microkernel import I32, Int8MicrokernelEmitter
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
    tile = choose_tile(columns, target.lanes, target.registers)
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
    partition = partition_rows(x, y, weights)
    if partition.emitter is PointwiseConvEmitter:
        partition = replace(partition, emitter=Int8PointwiseConvEmitter, options=(int(a_is_signed),))
    else:
        assert partition.emitter is IndirectConvEmitter, (
            f"expected an indirect convolution; got {partition.emitter}"
        )
        partition = replace(
            partition,
            emitter=Int8IndirectConvEmitter,
            sizes=(*partition.sizes, zero),
            options=(int(a_is_signed),),
        )
    step = partition_step(x, weights, y, partition, epilogue, operands, ())
    return replace(step, reads=(*step.reads, zero))


class Int8PointwiseConvEmitter(Int8MicrokernelEmitter, PointwiseConvEmitter):
    """A pointwise convolution with the integer microkernel."""

    variant = "integerpixels"

    def __init__(self, vectors: int, epilogue: Epilogue, target: Target, a_is_signed: int) -> None:
        super().__init__(vectors, epilogue, target)
        self.init_int8(epilogue, target, a_is_signed=bool(a_is_signed))


class Int8IndirectConvEmitter(Int8MicrokernelEmitter, IndirectConvEmitter):
    """An indirect convolution with the integer microkernel; argument `zero` is the address of the padding byte."""

    variant = "integerwindows"

    extra_sizes = (*WINDOW_SIZES, "zero")

    def __init__(self, vectors: int, epilogue: Epilogue, target: Target, a_is_signed: int) -> None:
        super().__init__(vectors, epilogue, target)
        self.init_int8(epilogue, target, a_is_signed=bool(a_is_signed))

    def emit_prologue(self) -> None:
        """Fills the row that taps outside of the image point to with the padding byte."""
        address = self.pointer_argument(3 + len(CONV_SIZES) + len(WINDOW_SIZES))
        byte = self.load(StackSlot(address, I32.with_element("u8"))).convert("zext", "i32")
        zero_words = self.splat(byte * BYTE_SPLAT, self.tile.lanes)

        def fill_vector(index: LLVMValue, count: LLVMValue | None) -> None:
            self.store_first_lanes(self.zero_row, index, zero_words, count)

        self.loop_vectors(self.constant(0, I64), self.count_input_channels(self.sizes["groups"]), fill_vector)
