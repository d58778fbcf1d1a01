"""Kernels that pack the words of block-quantized weights at compile time, from words that the model has packed already.

    for panel (a unit of work):                             # words [columns, blocks * block_words], the model's
        for block: for word of it: for vector of columns:   # panel [blocks, bytes], [block_words, width] in a block
            gather, exchange nibbles, store

The second kernel exchanges the nibbles of words of eight codes for products in integers (`blocks.py`).
"""

from __future__ import annotations

import ctypes

import numpy as np

from sardonyx._src.compile.codegen import I64, LLVMValue, Parameters, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.loops.memory import load_lanes
from sardonyx._src.compile.kernels.loops.rows import lane_indices
from sardonyx._src.compile.kernels.loops.vectors import loop_vectors, store_vector
from sardonyx._src.compile.llvm.loaded_kernels import kernel_address
from sardonyx._src.compile.program import Kernel
from sardonyx._src.ir import Array

PARAMETERS = Parameters(
    "words", "panels", "columns", "word_row", "blocks", "block_words", "block_row", "width"
)


def copy_words(
    panels: Array, words: Array, *, first_byte: int, block_words: int, exchanges_nibbles: bool
) -> None:
    """Copies words [columns, n] u32, whose rows are dense, into dense panels [panels, blocks, bytes] uint8.

    first_byte: the offset of a block's words, [block_words, width] for n = blocks * block_words.  Columns of the panels
        past the last one are not written.
    """
    num_panels, blocks, block_bytes = panels.shape
    columns, count = words.shape
    width = (block_bytes - first_byte) // (4 * block_words)
    assert words.dtype == np.uint32 and words.strides[1] == 4 and count == blocks * block_words, (
        f"words must have dense rows of {blocks} blocks; got {words.shape}, strides {words.strides}"
    )
    assert panels.flags.c_contiguous and columns <= num_panels * width, (
        f"panels must have room for {words.shape}; got {panels.shape}"
    )
    assert first_byte + 4 * block_words * width == block_bytes, f"blocks have {block_bytes} bytes"
    assert not block_bytes % 4 and not words.strides[0] % 4, "rows must consist of words"
    slots = PARAMETERS.pack(
        words=words.ctypes.data,
        panels=panels.ctypes.data + first_byte,
        columns=columns,
        word_row=words.strides[0] // 4,
        blocks=blocks,
        block_words=block_words,
        block_row=block_bytes // 4,
        width=width,
    )
    args = np.array(slots, np.int64)
    function_type = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
    kernel = NIBBLE_WORDS if exchanges_nibbles else WORDS
    function_type(kernel_address(kernel))(args.ctypes.data, 0, num_panels, None)


def words_module(name: str, target: Target, *, exchanges_nibbles: bool) -> str:
    """The LLVM module of a kernel; a unit of work is one panel."""
    b = KernelBuilder(target, PARAMETERS)
    words, panels = b.pointers("words", "panels")
    columns, word_row, blocks, block_words, block_row, width = b.integers(*PARAMETERS.names[2:])
    zero = b.constant(0, I64)
    with (
        b.loop(b.first_unit, b.end_unit, 1, "panel") as panel,
        b.loop(zero, blocks, 1, "block") as block,
        b.loop(zero, block_words, 1, "word") as word,
    ):
        target_row = b.gep(panels, (panel * blocks + block) * block_row + word * width)
        first = panel * width * word_row + block * block_words + word
        for column, mask in loop_vectors(b, 0, b.min(columns - panel * width, width)):
            rows = lane_indices(b, column, target.lanes)
            index = rows * b.splat(word_row, target.lanes) + b.splat(first, target.lanes)
            value = load_lanes(b, words, index, "u32", mask)
            value = exchange_nibbles(value) if exchanges_nibbles else value
            store_vector(b, value, b.gep(target_row, column), mask)
    return b.build_module(name)


def exchange_nibbles(words: LLVMValue) -> LLVMValue:
    """Words of which the nibbles 0 to 7 come from the nibbles 0, 4, 1, 5, 2, 6, 3 and 7, by two delta swaps."""
    for shift, mask in ((8, 0x0000FF00), (4, 0x00F000F0)):
        swapped = (words ^ (words >> shift)) & mask
        words = words ^ swapped ^ (swapped << shift)
    return words


def plain_words_module(name: str, target: Target) -> str:
    return words_module(name, target, exchanges_nibbles=False)


def nibble_words_module(name: str, target: Target) -> str:
    return words_module(name, target, exchanges_nibbles=True)


WORDS = Kernel("block_words", plain_words_module, PARAMETERS)
NIBBLE_WORDS = Kernel("block_words_nibbles", nibble_words_module, PARAMETERS)
