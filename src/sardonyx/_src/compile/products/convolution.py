"""Convolutions as steps: channels-last activations, constant weights in panels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.products.band import Band, Planes, Runs
from sardonyx._src.compile.products.ending import result_arguments
from sardonyx._src.compile.products.narrow import Narrow
from sardonyx._src.compile.products.nest import Nest
from sardonyx._src.compile.products.pixels import Pixels
from sardonyx._src.compile.products.weights import Weights, Window
from sardonyx._src.compile.products.windows import SPARE, Windows
from sardonyx._src.compile.step import Arg, Kernel, Step
from sardonyx._src.compile.tail import Tail
from sardonyx._src.compile.tensor import Tensor
from sardonyx._src.ir.dims import Known, ceil_div, dim_max

PART = 1024  # terms of a sum that are added at once: with a panel of 64 columns, 256 KB of weights
GROUP = 96  # rows of a unit, about
PLANES = 4  # channels, at most, for which the code that interleaves them is made
BAND = 512  # rows of a unit whose input is copied, about


def convolution(
    x: Tensor,
    weights: Weights,
    y: Tensor,
    tail: Tail | None = None,
    operands: Sequence[Tensor] = (),
    nodes: tuple[str, ...] = (),
) -> Step:
    """y [N, Ho, Wo, Co] = tail(convolution of x [N, H, W, C]); how much is padded behind the image follows from y's size.

    Channels of x are dense, unless `weights.is_band`: then any strides will do, as those of [N, C, H, W] seen so.
    """
    return step_of(x, weights, y, shared(x, y, weights), tail or Tail(), tuple(operands), nodes)


def step_of(
    x: Tensor,
    weights: Weights,
    y: Tensor,
    share: Share,
    tail: Tail,
    operands: tuple[Tensor, ...],
    nodes: tuple[str, ...],
) -> Step:
    """The step of a convolution whose rows are shared out so."""
    groups, panels, taps, channels, width = (n for n in weights.panels.shape if isinstance(n, int))
    table = 0 if share.kind is Pixels else ceil_div((share.rows + SPARE) * taps, 8) * 64
    partial, zeros = (share.rows + SPARE) * width, groups * max(channels, width)
    return Step(
        kernel=kernel(share.kind, weights.tile.vectors, tail, *share.options),
        args=(
            *(x, weights.panels, weights.bias, taps, channels, weights.columns, groups, panels),
            *(share.total, share.rows, *parts(taps, channels)),
            *share.sizes,
            *result_arguments(y, tail, operands),
        ),
        units=share.count * groups * panels,
        reads=(x, weights.panels, weights.bias, *operands),
        writes=(y,),
        flops=share.total * groups * weights.columns * taps * channels * 2,
        traffic=x.bytes + weights.panels.bytes + y.bytes,
        scratch=table + ceil_div(partial + zeros + share.band, 2) * 8,
        nodes=nodes,
    )


def kernel(kind: type[Nest], vectors: int, tail: Tail, *options: int) -> Kernel:
    """The kernel of a kind of rows, which may be made for further numbers."""

    def source(name: str, target: Target) -> str:
        code = kind(vectors, tail, target, *options)
        code.units()
        return code.module(name)

    words = (kind.__name__.lower(), vectors, *options)
    return Kernel(f"convolution_{'_'.join(map(str, words))}:{tail.key}", source)


@dataclass(frozen=True, slots=True)
class Share:
    """How `total` rows of a result are shared out: `rows` at most in each of `count` parts; floats of a band."""

    kind: type[Nest]
    total: Known
    rows: Known
    count: Known
    sizes: tuple[Arg, ...]  # that the kind of rows asks for
    band: Known = 0
    options: tuple[int, ...] = ()  # that the code is made for


def shared(x: Tensor, y: Tensor, weights: Weights) -> Share:
    if weights.is_band:
        return shared_bands(x, y, weights)
    channels = x.shape[3]
    assert x.strides[3] == 1 or channels == 1, f"{x} is not channels-last"
    total = y.shape[0] * y.shape[1] * y.shape[2]
    rows = rows_of_a_unit(total, weights.tile.rows)
    if weights.narrow:
        sizes = window_sizes(x, y.shape[1:3], weights.window)
        return Share(Narrow, total, rows, ceil_div(total, rows), sizes, options=(weights.narrow,))
    if weights.window.is_pixel and x.pitch is not None and x.shape[:3] == y.shape[:3]:
        return Share(Pixels, total, rows, ceil_div(total, rows), (x.pitch,))
    return Share(Windows, total, rows, ceil_div(total, rows), window_sizes(x, y.shape[1:3], weights.window))


def shared_bands(x: Tensor, y: Tensor, weights: Weights) -> Share:
    window, channels = weights.window, x.shape[3]
    lines = lines_of_a_band(y.shape[1], y.shape[2])
    width = dim_max((y.shape[2] - 1) * window.strides[1] + window.kernel[1], 0)
    height = (lines - 1) * window.strides[0] + (window.kernel[0] - 1) * window.dilations[0] + 1
    sizes = (*window_sizes(x, y.shape[1:3], window), channels, x.strides[3], lines, width, height)
    count = y.shape[0] * ceil_div(y.shape[1], lines)
    kind, options = kind_of_band(x)
    total = y.shape[0] * y.shape[1] * y.shape[2]
    return Share(kind, total, y.shape[2] * lines, count, sizes, width * height * channels, options)


def kind_of_band(x: Tensor) -> tuple[type[Band], tuple[int, ...]]:
    """How an image is copied, and for how many channels the code is made."""
    channels, (_, _, pixel, channel) = x.shape[3], x.strides
    if pixel == channels and (channel == 1 or channels == 1):
        return Runs, ()
    if pixel == 1 and isinstance(channels, int) and channels <= PLANES:
        return Planes, (channels,)
    return Band, ()


def window_sizes(x: Tensor, size: tuple[Known, ...], window: Window) -> tuple[Arg, ...]:
    """The sizes that `Windows` asks for, for a result of that height and width."""
    return (
        *(x.shape[1], x.shape[2], *size),
        *(*window.kernel, *window.strides, *window.dilations, *window.pads),
        *x.strides[:3],
    )


def rows_of_a_unit(rows: Known, tile: int) -> int:
    """Equal shares of the rows, in whole tiles."""
    if not isinstance(rows, int):
        return GROUP // tile * tile
    tiles = max(1, -(-rows // tile))
    shares = max(1, -(-tiles * tile // GROUP))
    return -(-tiles // shares) * tile


def lines_of_a_band(height: Known, width: Known) -> int:
    """Lines of a result that are made at once: some hundred pixels, in equal shares."""
    lines = max(1, BAND // max(width, 1)) if isinstance(width, int) else 4
    if not isinstance(height, int):
        return lines
    shares = max(1, -(-height // lines))
    return max(1, -(-height // shares))


def parts(taps: int, channels: int) -> tuple[int, int]:
    """How many taps and how many channels are added at once: several taps whole, or equal parts of one."""
    if channels * 2 <= PART:
        count = max(1, -(-taps * channels // PART))
        return max(1, -(-taps // count)), max(1, channels)
    count = -(-channels // PART)
    return 1, -(-channels // count)
