"""Steps of Winograd convolutions, F(m x m, 3x3) with m = 2 or 4 per axis: y = epilogue(conv3x3(x) + bias), stride 1.

    for group of tiles:
        for tile in group:                V = B^T d B            # input transform, [points, tiles, channels]
        for panel of weights:
            for point in points:          M[point] = V[point] @ U[point]     # GEMM, [tiles, channels] @ [channels, NR]
            for tile in group:            A^T M A, epilogue, store           # output transform

Weights U = G g G^T are transformed at compile time.  Either one fused step does everything, with a group of tiles as unit
of work and V in the cache.  Or one step does the input transform, with a tile as unit, and a second step does the rest, with
a group by a panel as unit.  Separate steps are for many channels, where the weights exceed the cache: consecutive groups that
a thread multiplies with the same panel are computed together, point by point, so that the weights are read once.
An infinity or NaN in the input reaches all outputs of its tiles, even outputs whose windows do not contain it.
Source: Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks" (2016).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.kernels.gemm.packing.packing import make_constant
from sardonyx._src.compile.kernels.gemm.tile.output import output_arguments
from sardonyx._src.compile.kernels.gemm.tile.prefetch import CACHE_LINE_FLOATS
from sardonyx._src.compile.kernels.tuning import WinogradTuning
from sardonyx._src.compile.kernels.winograd.kernel import fused_kernel, input_transform_kernel, product_kernel
from sardonyx._src.compile.kernels.winograd.products import product_parameters
from sardonyx._src.compile.kernels.winograd.tiles import (
    ADDRESS_TABLE_FLOATS,
    TILE_PARAMETERS,
    WINOGRAD_SIZES,
    products_offset,
)
from sardonyx._src.compile.kernels.winograd.weight_transform import WinogradWeights
from sardonyx._src.compile.program import Buffer, KernelArgument, Step, TensorView, row_major_strides
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Known, ceil_div


@dataclass(frozen=True, slots=True)
class TileGrouping:
    """The number of tiles of a group, and whether one fused step computes a group or separate steps do."""

    max_tiles: int
    is_fused: bool


def winograd_steps(
    x: TensorView,
    weights: WinogradWeights,
    y: TensorView,
    pads: tuple[Known, ...],
    epilogue: Epilogue | None = None,
    operands: Sequence[TensorView] = (),
    grouping: TileGrouping | None = None,
) -> list[Step]:
    """y [N, Ho, Wo, Co] = epilogue(conv(x [N, H, W, C], weights) + bias); channels of x and y must be contiguous.

    pads: (top, left); the size of y implies the bottom and right pads.
    """
    assert x.strides[3] == 1 or x.shape[3] == 1, f"channels of x must be contiguous; got {x}"
    grouping = grouping or choose_grouping(y, weights)
    convolution = WinogradConvolution(x, weights, y, pads, epilogue or Epilogue(), tuple(operands), grouping)
    return [convolution.fused_step()] if grouping.is_fused else convolution.separate_steps()


@dataclass(frozen=True, slots=True)
class WinogradConvolution:
    """A convolution, and the steps that compute it."""

    x: TensorView
    weights: WinogradWeights
    y: TensorView
    pads: tuple[Known, ...]
    epilogue: Epilogue
    operands: tuple[TensorView, ...]
    grouping: TileGrouping

    def fused_step(self) -> Step:
        """One step for everything; a unit of work is a group of tiles."""
        weights, zeros = self.weights, self.zero_pixel
        return Step(
            kernel=fused_kernel(weights.variant, self.epilogue),
            # The transformed input is in scratch; its argument is not used.
            args=product_parameters(self.epilogue).pack(
                x=self.x,
                zeros=zeros,
                transformed_input=zeros,
                **self.size_arguments,
                **self.product_arguments,
            ),
            units=self.num_groups,
            reads=(self.x, zeros, weights.panels, weights.bias, *self.operands),
            writes=(self.y,),
            flops=self.flops,
            bytes_accessed=self.x.nbytes + weights.panels.nbytes + self.y.nbytes,
            scratch=(
                products_offset(weights.variant.tile.width)
                + weights.variant.transforms.num_points
                * (self.product_point_stride + self.input_point_stride)
            )
            * 4,
        )

    def separate_steps(self) -> list[Step]:
        """A step for the input transform (a unit is a tile), and one for the rest (a unit is a panel by a group)."""
        weights, zeros, transformed = self.weights, self.zero_pixel, self.transformed_input()
        input_step = Step(
            kernel=input_transform_kernel(weights.variant),
            args=TILE_PARAMETERS.pack(
                x=self.x, zeros=zeros, transformed_input=transformed, **self.size_arguments
            ),
            units=count_tiles(self.y, weights),
            reads=(self.x, zeros),
            writes=(transformed,),
            flops=transformed.num_elements * 4,
            bytes_accessed=self.x.nbytes + transformed.nbytes,
            scratch=ADDRESS_TABLE_FLOATS * 4,
        )
        product_step = Step(
            kernel=product_kernel(weights.variant, self.epilogue),
            # x and the pixel of zeros are not used.
            args=product_parameters(self.epilogue).pack(
                x=transformed,
                zeros=transformed,
                transformed_input=transformed,
                **self.size_arguments,
                **self.product_arguments,
            ),
            units=self.num_groups * weights.panels.shape[0],
            reads=(transformed, weights.panels, weights.bias, *self.operands),
            writes=(self.y,),
            flops=self.flops,
            bytes_accessed=transformed.nbytes + weights.panels.nbytes + self.y.nbytes,
            scratch=(
                products_offset(weights.variant.tile.width)
                + weights.variant.transforms.num_points * self.product_point_stride
            )
            * 4,
        )
        return [input_step, product_step]

    @property
    def size_arguments(self) -> dict[str, KernelArgument]:
        """The arguments for the parameters `WINOGRAD_SIZES`, by name."""
        x, y, weights = self.x, self.y, self.weights
        sizes = (
            *(x.shape[1], x.shape[2], *self.pads, *x.strides[:3]),
            *(y.shape[1], y.shape[2], *tile_grid(y, weights), count_tiles(y, weights)),
            *(self.group_tiles, self.joint_groups),
            *(weights.channels, weights.features, weights.panels.shape[0]),
            *(self.input_point_stride, self.product_point_stride),
        )
        return dict(zip(WINOGRAD_SIZES, sizes, strict=True))

    @property
    def product_arguments(self) -> dict[str, KernelArgument]:
        """The arguments for `product_parameters` that are not in `TILE_PARAMETERS`, by name."""
        output = output_arguments(self.y, self.epilogue, self.operands)
        return {"weights": self.weights.panels, "bias": self.weights.bias, **output}

    @property
    def num_groups(self) -> Known:
        return ceil_div(count_tiles(self.y, self.weights), self.group_tiles)

    @property
    def group_tiles(self) -> int:
        """The tiles of a group: whole register tiles in separate steps, so that the products of joint groups are contiguous."""
        return self.grouping.max_tiles if self.grouping.is_fused else self.padded_tiles

    @property
    def joint_groups(self) -> int:
        """The maximum number of groups that a thread multiplies with a panel together."""
        if self.grouping.is_fused:
            return 1
        joint = max(WinogradTuning.separate_group_tiles // self.group_tiles, 1)
        return min(joint, max(self.num_groups, 1)) if isinstance(self.num_groups, int) else joint

    @property
    def input_point_stride(self) -> int:
        """The stride between points, in floats, in a group's transformed input."""
        return odd_cache_lines(self.padded_tiles * self.weights.channels)

    @property
    def product_point_stride(self) -> int:
        """The stride between points, in floats, in the products of joint groups with a panel."""
        return odd_cache_lines(self.joint_groups * self.padded_tiles * self.weights.variant.tile.width)

    @property
    def padded_tiles(self) -> int:
        """The tiles of a group, padded to whole register tiles; products of the padding are undefined, and not read."""
        height = self.weights.variant.tile.rows
        return -(-self.grouping.max_tiles // height) * height

    @property
    def flops(self) -> Known:
        weights = self.weights
        return (
            count_tiles(self.y, weights)
            * weights.variant.transforms.num_points
            * weights.channels
            * weights.features
            * 2
        )

    @property
    def zero_pixel(self) -> TensorView:
        """The pixel [channels] that stands for padding."""
        return make_constant(np.zeros(self.weights.channels, np.float32), "zeros")

    def transformed_input(self) -> TensorView:
        """The transformed input of all groups, [groups, points, input_point_stride]."""
        shape = (self.num_groups, self.weights.variant.transforms.num_points, self.input_point_stride)
        size = shape[0] * shape[1] * shape[2] * 4
        return TensorView(DataType.FLOAT, shape, row_major_strides(shape), Buffer("arena", size, "winograd"))


def tile_grid(y: TensorView, weights: WinogradWeights) -> tuple[Known, Known]:
    """The number of tiles of an image, down and across."""
    transforms = weights.variant.transforms
    return ceil_div(y.shape[1], transforms.vertical.outputs), ceil_div(
        y.shape[2], transforms.horizontal.outputs
    )


def count_tiles(y: TensorView, weights: WinogradWeights) -> Known:
    """The number of tiles of all images."""
    down, across = tile_grid(y, weights)
    return y.shape[0] * down * across


def choose_grouping(y: TensorView, weights: WinogradWeights) -> TileGrouping:
    """Fused if there are many tiles, or so few channels that reading all weights for each group costs little."""
    tiles = count_tiles(y, weights)
    fused_tiles = tiles_per_group(tiles, WinogradTuning.fused_group_tiles)
    is_fused = weights.channels <= WinogradTuning.max_fused_channels or (
        isinstance(tiles, int) and tiles >= fused_tiles * WinogradTuning.min_groups
    )
    return TileGrouping(fused_tiles if is_fused else separate_tiles_per_group(y, weights), is_fused)


def separate_tiles_per_group(y: TensorView, weights: WinogradWeights) -> int:
    """The tiles of a group in separate steps: as many as possible while there are `min_groups` units.

    Large groups read the weights less often.  If the number of images is symbolic, the tiles of one image are divided.
    """
    tiles, panels = count_tiles(y, weights), weights.panels.shape[0]
    if not isinstance(tiles, int):
        down, across = tile_grid(y, weights)
        tiles = down * across
    if not isinstance(tiles, int) or not isinstance(panels, int):
        return WinogradTuning.separate_group_tiles
    groups = -(-WinogradTuning.min_groups // max(panels, 1))
    return min(max(-(-tiles // groups), 1), WinogradTuning.separate_group_tiles)


def tiles_per_group(tiles: Known, max_tiles: int) -> int:
    """The tiles of a group: at most `max_tiles`, and about equally many in each group if the number of tiles is known.

    The number of groups is even, so that two threads get the same work, unless there are few tiles.
    """
    if not isinstance(tiles, int) or tiles == 0:
        return max_tiles
    groups = -(-tiles // max_tiles)
    even_groups = groups + groups % 2 if tiles > WinogradTuning.max_odd_group_tiles else groups
    return -(-tiles // even_groups)


def odd_cache_lines(floats: int) -> int:
    """Floats rounded up to an odd number of cache lines: with such a stride, points do not map to the same cache sets."""
    return (-(-floats // CACHE_LINE_FLOATS) // 2 * 2 + 1) * CACHE_LINE_FLOATS
