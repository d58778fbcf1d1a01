"""Steps of direct convolutions as implicit GEMMs: y [N, Ho, Wo, Co] = epilogue(conv(x [N, H, W, C], weights) + bias).

Rows of the GEMM are output pixels, columns are output channels; weights are constant and packed in panels.  Chooses how
rows of the left operand are addressed (the row source): pointwise, by an indirection buffer, by an im2row buffer, or by
vectors of narrow groups; and divides the rows into units of work.  The loop nest is in `loop_nest.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from sardonyx._src.compile.kernels.conv.im2row import (
    CHANNELS_LAST_IM2ROW,
    STRIDED_IM2ROW,
    channels_first_im2row,
)
from sardonyx._src.compile.kernels.conv.indirection import INDIRECT
from sardonyx._src.compile.kernels.conv.narrow_groups import narrow_groups
from sardonyx._src.compile.kernels.conv.packed_weights import ConvWeights, packs_lines
from sardonyx._src.compile.kernels.conv.pointwise import POINTWISE
from sardonyx._src.compile.kernels.conv.variant import ConvVariant, conv_kernel, conv_parameters
from sardonyx._src.compile.kernels.conv.window_origins import WINDOW_SIZES
from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.kernels.gemm.tile.amx_tiles import WORD_BYTES
from sardonyx._src.compile.kernels.gemm.tile.output import output_arguments
from sardonyx._src.compile.kernels.gemm.tile.row_blocks import balanced_rows_per_unit, rows_per_unit
from sardonyx._src.compile.kernels.tuning import ConvTuning, GemmTuning
from sardonyx._src.compile.program import KernelArgument, Step, TensorView, Window, element_bytes
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir.dims import Known, ceil_div, dim_max

if TYPE_CHECKING:
    from sardonyx._src.compile.kernels.conv.packed_rows import RowPacker


def convolution_step(
    x: TensorView,
    weights: ConvWeights,
    y: TensorView,
    epilogue: Epilogue | None = None,
    operands: Sequence[TensorView] = (),
) -> Step:
    """y [N, Ho, Wo, Co] = epilogue(conv(x [N, H, W, C], weights) + bias); the size of y implies the bottom and right pads.

    Channels of x must be contiguous, unless `weights.uses_im2row`: then x may have any strides, such as those of a
    permuted [N, C, H, W].
    """
    return partition_step(
        x, weights, y, partition_rows(x, y, weights), epilogue or Epilogue(), tuple(operands)
    )


def partition_step(
    x: TensorView,
    weights: ConvWeights,
    y: TensorView,
    partition: ConvPartition,
    epilogue: Epilogue,
    operands: tuple[TensorView, ...],
) -> Step:
    """The step of a convolution, for a given partition of its rows."""
    variant, rows = partition.variant, partition.group_rows + GemmTuning.spare_rows
    groups, panels, taps, channels, _ = (n for n in weights.panels.shape if isinstance(n, int))
    block_taps, block_channels = reduction_block_sizes(taps, channels)
    if weights.tile.amx_words or weights.tile.has_pairs:
        block_channels = channels
    indirection_bytes = ceil_div(rows * taps, 8) * 64 if variant.has_indirection_buffer else 0
    width = weights.tile.width
    scratch_floats = rows * width + groups * max(channels, width) + partition.band_floats
    args: tuple[KernelArgument, ...] = conv_parameters(variant, epilogue).pack(
        x=x,
        weights=weights.panels,
        bias=weights.bias,
        taps=taps,
        channels=channels,
        columns=weights.columns,
        groups=groups,
        panels=panels,
        rows=partition.total_rows,
        group_rows=partition.group_rows,
        block_taps=block_taps,
        block_channels=block_channels,
        **partition.arguments,
        **output_arguments(y, epilogue, operands),
    )
    return Step(
        kernel=conv_kernel(variant, weights.tile.vectors, epilogue, weights.tile.amx_words),
        args=args,
        units=partition.num_groups * groups * panels,
        reads=(x, weights.panels, weights.bias, *operands),
        writes=(y,),
        flops=partition.total_rows * groups * weights.columns * taps * channels * 2 * partition.word_terms,
        bytes_accessed=x.nbytes + weights.panels.nbytes + y.nbytes,
        scratch=indirection_bytes + ceil_div(scratch_floats, 2) * 8,
        in_place=bool(operands) and can_write_over_operands(x, y),
    )


def can_write_over_operands(x: TensorView, y: TensorView) -> bool:
    """Whether y may be written over an operand of the epilogue: each element of it is read just before its result is written.

    That operand must not be x, since every column of a row of y reads the whole row of x; element types that differ in
    size exclude it.  Only for results of one byte: larger images do not stay in the level-2 cache, and measured no faster.
    """
    return element_bytes(y.dtype) == 1 < element_bytes(x.dtype)


@dataclass(frozen=True, slots=True)
class ConvPartition:
    """The division of the rows of a convolution into groups, the units of work, and the addressing of their inputs.

    arguments: the arguments of the variant's row source, by name.
    band_floats: the floats of scratch for the im2row buffer or for packed rows.
    word_terms: the number of terms in a word of packed weights, each of which counts as a channel.
    """

    variant: ConvVariant
    total_rows: Known
    group_rows: Known
    num_groups: Known
    arguments: Mapping[str, KernelArgument]
    band_floats: Known = 0
    word_terms: int = 1


def partition_rows(x: TensorView, y: TensorView, weights: ConvWeights) -> ConvPartition:
    """Groups of rows for the addressing that the weights and the strides of x allow."""
    if weights.uses_im2row:
        return partition_bands(x, y, weights)
    channels = x.shape[3]
    assert x.strides[3] == 1 or channels == 1, f"channels of x must be contiguous; got {x}"
    total_rows = y.shape[0] * y.shape[1] * y.shape[2]
    panels = weights.panels.shape[0] * weights.panels.shape[1]
    # If only the number of images is symbolic, one image is divided evenly.
    known_rows = total_rows if isinstance(total_rows, int) else y.shape[1] * y.shape[2]
    group_rows = balanced_rows_per_unit(known_rows, panels, weights.tile.rows, ConvTuning.unit_rows)
    rows = (total_rows, group_rows, ceil_div(total_rows, group_rows))
    windows = window_arguments(x, y.shape[1:3], weights.window)
    if weights.narrow_channels:
        return ConvPartition(narrow_groups(weights.narrow_channels), *rows, windows)
    if x.row_stride is not None and is_matrix_product(x, y, weights.window):
        return ConvPartition(POINTWISE, *rows, {"pixel_stride": x.row_stride})
    return ConvPartition(INDIRECT, *rows, windows)


def is_matrix_product(x: TensorView, y: TensorView, window: Window) -> bool:
    """Whether the pixels of x [N, H, W, C] are equally far apart, and each one yields a pixel of y."""
    return window.is_pointwise and x.row_stride is not None and x.shape[:3] == y.shape[:3]


def partition_bands(x: TensorView, y: TensorView, weights: ConvWeights) -> ConvPartition:
    """Groups of whole output lines, each with an im2row buffer of its own."""
    window, channels = weights.window, x.shape[3]
    images, out_height, out_width = y.shape[:3]
    band_lines = lines_per_band(out_height, out_width)
    width = dim_max((out_width - 1) * window.strides[1] + window.kernel[1], 0)
    height = (band_lines - 1) * window.strides[0] + window.spans[0]
    arguments = {
        **window_arguments(x, (out_height, out_width), window),
        "pixel_channels": channels,
        "channel_stride": x.strides[3],
        "band_lines": band_lines,
        "band_width": width,
        "band_height": height,
    }
    return ConvPartition(
        choose_im2row_variant(x),
        total_rows=images * out_height * out_width,
        group_rows=out_width * band_lines,
        num_groups=images * ceil_div(out_height, band_lines),
        arguments=arguments,
        band_floats=width * height * channels,
    )


def choose_im2row_variant(x: TensorView) -> ConvVariant:
    """The variant that copies images of x's layout."""
    channels, (_, _, pixel, channel) = x.shape[3], x.strides
    if pixel == channels and (channel == 1 or channels == 1):
        return CHANNELS_LAST_IM2ROW
    if pixel == 1 and isinstance(channels, int) and channels <= ConvTuning.max_interleaved_channels:
        return channels_first_im2row(channels)
    return STRIDED_IM2ROW


def partition_packed(
    x: TensorView, y: TensorView, weights: ConvWeights, packer: RowPacker, word_terms: int
) -> ConvPartition:
    """Groups of rows that are packed in scratch; word_terms: the elements of x in a word, as in the packed weights."""
    # Lazy: few models need it.
    from sardonyx._src.compile.kernels.conv.packed_rows import (
        packed_pixels,
        packed_stride,
        packed_windows,
    )

    window, elements = weights.window, x.shape[3]
    row_words = weights.panels.shape[-2]
    assert isinstance(elements, int) and isinstance(row_words, int), f"channels must be known; got {x}"
    stride, total_rows = packed_stride(row_words), y.shape[0] * y.shape[1] * y.shape[2]
    most_rows = max(ConvTuning.packed_bytes // (stride * WORD_BYTES), weights.tile.rows)
    group_rows = rows_per_unit(total_rows, weights.tile.rows, min(most_rows, ConvTuning.packed_rows))
    pixel_words, has_lines = -(-elements // word_terms), has_contiguous_lines(x, window)
    is_packed_by_line = packs_lines(elements, window, word_terms)
    assert has_lines or not is_packed_by_line, f"pixels must be contiguous; got {x}"
    line_words = window.kernel[1] * pixel_words
    if is_packed_by_line:
        line_words = -(-window.kernel[1] * elements // word_terms)
    sizes = {
        "pixel_terms": elements,
        "pixel_words": pixel_words,
        "line_words": line_words,
        "packed_stride": stride,
    }
    arguments: dict[str, KernelArgument]
    if is_matrix_product(x, y, window):
        assert x.row_stride is not None, "pixels of a matrix are one stride apart"
        variant, arguments = packed_pixels(packer), {"pixel_stride": x.row_stride}
    else:
        is_whole = is_packed_by_line or elements % word_terms == 0
        variant = packed_windows(packer, has_lines=has_lines and is_whole)
        arguments = window_arguments(x, y.shape[1:3], window)
    return ConvPartition(
        variant,
        total_rows,
        group_rows,
        ceil_div(total_rows, group_rows),
        {**arguments, **sizes},
        group_rows * stride,
        word_terms,
    )


def has_contiguous_lines(x: TensorView, window: Window) -> bool:
    """Whether the terms of a line of a window are contiguous in x [N, H, W, C]."""
    return window.kernel[1] == 1 or (window.dilations[1] == 1 and x.strides[2] == x.shape[3])


def window_arguments(x: TensorView, size: tuple[Known, ...], window: Window) -> dict[str, KernelArgument]:
    """The arguments `WINDOW_SIZES` for an output of height and width `size`."""
    sizes = (
        *(x.shape[1], x.shape[2], *size),
        *(*window.kernel, *window.strides, *window.dilations, *window.begin_pads),
        *x.strides[:3],
    )
    return dict(zip(WINDOW_SIZES, sizes, strict=True))


def lines_per_band(height: Known, width: Known) -> int:
    """The output lines of a unit of work: about `band_rows` pixels, and the same number of lines in each unit."""
    lines = max(1, ConvTuning.band_rows // max(width, 1)) if isinstance(width, int) else 4
    if not isinstance(height, int):
        return lines
    bands = max(1, -(-height // lines))
    return max(1, -(-height // bands))


def reduction_block_sizes(taps: int, channels: int) -> tuple[int, int]:
    """The taps and channels of a reduction block: several taps with all channels, or an equal part of one tap's."""
    if channels * 2 <= ConvTuning.max_block_terms:
        count = max(1, -(-taps * channels // ConvTuning.max_block_terms))
        return max(1, -(-taps // count)), max(1, channels)
    count = -(-channels // ConvTuning.max_block_terms)
    return 1, -(-channels // count)
