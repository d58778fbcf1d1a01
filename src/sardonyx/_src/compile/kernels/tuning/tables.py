"""Tuning of kernels: tile sizes, block sizes, unrolls, units of work and thresholds, by class of target.

A *family* is a dataclass of the values of related kernels; each has a file.
A value that may differ between targets is a field of a family: `tuning_for(target).gemm.tile_rows`.  `TUNINGS` has a table
for each class of target; a field that a table does not give has its default.  A value that is equal for all targets is a
class variable: `GemmTuning.unit_rows`.  There are two reasons for a class variable:

- Rounding: the value decides in which order the terms of a sum are added, or which algorithm is used.  Since it is equal
  for all targets, no table changes a result.
- Shared: code without a target uses it, such as step functions, which divide the work into units as the kernel does.

`bench/tuning.py` measures whether chosen values are the best ones on a machine.  Facts that correct code depends on
(layouts of scratch, lanes of masks, limits of numbers) are constants of their modules.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import Literal, TypeAlias

from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.kernels.tuning.attention import AttentionTuning
from sardonyx._src.compile.kernels.tuning.channels_last import ChannelsLastTuning
from sardonyx._src.compile.kernels.tuning.conv import ConvTuning
from sardonyx._src.compile.kernels.tuning.data_movement import DataMovementTuning
from sardonyx._src.compile.kernels.tuning.elementwise import ElementwiseTuning
from sardonyx._src.compile.kernels.tuning.gemm import GemmTuning
from sardonyx._src.compile.kernels.tuning.pointwise_depthwise import PointwiseDepthwiseTuning
from sardonyx._src.compile.kernels.tuning.recurrence import RecurrenceTuning
from sardonyx._src.compile.kernels.tuning.reductions import ReductionTuning
from sardonyx._src.compile.kernels.tuning.resize import ResizeTuning
from sardonyx._src.compile.kernels.tuning.trees import TreeTuning
from sardonyx._src.compile.kernels.tuning.winograd import WinogradTuning
from sardonyx._src.dataclass import dataclass

TargetClass: TypeAlias = Literal["avx512", "avx2", "neon", "plain", "scalar"]


@dataclass(frozen=True, slots=True)
class Tuning:
    """The table of a class of targets: the values of all families."""

    gemm: GemmTuning
    attention: AttentionTuning
    conv: ConvTuning = field(default_factory=ConvTuning)
    pointwise_depthwise: PointwiseDepthwiseTuning = field(default_factory=PointwiseDepthwiseTuning)
    winograd: WinogradTuning = field(default_factory=WinogradTuning)
    channels_last: ChannelsLastTuning = field(default_factory=ChannelsLastTuning)
    elementwise: ElementwiseTuning = field(default_factory=ElementwiseTuning)
    reductions: ReductionTuning = field(default_factory=ReductionTuning)
    data_movement: DataMovementTuning = field(default_factory=DataMovementTuning)
    recurrence: RecurrenceTuning = field(default_factory=RecurrenceTuning)
    resize: ResizeTuning = field(default_factory=ResizeTuning)
    trees: TreeTuning = field(default_factory=TreeTuning)


WIDE_TABLE = Tuning(  # 32 vector registers
    GemmTuning(tile_rows={1: 10, 2: 8, 3: 8, 4: 6}), AttentionTuning(tile_rows={4: 6, 3: 8, 2: 8, 1: 8})
)
AVX512_TABLE = replace(WIDE_TABLE, gemm=replace(WIDE_TABLE.gemm, min_unroll=2, min_copied_columns=256))
AVX2_TABLE = Tuning(  # 16 vector registers
    GemmTuning(
        tile_rows={1: 7, 2: 6, 3: 4},
        narrow_tile_cost={1: 1.45, 2: 1.02},
        dynamic_tile_vectors=2,
        max_rows_in_place=32,
        max_inline_operations=16,
        min_copied_columns=24,
    ),
    AttentionTuning(tile_rows={2: 6, 1: 8}, dot_passes=2),
    ConvTuning(pixel_vectors=(2, 1)),
    elementwise=ElementwiseTuning(unroll_one_function=4),
    reductions=ReductionTuning(indexed_registers=2),
    recurrence=RecurrenceTuning(joined_lstm_vectors=2),
)
# A product needs a register of its own before it is added, and an element of A is loaded before it is broadcast.
PLAIN_TABLE = replace(
    AVX2_TABLE,
    gemm=replace(
        AVX2_TABLE.gemm,
        tile_rows={1: 7, 2: 5, 3: 3},
        narrow_tile_cost={1: 1.25, 2: 1.0},
        max_rows_in_place=16,
    ),
)
TUNINGS: dict[TargetClass, Tuning] = {
    "avx512": AVX512_TABLE,  # 16 lanes, 32 registers
    "avx2": AVX2_TABLE,  # 8 lanes, 16 registers
    "neon": WIDE_TABLE,  # 4 lanes, 32 registers
    "plain": PLAIN_TABLE,  # 4 lanes, 16 registers: SSE
    "scalar": PLAIN_TABLE,  # one lane
}


def tuning_for(target: Target) -> Tuning:
    return TUNINGS[target_class(target)]


def target_class(target: Target) -> TargetClass:
    """The class of a target: the number of registers decides first, since tile sizes depend on it, then the lanes."""
    if target.registers >= 32:
        return "avx512" if target.lanes >= 16 else "neon"
    if target.lanes >= 8:
        return "avx2"
    return "plain" if target.lanes > 1 else "scalar"
