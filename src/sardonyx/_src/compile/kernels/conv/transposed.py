"""Transposed convolution as one stride-1 convolution per output phase; the phases' outputs interleave.

Along an axis, output pixel o reads input pixel i through tap t if o = i * stride - pad + t * dilation.  Output pixels
with the same o mod stride, a phase, use the same taps, and along them i advances by one, as in an ordinary convolution.
There are stride_y * stride_x phases, each a step; weights of each phase are packed as [groups, panels, taps, channels, NR].
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from math import gcd

import numpy as np

from sardonyx._src.compile.codegen import LLVMValue, Target
from sardonyx._src.compile.kernels.conv.computed_weights import (
    TapSequence,
    pack_computed_bias,
    pack_taps,
    transposed_operand,
)
from sardonyx._src.compile.kernels.conv.convolution import ConvPartition, partition_step, window_arguments
from sardonyx._src.compile.kernels.conv.indirection import emit_indirect
from sardonyx._src.compile.kernels.conv.loop_nest import Convolution
from sardonyx._src.compile.kernels.conv.packed_weights import ConvWeights, pack_conv_weights
from sardonyx._src.compile.kernels.conv.variant import ConvVariant
from sardonyx._src.compile.kernels.conv.window_origins import WINDOW_SIZES
from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.kernels.gemm.tile.register_tile import choose_tile
from sardonyx._src.compile.kernels.gemm.tile.row_blocks import rows_per_unit
from sardonyx._src.compile.kernels.tuning import ConvTuning
from sardonyx._src.compile.program import KernelArgument, Step, TensorView, Window
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Array
from sardonyx._src.ir.dims import ceil_div, dim_max


def emit_phase(conv: Convolution) -> None:
    """The indirect convolution of a phase; `map_phase_row` determines where its rows are stored."""
    output = replace(conv.output, map_row=partial(map_phase_row, conv))
    emit_indirect(replace(conv, output=output))


def map_phase_row(conv: Convolution, row: LLVMValue) -> LLVMValue:
    """The output pixel for a row, a pixel (y, x) of the phase: first + image * image_step + y * y_step + x * x_step."""
    b, size = conv.b, conv.size
    line, x = b.udivmod(row, size["out_width"])
    image, y = b.udivmod(line, size["out_height"])
    return size["first"] + image * size["image_step"] + y * size["y_step"] + x * size["x_step"]


PHASE = ConvVariant("phase", emit_phase, (*WINDOW_SIZES, "first", "image_step", "y_step", "x_step"))


@dataclass(frozen=True, slots=True)
class PhaseTaps:
    """The taps of a phase along one axis, in the order of their input pixels.

    dilation, pad: the dilation and the padding of the phase's convolution.
    """

    taps: tuple[int, ...]
    dilation: int
    pad: int

    @property
    def sequence(self) -> TapSequence:
        """The taps as an arithmetic sequence."""
        first, second = (*self.taps, 0, 0)[:2]
        return TapSequence(first, second - first if len(self.taps) > 1 else 1, len(self.taps))


@dataclass(frozen=True, slots=True)
class OutputPhase:
    """An output phase: the pixels (y + i * strides[0], x + j * strides[1]) for all i and j, and the weights of its convolution."""

    y: int
    x: int
    strides: tuple[int, ...]
    weights: ConvWeights


def pack_transposed_weights(
    weights: Array, bias: Array | None, window: Window, target: Target, groups: int = 1
) -> tuple[OutputPhase, ...]:
    """Packs weights [channels, columns / groups, height, width] and bias [columns], split by output phase."""
    channels, columns, height, width = weights.shape
    grouped = weights.reshape(groups, channels // groups, columns, height, width).swapaxes(1, 2)
    forward = grouped.reshape(groups * columns, channels // groups, height, width)
    phases = []
    for y, x, vertical, horizontal in phase_taps(window):
        phase_weights = forward[:, :, np.array(vertical.taps, int)][:, :, :, np.array(horizontal.taps, int)]
        phase = phase_window(vertical, horizontal)
        packed = pack_conv_weights(phase_weights, bias, phase, target, groups, indirect_only=True)
        phases.append(OutputPhase(y, x, window.strides, packed))
    return tuple(phases)


def pack_computed_transposed_weights(
    weights: TensorView,
    bias: TensorView | None,
    window: Window,
    target: Target,
    groups: int,
    status: TensorView,
) -> tuple[tuple[OutputPhase, ...], list[Step]]:
    """`pack_transposed_weights` for dense tensors of the run: the packed phases, and the steps that compute them.

    Weights that are not finite are recorded in `status`: the kernels multiply weights by the zeros around the image, which
    would yield NaN.
    """
    operand = transposed_operand(weights, groups)
    tile, phases, steps = choose_tile(operand.columns, target), [], []
    biases, bias_steps = pack_computed_bias(bias, operand, tile)
    for y, x, vertical, horizontal in phase_taps(window):
        phase = phase_window(vertical, horizontal)
        has_padding = phase.kernel != (1, 1) or window.kernel != (1, 1) or phase.begin_pads != (0, 0)
        taps = (vertical.sequence, horizontal.sequence)
        panels, packing = pack_taps(operand, taps, tile, target, status if has_padding else None)
        packed = ConvWeights(phase, tile, panels, biases, operand.columns, uses_im2row=False)
        phases.append(OutputPhase(y, x, window.strides, packed))
        steps += packing
    return tuple(phases), [*bias_steps, *steps]


def phase_taps(window: Window) -> Iterator[tuple[int, int, PhaseTaps, PhaseTaps]]:
    """The taps of each phase (y, x) along both axes."""
    vertical_taps = [choose_phase_taps(window, 0, phase) for phase in range(window.strides[0])]
    horizontal_taps = [choose_phase_taps(window, 1, phase) for phase in range(window.strides[1])]
    for y, vertical in enumerate(vertical_taps):
        for x, horizontal in enumerate(horizontal_taps):
            yield y, x, vertical, horizontal


def phase_window(vertical: PhaseTaps, horizontal: PhaseTaps) -> Window:
    """The window of the convolution of a phase."""
    return Window(
        (len(vertical.taps), len(horizontal.taps)),
        dilations=(vertical.dilation, horizontal.dilation),
        begin_pads=(vertical.pad, horizontal.pad),
    )


def choose_phase_taps(window: Window, axis: int, phase: int) -> PhaseTaps:
    """The taps t for which phase + pad - t * dilation is divisible by the stride, in descending order."""
    stride, dilation = window.strides[axis], window.dilations[axis]
    pad = window.begin_pads[axis]
    assert isinstance(pad, int), f"the pads of a transposed convolution must be numbers; got {pad}"
    start = phase + pad
    taps = tuple(t for t in reversed(range(window.kernel[axis])) if (start - t * dilation) % stride == 0)
    first = (start - taps[0] * dilation) // stride if taps else 0
    return PhaseTaps(taps, dilation // gcd(stride, dilation), -first)


def transposed_convolution_steps(
    x: TensorView,
    phases: Sequence[OutputPhase],
    y: TensorView,
    epilogue: Epilogue | None = None,
    operands: Sequence[TensorView] = (),
) -> list[Step]:
    """y [N, Ho, Wo, Co] = epilogue(transposed convolution of x [N, H, W, C] + bias), a step for each phase.

    Channels of x must be contiguous; the shape of y defines the output padding.
    """
    assert x.strides[3] == 1 or x.shape[3] == 1, f"channels of x must be contiguous; got {x}"
    return [phase_step(x, phase, y, epilogue or Epilogue(), tuple(operands)) for phase in phases]


def phase_step(
    x: TensorView,
    phase: OutputPhase,
    y: TensorView,
    epilogue: Epilogue,
    operands: tuple[TensorView, ...],
) -> Step:
    """The step that computes the pixels of one phase."""
    weights, (stride_y, stride_x) = phase.weights, phase.strides
    images, height, width, _ = y.shape
    size = tuple(
        dim_max(ceil_div(total - first, stride), 0)
        for total, first, stride in ((height, phase.y, stride_y), (width, phase.x, stride_x))
    )
    total = images * size[0] * size[1]
    rows = rows_per_unit(total, weights.tile.rows, ConvTuning.unit_rows)
    arguments: dict[str, KernelArgument] = {
        **window_arguments(x, size, weights.window),
        "first": phase.y * width + phase.x,
        "image_step": height * width,
        "y_step": width * stride_y,
        "x_step": stride_x,
    }
    partition = ConvPartition(PHASE, total, rows, ceil_div(total, rows), arguments)
    return partition_step(x, weights, y, partition, epilogue, operands)
