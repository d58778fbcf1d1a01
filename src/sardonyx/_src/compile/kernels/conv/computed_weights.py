"""Packing of convolution weights that are computed in the run: steps that precede the step of the convolution.

The kernel is in `weight_packing.py`.  A window of one tap is packed like the right operand of a product (`gemm.panels`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod

import numpy as np

from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.kernels.conv.packed_weights import ConvWeights, can_share_vectors, can_use_im2row
from sardonyx._src.compile.kernels.conv.weight_packing import CHECKED_PARAMETERS, PARAMETERS, packing_module
from sardonyx._src.compile.kernels.data_movement.copy import copy_step
from sardonyx._src.compile.kernels.gemm.packing.packing import make_constant
from sardonyx._src.compile.kernels.gemm.packing.panels import pack_tensor
from sardonyx._src.compile.kernels.gemm.tile.register_tile import RegisterTile, choose_tile
from sardonyx._src.compile.program import Kernel, Step, TensorView, Window
from sardonyx._src.compile.program.operands.tensor import dense_temporary
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType


@dataclass(frozen=True, slots=True)
class TapSequence:
    """Taps of a window along one axis: `count` of them, `first` + i * `step`."""

    first: int
    step: int
    count: int


@dataclass(frozen=True, slots=True)
class WeightOperand:
    """Weights in memory as a convolution reads them: taps [height, width] are contiguous; strides count elements.

    columns, channels: output and input channels of one channel group.
    """

    tensor: TensorView
    taps: tuple[int, int]
    groups: int
    columns: int
    channels: int
    group_stride: int
    column_stride: int
    channel_stride: int


def forward_operand(weights: TensorView, groups: int) -> WeightOperand:
    """Dense weights [columns of all groups, channels of a group, height, width] of a convolution."""
    total, channels, height, width = static_shape(weights)
    columns, taps = total // groups, height * width
    strides = (columns * channels * taps, channels * taps, taps)
    return WeightOperand(weights, (height, width), groups, columns, channels, *strides)


def transposed_operand(weights: TensorView, groups: int) -> WeightOperand:
    """Dense weights [channels of all groups, columns of a group, height, width] of a transposed convolution."""
    total, columns, height, width = static_shape(weights)
    channels, taps = total // groups, height * width
    strides = (columns * channels * taps, taps, columns * taps)
    return WeightOperand(weights, (height, width), groups, columns, channels, *strides)


def static_shape(tensor: TensorView) -> tuple[int, ...]:
    """The dims of a tensor, which must be numbers."""
    dims = tuple(dim for dim in tensor.shape if isinstance(dim, int))
    assert len(dims) == tensor.rank and tensor.is_dense, (
        f"weights must be dense with static dims; got {tensor}"
    )
    return dims


def pack_computed_weights(
    weights: TensorView, bias: TensorView | None, window: Window, target: Target, groups: int = 1
) -> tuple[ConvWeights, list[Step]]:
    """`pack_conv_weights` for dense tensors [columns, channels / groups, height, width] and [columns] of the run.

    Returns the packed operands, and the steps that compute them.
    """
    total, channels = static_shape(weights)[:2]
    narrow = channels if can_share_vectors(total, channels, groups, target.lanes) else 0
    operand = forward_operand(weights, total // target.lanes if narrow else groups)
    uses_im2row = not narrow and can_use_im2row(channels, window, groups)
    every_tap = tuple(TapSequence(0, 1, size) for size in operand.taps)
    tile = choose_tile(operand.columns, target)
    panels, steps = pack_taps(operand, every_tap, tile, target)
    if uses_im2row:
        height, width = operand.taps
        panels = panels.reshape((*panels.shape[:2], height, width * channels, tile.width))
    biases, bias_steps = pack_computed_bias(bias, operand, tile)
    packed = ConvWeights(window, tile, panels, biases, operand.columns, uses_im2row, narrow)
    return packed, [*steps, *bias_steps]


def pack_taps(
    operand: WeightOperand,
    taps: Sequence[TapSequence],
    tile: RegisterTile,
    target: Target,
    status: TensorView | None = None,
) -> tuple[TensorView, list[Step]]:
    """Panels [groups, panels, taps, channels, width] of some taps, and the steps that pack them.

    status: the status block, in which weights that are not finite are recorded, so that the reference engine repeats the
        run.  None: weights are not checked.
    """
    if operand.taps == (1, 1) and status is None and all(sequence.count for sequence in taps):
        return pack_single_tap(operand, target)
    (y, x), num_panels = taps, -(-operand.columns // tile.width)
    shape = (operand.groups, num_panels, y.count * x.count, operand.channels, tile.width)
    packed = dense_temporary(DataType.FLOAT, shape, "weights")
    is_checked, by_channel = status is not None, operand.column_stride < operand.channel_stride
    parameters = CHECKED_PARAMETERS if is_checked else PARAMETERS
    checks = {} if status is None else {"status": status}
    step = Step(
        kernel=Kernel(
            f"conv_panels_f32_{tile.vectors}{'_by_channel' * by_channel}{'_checked' * is_checked}",
            partial(packing_module, vectors=tile.vectors, by_channel=by_channel, is_checked=is_checked),
            parameters,
        ),
        args=parameters.pack(
            weights=operand.tensor,
            packed=packed,
            panels=num_panels,
            columns=operand.columns,
            channels=operand.channels,
            taps=prod(operand.taps),
            kernel_width=operand.taps[1],
            group_stride=operand.group_stride,
            column_stride=operand.column_stride,
            channel_stride=operand.channel_stride,
            first_y=y.first,
            step_y=y.step,
            count_y=y.count,
            first_x=x.first,
            step_x=x.step,
            count_x=x.count,
            **checks,
        ),
        units=operand.groups * num_panels,
        reads=(operand.tensor,),
        writes=(packed, *checks.values()),
        bytes_accessed=operand.tensor.nbytes + packed.nbytes,
        scratch=(prod(operand.taps) + target.lanes) * 8,
    )
    return packed, [step]


def pack_single_tap(operand: WeightOperand, target: Target) -> tuple[TensorView, list[Step]]:
    """The panels of weights with one tap: those of a batch of matrices, one for each channel group."""
    shape = (operand.groups, operand.channels, operand.columns)
    strides = (operand.group_stride, operand.channel_stride, operand.column_stride)
    view = TensorView(DataType.FLOAT, shape, strides, operand.tensor.buffer, operand.tensor.offset)
    panels, steps = pack_tensor(view, target, "weights")
    tensor = panels.tensor
    return tensor.reshape((operand.groups, tensor.shape[-3], 1, *tensor.shape[-2:])), steps


def pack_computed_bias(
    bias: TensorView | None, operand: WeightOperand, tile: RegisterTile
) -> tuple[TensorView, list[Step]]:
    """A bias [groups * columns] as [groups, panels, width], with a step if panels are not full; zeros without a bias."""
    groups, columns = operand.groups, operand.columns
    num_panels = -(-columns // tile.width)
    shape = (groups, num_panels, tile.width)
    if bias is None:
        return make_constant(np.zeros(shape, np.float32), "bias"), []
    if columns == num_panels * tile.width:
        return bias.reshape(shape), []
    packed = dense_temporary(DataType.FLOAT, shape, "bias")
    rows = TensorView(DataType.FLOAT, (groups, columns), (num_panels * tile.width, 1), packed.buffer)
    return packed, [copy_step(bias.reshape((groups, columns)), rows)]


def pack_computed_depthwise(weights: TensorView) -> tuple[TensorView, list[Step]]:
    """Dense weights [C, 1, height, width] as [height * width, C], and the step that transposes them."""
    channels, _, height, width = static_shape(weights)
    source = weights.reshape((channels, height * width)).permute((1, 0))
    packed = dense_temporary(DataType.FLOAT, source.shape, "weights")
    return packed, [copy_step(source, packed)]
