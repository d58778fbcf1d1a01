"""Convolutions of bytes as steps: channels-last activations in words of four, constant weights in panels of words."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sardonyx._src.compile.blocks import I64, Slot
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.products.convolution import shared, step_of
from sardonyx._src.compile.products.integer_micro import WORD, IntegerMicro
from sardonyx._src.compile.products.integer_tail import IntegerTail
from sardonyx._src.compile.products.nest import SIZES
from sardonyx._src.compile.products.packing import constant
from sardonyx._src.compile.products.pixels import Pixels
from sardonyx._src.compile.products.tiles import tile_for
from sardonyx._src.compile.products.weights import Weights, Window
from sardonyx._src.compile.products.windows import WINDOW, Windows
from sardonyx._src.compile.products.words import packed_sums, packed_words
from sardonyx._src.compile.step import Step
from sardonyx._src.compile.tail import Tail
from sardonyx._src.compile.tensor import Tensor
from sardonyx._src.compile.text import Value
from sardonyx._src.ir.tensors import Array

EACH = 0x01010101  # a byte in each place of a word


def integer_weights(weights: Array, start: Array, window: Window, target: Target, groups: int) -> Weights:
    """Weights [columns, channels / groups, height, width] int8, and what sums begin with, [columns] int32, in panels.

    Channels of several groups are whole words.
    """
    total, channels, height, width = weights.shape
    assert groups == 1 or channels % 4 == 0, "groups share words"
    columns = total // groups
    tile = tile_for(columns, target.lanes, target.registers)
    taps = weights.reshape(groups, columns, channels, height * width).transpose(0, 3, 2, 1)
    panels = constant(packed_words(taps, tile), "weights")
    biases = np.stack([packed_sums(one, tile) for one in start.reshape(groups, columns)])
    return Weights(window, tile, panels, constant(biases, "bias"), columns, is_band=False)


def integer_convolution(
    x: Tensor,
    zero: Tensor,
    weights: Weights,
    y: Tensor,
    tail: IntegerTail,
    operands: tuple[Tensor, ...] = (),
    *,
    flips: bool = False,
) -> Step:
    """y [N, Ho, Wo, Co] = tail(convolution of x [N, H, W, words]), around which there is the byte `zero`.

    flips: whether bytes of x have signs, which adds 128 to them and to `zero`.
    """
    found = shared(x, y, weights)
    if found.kind is Pixels:
        share = replace(found, kind=IntegerPixels, options=(int(flips),))
    else:
        assert found.kind is Windows, f"{found.kind} takes no words"
        share = replace(found, kind=IntegerWindows, sizes=(*found.sizes, zero), options=(int(flips),))
    step = step_of(x, weights, y, share, tail, operands, ())
    return replace(step, reads=(*step.reads, zero))


class IntegerPixels(IntegerMicro, Pixels):
    """Pixels side by side."""

    def __init__(self, vectors: int, tail: Tail, target: Target, flips: int) -> None:
        super().__init__(vectors, tail, target)
        self.in_bytes(tail, target, flips=bool(flips))


class IntegerWindows(IntegerMicro, Windows):
    """Windows of any kind, around whose images there is a byte that an argument tells."""

    more = (*WINDOW, "zero")

    def __init__(self, vectors: int, tail: Tail, target: Target, flips: int) -> None:
        super().__init__(vectors, tail, target)
        self.in_bytes(tail, target, flips=bool(flips))

    def before(self) -> None:
        """Makes the row of what stands around images."""
        address = self.pointer(3 + len(SIZES) + len(WINDOW))
        byte = self.read(Slot(address, WORD.of("u8"))).converted("zext", "i32")
        nothing = self.spread(byte * EACH, self.tile.lanes)

        def fill(at: Value, count: Value | None) -> None:
            self.write_some(self.zeros, at, nothing, count)

        self.vectors(self.constant(0, I64), self.inputs_of(self.sizes["groups"]), fill)
