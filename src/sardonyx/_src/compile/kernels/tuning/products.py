"""Tuning of products of matrices, convolutions and attention; `tuning.py` has the tables of targets."""

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
    min_unroll: iterations over k that are unrolled at least.
    independent_sums: rows of a dot product accumulated at a time: independent chains hide the latency of a multiply-add.
    packing_prefetch_rows: rows between the row of a constant that is packed and the one that is prefetched.
    max_inline_operations: operations of an epilogue up to which it is emitted for every vector of a tile.
    min_half_bytes: bytes of a half-precision constant from which on it is not promoted to float32 when it is packed.
    min_amx_words: words along k of an AMX tile, of 16, below which vectors are faster.
    min_amx_row_words: words along k of a row below which vectors are faster: AMX tiles are stored through memory.
    min_amx_rows: rows of a product below which vectors are as fast: it waits for the weights.
    min_bf16_terms: terms of a sum of products from which on their factors may be rounded to bfloat16.

    Rounding:
    k_block: KC, most terms that are summed by themselves: with a panel of 64 columns, 128 KB of B.

    Shared:
    short_k_block: terms that are added at once in a product of few rows, which memory limits: 32 KB of B.
    sparse_prefetch_bytes: bytes of B up to which prefetching them in the time of a term delays no load: a power of two.
    large_bytes: bytes of B from which on it is assumed to be in memory, not in the level-2 cache.
    strided_prefetch_terms: terms between the column of a strided A that is multiplied and the one that is prefetched.
    unit_rows: rows of a unit of work in products of several matrices, about.
    shared_row_cost: the cost of an element of A that another core has written, relative to one of a large B.
    max_rows: most rows of consecutive units that are computed together; at least those of a unit.
    spare_rows: rows of scratch past the last row of a unit: at least as many as any tile has.
    max_short_rows: rows of a tile up to which one row less is worth code of its own.
    latency_accumulators: multiply-adds that are in flight at a time: those of fewer accumulators wait for each other.
    min_released_bytes: bytes of a packed constant from which on the pages of its file are released.
    min_copied_stride, min_copied_columns: floats between the columns of a transposed A, and columns of the product, from which on A is copied.
    max_rows_in_place, min_columns_in_place: rows and columns of a product whose B is not packed.
    vector_terms, vector_columns: rows of B that are read at a time in a product of one row, and columns of a unit of work.
    max_few_columns, min_terms_per_column: columns of a product of dot products, and terms of a sum for each of them.
    few_columns_unit_rows: rows of a unit of work of such a product, whole groups.
    double_group_rows, double_unit_rows: rows of a register tile, and of a unit of work, of a product in float64.
    max_double_elements: elements of a constant float64 matrix that is packed at compile time, for rows of any number.
    double_panel_rows, double_k_block: rows of a unit of work, and terms, for which a panel of another float64 matrix is copied.
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
    k_block: terms that are dequantized at a time for many rows, about: 128 KB of float32, half of L2 at most.
    unit_rows: rows of a unit of work, about; each unit dequantizes its panel.
    prefetch_bytes: how far ahead packed weights are prefetched.
    min_weights: of a matrix: the float32 panels of a smaller one stay in L2.
    """

    k_block: ClassVar[int] = 512
    unit_rows: ClassVar[int] = 144
    prefetch_bytes: ClassVar[int] = 4096
    min_weights: ClassVar[int] = 1 << 17


@dataclass(frozen=True, slots=True)
class ConvTuning:
    """Direct convolutions by GEMM, or with pixels in the lanes.

    pixel_vectors: vectors of pixels of a tile of a convolution to few channels, the most first.

    Rounding:
    max_block_terms: KC, terms that are summed by themselves: with a panel of 64 columns, 256 KB of weights.
    max_im2row_channels: input channels up to which a convolution has an im2row buffer.

    Shared:
    unit_rows: rows (output pixels) of a unit of work, about.
    band_rows: the same with an im2row buffer.
    packed_rows, packed_bytes: rows of a unit whose windows are packed for AMX tiles, and most bytes of these, which stay in
        the level-2 cache.
    max_interleaved_channels: channels up to which channels-first images are interleaved by shuffles.
    origin_lanes: rows whose window origins are computed in one vector of i64.
    max_pixel_lane_columns, min_pixel_lane_width: output channels up to which, and pixels of an output line from which on,
        these are in the lanes.
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
    block_pixels: output pixels of a block, about, which are summed by themselves: with a panel of 64 columns, 32 KB of dy.

    Shared:
    min_unit_taps: least number of tiles and taps of a unit of work, which read a block of dy in turn.
    """

    block_pixels: ClassVar[int] = 128
    min_unit_taps: ClassVar[int] = 8


@dataclass(frozen=True, slots=True)
class PointwiseDepthwiseTuning:
    """Depthwise convolutions that compute their input by a pointwise convolution, row by row in a ring buffer.

    Shared:
    group_rows: most output rows that share the input of a window tile.
    ring_bytes: most bytes of the ring buffer, which stays in the level-2 cache.
    min_bands, max_bands: bands of output rows, units of work.
    min_band_ratio: rows of a band to the rows that it shares with the band before, above min_bands.
    min_image_bytes: bytes of the image between the convolutions from which on it leaves the level-2 cache.
    max_weight_bytes: most bytes of pointwise weights, which are read again for each output row.
    min_channels: channels of that image below which the depthwise convolution is not bound by memory.
    max_dynamic_channels: most of these channels where the size of the image is dynamic.
    min_height_ratio: rows of that image to the rows that neighbouring bands share.
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

    prefetch_tiles: tiles between the one that is transformed and the one to its right whose pixels are prefetched.

    Rounding (choice of the algorithm):
    min_channels: channels below which a direct convolution is used: vectors along fewer are too short.
    min_product_rows: rows that a product of fewer costs as much as: it waits for the weights.
    transform_cycles: cycles of the input and the output transform together, for a vector of a point.
    weight_bytes_per_cycle: bytes of weights read from memory in a cycle.
    overlap: the share of the shorter of products and reads that the longer one hides.
    direct_overhead: the cost of a direct convolution, relative to products at the peak.

    Shared:
    max_fused_channels: channels up to which the weights of a panel stay in the cache with everything else.
    min_groups: groups of tiles, or groups by panels of weights, that keep a few threads busy.
    max_odd_group_tiles: tiles up to which an odd number of groups is not made even.
    fused_group_tiles, separate_group_tiles: most tiles of a group, in one step, and of joint groups in two.
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
    remainder_tile_rows: rows of the tiles after the last full one, descending to 1.
    decode_tile_queries, decode_tile_vectors: queries and vectors of a register tile of decode's outputs.
    value_rows: rows of values that stay in L1, even if they are a page apart, until all queries have used them.
    prefetch_floats: floats between the row of keys or values in use and the row that is prefetched.
    min_prefetch_rows: the same distance in rows, at least: those that are in use.

    Rounding:
    key_block, decode_key_block: keys whose scores are in scratch at a time; in prefill they stay in L1 and L2 with the keys
        and values.
    fold_chains: accumulators of a prefill maximum or sum over keys, which hide its latency; a power of two.
    split_keys: keys of a decode unit when the keys are split (split-KV).
    max_decode_queries: queries of a head up to which decode is faster than prefill.

    Shared:
    query_block: most queries of a head in a prefill unit.
    decode_unit_queries: most queries of a decode unit that share a head of keys.
    min_run_floats: contiguous floats that are read at full memory bandwidth; a decode unit has heads up to these.
    max_unit_kv_heads: most heads of keys in a decode unit.
    state_vectors: vectors of columns of a state of linear attention that are updated at a time: they hide latencies.
    min_state_tokens: tokens from which on these columns are copied to scratch, where they are adjacent.
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
