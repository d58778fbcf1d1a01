"""How much of a product stays in registers: rows of A times vectors of columns of B."""

from __future__ import annotations

from dataclasses import dataclass

# By registers and vectors.  More rows than these would fit, but their addresses take more registers than there are.
ROWS = {32: {1: 10, 2: 8, 3: 8, 4: 6}, 16: {1: 10, 2: 6, 3: 4}}
LOW = 8  # rows of a tile, at most, for which one row less is worth code of its own
# What a multiply-add costs in narrow tiles: an element of A is fetched for each one, or for two.
NARROW = {1: 1.35, 2: 1.1}


@dataclass(frozen=True, slots=True)
class Tile:
    """`rows` times `vectors` vectors of `lanes` floats."""

    rows: int
    vectors: int
    lanes: int

    @property
    def width(self) -> int:
        """Columns of the result, which a panel of packed B has too."""
        return self.vectors * self.lanes

    @property
    def heights(self) -> list[int]:
        """For how many rows code is made, upwards: of a low tile all but one, by which blocks come out even."""
        return sorted({1, self.rows - 1 if self.rows <= LOW else self.rows // 2, self.rows} - {0})


def tile_of(vectors: int, lanes: int, registers: int) -> Tile:
    """The tile of so many vectors that fills the registers."""
    return Tile(ROWS[32 if registers >= 32 else 16][vectors], vectors, lanes)


def tile_for(columns: int, lanes: int, registers: int) -> Tile:
    """The tile that computes the fewest dead columns in products with so many; the widest of several."""
    needed = max(1, -(-columns // lanes))
    choices = ROWS[32 if registers >= 32 else 16]

    def cost(vectors: int) -> tuple[float, int]:
        return -(-needed // vectors) * vectors * NARROW.get(vectors, 1.0), -vectors

    return tile_of(min(choices, key=cost), lanes, registers)
