"""GridSample of channels-last images by linear interpolation, with zeros outside of the image or its border repeated.

Loop nest: units of work (rows of the result) -> points -> vectors of channels.  Positions are computed in double, as the
reference kernel does, so that both engines choose the same pixels.
"""

from __future__ import annotations

from functools import partial

from sardonyx._src.compile.codegen import LLVMType, LLVMValue, Parameters, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.channels_last.images import pixel_stride
from sardonyx._src.compile.kernels.loops.memory import load_at
from sardonyx._src.compile.kernels.loops.vectors import i64, store_vector
from sardonyx._src.compile.kernels.sampling.bilinear import (
    SampledImage,
    corners,
    loop_weighted_pixels,
    neighbors,
)
from sardonyx._src.compile.program import Kernel, Step, TensorView
from sardonyx._src.dataclass import dataclass

PARAMETERS = Parameters(
    "x",
    "grid",
    "y",
    "channels",
    "height",
    "width",
    "x_pixel_stride",
    "y_pixel_stride",
    "out_height",
    "out_width",
)
FLOAT = LLVMType("float")
# Positions are clamped to this many pixels outside of the image, where all pixels are zeros: infinite positions would have
# no fraction.
MARGIN = 4.0
CORNERS = 4


@dataclass(frozen=True, slots=True)
class GridSampling:
    """The attributes.

    repeats_border: whether points outside of the image read its border, and not zeros.
    aligns_corners: whether -1 and 1 are the centers of the outermost pixels, not their outer edges.
    """

    repeats_border: bool
    aligns_corners: bool


def grid_sample_step(x: TensorView, grid: TensorView, y: TensorView, config: GridSampling) -> Step:
    """The step of y [N, Ho, Wo, C] from x [N, H, W, C] and grid [N, Ho, Wo, 2], dense; all float32.

    The grid has (column, row) of each point, in [-1, 1].
    """
    images, height, width, channels = x.shape
    key = f"{'border' if config.repeats_border else 'zeros'}{'_corners' if config.aligns_corners else ''}"
    return Step(
        Kernel(f"grid_sample:{key}", partial(grid_sample_module, config=config), PARAMETERS),
        PARAMETERS.pack(
            x=x, grid=grid, y=y, channels=channels, height=height, width=width, x_pixel_stride=pixel_stride(x),
            y_pixel_stride=pixel_stride(y), out_height=y.shape[1], out_width=y.shape[2],
        ),
        images * y.shape[1],
        (x, grid),
        (y,),
        flops=y.num_elements * 2 * CORNERS,
        bytes_accessed=x.nbytes + grid.nbytes + y.nbytes,
    )  # fmt: skip


def grid_sample_module(name: str, target: Target, config: GridSampling) -> str:
    b = KernelBuilder(target, PARAMETERS)
    x, grid, y = b.pointers("x", "grid", "y")
    channels, height, width, x_stride, y_stride = b.integers(
        "channels", "height", "width", "x_pixel_stride", "y_pixel_stride"
    )
    out_height, out_width = b.integers("out_height", "out_width")
    with b.loop(b.first_unit, b.end_unit, name="row") as unit:
        image = b.udiv(unit, out_height)
        source = SampledImage(b.gep(x, image * height * width * x_stride), height, width, x_stride, FLOAT)
        with b.loop(i64(b, 0), out_width, name="point") as column:
            point = unit * out_width + column
            across, down = (
                pixel_position(b, load_at(b, grid, point * 2 + axis, "float"), size, config)
                for axis, size in enumerate((width, height))
            )
            near = list(corners(source, neighbors(b, down, height), neighbors(b, across, width)))
            target_pixel = b.gep(y, point * y_stride)
            for channel, mask, terms in loop_weighted_pixels(b, source, near, channels):
                total = terms[0] + terms[1] + terms[2] + terms[3]
                store_vector(b, total, b.gep(target_pixel, channel), mask)
    return b.build_module(name)


def pixel_position(
    b: KernelBuilder, coordinate: LLVMValue, size: LLVMValue, config: GridSampling
) -> LLVMValue:
    """The position, in pixels, of a coordinate in [-1, 1]; NaN stays NaN."""
    from_zero, length = coordinate.convert("fpext", "double") + 1, size.convert("sitofp", "double")
    end = length - 1
    position = from_zero / 2 * end if config.aligns_corners else (from_zero * length - 1) / 2
    low, high = (
        (b.constant(0, position.type), end)
        if config.repeats_border
        else (b.constant(-MARGIN, position.type), length + (MARGIN - 1))
    )
    position = b.select(position < low, low, position)
    return b.select(position > high, high, position)
