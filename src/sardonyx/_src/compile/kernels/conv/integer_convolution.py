"""Steps of int8 convolutions as implicit integer GEMMs: int8 x int8 -> int32, on packed int8x4 words.

x is channels-last, [N, H, W, C / 4] words of four channels of a pixel; weights are packed in panels
[groups, panels, taps, C / 4, NR] of words.  The loop nests are shared with float32 convolutions; the microkernel is the
integer one.  Taps outside of the image read the zero point.  Images with pixels of a word or two, as first layers have, are
read through an im2row buffer, where a line of a window is one tap.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from sardonyx._src.compile.codegen import LLVMType, LLVMValue, MemoryLocation, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.conv.convolution import (
    ConvPartition,
    partition_packed,
    partition_rows,
    partition_step,
)
from sardonyx._src.compile.kernels.conv.im2row import (
    CHANNELS_LAST_IM2ROW,
    STRIDED_IM2ROW,
    copy_channels_last,
    copy_strided_pixels,
    emit_im2row,
)
from sardonyx._src.compile.kernels.conv.indirection import (
    INDIRECT,
    IndirectionBuffer,
    fill_padding,
    indirect_rows,
    new_indirection_buffer,
)
from sardonyx._src.compile.kernels.conv.loop_nest import Convolution, emit_convolution
from sardonyx._src.compile.kernels.conv.packed_rows import LineTerms, RowPacker
from sardonyx._src.compile.kernels.conv.packed_weights import ConvWeights, can_use_im2row
from sardonyx._src.compile.kernels.conv.pointwise import POINTWISE
from sardonyx._src.compile.kernels.gemm.integer.int8_dot import multiplies_signed
from sardonyx._src.compile.kernels.gemm.integer.integer_matmul import sign_correction
from sardonyx._src.compile.kernels.gemm.integer.integer_microkernel import int8_arithmetic, layout_key
from sardonyx._src.compile.kernels.gemm.integer.packed_int8 import (
    INT8_PER_WORD,
    pack_int8_panels,
    pack_int32_bias,
    pack_paired_panels,
)
from sardonyx._src.compile.kernels.gemm.packing.packing import make_constant
from sardonyx._src.compile.kernels.gemm.tile.integer_epilogue import IntegerEpilogue
from sardonyx._src.compile.kernels.gemm.tile.register_tile import (
    RegisterTile,
    choose_int8_tile,
    choose_padded_tile,
    choose_tile,
    favors_amx_int8,
    padded_row_words,
)
from sardonyx._src.compile.kernels.loops.vectors import first_lanes, load_typed, loop_vectors, store_vector
from sardonyx._src.compile.program import Step, TensorView, Window
from sardonyx._src.ir import Array
from sardonyx._src.ir.dims import Known

BYTE_SPLAT = 0x01010101  # times a byte: the byte in all four bytes of a word


def pack_integer_weights(
    weights: Array,
    initial_sums: Array,
    window: Window,
    target: Target,
    groups: int,
    pixels: Known | None = None,
    *,
    is_matrix: bool = False,
    a_is_signed: bool = False,
) -> ConvWeights:
    """Packs weights [columns, channels / groups, height, width] int8 and the initial sums [columns] int32.

    With several groups, the channels of a group must be a multiple of four.
    pixels: the number of pixels of the result if AMX may be used; None if it must not.
    is_matrix: whether each pixel is computed from one pixel of x, and the pixels of x are one stride apart.
    a_is_signed: whether x is int8; the initial sums must then assume that 128 is added to each element of x.
    """
    total, channels, height, width = weights.shape
    assert groups == 1 or channels % 4 == 0, f"channels of a group must be a multiple of 4; got {channels}"
    columns, tap_words = total // groups, -(-channels // INT8_PER_WORD)
    row_words = padded_row_words(height * width * tap_words)
    tile, packs_rows = replace(choose_tile(columns, target), is_signed=multiplies_signed(target)), False
    if pixels is not None and groups == 1:
        if is_matrix:
            tile = choose_int8_tile(columns, tap_words, pixels, target)
        packs_rows = not tile.amx_words and favors_amx_int8(row_words, pixels, target)
        if packs_rows:
            tile = choose_padded_tile(columns, row_words, target)
    matrix = weights.reshape(total, -1).T
    initial_sums = initial_sums + sign_correction(matrix, tile, a_is_signed=a_is_signed)
    taps = weights.reshape(groups, columns, channels, height * width).transpose(0, 3, 2, 1)
    uses_im2row = not tile.amx_words and can_use_im2row(channels, window, groups)
    line_words = width * tap_words if uses_im2row else tap_words
    pairs = None if tile.amx_words else pack_paired_panels(taps, line_words, target)
    if pairs is not None:
        tile, words = pairs
    elif packs_rows:
        words = join_taps(pack_int8_panels(taps, tile), row_words)
    else:
        words = pack_int8_panels(taps, tile)
        words = words.reshape(*words.shape[:2], -1, line_words, tile.width)
    panels = make_constant(words, "weights")
    biases = np.stack(
        [pack_int32_bias(group_bias, tile) for group_bias in initial_sums.reshape(groups, columns)]
    )
    return ConvWeights(
        window,
        tile,
        panels,
        make_constant(biases, "bias"),
        columns,
        uses_im2row=uses_im2row,
        packs_rows=packs_rows,
    )


def join_taps(panels: Array, row_words: int) -> Array:
    """Panels [groups, panels, taps, words, width] with all taps as one tap of `row_words` words, padded with zeros."""
    groups, num_panels, taps, words, width = panels.shape
    joined = np.zeros((groups, num_panels, 1, row_words, width), panels.dtype)
    joined[:, :, 0, : taps * words] = panels.reshape(groups, num_panels, taps * words, width)
    return joined


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
    """y [N, Ho, Wo, Co] = epilogue(conv(x [N, H, W, words], weights) + initial sums); padding is the byte `zero`.

    a_is_signed: x and `zero` are int8, not uint8; vector kernels add 128 to each element, AMX tiles do not.
    """
    if weights.packs_rows:
        packed = partition_packed(x, y, weights, int8_packer(weights.tile, a_is_signed=a_is_signed), 1)
        if "zero" in packed.variant.pointers:
            packed = replace(packed, arguments={**packed.arguments, "zero": zero})
        step = partition_step(x, weights, y, packed, epilogue, operands)
        return replace(step, reads=(*step.reads, zero))
    rows = partition_rows(x, y, weights)
    partition = int8_partition(rows, weights.tile, zero, a_is_signed=a_is_signed)
    step = partition_step(x, weights, y, partition, epilogue, operands)
    return replace(step, reads=(*step.reads, zero))


def int8_partition(
    partition: ConvPartition, tile: RegisterTile, zero: TensorView, *, a_is_signed: bool
) -> ConvPartition:
    """A partition with int8 arithmetic in place of float32; zero: the padding of windows of several pixels."""
    variant = partition.variant
    key = f"{'s8' if a_is_signed else 'u8'}{layout_key(tile)}_{variant.key}"
    arithmetic = int8_arithmetic(tile, a_is_signed=a_is_signed)
    int8_variant = replace(variant, key=key, arithmetic=arithmetic)
    if variant == POINTWISE:
        return replace(partition, variant=int8_variant)
    int8_variant = replace(int8_variant, emit=INT8_EMITTERS[variant.key], pointers=("zero",))
    return replace(partition, variant=int8_variant, arguments={**partition.arguments, "zero": zero})


# --- packed rows ------------------------------------------------------------------------------


def int8_packer(tile: RegisterTile, *, a_is_signed: bool) -> RowPacker:
    """Copies words of four int8 as they are; padding is the byte at the address `zero`."""
    key = "s8_rows" if a_is_signed else "u8_rows"
    arithmetic = int8_arithmetic(tile, a_is_signed=a_is_signed)
    return RowPacker(key, arithmetic, copy_words, copy_word_range, splat_zero_point, ("zero",))


def copy_words(b: KernelBuilder, source: str, target: str, count: LLVMValue, row_words: LLVMValue) -> None:
    """Copies `count` words, and pads them with zeros to `row_words` words."""
    word_vector = LLVMType("i32", b.target.lanes)
    for i, mask in loop_vectors(b, 0, count):
        store_vector(b, load_typed(b, word_vector, b.gep(source, i), mask), b.gep(target, i), mask)
    for i, mask in loop_vectors(b, count, row_words):
        store_vector(b, b.constant(0, word_vector), b.gep(target, i), mask)


def copy_word_range(b: KernelBuilder, source: str, target: str, terms: LineTerms, padding: LLVMValue) -> None:
    """Copies a range of words, with padding around it."""
    word_vector, lanes = LLVMType("i32", b.target.lanes), b.target.lanes
    for i, mask in loop_vectors(b, 0, terms.words):
        is_inside = first_lanes(b, terms.end - i, lanes) & (first_lanes(b, terms.first - i, lanes) ^ -1)
        words = load_typed(b, word_vector, b.gep(source, i), is_inside)
        store_vector(b, b.select(is_inside, words, padding), b.gep(target, i), mask)


def splat_zero_point(b: KernelBuilder) -> LLVMValue:
    """The zero point in all bytes of a vector."""
    byte = b.load(MemoryLocation(b.pointer("zero"), LLVMType("u8"))).convert("zext", "i32")
    return b.splat(byte * BYTE_SPLAT, b.target.lanes)


# --- indirect convolutions and im2row buffers ---------------------------------------------------


def emit_int8_indirect(conv: Convolution) -> None:
    """The loop nest of an indirect convolution with the byte at the argument `zero` as padding."""
    buffer = new_indirection_buffer(conv)
    emit_prologue = partial(fill_zero_points, buffer)
    emit_convolution(conv, replace(indirect_rows(buffer), emit_prologue=emit_prologue))


def fill_zero_points(buffer: IndirectionBuffer) -> None:
    """Fills the row of padding, to which taps outside of the image point, with the zero point."""
    fill_padding(buffer, splat_zero_point(buffer.conv.b))


INT8_EMITTERS: Mapping[str, Callable[[Convolution], None]] = {
    INDIRECT.key: emit_int8_indirect,
    CHANNELS_LAST_IM2ROW.key: partial(
        emit_im2row, copy_pixels=copy_channels_last, emit_padding=splat_zero_point
    ),
    STRIDED_IM2ROW.key: partial(emit_im2row, copy_pixels=copy_strided_pixels, emit_padding=splat_zero_point),
}
