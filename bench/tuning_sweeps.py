"""The fields that `tuning.py` sweeps, their values, and the kernels by which they are judged."""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.compile.kernels import tuning
from sardonyx._src.compile.kernels.gemm.tile.register_tile import choose_tile
from sardonyx._src.compile.llvm.jit import host_target
from tuning_fields import Sweep
from tuning_model import (
    block_terms,
    chunk_rows,
    group_rows,
    prefetch_floats,
    ring_bytes,
    short_terms,
    tile_rows,
    window_bytes,
    winograd_tiles,
)
from tuning_workloads import (
    arg_max,
    attention,
    column_slice,
    column_sum,
    computed_matmul,
    convolution,
    depthwise,
    depthwise_weight_gradient,
    determinants,
    elementwise,
    global_mean,
    lrn,
    matmul,
    matmul_with_epilogue,
    packing,
    pointwise_depthwise,
    row_sum,
    softmax,
    transpose,
    transposed_matmul,
    value_range,
    weight_gradient,
    winograd,
)  # fmt: skip


def sweeps() -> Iterator[Sweep]:
    """Blocks and tiles first, then the other fields."""
    yield from block_sweeps()
    yield from gemm_sweeps()
    yield from convolution_sweeps()
    yield from attention_sweeps()
    yield from image_sweeps()
    yield from element_sweeps()


def block_sweeps() -> Iterator[Sweep]:
    """The fields for which analysis gives a value."""
    yield from tile_sweeps()
    yield from product_sweeps()
    yield from convolution_block_sweeps()
    yield from image_block_sweeps()


def tile_sweeps() -> Iterator[Sweep]:
    """One more row than registers hold is spilled; fewer rows load more."""
    for vectors, height in tuning.tuning_for(host_target()).gemm.tile_rows.items():
        columns, analytic = vectors * host_target().lanes, tile_rows(vectors)
        name = f"240x512 @ 512x{columns}"
        heights = {max(height - 2, 1), height - 1, height, height + 1, analytic}
        shape = {name: matmul(240, 512, columns)}
        yield Sweep("gemm", "tile_rows", tuple(sorted(heights)), shape, vectors, {name: analytic})


def product_sweeps() -> Iterator[Sweep]:
    sizes = ((256, 768, 768), (128, 3072, 768), (512, 3072, 768), (32, 1024, 1000))
    products = {f"{m}x{k} @ {k}x{n}": matmul(m, k, n) for m, k, n in sizes}
    widths = {
        name: choose_tile(n, host_target(), m).width for name, (m, _, n) in zip(products, sizes, strict=True)
    }
    terms = dict(zip(products, (k for _, k, _ in sizes), strict=True))
    chunks = {name: chunk_rows(terms[name], width) for name, width in widths.items()}
    yield Sweep("gemm", "max_rows", (96, 144, 288, 576), products, ideal=chunks)
    blocks = {name: block_terms(width) for name, width in widths.items()}
    yield Sweep("gemm", "k_block", (256, 512, 1024), products, ideal=blocks)
    few = "16x1536 @ 1536x384"
    width = choose_tile(384, host_target(), 16).width
    yield Sweep(
        "gemm", "short_k_block", (64, 128, 256), {few: matmul(16, 1536, 384)}, ideal={few: short_terms(width)}
    )


def convolution_block_sweeps() -> Iterator[Sweep]:
    layers = {
        "3x3 56x56x64": (56, 64, 64, 3, 1),
        "1x1 14x14x1024": (14, 1024, 256, 1, 1),
        "1x1 7x7x2048": (7, 2048, 512, 1, 1),
    }
    convolutions = {name: convolution(layer) for name, layer in layers.items()}
    block = tuning.ConvTuning.max_block_terms
    groups, blocks = {}, {}
    for name, (size, channels, columns, _, _) in layers.items():
        width = choose_tile(columns, host_target(), size * size).width
        groups[name] = group_rows(channels, width, block)
        blocks[name] = 2 * block_terms(width)  # the next panel is prefetched by parts only
    yield Sweep("conv", "unit_rows", (48, 96, 192), convolutions, ideal=groups)
    yield Sweep("conv", "max_block_terms", (512, 1024, 2048), convolutions, ideal=blocks)
    layers_by_tiles = {"56x56x64": (56, 64, 64), "28x28x128": (28, 128, 128)}
    fused = {name: winograd(*layer) for name, layer in layers_by_tiles.items()}
    tiles = {
        name: winograd_tiles(channels, choose_tile(features, host_target()).width)
        for name, (_, channels, features) in layers_by_tiles.items()
    }
    yield Sweep("winograd", "fused_group_tiles", (12, 20, 24, 28, 36, 48), fused, ideal=tiles)
    gradients = {"3x3 28x28x64": weight_gradient(28, 64, 64), "3x3 7x7x256": weight_gradient(7, 256, 256)}
    pixels = dict.fromkeys(gradients, short_terms(choose_tile(64, host_target()).width))
    yield Sweep("weight_gradient", "block_pixels", (64, 128, 256), gradients, ideal=pixels)


def image_block_sweeps() -> Iterator[Sweep]:
    images = {"3x3 112x112x192": depthwise(112, 192), "3x3 56x56x576": depthwise(56, 576)}
    windows = dict.fromkeys(images, window_bytes(3))
    yield Sweep(
        "channels_last", "cache_budget_bytes", (1 << 16, 1 << 17, 1 << 18, 1 << 19), images, ideal=windows
    )
    layers = {"112x112, 16 to 96": (112, 16, 96), "56x56, 24 to 144": (56, 24, 144)}
    fused = {name: pointwise_depthwise(*layer) for name, layer in layers.items()}
    rings = {name: ring_bytes(inputs * channels * 4) for name, (_, inputs, channels) in layers.items()}
    yield Sweep("pointwise_depthwise", "ring_bytes", (1 << 17, 1 << 18, 1 << 19, 1 << 20), fused, ideal=rings)
    decode = {
        "12 x 1 x 1024 x 64": attention(12, 1, 1024, 64),
        "12 x 4 x 4096 x 64": attention(12, 4, 4096, 64),
    }
    distances = dict.fromkeys(decode, prefetch_floats())
    yield Sweep(
        "attention", "prefetch_floats", (576, 1152, 2304, 4608), decode, ideal=distances, rounds_up=True
    )


def gemm_sweeps() -> Iterator[Sweep]:
    gemm = {"256x768 @ 768x768": matmul(256, 768, 768), "32x1024 @ 1024x1000": matmul(32, 1024, 1000)}
    long = {"128x4096 @ 4096x512": matmul(128, 4096, 512)}
    few = {"16x1536 @ 1536x384": matmul(16, 1536, 384)}
    yield Sweep("gemm", "min_unrolled_fmas", (10, 20, 40), gemm)
    yield Sweep("gemm", "min_unroll", (1, 2, 4), gemm)
    yield Sweep("gemm", "sparse_prefetch_bytes", (16, 32, 64), few | long)
    yield Sweep("gemm", "large_bytes", (1 << 18, 1 << 19, 1 << 22), gemm | few)
    yield Sweep("gemm", "max_short_rows", (4, 8, 10), {"37x512 @ 512x768": matmul(37, 512, 768)})
    epilogues = {f"{n} operations": matmul_with_epilogue(256, 256, 768, n) for n in (4, 8, 12)}
    yield Sweep("gemm", "max_inline_operations", (2, 8, 16), epilogues)
    yield Sweep("gemm", "packing_prefetch_rows", (4, 8, 16), {"packing 1024x768": packing(1024, 768)})
    computed = {f"{m}x768 @ 768x768": computed_matmul(m, 768, 768) for m in (8, 16, 32)}
    yield Sweep("gemm", "max_rows_in_place", (4, 16, 32), computed)
    narrow = {f"8x512 @ 512x{n}": computed_matmul(8, 512, n) for n in (32, 64, 128)}
    yield Sweep("gemm", "min_columns_in_place", (32, 64, 128), narrow)
    transposed = {f"transposed 1024x512 @ 512x{n}": transposed_matmul(1024, 512, n) for n in (48, 192, 512)}
    yield Sweep("gemm", "min_copied_columns", (24, 64, 256, 1024), transposed)
    yield Sweep(
        "gemm",
        "strided_prefetch_terms",
        (4, 8, 16),
        {"transposed 1024x512 @ 512x64": transposed_matmul(1024, 512, 64)},
    )


def convolution_sweeps() -> Iterator[Sweep]:
    stem = {"7x7/2 224x224x3": convolution((224, 3, 64, 7, 2))}
    yield Sweep("conv", "band_rows", (256, 512, 1024), stem)
    yield Sweep("conv", "max_interleaved_channels", (1, 4), stem)
    thin = {f"3x3 56x56x{channels}": convolution((56, channels, 64, 3, 1)) for channels in (4, 8, 16)}
    yield Sweep("conv", "max_im2row_channels", (2, 8, 16), thin)
    fused = {"56x56x64": winograd(56, 64, 64), "28x28x128": winograd(28, 128, 128)}
    deep = {"14x14x256": winograd(14, 256, 256), "7x7x512": winograd(7, 512, 512)}
    yield Sweep("winograd", "separate_group_tiles", (32, 64, 128), deep)
    yield Sweep("winograd", "max_fused_channels", (64, 160, 512), fused | deep)
    yield Sweep("winograd", "prefetch_tiles", (1, 2, 4), fused)
    yield Sweep("winograd", "min_groups", (4, 8, 16), fused | deep)
    gradients = {"3x3 28x28x64": weight_gradient(28, 64, 64), "3x3 7x7x256": weight_gradient(7, 256, 256)}
    yield Sweep("weight_gradient", "min_unit_taps", (4, 8, 16), gradients)


def attention_sweeps() -> Iterator[Sweep]:
    prefill = {
        "12 x 512 x 512 x 64": attention(12, 512, 512, 64),
        "12 x 197 x 197 x 64": attention(12, 197, 197, 64),
    }
    decode = {
        "12 x 1 x 1024 x 64": attention(12, 1, 1024, 64),
        "12 x 4 x 4096 x 64": attention(12, 4, 4096, 64),
    }
    yield Sweep("attention", "query_block", (32, 64, 128), prefill)
    yield Sweep("attention", "key_block", (64, 128, 256), prefill)
    yield Sweep("attention", "fold_chains", (2, 4, 8), prefill)
    yield Sweep("attention", "decode_key_block", (128, 256, 512), decode)
    yield Sweep("attention", "split_keys", (256, 512, 1024), decode)
    yield Sweep("attention", "value_rows", (4, 8, 16), decode)
    yield Sweep(
        "attention", "min_prefetch_rows", (4, 8, 16), {"12 x 1 x 1024 x 512": attention(12, 1, 1024, 512)}
    )
    yield Sweep("attention", "decode_tile_queries", (2, 4), decode)
    yield Sweep("attention", "decode_tile_vectors", (2, 4), decode)
    yield Sweep("attention", "min_run_floats", (256, 1024, 4096), decode)
    yield Sweep("gemm", "independent_sums", (2, 4, 8), decode)
    queries = {f"12 x {n} x 1024 x 64": attention(12, n, 1024, 64) for n in (4, 8, 16)}
    yield Sweep("attention", "max_decode_queries", (2, 8, 16), queries)


def image_sweeps() -> Iterator[Sweep]:
    images = {"3x3 112x112x64": depthwise(112, 64), "3x3 14x14x512": depthwise(14, 512)}
    yield Sweep("channels_last", "channel_step", (32, 64, 128), images)
    yield Sweep(
        "channels_last",
        "prefetch_min_floats",
        (1 << 19, 1 << 21, 1 << 30),
        {"3x3 224x224x64": depthwise(224, 64)},
    )
    yield Sweep(
        "channels_last",
        "max_unrolled_taps",
        (3, 5, 7),
        {"5x5 56x56x64": depthwise(56, 64, 5), "7x7 56x56x64": depthwise(56, 64, 7)},
    )
    small = {"3x3 7x7x960": depthwise(7, 960)}
    yield Sweep("channels_last", "few_rows_channels", (64, 256, 1024), small)
    means = {"mean 7x7x2048": global_mean(7, 2048), "mean 56x56x256": global_mean(56, 256)}
    yield Sweep("channels_last", "summation_block", (128, 512, 2048), means)
    yield Sweep("channels_last", "reduced_channels", (16, 32, 64), means)
    yield Sweep("channels_last", "small_image_pixels", (16, 1024, 4096), means)
    yield Sweep("channels_last", "small_image_channels", (16, 64, 256), means)
    yield Sweep("channels_last", "lrn_unit_pixels", (4, 16, 64), {"LRN 28x28x256": lrn(28, 256)})
    gradients = {"3x3 28x28x256": depthwise_weight_gradient(28, 256)}
    yield Sweep("channels_last", "gradient_channels", (32, 64, 128), gradients)
    yield Sweep("channels_last", "gradient_vectors", (2, 4), gradients)
    fused = {
        "112x112, 16 to 96": pointwise_depthwise(112, 16, 96),
        "56x56, 24 to 144": pointwise_depthwise(56, 24, 144),
    }
    yield Sweep("pointwise_depthwise", "group_rows", (2, 4, 8), fused)
    yield Sweep("pointwise_depthwise", "min_bands", (1, 4, 8), fused)
    yield Sweep("pointwise_depthwise", "max_bands", (4, 16, 32), fused)
    yield Sweep("pointwise_depthwise", "min_band_ratio", (4, 8, 16), fused)


def element_sweeps() -> Iterator[Sweep]:
    copies = {"slice 512x512": column_slice(512, 512), "slice 4096x32": column_slice(4096, 32)}
    yield Sweep("data_movement", "copy_unit_elements", (2048, 8192, 32768), copies)
    yield Sweep("data_movement", "memcpy_unroll", (2, 4, 8), copies)
    transposes = {"transpose 512x768": transpose(512, 768)}
    yield Sweep("data_movement", "transpose_columns", (256, 1024, 4096), transposes)
    reductions = {"row sums 512x768": row_sum(512, 768), "softmax 512x768": softmax(512, 768)}
    yield Sweep("reductions", "row_unroll", (2, 4, 8), reductions)
    yield Sweep("reductions", "row_unit_elements", (1024, 4096, 16384), reductions)
    yield Sweep(
        "reductions",
        "block_columns",
        (64, 256, 1024),
        {"column sums 512x768": column_sum(512, 768)},
    )
    pointwise = {"add 512x768": elementwise("add", 512, 768), "tanh 512x768": elementwise("tanh", 512, 768)}
    yield Sweep("elementwise", "unit_elements", (1024, 4096, 16384), pointwise)
    yield Sweep("elementwise", "unroll", (2, 4, 8), {"add 512x768": pointwise["add 512x768"]})
    yield Sweep(
        "elementwise",
        "unroll_one_function",
        (1, 2, 4),
        {"tanh 512x768": pointwise["tanh 512x768"]},
    )
    ranges = {"range of 1048576": value_range(1 << 20)}
    rows, columns = (
        {"argmax 128x384": arg_max(128, 384, 1)},
        {"argmax 384x1024 columns": arg_max(384, 1024, 0)},
    )
    yield Sweep("reductions", "min_indexed_vectors", (8, 16, 32), rows)
    yield Sweep("reductions", "indexed_registers", (2, 4, 8), columns)
    yield Sweep("reductions", "min_max_block", (1 << 12, 1 << 14, 1 << 16), ranges)
    yield Sweep("reductions", "unit_matrices", (8, 32, 128), {"determinants 4096x4x4": determinants(4096, 4)})
