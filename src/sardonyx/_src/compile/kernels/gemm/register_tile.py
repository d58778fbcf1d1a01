"""Register tile of a GEMM microkernel: the MR x NR block of the result that is accumulated in vector registers.

MR is `rows`; NR is `width`, a number of whole vectors.  A step over k loads `vectors` vectors of B and broadcasts one
element of each row of A, so that the registers must hold rows * vectors accumulators, the vectors of B and one of A.
Source: Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (2008); BLIS (Van Zee, van de Geijn).
"""

from __future__ import annotations

from dataclasses import dataclass

# Rows of a tile, by number of vector registers and vectors of a row.  The vector registers would hold more rows, but the
# addresses of these rows would not fit into the general registers.
MAX_TILE_ROWS = {32: {1: 10, 2: 8, 3: 8, 4: 6}, 16: {1: 10, 2: 6, 3: 4}}
MAX_SHORT_ROWS = 8  # rows of a tile, at most, for which one row less is worth code of its own
SPARE_ROWS = 16  # rows of scratch past the last row of a unit: at least as many as any tile has
# Relative cost of a multiply-add in narrow tiles, where the broadcast of an element of A serves only one or two of them.
NARROW_TILE_COST = {1: 1.35, 2: 1.1}


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
        return sorted({1, self.rows - 1 if self.rows <= MAX_SHORT_ROWS else self.rows // 2, self.rows} - {0})


def make_tile(vectors: int, lanes: int, registers: int) -> RegisterTile:
    """The tallest tile of `vectors` vectors that fits the registers."""
    return RegisterTile(MAX_TILE_ROWS[32 if registers >= 32 else 16][vectors], vectors, lanes)


def choose_tile(columns: int, lanes: int, registers: int) -> RegisterTile:
    """The tile that wastes the least work on padding columns in a product of `columns` columns; ties go to the widest."""
    needed = max(1, -(-columns // lanes))
    choices = MAX_TILE_ROWS[32 if registers >= 32 else 16]

    def cost(vectors: int) -> tuple[float, int]:
        return -(-needed // vectors) * vectors * NARROW_TILE_COST.get(vectors, 1.0), -vectors

    return make_tile(min(choices, key=cost), lanes, registers)
