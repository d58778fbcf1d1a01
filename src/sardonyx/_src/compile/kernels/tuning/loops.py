"""Tuning of all kernels except products of matrices, convolutions and attention; see `tuning.py` for how tables are chosen.

Fields are grouped by whether targets may differ in them: fields under "Rounding" and "Shared" are equal for all targets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class ChannelsLastTuning:
    """Kernels over channels-last images: sliding windows (depthwise convolution, pooling), pixel reductions, LRN.

    prefetch_min_floats: an image of at least this many floats is assumed to be in memory, not in a cache.

    Rounding:
    summation_block: the number of pixels that are reduced together before the result is combined with the total.
    pixel_unroll: pixels of an iteration of a pixel reduction, each with its own accumulator; the code combines four.
    min_divided_floats: if an image has at least this many floats, global pooling first reduces blocks of its pixels.
    pixel_blocks: into how many such blocks an image is divided; the first number that fits is used.

    Shared:
    tile_pixels: widths of window tiles in pixels, by preference: the widths of most images are multiples of 7.
    dynamic_tile_pixels: the tile width for images of symbolic width, which more often are multiples of 8.
    max_unrolled_taps: the taps of a kernel row are unrolled up to this number.
    cache_budget_bytes: bytes of the input rows under one output row that stay in the level-2 cache.
    channel_step: if the cache limits the channels of a unit, their number is a multiple of this one.
    few_rows, few_rows_channels: with fewer output rows than the first, units have only as many channels as the second.
    reduced_channels: channels of a unit of a pixel reduction: one cache line of floats.
    small_image_pixels, small_image_channels: for images with fewer pixels than the first, such a unit has as many channels
        as the second.
    gradient_channels: channels of a unit of the gradients of windows; a multiple of the lanes of every target.
    gradient_vectors: vectors of channels with independent sums, which hide the latency of a multiply-add.
    lrn_unit_pixels: pixels of a unit of LRN: so few that the second pass finds the input and the squares in the cache.
    lrn_pow_flops: the power and the division of an element of LRN count as this many operations.
    """

    prefetch_min_floats: int = 2**21
    summation_block: ClassVar[int] = 512
    pixel_unroll: ClassVar[int] = 4
    min_divided_floats: ClassVar[int] = 2**15
    pixel_blocks: ClassVar[tuple[int, ...]] = (8, 6, 4)
    tile_pixels: ClassVar[tuple[int, ...]] = (7, 8, 6, 5, 4)
    dynamic_tile_pixels: ClassVar[int] = 8
    max_unrolled_taps: ClassVar[int] = 5
    cache_budget_bytes: ClassVar[int] = 2**18
    channel_step: ClassVar[int] = 64
    few_rows: ClassVar[int] = 32
    few_rows_channels: ClassVar[int] = 256
    reduced_channels: ClassVar[int] = 16
    small_image_pixels: ClassVar[int] = 1024
    small_image_channels: ClassVar[int] = 64
    gradient_channels: ClassVar[int] = 64
    gradient_vectors: ClassVar[int] = 4
    lrn_unit_pixels: ClassVar[int] = 16
    lrn_pow_flops: ClassVar[int] = 40


@dataclass(frozen=True, slots=True)
class ElementwiseTuning:
    """Elementwise kernels.

    unroll: vectors of an iteration.
    unroll_one_function: vectors of an iteration with one call of a vector function each: two calls keep the core busy.

    Shared:
    unit_elements: the approximate number of elements of a unit of work.
    min_row_elements: rows of a matrix with at least this many elements are worth a separate loop.
    function_operations: a call of a vector function counts as this many operations.
    """

    unroll: int = 4
    unroll_one_function: int = 2
    unit_elements: ClassVar[int] = 4096
    min_row_elements: ClassVar[int] = 64
    function_operations: ClassVar[int] = 20


@dataclass(frozen=True, slots=True)
class ReductionTuning:
    """Reductions, softmax and normalization of rows or columns; ranges for dynamic quantization.

    min_indexed_vectors: an ArgMax of rows has several accumulators if a row has at least this many vectors: merging them is slow.
    indexed_registers: registers for each vector of a block of columns of an ArgMax.

    Rounding:
    row_unroll: vectors of an iteration over a row, each with its own accumulator; a power of two.
    column_blocks: a column is summed in blocks of as many elements as the first number, and these blocks in blocks of as many
        as the second.
    summed_rows: the least number of rows of a unit of work in which a row program sums columns.

    Shared:
    row_unit_elements: the approximate number of elements of the rows of a unit of work.
    gathered_row_elements: an ArgMax of rows with at most this many elements has a row, not an element, in each lane.
    gathered_result_elements: other reductions with at most this many results have a row, not an element, in each lane.
    block_columns: columns of a unit of work in kernels that reduce along columns.
    min_max_block: elements of a unit of work of a range.
    unit_matrices: matrices of a unit of work of determinants.
    """

    min_indexed_vectors: int = 16
    indexed_registers: int = 4
    row_unroll: ClassVar[int] = 4
    column_blocks: ClassVar[tuple[int, ...]] = (256, 16)
    summed_rows: ClassVar[int] = 16
    row_unit_elements: ClassVar[int] = 4096
    gathered_row_elements: ClassVar[int] = 32
    gathered_result_elements: ClassVar[int] = 16
    block_columns: ClassVar[int] = 256
    min_max_block: ClassVar[int] = 1 << 14
    unit_matrices: ClassVar[int] = 32


@dataclass(frozen=True, slots=True)
class DataMovementTuning:
    """Copies, transposes, gathers and scatters.

    memcpy_unroll: vectors of an iteration of a copy.

    Shared:
    copy_unit_elements: elements of a unit of a copy: enough to amortize the call.
    indexed_unit_bytes: bytes of the rows in a unit of a gather or scatter.
    single_element_rows: rows of a unit of a gather or scatter if a row is one element.
    transpose_columns: columns of the result in a unit of a transpose.
    band_rows: rows of the result that a transpose writes together: the float32 elements of a cache line of its input.
    """

    memcpy_unroll: int = 4
    copy_unit_elements: ClassVar[int] = 8192
    indexed_unit_bytes: ClassVar[int] = 32768
    single_element_rows: ClassVar[int] = 1024
    transpose_columns: ClassVar[int] = 1024
    band_rows: ClassVar[int] = 16


@dataclass(frozen=True, slots=True)
class RecurrenceTuning:
    """LSTM, GRU and RNN.

    Shared:
    unit_sequences: the least number of sequences of the batch in a unit of work.
    max_units: the maximum number of units of a direction; larger batches have more sequences in a unit.
    tile_rows: the numbers of sequences that share each load of the weights.
    max_lanes: the lanes of the widest target; weights are padded to a multiple of it.
    projected_rows: the rows of a unit of work of projections in float64.
    min_projected_batch: a recurrence of at least this many sequences projects its inputs itself.
    max_projected_weights: a recurrence projects its inputs itself only if a direction has at most this many weights.
    group_blocks: vectors of hidden units in a unit of work of a time step that is divided among threads.
    cached_bytes: bytes of the weights of a direction that a core's cache holds; with more bytes, a time step is divided.
    min_divided_bytes: the limit in place of `cached_bytes` for a layer that would have a single unit of work.
    """

    unit_sequences: ClassVar[int] = 4
    max_units: ClassVar[int] = 8
    tile_rows: ClassVar[tuple[int, ...]] = (4, 2, 1)
    max_lanes: ClassVar[int] = 16
    projected_rows: ClassVar[int] = 16
    min_projected_batch: ClassVar[int] = 4
    max_projected_weights: ClassVar[int] = 1 << 18
    group_blocks: ClassVar[int] = 4
    cached_bytes: ClassVar[int] = 3 << 19
    min_divided_bytes: ClassVar[int] = 1 << 19


@dataclass(frozen=True, slots=True)
class TreeTuning:
    """Decision trees.

    Trees are either walked from the root to a leaf, or evaluated by bit vectors, in which each split clears the bits of the
    leaves that it excludes.

    vectors: the rows of a block that are evaluated together by bit vectors, as a number of vectors of float32; 0: never.
    splits_per_step: splits that are evaluated by bit vectors in the time of one step of a walk, for each row of a block.
    word_splits: the cost of a word of a bit vector, as a number of splits, in addition to its own splits.

    Shared:
    chains: trees that a row walks through at a time.
    unroll: steps between tests for the ends of walks.
    unroll_splits: splits in an iteration over a word.
    oblivious_unroll: splits in an iteration over a word if all trees are oblivious.
    max_padding: the maximum factor by which lists of splits become longer when they are padded to one length.
    max_walked_rows: a block with at most this many rows is walked, even if bit vectors are faster for a full block.
    block_rows: rows of a block that is walked, which share the trees in the cache.
    step_flops: a step of a walk counts as this many operations.
    """

    vectors: int = 2
    splits_per_step: float = 14.0
    word_splits: int = 6
    chains: ClassVar[int] = 8
    unroll: ClassVar[int] = 2
    unroll_splits: ClassVar[int] = 4
    oblivious_unroll: ClassVar[int] = 2
    max_padding: ClassVar[float] = 1.15
    max_walked_rows: ClassVar[int] = 2
    block_rows: ClassVar[int] = 32
    step_flops: ClassVar[int] = 8


@dataclass(frozen=True, slots=True)
class ResizeTuning:
    """Resize.

    Shared:
    max_pixel_taps: the maximum number of taps of an output pixel, which are unrolled: 4 x 4 for cubic interpolation.
    max_axis_taps: the maximum number of taps of an element along one axis that are unrolled.
    max_axis_channels: images with at most this many channels are resampled along one axis after the other.
    table_unit_elements: elements of a unit of the kernel that computes tables of taps.
    """

    max_pixel_taps: ClassVar[int] = 16
    max_axis_taps: ClassVar[int] = 8
    max_axis_channels: ClassVar[int] = 4
    table_unit_elements: ClassVar[int] = 256
