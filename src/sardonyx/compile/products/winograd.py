"""Convolutions of three by three, pixels side by side, with fewer products: Winograd's way, as steps.

Tiles of the image are taken to points, multiplied there, and brought back.  Either one step does all of it for a group of
tiles, whose values stay in the cache, or a first step takes every tile to the points and a second one shares out the
weights.  An infinity or NaN reaches every result of its tile, not those of its windows alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sardonyx.compile.llvm.target import Target
from sardonyx.compile.products.micro import result_arguments
from sardonyx.compile.products.packing import constant
from sardonyx.compile.products.winograd_output import Output
from sardonyx.compile.products.winograd_tiles import LINE, TABLE, products_at
from sardonyx.compile.products.winograd_weights import Weights
from sardonyx.compile.step import Arg, Kernel, Step
from sardonyx.compile.tail import Tail
from sardonyx.compile.tensor import Storage, Tensor, row_major
from sardonyx.dtypes import DataType
from sardonyx.ir.dims import Known, ceil_div

WIDEST = 16  # lanes of any target
MANY = 160  # channels whose weights no longer stay in the cache beside everything else
ENOUGH = 8  # groups that keep a few threads busy
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
    tail, operands = tail or Tail(), tuple(operands)
    panels, points, channels, width = (int(dim) for dim in weights.panels.shape)  # type: ignore[arg-type]
    down = ceil_div(y.shape[1], weights.forms.vertical.outputs)
    across = ceil_div(y.shape[2], weights.forms.horizontal.outputs)
    tiles = y.shape[0] * down * across
    split = split or split_of(tiles, channels)
    groups = ceil_div(tiles, split.group)
    rows = (
        ceil_div(split.group, weights.tile.rows) * weights.tile.rows
    )  # products of dead rows are made of what is there and not read
    there, back = uneven(rows * channels), uneven(rows * width)
    zeros = constant(np.zeros(channels, np.float32), "zeros")
    shared = values_of(0 if split.whole else groups * points * there)
    args: tuple[Arg, ...] = (
        *(x, zeros, weights.panels, weights.bias, shared, x.shape[1], x.shape[2], *pads, *x.strides[:3]),
        *(y.shape[1], y.shape[2], down, across, tiles, split.group, channels, weights.features, panels),
        *(there, back, *result_arguments(y, tail, operands)),
    )
    flops = tiles * points * channels * weights.features * 2
    moved = tiles * points * channels * 4
    scratch = products_at(width) + points * back
    constants = (weights.panels, weights.bias)
    if split.whole:
        return [
            Step(
                kernel=kernel("whole", weights, tail),
                args=args,
                units=groups,
                reads=(x, zeros, *constants, *operands),
                writes=(y,),
                flops=flops,
                traffic=x.bytes + weights.panels.bytes + y.bytes,
                scratch=(scratch + points * there) * 4,
                nodes=nodes,
            )
        ]
    return [
        Step(
            kernel=kernel("input", weights, Tail()),
            args=args,
            units=tiles,
            reads=(x, zeros),
            writes=(shared,),
            flops=moved,
            traffic=x.bytes + moved,
            scratch=TABLE * 4,
            nodes=nodes,
        ),
        Step(
            kernel=kernel("output", weights, tail),
            args=args,
            units=groups * panels,
            reads=(shared, *constants, *operands),
            writes=(y,),
            flops=flops,
            traffic=moved + weights.panels.bytes + y.bytes,
            scratch=scratch * 4,
            nodes=nodes,
        ),
    ]


def kernel(part: str, weights: Weights, tail: Tail) -> Kernel:
    """One of the kernels: "whole", or the first step's "input", or the second's "output"."""
    forms, tile = weights.forms, weights.tile
    channels = int(weights.panels.shape[2])  # type: ignore[arg-type]
    narrow = min(WIDEST, 1 << channels.bit_length() - 1)
    ragged = weights.features % WIDEST != 0

    def source(name: str, target: Target) -> str:
        code = Output(forms, tile, tail, narrow, target.fused, ragged=ragged)
        {"whole": code.whole_units, "input": code.gather_units, "output": code.product_units}[part]()
        return code.module(name)

    sizes = (
        f"{forms.vertical.outputs}x{forms.horizontal.outputs}_{tile.vectors}x{tile.lanes}_{narrow}_{ragged}"
    )
    return Kernel(f"winograd_{part}_{sizes}:{tail.key}", source)


def split_of(tiles: Known, channels: int) -> Split:
    """One step where there are many tiles, or so few channels that it costs little to read all weights for a group."""
    few, many = (alike(tiles, most) for most in GROUP)
    whole = channels <= MANY or (isinstance(tiles, int) and tiles >= few * ENOUGH)
    return Split(few if whole else many, whole)


def alike(tiles: Known, most: int) -> int:
    """How many tiles are a group if groups have no more than that, and are of like size if it is known how many tiles there are."""
    if not isinstance(tiles, int) or tiles == 0:
        return most
    return -(-tiles // -(-tiles // most))


def uneven(floats: Known) -> Known:
    """The next odd number of lines of the cache: rows so far apart do not fall upon the same places in it."""
    return (ceil_div(floats, LINE) // 2 * 2 + 1) * LINE


def values_of(count: Known) -> Tensor:
    """A tensor of the arena for values at the points."""
    return Tensor(DataType.FLOAT, (count,), row_major((count,)), Storage("arena", count * 4, "winograd"))
