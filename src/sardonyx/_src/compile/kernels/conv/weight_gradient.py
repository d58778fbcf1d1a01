"""Steps of the gradient of a convolution by its weights: dy is packed in panels, and the kernel adds the products of all pixels.

The loop nest is in `weight_gradient_kernel.py`.
"""

from __future__ import annotations

from functools import partial

from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.kernels.conv.weight_gradient_kernel import PARAMETERS, weight_gradient_module
from sardonyx._src.compile.kernels.gemm.packing.panels import Panels, pack_tensor
from sardonyx._src.compile.kernels.gemm.tile.register_tile import choose_tile
from sardonyx._src.compile.kernels.tuning import GemmTuning, WeightGradientTuning
from sardonyx._src.compile.program import Kernel, Step, TensorView, Window
from sardonyx._src.ir.dims import dim_max


def weight_gradient_steps(
    x: TensorView, dy: TensorView, dw: TensorView, window: Window, target: Target, groups: int = 1
) -> list[Step]:
    """The steps of dw [M, C / groups, height, width], dense, from x [N, H, W, C] and dy [N, Ho, Wo, M].

    The channels of x and dy are contiguous.
    """
    columns, channels, *kernel = (dim for dim in dw.shape if isinstance(dim, int))
    assert dw.is_dense and tuple(kernel) == window.kernel, f"{dw} must be dense"
    panels, steps = pack_output_gradient(dy, columns // groups, groups, target)
    images, out_height, out_width = dy.shape[:3]
    taps, tile = window.num_taps, panels.tile
    block_channels = tile.rows * max(1, -(-WeightGradientTuning.min_unit_taps // taps))
    block_pixels = WeightGradientTuning.block_pixels
    block_lines = dim_max(1, block_pixels // dim_max(out_width, 1))
    channel_blocks = -(-channels // block_channels)
    step = Step(
        kernel=Kernel(
            f"conv_weight_gradient_{tile.vectors}",
            partial(weight_gradient_module, vectors=tile.vectors),
            PARAMETERS,
        ),
        args=PARAMETERS.pack(
            x=x,
            panels_dy=panels.tensor,
            dw=dw,
            height=x.shape[1],
            width=x.shape[2],
            images=images,
            out_height=out_height,
            out_width=out_width,
            **window.image_arguments,
            image_stride=x.strides[0],
            row_stride=x.strides[1],
            pixel_stride=x.strides[2],
            channels=channels,
            columns=columns // groups,
            panels=panels.num_panels,
            block_channels=block_channels,
            channel_blocks=channel_blocks,
            block_lines=block_lines,
            block_pixels=block_pixels,
        ),
        units=panels.num_panels * groups * channel_blocks,
        reads=(x, panels.tensor),
        writes=(dw,),
        flops=images * out_height * out_width * taps * channels * columns * 2,
        bytes_accessed=x.nbytes + dy.nbytes + dw.nbytes,
        scratch=(sums_rows(block_channels, taps) * tile.width + 4 * block_lines) * 4,
    )
    return [*steps, step]


def sums_rows(block_channels: int, taps: int) -> int:
    """Rows of scratch for the sums of a unit, with room for the surplus rows of the last tile and for vectors past the last tap."""
    return (block_channels + GemmTuning.spare_rows) * taps + GemmTuning.spare_rows


def pack_output_gradient(
    dy: TensorView, columns: int, groups: int, target: Target
) -> tuple[Panels, list[Step]]:
    """Panels [groups, panels, pixels, width] of dy [N, Ho, Wo, groups * columns], and the steps that pack them.

    There are no steps if dy already has the layout of a single panel.
    """
    stride = dy.row_stride
    assert stride is not None, f"pixels must have one stride and contiguous channels; got {dy}"
    pixels, tile = dy.shape[0] * dy.shape[1] * dy.shape[2], choose_tile(columns, target)
    if groups == 1 and columns == tile.width == stride:
        view = TensorView(dy.dtype, (1, 1, pixels, columns), (0, 0, stride, 1), dy.buffer, dy.offset)
        return Panels(view, tile, columns), []
    view = TensorView(dy.dtype, (groups, pixels, columns), (columns, stride, 1), dy.buffer, dy.offset)
    return pack_tensor(view, target, "dy")
