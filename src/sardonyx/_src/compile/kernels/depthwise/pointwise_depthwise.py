"""A pointwise convolution and the depthwise one that reads it, without the intermediate image in memory.

    for band of output rows:                                # units of work
        for group of rows:
            for panel of pointwise weights:                 # the GEMM of `kernels.conv`
                compute the missing pixels under the group -> ring buffer
            for tile of windows:                            # its input stays in L1 for the rows of the group
                for row of the group: `emit_window_tile` of `depthwise`, from the ring buffer

Pixels of the intermediate image are computed twice only at the beginning of a call: its first windows overlap rows that the
call before has computed.  Both convolutions add their terms in the order of the separate kernels, and yield the same bits.
"""

from __future__ import annotations

from functools import partial

from sardonyx._src.compile.codegen import Parameters, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.channels_last.images import load_output
from sardonyx._src.compile.kernels.channels_last.sliding_window import (
    WINDOW_PARAMETERS,
    WindowTile,
    choose_window_tile,
    sliding_window_arguments,
)
from sardonyx._src.compile.kernels.channels_last.sliding_window_loops import load_window, loop_tiles
from sardonyx._src.compile.kernels.conv.packed_weights import ConvWeights
from sardonyx._src.compile.kernels.depthwise.depthwise import (
    emit_window_tile,
    float32_arithmetic,
    make_depthwise,
)
from sardonyx._src.compile.kernels.depthwise.pointwise_ring import (
    POINTWISE_PARAMETERS,
    SPARE_ROWS,
    compute_pixels,
    make_ring,
    ring_row,
)
from sardonyx._src.compile.kernels.epilogue import Epilogue, epilogue_arguments, epilogue_parameters
from sardonyx._src.compile.kernels.loops.vectors import i64
from sardonyx._src.compile.kernels.tuning import GemmTuning, PointwiseDepthwiseTuning
from sardonyx._src.compile.program import Kernel, Step, TensorView, Window
from sardonyx._src.compile.program.steps.cached_count import CachedCount
from sardonyx._src.ir.dims import Known, ceil_div, dim_max, dim_min


def pointwise_depthwise_step(
    x: TensorView,
    pointwise: ConvWeights,
    activation: Epilogue,
    weights: TensorView,
    bias: TensorView,
    y: TensorView,
    window: Window,
    epilogue: Epilogue,
    operands: tuple[TensorView, ...] = (),
) -> Step:
    """y [N, Ho, Wo, C], the depthwise convolution of activation(x [N, H, W, K] @ pointwise) with weights [kh * kw, C].

    activation: an epilogue without operands.  Windows of neighboring rows must overlap or touch, and none may lie above the
    image.
    """
    channels, vectors = pointwise.columns, pointwise.tile.vectors
    tile, band_rows = choose_window_tile(window, y.shape[2]), rows_per_band(y.shape[1], window)
    group_rows = rows_per_group(window, x.shape[2], channels)
    parameters = pointwise_depthwise_parameters(epilogue)
    source = partial(
        pointwise_depthwise_module, vectors=vectors, activation=activation, tile=tile, epilogue=epilogue
    )
    key = f"pointwise_depthwise_{vectors}:{tile.key}:{activation.key}:{epilogue.key}"
    images = sliding_window_arguments(x, y, window) | {"channels": channels}
    products = x.num_elements * channels
    return Step(
        kernel=Kernel(key, source, parameters),
        args=parameters.pack(
            **images,
            weights=weights,
            bias=bias,
            pointwise_weights=pointwise.panels,
            pointwise_bias=pointwise.bias,
            input_channels=x.shape[3],
            panels=pointwise.panels.shape[1],
            band_rows=band_rows,
            group_rows=rows_in_cache(x, y, pointwise, window, group_rows),
            **epilogue_arguments(epilogue, operands),
        ),
        units=x.shape[0] * ceil_div(y.shape[1], band_rows),
        reads=(x, pointwise.panels, pointwise.bias, weights, bias, *operands),
        writes=(y,),
        flops=products * 2 + y.num_elements * (2 * window.num_taps),
        bytes_accessed=x.nbytes + y.nbytes,
        scratch=scratch_bytes(ring_size(window, group_rows) * x.shape[2], pointwise),
    )


def scratch_bytes(ring_pixels: Known, pointwise: ConvWeights) -> Known:
    """The size of the ring buffer and of the partial sums of its pixels."""
    partial_sums = (ring_pixels + GemmTuning.spare_rows) * pointwise.tile.width
    return ceil_div(ring_pixels * pointwise.columns + partial_sums, 2) * 8


def rows_per_band(rows: Known, window: Window) -> Known:
    """The output rows of a unit of work.

    A call computes the input rows again that its first band shares with the band before.  So a band has several times as
    many rows as it shares; but there are at least `min_bands` bands for the threads.
    """
    shared_rows = max(window.spans[0] - window.strides[0], 1)
    bands = (
        rows
        // (shared_rows * PointwiseDepthwiseTuning.min_band_ratio * PointwiseDepthwiseTuning.min_bands)
        * PointwiseDepthwiseTuning.min_bands
    )
    bands = dim_max(dim_min(bands, PointwiseDepthwiseTuning.max_bands), PointwiseDepthwiseTuning.min_bands)
    return dim_max(ceil_div(rows, bands), 1)


def rows_per_group(window: Window, width: Known, channels: int) -> int:
    """The output rows of a group: fewer for wide images, so that the ring buffer stays in the cache."""
    if isinstance(width, int):
        for rows in range(PointwiseDepthwiseTuning.group_rows, 1, -1):
            if ring_size(window, rows) * width * channels * 4 <= PointwiseDepthwiseTuning.ring_bytes:
                return rows
        return 1
    return PointwiseDepthwiseTuning.group_rows


def rows_in_cache(
    x: TensorView, y: TensorView, pointwise: ConvWeights, window: Window, most: int
) -> int | CachedCount:
    """The output rows of a group, at most `most`: so few that all that they need stays in the level-2 cache.

    That is the ring buffer, the weights, and the rows of x and y.  With a ring buffer that exceeds the cache, each of its rows
    would be written to a slower one, and read from there, since rows are overwritten in turn.
    """
    width, out_width, inputs, channels = x.shape[2], y.shape[2], x.shape[3], pointwise.columns
    if (
        most == 1
        or not isinstance(width, int)
        or not isinstance(out_width, int)
        or not isinstance(inputs, int)
    ):
        return most
    stride, ring_row = window.strides[0], width * channels * 4
    group_row = stride * (ring_row + width * inputs * 4) + out_width * channels * 4
    weights = (inputs + window.num_taps) * channels * 4
    return CachedCount("own", group_row, (ring_size(window) - stride) * ring_row + weights, 1, most, 1)


def ring_size(window: Window, group_rows: int = 1) -> int:
    """The rows of the ring buffer."""
    return window.spans[0] + (group_rows - 1) * window.strides[0] + SPARE_ROWS


def pointwise_depthwise_parameters(epilogue: Epilogue) -> Parameters:
    """The parameters of both convolutions; x is the input of the pointwise convolution."""
    constants = Parameters("weights", "bias", "band_rows")
    return WINDOW_PARAMETERS + constants + POINTWISE_PARAMETERS + epilogue_parameters(epilogue)


def pointwise_depthwise_module(
    name: str, target: Target, *, vectors: int, activation: Epilogue, tile: WindowTile, epilogue: Epilogue
) -> str:
    """The LLVM module of the kernel: the loops over bands, groups of output rows, and tiles."""
    b = KernelBuilder(target, pointwise_depthwise_parameters(epilogue))
    images = load_window(b, tile)
    ring = make_ring(b, images, vectors, activation)
    weights, bias = b.pointers("weights", "bias")
    y = load_output(b, images.y, images.y_pixel_stride, epilogue)
    depthwise = make_depthwise(b, ring.window, weights, bias, y, float32_arithmetic(b))
    band_rows, group_rows = b.integer("band_rows"), b.integer("group_rows")
    bands = b.udiv(images.out_height + (band_rows - 1), band_rows)
    with b.loop(b.first_unit, b.end_unit, name="unit") as unit:
        image, band = b.udivmod(unit, bands)
        first = band * band_rows
        end = b.min(first + band_rows, images.out_height)
        num_groups = b.udiv(end - first + (group_rows - 1), group_rows)
        with b.loop(i64(b, 0), num_groups, name="group") as group:
            first_row = first + group * group_rows
            end_row = b.min(first_row + group_rows, end)
            compute_pixels(ring, image, first_row, end_row)
            with loop_tiles(b, images) as (column, left), b.loop(first_row, end_row, name="row") as out_row:
                emit_window_tile(depthwise, ring_row(ring, image, out_row), column, left)
    return b.build_module(name)
