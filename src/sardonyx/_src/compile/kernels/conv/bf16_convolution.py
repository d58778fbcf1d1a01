"""Steps of convolutions as implicit products of bfloat16: input and weights rounded, sums in float32.

x is channels-last float32, [N, H, W, C].  Packing its windows in rows (`packed_rows.py`) rounds them to bfloat16.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.kernels.conv.convolution import partition_packed, partition_step
from sardonyx._src.compile.kernels.conv.packed_weights import ConvWeights, packs_lines
from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.kernels.gemm.bf16.bf16_words import BF16_PER_WORD, choose_bf16_tile, padded_words
from sardonyx._src.compile.kernels.gemm.packing.packing import make_constant, pack_bias
from sardonyx._src.compile.program import Step, TensorView, Window
from sardonyx._src.ir import Array


def pack_bf16_weights(weights: Array, bias: Array | None, window: Window, target: Target) -> ConvWeights:
    """Packs weights [columns, channels, height, width] as bfloat16, and the bias [columns] as float32."""
    # Lazy: few models need it.
    from sardonyx._src.compile.kernels.gemm.bf16.bf16_panels import make_bf16_panels

    columns, channels, height, width = weights.shape
    taps, terms = height * width, channels
    if packs_lines(channels, window, BF16_PER_WORD):
        taps, terms = height, width * channels
    row_words = padded_words(taps * -(-terms // BF16_PER_WORD) * BF16_PER_WORD)
    tile = choose_bf16_tile(columns, row_words, target)
    matrix = weights.transpose(2, 3, 1, 0).reshape(taps, terms, columns)
    panels = make_constant(make_bf16_panels(matrix, tile, row_words), "weights")
    shape = (1, panels.shape[0], 1, *panels.shape[1:])
    added = np.zeros(columns, np.float32) if bias is None else bias
    packed_bias = make_constant(pack_bias(added, tile)[None], "bias")
    return ConvWeights(window, tile, panels.reshape(shape), packed_bias, columns, uses_im2row=False)


def bf16_convolution_step(
    x: TensorView,
    weights: ConvWeights,
    y: TensorView,
    epilogue: Epilogue | None = None,
    operands: tuple[TensorView, ...] = (),
) -> Step:
    """y [N, Ho, Wo, Co] = epilogue(conv(x [N, H, W, C], weights) + bias), with factors rounded to bfloat16."""
    from sardonyx._src.compile.kernels.conv.packed_rows import BF16_PACKER  # lazy: few models need it

    partition = partition_packed(x, y, weights, BF16_PACKER, BF16_PER_WORD)
    return partition_step(x, weights, y, partition, epilogue or Epilogue(), operands)
