"""Global pooling of large images in two steps: each block of pixels becomes one pixel, then these pixels become one.

Threads divide the blocks as they divide the pixels in the convolution before, so that each thread reads the pixels that it
has written, from its own cache.  In a single step they would divide the channels, and read most pixels from the caches of
other cores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sardonyx._src.compile.kernels.channels_last.images import pixel_stride
from sardonyx._src.compile.kernels.epilogue import NO_EPILOGUE, Epilogue
from sardonyx._src.compile.kernels.pooling.global_pooling import GlobalPoolKind, global_pooling_step
from sardonyx._src.compile.kernels.tuning import ChannelsLastTuning
from sardonyx._src.compile.program import Step, TensorView
from sardonyx._src.compile.program.operands.tensor import dense_temporary
from sardonyx._src.ir.dims import Known


def global_pooling_steps(
    x: TensorView,
    y: TensorView,
    kind: GlobalPoolKind,
    epilogue: Epilogue = NO_EPILOGUE,
    operands: tuple[TensorView, ...] = (),
) -> Sequence[Step]:
    """Global pooling of x [N, H, W, C] into y [N, C] or [N, 1, 1, C], with the parameters of `global_pooling_step`.

    The mean is the mean of the means of equal blocks.  The division into blocks depends only on the dims of the image.
    """
    n, height, width, channels = x.shape
    blocks = count_blocks(height * width, channels)
    if blocks == 1:
        return (global_pooling_step(x, y, kind, epilogue, operands),)
    pixels, stride = height * width // blocks, pixel_stride(x)
    strides = (pixels * stride, stride, stride, x.strides[-1])
    parts = replace(x, shape=(n * blocks, pixels, 1, channels), strides=strides)
    reduced = dense_temporary(y.dtype, (n * blocks, 1, 1, channels), f"{y.buffer.name} of blocks")
    return (
        global_pooling_step(parts, reduced, kind),
        global_pooling_step(reduced.reshape((n, blocks, 1, channels)), y, kind, epilogue, operands),
    )


def count_blocks(pixels: Known, channels: Known) -> int:
    """The number of equal blocks of the pixels of an image: 1 if the image is small, or if its dims are symbolic."""
    if not isinstance(pixels, int) or not isinstance(channels, int):
        return 1
    if pixels * channels < ChannelsLastTuning.min_divided_floats:
        return 1
    return next((count for count in ChannelsLastTuning.pixel_blocks if pixels % count == 0), 1)
