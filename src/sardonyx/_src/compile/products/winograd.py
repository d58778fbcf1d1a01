"""Convolutions of three by three, pixels side by side, with fewer products: Winograd's way, as steps.

Tiles of the image are taken to points, multiplied there, and brought back.  Either one step does all of it for a group of
tiles, whose values stay in the cache, or a first step takes every tile to the points and a second one shares out the
weights.  An infinity or NaN reaches every result of its tiles, not those of its windows alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sardonyx._src.compile.products.ending import result_arguments
from sardonyx._src.compile.products.packing import constant
from sardonyx._src.compile.products.winograd_kernel import input_kernel, output_kernel, whole_kernel
from sardonyx._src.compile.products.winograd_tiles import LINE, TABLE, products_at
from sardonyx._src.compile.products.winograd_weights import Weights
from sardonyx._src.compile.step import Arg, Step
from sardonyx._src.compile.tail import Tail
from sardonyx._src.compile.tensor import Storage, Tensor, row_major
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Known, ceil_div

MANY = 160  # channels whose weights no longer stay in the cache beside everything else
ENOUGH = 8  # groups that keep a few threads busy
FEW = 12  # tiles that are not worth two groups
GROUP = 24, 64  # tiles of a group at most: in one step, in two


@dataclass(frozen=True, slots=True)
class Split:
    """How many tiles are a group, and whether one step does all that is to do for them."""

    group: int
    whole: bool


def winograd(
    x: Tensor,
    weights: Weights,
    y: Tensor,
    pads: tuple[int, int],
    tail: Tail | None = None,
    operands: Sequence[Tensor] = (),
    nodes: tuple[str, ...] = (),
    split: Split | None = None,
) -> list[Step]:
    """y [N, Ho, Wo, Co] = tail(convolution of x [N, H, W, C]); columns of y and channels of x are dense.

    pads: (top, left); how much is behind the image follows from the size of y.
    """
    assert x.strides[3] == 1 or x.shape[3] == 1, f"{x} is not channels-last"
    split = split or split_of(tiles_of(y, weights), weights.channels)
    work = Work(x, weights, y, pads, tail or Tail(), tuple(operands), nodes, split)
    return [work.whole()] if split.whole else work.parts()


@dataclass(frozen=True, slots=True)
class Work:
    """A convolution that is to become steps."""

    x: Tensor
    weights: Weights
    y: Tensor
    pads: tuple[int, int]
    tail: Tail
    operands: tuple[Tensor, ...]
    nodes: tuple[str, ...]
    split: Split

    def whole(self) -> Step:
        """All in one, in units of a group of tiles."""
        weights, zeros = self.weights, self.zeros
        return Step(
            kernel=whole_kernel(weights.variant, self.tail),
            args=(self.x, zeros, zeros, *self.sizes, *self.results),  # nothing is shared
            units=self.groups,
            reads=(self.x, zeros, weights.panels, weights.bias, *self.operands),
            writes=(self.y,),
            flops=self.flops,
            traffic=self.x.bytes + weights.panels.bytes + self.y.bytes,
            scratch=(
                products_at(weights.variant.tile.width)
                + weights.variant.forms.points * (self.back + self.there)
            )
            * 4,
            nodes=self.nodes,
        )

    def parts(self) -> list[Step]:
        """One step there, in units of a tile, and one for the rest, in units of a group by a panel of the weights."""
        weights, zeros, shared = self.weights, self.zeros, self.shared()
        first = Step(
            kernel=input_kernel(weights.variant),
            args=(self.x, zeros, shared, *self.sizes),
            units=tiles_of(self.y, weights),
            reads=(self.x, zeros),
            writes=(shared,),
            flops=shared.count * 4,
            traffic=self.x.bytes + shared.bytes,
            scratch=TABLE * 4,
            nodes=self.nodes,
        )
        second = Step(
            kernel=output_kernel(weights.variant, self.tail),
            args=(shared, shared, shared, *self.sizes, *self.results),  # the input is no longer needed
            units=self.groups * weights.panels.shape[0],
            reads=(shared, weights.panels, weights.bias, *self.operands),
            writes=(self.y,),
            flops=self.flops,
            traffic=shared.bytes + weights.panels.bytes + self.y.bytes,
            scratch=(products_at(weights.variant.tile.width) + weights.variant.forms.points * self.back) * 4,
            nodes=self.nodes,
        )
        return [first, second]

    @property
    def sizes(self) -> tuple[Known, ...]:
        """Those that `Tiles` asks for, in its order."""
        x, y, weights = self.x, self.y, self.weights
        return (
            *(x.shape[1], x.shape[2], *self.pads, *x.strides[:3]),
            *(y.shape[1], y.shape[2], *grid(y, weights), tiles_of(y, weights)),
            *(self.split.group, weights.channels, weights.features, weights.panels.shape[0]),
            *(self.there, self.back),
        )

    @property
    def results(self) -> tuple[Arg, ...]:
        """What `Output` asks for behind the sizes."""
        return (self.weights.panels, self.weights.bias, *result_arguments(self.y, self.tail, self.operands))

    @property
    def groups(self) -> Known:
        return ceil_div(tiles_of(self.y, self.weights), self.split.group)

    @property
    def there(self) -> int:
        """Floats from point to point of a group's values."""
        return uneven(self.rows * self.weights.channels)

    @property
    def back(self) -> int:
        """Floats from point to point of a group's products in a panel."""
        return uneven(self.rows * self.weights.variant.tile.width)

    @property
    def rows(self) -> int:
        """Tiles of a group, and dead ones up to a whole tile of products, which are made of anything and not read."""
        height = self.weights.variant.tile.rows
        return -(-self.split.group // height) * height

    @property
    def flops(self) -> Known:
        weights = self.weights
        return (
            tiles_of(self.y, weights) * weights.variant.forms.points * weights.channels * weights.features * 2
        )

    @property
    def zeros(self) -> Tensor:
        """A pixel of padding."""
        return constant(np.zeros(self.weights.channels, np.float32), "zeros")

    def shared(self) -> Tensor:
        """Values of all groups, [groups, points, there]."""
        shape = (self.groups, self.weights.variant.forms.points, self.there)
        size = shape[0] * shape[1] * shape[2] * 4
        return Tensor(DataType.FLOAT, shape, row_major(shape), Storage("arena", size, "winograd"))


def grid(y: Tensor, weights: Weights) -> tuple[Known, Known]:
    """Tiles of an image, down and across."""
    forms = weights.variant.forms
    return ceil_div(y.shape[1], forms.vertical.outputs), ceil_div(y.shape[2], forms.horizontal.outputs)


def tiles_of(y: Tensor, weights: Weights) -> Known:
    """Tiles of all images."""
    down, across = grid(y, weights)
    return y.shape[0] * down * across


def split_of(tiles: Known, channels: int) -> Split:
    """One step where there are many tiles, or so few channels that it costs little to read all weights for a group."""
    few, many = (alike(tiles, most) for most in GROUP)
    whole = channels <= MANY or (isinstance(tiles, int) and tiles >= few * ENOUGH)
    return Split(few if whole else many, whole)


def alike(tiles: Known, most: int) -> int:
    """How many tiles are a group: no more than that, and, if the tiles are counted, about as many in each."""
    if not isinstance(tiles, int) or tiles == 0:
        return most
    groups = -(-tiles // most)
    even = groups + groups % 2 if tiles > FEW else groups  # two threads get as much as each other
    return -(-tiles // even)


def uneven(floats: int) -> int:
    """The next odd number of lines of the cache: rows so far apart do not fall upon the same places in it."""
    return (-(-floats // LINE) // 2 * 2 + 1) * LINE
