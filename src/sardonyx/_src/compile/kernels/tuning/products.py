"""Tuning of products of matrices, convolutions and attention; see `tuning.py` for how tables are chosen.

Fields are grouped by whether targets may differ in them: fields under "Rounding" and "Shared" are equal for all targets.
A *term* is an index along the reduction (k), B the right operand, a *panel* a packed group of columns of B.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class GemmTuning:
    """Products of matrices, and the register tile of all GEMMs and convolutions.

    tile_rows: rows of a register tile (MR), by the vectors of a row.  The vector registers would hold more rows, but the
        addresses of these rows would not fit into the general registers.
    narrow_tile_cost: relative cost of a multiply-add in tiles of few vectors, where the broadcast of an element of A serves
        only one or two of them; 1 for numbers of vectors without an entry.
    dynamic_tile_vectors: vectors of a row of the tile for a symbolic number of columns.
    min_unrolled_fmas: multiply-adds in an iteration over k that hide the loop's own instructions.
    min_unroll: the least number of terms that are unrolled.
    independent_sums: rows of a dot product accumulated at a time: independent chains hide the latency of a multiply-add.
    packing_prefetch_rows: the row that is prefetched is this many rows after the row of a constant that is packed.
    max_inline_operations: an epilogue of at most this many operations is emitted for every vector of a tile.
    min_half_bytes: a half-precision constant of at least this many bytes is not promoted to float32 when it is packed.
    min_amx_words: if an AMX tile has fewer words along k, of at most 16, vectors are faster.
    min_amx_row_words: if rows have fewer words along k, vectors are faster, since AMX tiles are stored through memory.
    min_amx_rows: products of fewer rows wait for the weights, so that vectors are as fast.
    min_bf16_terms: factors are rounded to bfloat16 only if a sum has at least this many terms.

    Rounding:
    k_block: KC, the maximum number of terms of a block that is summed from zero: with a panel of 64 columns, 128 KB of B.

    Shared:
    short_k_block: terms that are added at once in a product of few rows, which memory limits: 32 KB of B.
    sparse_prefetch_bytes: prefetching at most this many bytes of B for each term delays no load; a power of two.
    large_bytes: a B of at least this many bytes is assumed to be in memory, not in the level-2 cache.
    strided_prefetch_terms: the prefetched column of a strided A is this many terms after the column that is multiplied.
    unit_rows: the approximate number of rows of a unit of work in products of several matrices.
    shared_row_cost: the cost of an element of A that another core has written, relative to an element of a large B.
    max_rows: the maximum number of rows of consecutive units that are computed together; at least the rows of a unit.
    spare_rows: rows of scratch past the last row of a unit: at least as many as any tile has.
    max_short_rows: tiles of at most this many rows have code for one row less.
    latency_accumulators: the number of multiply-adds in flight: with fewer accumulators, they wait for each other.
    min_released_bytes: when a constant of at least this many bytes was packed, the pages of its file are released.
    min_copied_stride, min_copied_columns: a transposed A is copied if its columns are at least as many floats apart as the
        first, and the product has at least as many columns as the second.
    max_rows_in_place, min_columns_in_place: B is not packed for products of at most this many rows and at least this many columns.
    vector_terms, vector_columns: in products of one row, the rows of B that are read at a time, and the columns of a unit.
    max_few_columns, min_terms_per_column: a product is computed by dot products if it has at most as many columns as the
        first, and each sum has at least as many terms for each column as the second.
    few_columns_unit_rows: rows of a unit of work of such a product; whole groups of 16.
    double_group_rows, double_unit_rows: rows of a register tile, and of a unit of work, of a product in float64.
    max_double_elements: constant float64 matrices of at most this many elements are packed at compile time.
    double_panel_rows, double_k_block: rows of a unit of work, and terms, for which a panel of other float64 matrices is copied.
    """

    tile_rows: Mapping[int, int]
    narrow_tile_cost: Mapping[int, float] = field(default_factory=lambda: {1: 1.35, 2: 1.1})
    dynamic_tile_vectors: int = 4
    min_unrolled_fmas: int = 20
    min_unroll: int = 1
    independent_sums: int = 4
    packing_prefetch_rows: int = 8
    max_inline_operations: int = 8
    min_half_bytes: int = 1 << 17
    min_amx_words: int = 6
    min_amx_row_words: int = 48
    min_amx_rows: int = 4
    min_bf16_terms: int = 16
    k_block: ClassVar[int] = 512
    short_k_block: ClassVar[int] = 128
    sparse_prefetch_bytes: ClassVar[int] = 32
    large_bytes: ClassVar[int] = 1 << 19
    strided_prefetch_terms: ClassVar[int] = 8
    unit_rows: ClassVar[int] = 48
    shared_row_cost: ClassVar[int] = 3
    max_rows: ClassVar[int] = 288
    spare_rows: ClassVar[int] = 16
    max_short_rows: ClassVar[int] = 8
    latency_accumulators: ClassVar[int] = 8
    min_released_bytes: ClassVar[int] = 1 << 16
    min_copied_stride: ClassVar[int] = 1024
    min_copied_columns: ClassVar[int] = 192
    max_rows_in_place: ClassVar[int] = 16
    min_columns_in_place: ClassVar[int] = 128
    vector_terms: ClassVar[int] = 4
    vector_columns: ClassVar[int] = 1024
    max_few_columns: ClassVar[int] = 4
    min_terms_per_column: ClassVar[int] = 8
    few_columns_unit_rows: ClassVar[int] = 64
    double_group_rows: ClassVar[int] = 4
    double_unit_rows: ClassVar[int] = 64
    max_double_elements: ClassVar[int] = 1 << 16
    double_panel_rows: ClassVar[int] = 128
    double_k_block: ClassVar[int] = 256


@dataclass(frozen=True, slots=True)
class BlockQuantizedTuning:
    """Products with block-quantized weights.

    Shared:
    k_block: the approximate number of terms that are dequantized at a time for many rows: 128 KB of float32, which is at most
        half of the level-2 cache.
    unit_rows: the approximate number of rows of a unit of work; each unit dequantizes its panel.
    prefetch_bytes: the distance in bytes at which packed weights are prefetched.
    min_weights: the least number of weights of a matrix; the float32 panels of smaller matrices stay in the level-2 cache.
    """

    k_block: ClassVar[int] = 512
    unit_rows: ClassVar[int] = 144
    prefetch_bytes: ClassVar[int] = 4096
    min_weights: ClassVar[int] = 1 << 17


@dataclass(frozen=True, slots=True)
class ConvTuning:
    """Direct convolutions by GEMM, or with pixels in the lanes.

    pixel_vectors: the numbers of vectors of pixels of a tile of a convolution to few channels, descending.

    Rounding:
    max_block_terms: KC, the maximum number of terms of a block that is summed from zero: with a panel of 64 columns, 256 KB
        of weights.
    max_im2row_channels: convolutions of at most this many input channels have an im2row buffer.

    Shared:
    unit_rows: the approximate number of rows (output pixels) of a unit of work.
    band_rows: the approximate number of rows of a unit of work with an im2row buffer.
    packed_rows, packed_bytes: the maximum number of rows of a unit with windows packed for AMX tiles, and of bytes of the
        packed rows, which stay in the level-2 cache.
    max_interleaved_channels: shuffles interleave channels-first images of at most this many channels.
    origin_lanes: the number of rows for which a vector of i64 holds the window origins.
    max_pixel_lane_columns, min_pixel_lane_width: lanes hold output pixels, not output channels, if there are at most as many
        output channels as the first, and an output line has at least as many pixels as the second.
    """

    pixel_vectors: tuple[int, ...] = (4, 2, 1)
    max_block_terms: ClassVar[int] = 1024
    max_im2row_channels: ClassVar[int] = 8
    unit_rows: ClassVar[int] = 96
    band_rows: ClassVar[int] = 512
    packed_rows: ClassVar[int] = 256
    packed_bytes: ClassVar[int] = 1 << 19
    max_interleaved_channels: ClassVar[int] = 4
    origin_lanes: ClassVar[int] = 8
    max_pixel_lane_columns: ClassVar[int] = 4
    min_pixel_lane_width: ClassVar[int] = 16


@dataclass(frozen=True, slots=True)
class WeightGradientTuning:
    """Gradients of convolutions by their weights.

    Rounding:
    block_pixels: the approximate number of output pixels of a block that is summed from zero: with a panel of 64 columns,
        32 KB of dy.

    Shared:
    min_unit_taps: the least number of pairs of a tile and a tap of a unit of work; they read a block of dy one after the other.
    """

    block_pixels: ClassVar[int] = 128
    min_unit_taps: ClassVar[int] = 8


@dataclass(frozen=True, slots=True)
class PointwiseDepthwiseTuning:
    """Depthwise convolutions that compute their input by a pointwise convolution, row by row in a ring buffer.

    The *intermediate image* is the result of the pointwise convolution.

    Shared:
    group_rows: the maximum number of output rows that share the input of a window tile.
    ring_bytes: the maximum size of the ring buffer, which stays in the level-2 cache.
    min_bands, max_bands: the minimum and maximum number of bands of output rows, which are the units of work.
    min_band_ratio: with more than min_bands bands, the least ratio of the rows of a band to the rows that it shares with the
        band before.
    min_image_bytes: an intermediate image of at least this many bytes does not stay in the level-2 cache.
    max_weight_bytes: the maximum size of the pointwise weights, which are read again for each output row.
    min_channels: with fewer channels of the intermediate image, memory does not limit the depthwise convolution.
    max_dynamic_channels: the maximum number of channels of an intermediate image of dynamic size.
    min_height_ratio: the least ratio of the rows of the intermediate image to the rows that neighboring bands share.
    """

    group_rows: ClassVar[int] = 4
    ring_bytes: ClassVar[int] = 2**19
    min_bands: ClassVar[int] = 4
    max_bands: ClassVar[int] = 16
    min_band_ratio: ClassVar[int] = 8
    min_image_bytes: ClassVar[int] = 2**20
    max_weight_bytes: ClassVar[int] = 2**18
    min_channels: ClassVar[int] = 16
    max_dynamic_channels: ClassVar[int] = 128
    min_height_ratio: ClassVar[int] = 24


@dataclass(frozen=True, slots=True)
class WinogradTuning:
    """Winograd convolutions: the cost model, in cycles of a core that does two multiply-adds of 16 lanes, and groups.

    prefetch_tiles: pixels are prefetched for the tile that is this many tiles to the right of the one that is transformed.

    Rounding (choice of the algorithm):
    min_channels: with fewer channels a direct convolution is used, since vectors along the channels would be too short.
    min_product_rows: a product of fewer rows costs as much as a product of this many rows, since it waits for the weights.
    transform_cycles: cycles of the input and the output transform together, for a vector of a point.
    weight_bytes_per_cycle: bytes of weights read from memory in a cycle.
    overlap: products and reads overlap: the longer of the two hides this share of the shorter.
    direct_overhead: the cost of a direct convolution, relative to products at the peak.

    Shared:
    max_fused_channels: with at most this many channels, the weights of a panel stay in the cache with everything else.
    min_groups: the number of units (groups of tiles, or groups by panels of weights) that keeps a few threads busy.
    max_odd_group_tiles: with at most this many tiles, the number of groups may be odd.
    fused_group_tiles, separate_group_tiles: the maximum number of tiles of a group in one fused step, and of joint groups in
        separate steps.
    max_blas_columns: columns of a product of the weight transform, so few that NumPy's BLAS does not wake its threads.
    """

    prefetch_tiles: int = 2
    min_channels: ClassVar[int] = 8
    min_product_rows: ClassVar[int] = 4
    transform_cycles: ClassVar[float] = 4.2
    weight_bytes_per_cycle: ClassVar[float] = 7.0
    overlap: ClassVar[float] = 0.5
    direct_overhead: ClassVar[float] = 1.05
    max_fused_channels: ClassVar[int] = 160
    min_groups: ClassVar[int] = 8
    max_odd_group_tiles: ClassVar[int] = 12
    fused_group_tiles: ClassVar[int] = 24
    separate_group_tiles: ClassVar[int] = 64
    max_blas_columns: ClassVar[int] = 800


@dataclass(frozen=True, slots=True)
class AttentionTuning:
    """Attention: prefill (many queries) and decode (few queries, many keys).

    tile_rows: rows of a register tile of prefill, by the vectors of a row; the widest first.
    remainder_tile_rows: rows of the tiles that follow the last full tile, descending to 1.
    decode_tile_queries, decode_tile_vectors: queries and vectors of a register tile of decode's outputs.
    value_rows: rows of values that stay in L1, even if they are a page apart, until all queries have used them.
    prefetch_floats: the distance in floats from the row of keys or values in use to the row that is prefetched.
    min_prefetch_rows: the least such distance in rows: the number of rows that are in use.

    Rounding:
    key_block, decode_key_block: the number of keys that have their scores in scratch at a time, in prefill and in decode; in
        prefill the scores stay in L1 and L2 with the keys and values.
    fold_chains: accumulators of a prefill maximum or sum over keys, which hide its latency; a power of two.
    split_keys: keys of a decode unit when the keys are split (split-KV).
    max_decode_queries: decode is faster than prefill for at most this many queries of a head.

    Shared:
    query_block: the maximum number of queries of a head in a prefill unit.
    decode_unit_queries: the maximum number of queries of a decode unit that share a head of keys.
    min_run_floats: this many contiguous floats are read at full memory bandwidth; a decode unit has enough adjacent heads.
    max_unit_kv_heads: the maximum number of heads of keys in a decode unit.
    state_vectors: vectors of columns of a state of linear attention that are updated at a time: they hide latencies.
    min_state_tokens: with at least this many tokens, these columns are copied to scratch, where their rows are adjacent.
    """

    tile_rows: Mapping[int, int]
    remainder_tile_rows: tuple[int, ...] = (4, 2, 1)
    decode_tile_queries: int = 4
    decode_tile_vectors: int = 4
    value_rows: int = 8
    prefetch_floats: int = 2304
    min_prefetch_rows: int = 8
    key_block: ClassVar[int] = 128
    decode_key_block: ClassVar[int] = 256
    fold_chains: ClassVar[int] = 4
    split_keys: ClassVar[int] = 512
    max_decode_queries: ClassVar[int] = 8
    query_block: ClassVar[int] = 64
    decode_unit_queries: ClassVar[int] = 16
    min_run_floats: ClassVar[int] = 1024
    max_unit_kv_heads: ClassVar[int] = 16
    state_vectors: ClassVar[int] = 4
    min_state_tokens: ClassVar[int] = 8
