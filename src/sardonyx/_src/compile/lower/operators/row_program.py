"""Lowers row programs (docs/glossary.md), such as gradients of norms and Softmax."""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.compile.kernels.reductions.row_program import row_program_steps
from sardonyx._src.compile.lower import LaidOutRegion, Lowering, lowers
from sardonyx._src.compile.partition.fusion.row_programs import RowProgramRegion
from sardonyx._src.compile.program import Step


@lowers("RowProgram")
def lower_row_program(region: LaidOutRegion[RowProgramRegion], lowering: Lowering) -> Sequence[Step]:
    config, (y, *sums) = region.config, region.results
    return row_program_steps(
        config.program, region.operands, y, config.axis, sums, region.epilogue, region.epilogue_operands
    )
