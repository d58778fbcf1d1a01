"""MaxPool, AveragePool, LpPool and global pooling of float32 images, channels-last, with fused epilogues; MaxPool of bytes.

Images that are channels-first, used indices of MaxPool, three dims, other types and open channels are left to
`plane_pooling`, and global pooling of channels-first images is a reduction of rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.kernels.pooling.global_pooling import GlobalPoolKind
from sardonyx._src.compile.kernels.pooling.pixel_blocks import global_pooling_steps
from sardonyx._src.compile.kernels.pooling.pooling import PoolingAlgorithm, pooling_step
from sardonyx._src.compile.lower import LaidOutRegion, Lowering, lowers
from sardonyx._src.compile.lower.operators.plane_pooling import BYTES, PlanePool, match_plane_pool
from sardonyx._src.compile.partition import FusedEpilogue, Read, Region, Scope, fused_region, matches
from sardonyx._src.compile.partition.fusion.epilogues import fuse_epilogue
from sardonyx._src.compile.partition.operands.window_geometry import as_image, image_window, is_image
from sardonyx._src.compile.partition.quantized.int8_layouts import padded_layout
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program import CHANNELS_LAST, Step, Window
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Value

MAX_TAPS = 4096  # window positions that are visited for each element of the image, on average


@dataclass(frozen=True, slots=True)
class Pool:
    algorithm: PoolingAlgorithm
    window: Window


@matches("MaxPool", 22)
def match_max_pool(op: BoundNode, scope: Scope) -> Region[Pool | PlanePool] | None:
    algorithm = PoolingAlgorithm("max")
    region = None if op.is_output_used(1) else match_byte_pool(op, scope, algorithm)
    return region or match_any_pool(op, scope, algorithm)


def match_byte_pool(op: BoundNode, scope: Scope, algorithm: PoolingAlgorithm) -> Region[Pool] | None:
    """MaxPool of an image of bytes that a node computes.

    Quantized convolutions write and read pixels padded to whole words, so the result is padded as well.
    """
    x = op.input(0)
    if x is None or x.producer is None or not is_image(scope, x, BYTES):
        return None
    window = match_window(op, scope, x)
    if window is None:
        return None
    epilogue = FusedEpilogue(Epilogue(), op.output)
    layout = padded_layout(scope, op.output, channels_last=True)
    return fused_region("Pool", op.node, Pool(algorithm, window), (Read(x, CHANNELS_LAST),), epilogue, layout)


@matches("AveragePool", 22)
def match_average_pool(op: BoundNode, scope: Scope) -> Region[Pool | PlanePool] | None:
    counts_pads = op.attribute("count_include_pad", int)
    return match_any_pool(op, scope, PoolingAlgorithm("mean_with_pads" if counts_pads else "mean"))


@matches("LpPool", 22)
def match_lp_pool(op: BoundNode, scope: Scope) -> Region[Pool | PlanePool] | None:
    return match_any_pool(op, scope, PoolingAlgorithm("lp", float(op.attribute("p", int))))


def match_any_pool(
    op: BoundNode, scope: Scope, algorithm: PoolingAlgorithm
) -> Region[Pool | PlanePool] | None:
    matchers = [match_pool, match_plane_pool]
    if op.is_output_used(1):
        matchers.remove(match_pool)
    elif avoids_copies(op, scope):
        matchers.reverse()
    return next((region for matcher in matchers if (region := matcher(op, scope, algorithm))), None)


def avoids_copies(op: BoundNode, scope: Scope) -> bool:
    """Whether pooling planes needs fewer copies than pooling pixels.

    The image is channels-first, and no other node reads it, which may need its pixels, or the result is an output of the model.
    """
    x = op.input(0)
    if x is None or not is_image(scope, x) or scope.is_channels_last(x):
        return False
    return len(x.uses) == 1 or op.output in scope.outputs


def match_pool(op: BoundNode, scope: Scope, algorithm: PoolingAlgorithm) -> Region[Pool] | None:
    x = op.input(0)
    window = match_window(op, scope, x) if x is not None and is_image(scope, x) else None
    if x is None or window is None:
        return None
    epilogue = fuse_epilogue(scope, op.output, channels_last=True)
    reads = (Read(x, CHANNELS_LAST),)
    return fused_region("Pool", op.node, Pool(algorithm, window), reads, epilogue, CHANNELS_LAST)


def match_window(op: BoundNode, scope: Scope, x: Value) -> Window | None:
    """The window over an image; None if the kernel does not support it."""
    kernel = op.ints("kernel_shape")
    if kernel is None or scope.shape(op.output) is None:
        return None
    _, channels, *sizes = scope.known_shape(x)
    window = image_window(op, tuple(sizes), kernel)
    if window is None or not isinstance(channels, int):  # the number of units of work depends on the channels
        return None
    if not has_few_taps(x, op.output, scope, kernel):
        return None
    return window


def has_few_taps(x: Value, y: Value, scope: Scope, kernel: Sequence[int]) -> bool:
    """Whether visiting every tap of every window costs little for each element.

    For long windows the reference kernel is faster, since it does not visit every tap.
    """
    sizes = (*scope.known_shape(x)[2:], *scope.known_shape(y)[2:])
    numbers = [size for size in sizes if isinstance(size, int)]
    taps = math.prod(kernel)
    if len(numbers) < len(sizes):
        return taps <= MAX_TAPS
    elements, windows = math.prod(numbers[: len(kernel)]), math.prod(numbers[len(kernel) :])
    return taps * windows <= MAX_TAPS * max(elements, 1)


@lowers("Pool")
def lower_pool(region: LaidOutRegion[Pool], lowering: Lowering) -> Step:
    x, y = as_image(region.operands[0]), as_image(region.results[0])
    operands = tuple(map(as_image, region.epilogue_operands))
    config = region.config
    return pooling_step(x, y, config.algorithm, config.window, region.epilogue, operands)


@matches("GlobalAveragePool", 22)
def match_global_average_pool(op: BoundNode, scope: Scope) -> Region[object] | None:
    return match_global_pool(op, scope, "mean")


@matches("GlobalMaxPool", 22)
def match_global_max_pool(op: BoundNode, scope: Scope) -> Region[object] | None:
    return match_global_pool(op, scope, "max")


def match_global_pool(op: BoundNode, scope: Scope, kind: GlobalPoolKind) -> Region[object] | None:
    """Channels-last images have a kernel; a reduction of the rows of other images needs no copy."""
    # Lazy: few models need it.
    from sardonyx._src.compile.lower.operators.reduce import (
        Reduction,
        reduction_region,
        spatial_axes,
    )

    x = op.input(0)
    if x is None or not is_image(scope, x) or scope.shape(op.output) is None:
        return None
    if not scope.is_channels_last(x):
        return reduction_region(op.node, scope, x, Reduction(kind, spatial_axes(scope, x)))
    epilogue = fuse_epilogue(scope, op.output, channels_last=True)
    reads = (Read(x, CHANNELS_LAST),)
    return fused_region("GlobalPool", op.node, kind, reads, epilogue, CHANNELS_LAST)


@lowers("GlobalPool")
def lower_global_pool(region: LaidOutRegion[GlobalPoolKind], lowering: Lowering) -> Sequence[Step]:
    x, y = as_image(region.operands[0]), as_image(region.results[0])
    operands = tuple(map(as_image, region.epilogue_operands))
    return global_pooling_steps(x, y, region.config, region.epilogue, operands)
