"""Tuning of all kernels that are no products, from images and elementwise kernels to trees; `tuning.py` has the tables of targets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class ChannelsLastTuning:
    """Kernels over channels-last images: sliding windows (depthwise convolution, pooling), pixel reductions, LRN.

    prefetch_min_floats: floats of an image from which on it is assumed to be in memory, not in a cache.

    Rounding:
    summation_block: pixels that are reduced before they are combined with the total.
    pixel_unroll: pixels of an iteration of a pixel reduction, each with an accumulator of its own; four are combined.
    min_divided_floats: floats of an image from which on global pooling reduces blocks of its pixels first.
    pixel_blocks: numbers of these blocks, by preference.

    Shared:
    tile_pixels: widths of window tiles in pixels, by preference: most images are multiples of 7 wide.
    dynamic_tile_pixels: the width for images of a symbolic width: those are multiples of 8 more often.
    max_unrolled_taps: taps of a kernel row up to which they are unrolled.
    cache_budget_bytes: bytes of the input rows under one output row, which stay in the level-2 cache.
    channel_step: the channels of a unit that is limited by the cache are a multiple of it.
    few_rows, few_rows_channels: output rows below which channels are split into units, too; channels of such a unit.
    reduced_channels: channels of a unit of a pixel reduction: one cache line of floats.
    small_image_pixels, small_image_channels: pixels below which a unit has more channels, and how many.
    gradient_channels: channels of a unit of the gradients of windows; a multiple of the lanes of every target.
    gradient_vectors: vectors of channels with sums of their own, which hide the latency of a multiply-add.
    lrn_unit_pixels: pixels of a unit of LRN, few enough for the first pass's input and squares to be cached in the second.
    lrn_pow_flops: operations that the power and division of an element of LRN count as.
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
    unroll_one_function: the same with one vector function: two calls of it keep the core busy.

    Shared:
    unit_elements: elements of a unit of work, about.
    min_row_elements: elements of a row from which on the rows of a matrix are worth a loop of their own.
    function_operations: operations that a call of a vector function counts as.
    """

    unroll: int = 4
    unroll_one_function: int = 2
    unit_elements: ClassVar[int] = 4096
    min_row_elements: ClassVar[int] = 64
    function_operations: ClassVar[int] = 20


@dataclass(frozen=True, slots=True)
class ReductionTuning:
    """Reductions, softmax and normalization of rows or columns; ranges for dynamic quantization.

    min_indexed_vectors: vectors of a row from which on an ArgMax has several accumulators, since merging them takes long.
    indexed_registers: registers for each vector of a block of columns of an ArgMax.

    Rounding:
    row_unroll: vectors of an iteration over a row, each with an accumulator of its own; a power of two.
    column_blocks: elements of the blocks of a column that are summed by themselves, and of the blocks of these.
    summed_rows: rows of a unit of work, at least, of which a row program sums the columns.

    Shared:
    row_unit_elements: elements of the rows of a unit of work, about.
    gathered_row_elements: elements of a row up to which lanes hold the rows of an ArgMax, not its elements.
    gathered_result_elements: the same for the elements of a result of other reductions.
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
    single_element_rows: rows of such a unit if a row is one element.
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
    unit_sequences: least number of sequences of the batch in a unit of work.
    max_units: units of a direction, beyond which they have more sequences.
    tile_rows: numbers of sequences that share each load of the weights.
    max_lanes: of any target, for padding.
    projected_rows: of a unit of work of projections in float64.
    min_projected_batch: sequences from which on the recurrence projects its inputs itself.
    max_projected_weights: of a direction, up to which it does.
    group_blocks: vectors of hidden units in a unit of work of a time step that is divided among threads.
    cached_bytes: of the weights of a direction that a core's cache holds; a time step with more of them is divided.
    min_divided_bytes: the same for a layer of a single unit of work.
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

    vectors: vectors of float32 with the rows of a block that are evaluated together by bit vectors; 0: never.
    splits_per_step: splits that are evaluated by bit vectors in the time of a step of a walk, for each row of a block.
    word_splits: the splits that a word costs as much as, besides its own.

    Shared:
    chains: trees that a row walks through at a time.
    unroll: steps between tests for the ends of walks.
    unroll_splits: splits in an iteration over a word.
    oblivious_unroll: the same where all trees are oblivious.
    max_padding: how much longer lists of splits may become to have one length.
    max_walked_rows: rows up to which a block is walked although bit vectors are faster for a whole one.
    block_rows: rows of a block that is walked, which share the trees in the cache.
    step_flops: operations that a step of a walk counts as.
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
    max_pixel_taps: taps of an output pixel, which are unrolled: 4 x 4 for cubic interpolation.
    max_axis_taps: taps of an element along one axis that are unrolled.
    max_axis_channels: channels of an image up to which its axes are resampled one after the other.
    table_unit_elements: elements of a unit of the kernel that computes tables of taps.
    """

    max_pixel_taps: ClassVar[int] = 16
    max_axis_taps: ClassVar[int] = 8
    max_axis_channels: ClassVar[int] = 4
    table_unit_elements: ClassVar[int] = 256
