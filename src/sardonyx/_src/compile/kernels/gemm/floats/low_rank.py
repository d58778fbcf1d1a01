"""Low-rank updates of products: a @ b + scale * (a2 @ b2), where a2 [M, R] has few columns, as adapters of frozen weights have.

As a separate product the update would read and write all of y for only R multiply-adds an element.  Here each register tile
first computes the sums of the update, scales them, and then adds the terms of a @ b.  Source of the method: Hu et al., "LoRA:
Low-Rank Adaptation of Large Language Models", 2021.
"""

from __future__ import annotations

from collections.abc import Mapping

from sardonyx._src.compile.codegen import LLVMValue, Parameters, float32_bits
from sardonyx._src.compile.kernels.gemm.packing.panels import Panels
from sardonyx._src.compile.kernels.gemm.tile.accumulators import (
    Microkernel,
    accumulate,
    panel_address,
)
from sardonyx._src.compile.kernels.gemm.tile.microkernel import clamp_row
from sardonyx._src.compile.kernels.gemm.tile.row_blocks import RowBlock
from sardonyx._src.compile.program import KernelArgument, TensorView
from sardonyx._src.dataclass import dataclass

# The name of the left operand, whose batch strides are passed like those of an epilogue's matrix operand.
LOW_RANK = "a2"
SIZES = ("k2", "a2_row_stride", "a2_outer", "a2_inner")
PARAMETERS = Parameters("a2", "b2", *SIZES, "scale2")


@dataclass(frozen=True, slots=True)
class LowRankUpdate:
    """The operands of an update: a [..., M, R] with unit stride along R, and panels of b [R, N] with the width of the product's."""

    a: TensorView
    b: Panels
    scale: float

    def arguments(self) -> dict[str, KernelArgument]:
        """The arguments of `PARAMETERS` by name, without the strides."""
        return {"a2": self.a, "b2": self.b.tensor, "k2": self.b.k, "scale2": float32_bits(self.scale)}


@dataclass(frozen=True, slots=True)
class UpdateRows:
    """The update of the rows of a unit of work.

    a, panel: the addresses of a2 and of the panel of b2.
    row_stride, k: the stride of rows of a2, and their length (R).
    scale: the scale in every lane.
    """

    a: str
    panel: str
    row_stride: LLVMValue
    k: LLVMValue
    scale: LLVMValue


def load_update(
    m: Microkernel, panel: LLVMValue, outer: LLVMValue, inner: LLVMValue, size: Mapping[str, LLVMValue]
) -> UpdateRows:
    """The update for a panel of a batch item, from the arguments of `PARAMETERS`."""
    b = m.b
    a, panels = b.pointers("a2", "b2")
    address = b.gep(a, outer * size["a2_outer"] + inner * size["a2_inner"])
    packed = panel_address(m, panels, panel * size["k2"] * m.tile.width)
    scale = b.splat(b.float32("scale2"), m.tile.lanes)
    return UpdateRows(address, packed, size["a2_row_stride"], size["k2"], scale)


def accumulate_update(
    m: Microkernel, update: UpdateRows, first_row: LLVMValue, block: RowBlock, rows: int
) -> None:
    """Adds a2 @ b2 to accumulators that are 0, and multiplies them by the scale."""
    b = m.b
    numbers = [first_row + clamp_row(b, r, block.num_rows) for r in range(rows)]
    accumulate(m, [b.gep(update.a, n * update.row_stride) for n in numbers], update.panel, update.k)
    for accumulators in m.accumulators[:rows]:
        for slot in accumulators:
            b.store(slot, b.load(slot) * update.scale)
