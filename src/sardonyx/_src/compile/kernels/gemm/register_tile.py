"""Register tile of a GEMM microkernel: the MR x NR block of the result that is accumulated in vector registers.

MR is `rows`; NR is `width`, a number of whole vectors.  A step over k loads `vectors` vectors of B and broadcasts one
element of each row of A, so that the registers must hold rows * vectors accumulators, the vectors of B and one of A.
Source: Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (2008); BLIS (Van Zee, van de Geijn).
"""

from __future__ import annotations

from dataclasses import dataclass

from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.tuning import GemmTuning, tuning_for


@dataclass(frozen=True, slots=True)
class RegisterTile:
    """A tile of `rows` rows by `vectors` vectors of `lanes` floats."""

    rows: int
    vectors: int
    lanes: int

    @property
    def width(self) -> int:
        """Columns of the tile (NR), which is also the width of a packed panel of B."""
        return self.vectors * self.lanes

    @property
    def row_counts(self) -> list[int]:
        """The numbers of rows that code is emitted for, ascending: 1, an intermediate number, and the full tile.

        For a short tile the intermediate number is one row less, the height that `loop_row_blocks` evens blocks out with.
        """
        is_short = self.rows <= GemmTuning.max_short_rows
        return sorted({1, self.rows - 1 if is_short else self.rows // 2, self.rows} - {0})


def make_tile(vectors: int, target: Target) -> RegisterTile:
    """The tallest tile of `vectors` vectors that fits the registers."""
    return RegisterTile(tuning_for(target).gemm.tile_rows[vectors], vectors, target.lanes)


def choose_tile(columns: int, target: Target) -> RegisterTile:
    """The tile that wastes the least work on padding columns in a product of `columns` columns; ties go to the widest."""
    needed, tuning = max(1, -(-columns // target.lanes)), tuning_for(target).gemm

    def cost(vectors: int) -> tuple[float, int]:
        return -(-needed // vectors) * vectors * tuning.narrow_tile_cost.get(vectors, 1.0), -vectors

    return make_tile(min(tuning.tile_rows, key=cost), target)
