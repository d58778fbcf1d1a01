"""Max, average and Lp pooling of channels-last images, by the sliding-window loops of `SlidingWindowEmitter`.

With unrolled taps, pooling is separable: accumulators reduce the input columns under a tile over the kernel's rows, and
each window combines the accumulators of its columns, which overlapping windows share.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce
from typing import Literal

from sardonyx._src.compile.codegen.builder import LLVMType, LLVMValue
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.channels_last.channels_last_emitter import tensor_arguments
from sardonyx._src.compile.kernels.channels_last.sliding_window import (
    SlidingWindow,
    WindowTile,
    choose_window_tile,
    count_window_units,
    sliding_window_arguments,
)
from sardonyx._src.compile.kernels.channels_last.sliding_window_emitter import SlidingWindowEmitter
from sardonyx._src.compile.kernels.epilogue import Epilogue, operand_arguments
from sardonyx._src.compile.program.step import Kernel, Step
from sardonyx._src.compile.program.tensor import TensorView

PoolKind = Literal["max", "mean", "mean_with_pads", "lp"]


@dataclass(frozen=True, slots=True)
class PoolingAlgorithm:
    """How a window is reduced.

    max: NaN if any element is NaN, minus infinity for a window of padding only.
    mean: of the elements inside the image.  mean_with_pads: padding counts as zeros, but not what lies beyond the padding
    (where `ceil_mode` adds windows).
    lp: the Lp norm, the p-th root of the sum of |x|^p.
    """

    kind: PoolKind
    p: float = 2

    @property
    def key(self) -> str:
        """The part of the cache key for the algorithm."""
        return f"{self.kind}{self.p!r}" if self.kind == "lp" else self.kind


def pooling_step(
    x: TensorView,
    y: TensorView,
    algorithm: PoolingAlgorithm,
    window: SlidingWindow,
    epilogue: Epilogue | None = None,
    operands: tuple[TensorView, ...] = (),
    nodes: tuple[str, ...] = (),
) -> Step:
    """The pooling of x [N, H, W, C] into y [N, Ho, Wo, C], whose shape determines the number of windows."""
    epilogue = epilogue or Epilogue()
    tile = choose_window_tile(window, y.shape[2])
    epilogue_arguments = operand_arguments(epilogue, operands)

    def source(name: str, target: Target) -> str:
        return POOLING_EMITTERS[algorithm.kind](target, epilogue, tile, algorithm).build_module(name)

    return Step(
        kernel=Kernel(f"pool_f32:{algorithm.key}:{tile.key}:{epilogue.key}", source),
        args=(*sliding_window_arguments(x, y, window), *epilogue_arguments),
        units=count_window_units(x, y, window),
        reads=(x, *tensor_arguments(epilogue_arguments)),
        writes=(y,),
        flops=y.num_elements * window.num_taps,
        bytes_accessed=x.nbytes + y.nbytes,
        nodes=nodes,
    )


class PoolingEmitter(SlidingWindowEmitter):
    """Base of pooling kernels; args: those of every sliding-window kernel, and the epilogue's.

    One accumulator for each input column under a tile if taps are unrolled, else one for each window.
    """

    def __init__(
        self, target: Target, epilogue: Epilogue, tile: WindowTile, algorithm: PoolingAlgorithm
    ) -> None:
        self.algorithm = algorithm
        super().__init__(target, epilogue, tile)

    def num_accumulators(self) -> int:
        return len(self.tile.columns) if self.tile.is_unrolled else self.tile.pixels

    def accumulate_column(self, index: int, x: LLVMValue) -> None:
        slot = self.accumulators[index]
        self.store(slot, self.accumulate(self.load(slot), x, 0))

    def window_result(self, pixel: int) -> LLVMValue:
        tile = self.tile
        if not tile.is_unrolled:
            return self.finalize(self.load(self.accumulators[pixel]), pixel)
        columns = (tile.columns.index(pixel * tile.stride + tap * tile.dilation) for tap in range(tile.taps))
        totals = (self.load(self.accumulators[i]) for i in columns)
        return self.finalize(reduce(self.combine, totals), pixel)

    def combine(self, a: LLVMValue, b: LLVMValue) -> LLVMValue:
        """The accumulators of two columns as one."""
        return a + b

    def finalize(self, total: LLVMValue, pixel: int) -> LLVMValue:
        """The result of a window of the tile from its accumulator."""
        return total


class MaxPoolEmitter(PoolingEmitter):
    """Emits max pooling."""

    padding_value = -math.inf

    def accumulate(self, total: LLVMValue, x: LLVMValue, tap: int | LLVMValue) -> LLVMValue:
        return self.nan_propagating_max(x, total)

    def combine(self, a: LLVMValue, b: LLVMValue) -> LLVMValue:
        return self.nan_propagating_max(a, b)


class AveragePoolEmitter(PoolingEmitter):
    """Emits average pooling: sums times the reciprocal of each window's number of elements."""

    def load_arguments(self, index: int) -> None:
        super().load_arguments(index)
        self.reciprocals = [self.new_slot("share", LLVMType("float")) for _ in range(self.tile.pixels)]

    @property
    def counts_padding(self) -> bool:
        return self.algorithm.kind == "mean_with_pads"

    def begin_row(self) -> None:
        """Counts the kernel rows of the output row's windows."""
        self.counted_rows = self.tap_rows[1] - self.tap_rows[0]
        if self.counts_padding:
            first, end = self.tap_range(
                self.top, -self.pads[0], self.height + self.pads[2], self.kernel_height, self.dilation_height
            )
            self.counted_rows = end - first

    def begin_tile(self, left: LLVMValue) -> None:
        """Stores the reciprocal of the number of elements of each window of the tile."""
        low, high = self.zero, self.width
        if self.counts_padding:
            low, high = -self.pads[1], self.width + self.pads[3]
        for p, slot in enumerate(self.reciprocals):
            start = left + self.stride_width * p
            first, end = self.tap_range(start, low, high, self.kernel_width, self.dilation_width)
            count = self.counted_rows * (end - first)
            self.store(slot, 1 / count.convert("sitofp", "float"))

    def accumulate(self, total: LLVMValue, x: LLVMValue, tap: int | LLVMValue) -> LLVMValue:
        return total + x

    def finalize(self, total: LLVMValue, pixel: int) -> LLVMValue:
        return total * self.splat(self.load(self.reciprocals[pixel]), self.lanes)


class LpPoolEmitter(PoolingEmitter):
    """Emits Lp pooling, without powers for p = 1 and p = 2."""

    def accumulate(self, total: LLVMValue, x: LLVMValue, tap: int | LLVMValue) -> LLVMValue:
        p = self.algorithm.p
        if p == 2:
            return self.fma(x, x, total)
        magnitude = self.fabs(x)
        return total + (magnitude if p == 1 else self.power(magnitude, p))

    def finalize(self, total: LLVMValue, pixel: int) -> LLVMValue:
        p = self.algorithm.p
        if p == 1:
            return total
        return self.call_intrinsic("sqrt", total) if p == 2 else self.power(total, 1 / p)

    def power(self, x: LLVMValue, exponent: float) -> LLVMValue:
        return self.emit_operation("pow", x, self.constant(exponent, self.vector_type))


POOLING_EMITTERS: dict[PoolKind, type[PoolingEmitter]] = {
    "max": MaxPoolEmitter,
    "mean": AveragePoolEmitter,
    "mean_with_pads": AveragePoolEmitter,
    "lp": LpPoolEmitter,
}
