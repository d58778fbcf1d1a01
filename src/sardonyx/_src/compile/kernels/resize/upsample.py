"""Nearest-neighbor upsampling of channels-last images by integer factors, for static and dynamic sizes.

A unit of work is one output row; loop nest: input pixels of the row -> vectors of channels -> copies to the right, so that
each vector is loaded once for all its copies.
"""

from __future__ import annotations

from functools import partial

from sardonyx._src.compile.codegen import Parameters, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.channels_last.images import image_arguments, load_output, store_result
from sardonyx._src.compile.kernels.epilogue import (
    NO_EPILOGUE,
    Epilogue,
    epilogue_arguments,
    epilogue_parameters,
)
from sardonyx._src.compile.kernels.loops.vectors import i64, load_vector, loop_vectors, sdiv
from sardonyx._src.compile.program import Kernel, Step, TensorView
from sardonyx._src.ir.dims import known_equal

UPSAMPLE_SIZES = ("x_pixel_stride", "y_pixel_stride", "width", "channels", "factor_height", "factor_width")
UPSAMPLE_PARAMETERS = Parameters("x", "y", *UPSAMPLE_SIZES)


def upsample_step(
    x: TensorView,
    y: TensorView,
    factors: tuple[int, int],
    epilogue: Epilogue = NO_EPILOGUE,
    operands: tuple[TensorView, ...] = (),
) -> Step:
    """x [N, H, W, C] with each pixel repeated by the factors (height, width), into y [N, Ho, Wo, C].

    This is the nearest mode of Resize for integer scales, with asymmetric coordinates rounded by floor, or half_pixel
    coordinates rounded either way.
    """
    out_size = (x.shape[1] * factors[0], x.shape[2] * factors[1])
    # Equal sizes may be spelled differently: `min((H-1)//8+1,H)` is `(H-1)//8+1`.
    fits = all(known_equal(*sizes) is not False for sizes in zip(y.shape[1:3], out_size, strict=True))
    assert fits, f"y must have height and width {out_size}; got {y}"
    parameters = UPSAMPLE_PARAMETERS + epilogue_parameters(epilogue)
    source = partial(upsample_module, epilogue=epilogue)
    return Step(
        kernel=Kernel(f"upsample_f32:{epilogue.key}", source, parameters),
        args=parameters.pack(
            **image_arguments(x, y),
            width=x.shape[2],
            channels=x.shape[3],
            factor_height=factors[0],
            factor_width=factors[1],
            **epilogue_arguments(epilogue, operands),
        ),
        units=y.shape[0] * y.shape[1],
        reads=(x, *operands),
        writes=(y,),
        bytes_accessed=x.nbytes + y.nbytes,
    )


def upsample_module(name: str, target: Target, epilogue: Epilogue) -> str:
    """The LLVM module of the kernel; rows are numbered through all images, each of which has Ho = H * factor_height rows."""
    b = KernelBuilder(target, UPSAMPLE_PARAMETERS + epilogue_parameters(epilogue))
    x, y_address = b.pointers("x", "y")
    x_pixel_stride, y_pixel_stride, width, channels, factor_height, factor_width = map(
        b.integer, UPSAMPLE_SIZES
    )
    y = load_output(b, y_address, y_pixel_stride, epilogue)
    zero = i64(b, 0)
    with b.loop(b.first_unit, b.end_unit, name="unit") as out_row:
        row_pixel = sdiv(b, out_row, factor_height) * width
        with b.loop(zero, width, name="pixel") as column:
            # The copies of a pixel in an output row are a group.
            group, pixel = out_row * width + column, row_pixel + column
            first = group * factor_width
            for channel, mask in loop_vectors(b, zero, channels):
                value = load_vector(b, b.gep(x, pixel * x_pixel_stride + channel), mask)
                with b.loop(zero, factor_width, name="again") as copy:
                    store_result(b, y, value, first + copy, channel, mask)
    return b.build_module(name)
