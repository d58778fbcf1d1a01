"""GroupNormalization and InstanceNormalization in channels-first layout, [N, C, spatial].

The channels of a group and their pixels are contiguous, which makes a group one row of the statistics.
Loop nest: units of work (blocks of groups) -> groups: two passes for mean and variance -> channels of the group, with one
scale and bias each -> vectors of pixels.
"""

from __future__ import annotations

from functools import partial

from sardonyx._src.compile.codegen import I64, Parameters, Target, float32_bits
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.epilogue import NO_EPILOGUE, Epilogue
from sardonyx._src.compile.kernels.loops.iteration_space import IterationSpace
from sardonyx._src.compile.kernels.loops.memory import load_at, load_vector_at, store_at
from sardonyx._src.compile.kernels.loops.rows import (
    loop_vector_blocks,
    num_units,
    row_arguments,
    summed_vector_type,
)
from sardonyx._src.compile.kernels.loops.strided_loops import load_dims, loop_rows, unit_row_range
from sardonyx._src.compile.kernels.reductions.layer_norm import is_dense_space, norm_stages
from sardonyx._src.compile.kernels.reductions.row_passes import Row, apply_epilogue, reduce_row
from sardonyx._src.compile.kernels.tuning import ReductionTuning
from sardonyx._src.compile.program import Kernel, KernelArgument, Step, TensorView
from sardonyx._src.ir.dims import Known, dim_product, exact_div

# n: elements of a group.  dims: of the rows, [N, groups], with strides of x and of y.
PARAMETERS = Parameters(
    "x", "y", "scale", "bias", "epsilon", "rows", "unit_rows", "n", "channels", "pixels", "dims*"
)


def group_norm_step(
    x: TensorView,
    y: TensorView,
    scale: TensorView,
    bias: TensorView,
    *,
    groups: Known,
    epsilon: float,
    epilogue: Epilogue = NO_EPILOGUE,
) -> Step:
    """y = (x - mean) / sqrt(variance + epsilon) * scale + bias, with the statistics of each group of channels of an image.

    x, y: [N, C, *spatial] float32, dense from C on; they may be the same tensor.  scale, bias: [C], dense.  groups: a
    divisor of C; C for InstanceNormalization.  epilogue: without operands.
    """
    assert not epilogue.operand_layouts, "the epilogue of a group normalization must not have operands"
    images = IterationSpace(x.shape[1:], (x.strides[1:], y.strides[1:]))
    assert is_dense_space(images) and scale.is_dense and bias.is_dense, f"images must be dense; got {x}, {y}"
    channels = exact_div(x.shape[1], groups)
    pixels = dim_product(x.shape[2:])
    n = channels * pixels
    rows = IterationSpace((x.shape[0], groups), ((x.strides[0], n), (y.strides[0], n)))
    args: tuple[KernelArgument, ...] = PARAMETERS.pack(
        x=x,
        y=y,
        scale=scale,
        bias=bias,
        epsilon=float32_bits(epsilon),
        channels=channels,
        pixels=pixels,
        **row_arguments(rows, n),
    )
    return Step(
        Kernel(f"group_norm_{epilogue.key}", partial(group_norm_module, epilogue=epilogue), PARAMETERS),
        args,
        num_units(rows.size, n),
        (x, scale, bias),
        (y,),
        flops=x.num_elements * 8,
        bytes_accessed=x.nbytes * 2,
    )


def group_norm_module(name: str, target: Target, epilogue: Epilogue) -> str:
    """The kernel of a group normalization."""
    b, vector_type = KernelBuilder(target, PARAMETERS), summed_vector_type(target)
    lanes = vector_type.lanes
    x, y, scale, bias = b.pointers("x", "y", "scale", "bias")
    epsilon = b.float32("epsilon")
    rows, unit_rows, n, channels, pixels = b.integers("rows", "unit_rows", "n", "channels", "pixels")
    dims = load_dims(b, "dims", 2, 2)
    with loop_rows(b, dims, *unit_row_range(b, rows, unit_rows)) as (row, (x_offset, y_offset)):
        x_row, y_row = b.gep(x, x_offset), b.gep(y, y_offset)
        elements = Row(b, vector_type, n, row, {"x": x_row}, scalars={"epsilon": epsilon})
        for stage in norm_stages():
            reduce_row(elements, stage)
        mean, inverse = elements.vectors["mean"], elements.scalars["inverse"]
        _, group = b.udivmod(row, dims.sizes[1])
        with b.loop(b.constant(0, I64), channels, name="channel") as c:
            channel = group * channels + c
            weight, addend = (load_at(b, base, channel, "float") for base in (scale, bias))
            factor, shift, start = b.splat(weight * inverse, lanes), b.splat(addend, lanes), c * pixels
            for i, vectors, mask in loop_vector_blocks(b, pixels, lanes, ReductionTuning.row_unroll):
                for v in range(vectors):
                    index = start + i + v * lanes
                    value = b.fma(
                        load_vector_at(b, x_row, index, vector_type, mask) - mean,
                        factor,
                        shift,
                    )
                    value = apply_epilogue(b, epilogue, (), value, (row, index), mask)
                    store_at(b, y_row, index, value, mask)
    return b.build_module(name)
