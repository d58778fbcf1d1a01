"""Register tile of a GEMM microkernel: the MR x NR block of the result that is accumulated in vector registers.

MR is `rows`; NR is `width`, a number of whole vectors.  A step over k loads `vectors` vectors of B and broadcasts one
element of each row of A, so that the registers must hold rows * vectors accumulators, the vectors of B and one of A.
Source: Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (2008); BLIS (Van Zee, van de Geijn).
"""

from __future__ import annotations

from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.kernels.gemm.tile.amx_tiles import (
    BLOCKS,
    TILE_BYTES,
    TILE_ROWS,
    WORD_BYTES,
    has_amx_int8,
)
from sardonyx._src.compile.kernels.tuning import GemmTuning, tuning_for
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir.dims import Known

MAX_TILE_WORDS = TILE_BYTES // WORD_BYTES


@dataclass(frozen=True, slots=True)
class RegisterTile:
    """A tile of `rows` rows by `vectors` vectors of `lanes` floats.

    amx_words: the words of 4 bytes along k of an AMX tile; 0 if the sums are accumulated in vector registers.
    has_pairs: whether panels have paired words of int8 (`paired_panels.py`).
    is_signed: whether int8 products read A as int8, which initial sums correct (`sign_correction`).
    counts: the numbers of rows that code is emitted for, ascending; empty for those of `row_counts`.
    """

    rows: int
    vectors: int
    lanes: int
    amx_words: int = 0
    has_pairs: bool = False
    is_signed: bool = False
    counts: tuple[int, ...] = ()

    @property
    def width(self) -> int:
        """Columns of the tile (NR), which is also the width of a packed panel of B."""
        return self.vectors * self.lanes

    @property
    def row_counts(self) -> list[int]:
        """The numbers of rows that code is emitted for, ascending: 1, an intermediate number, and the full tile.

        AMX tiles are configured for the rows that are left; the numbers are those of one and two blocks of tiles.  A short tile has one row less as intermediate number: `loop_row_blocks` uses blocks of this height to even blocks out.
        """
        if self.counts:
            return list(self.counts)
        if self.amx_words:
            return [TILE_ROWS * blocks for blocks in range(1, BLOCKS + 1)]
        is_short = self.rows <= GemmTuning.max_short_rows
        return sorted({1, self.rows - 1 if is_short else self.rows // 2, self.rows} - {0})

    @property
    def has_low_blocks(self) -> bool:
        """Whether there is code for one row less than a full tile, so that `loop_row_blocks` may even blocks out."""
        return self.rows - 1 in self.row_counts

    def is_exact(self, rows: int) -> bool:
        """Whether code for `rows` rows never has surplus rows, because there is code for one row less."""
        return rows == 1 or rows - 1 in self.row_counts

    def computed_rows(self, rows: int) -> int:
        """The cost of a product of `rows` rows, as a number of rows at full speed; blocks are as in `loop_row_blocks`.

        The cost may exceed `rows`: code exists only for some numbers of rows, and tiles of few accumulators wait for the
        latency of multiply-adds.
        """
        blocks = -(-rows // self.rows)
        low = blocks * self.rows - rows
        lengths = [self.rows] * (blocks - low) + [self.rows - 1] * low
        if low > blocks or not self.has_low_blocks:
            lengths = [self.rows] * (blocks - 1) + [self.rows - low]
        least = -(-GemmTuning.latency_accumulators // self.vectors)
        return sum(max(least, min(n for n in self.row_counts if n >= length)) for length in lengths)


def make_tile(vectors: int, target: Target, amx_words: int = 0) -> RegisterTile:
    """The tallest tile of `vectors` vectors that fits the vector registers, or the AMX registers if `amx_words` is not 0."""
    if amx_words:
        return RegisterTile(BLOCKS * TILE_ROWS, vectors, target.lanes, amx_words)
    return RegisterTile(tuning_for(target).gemm.tile_rows[vectors], vectors, target.lanes)


def choose_tile(columns: int, target: Target, rows: Known | None = None) -> RegisterTile:
    """The tile that wastes the least work on padding in a product of `columns` columns; ties go to the widest.

    rows: the rows of the product; if the number is known, surplus rows count as waste, too (`computed_rows`).
    """
    needed, tuning = max(1, -(-columns // target.lanes)), tuning_for(target).gemm

    def cost(vectors: int) -> tuple[float, int]:
        width = -(-needed // vectors) * vectors * tuning.narrow_tile_cost.get(vectors, 1.0)
        return width * (
            make_tile(vectors, target).computed_rows(rows) if isinstance(rows, int) else 1
        ), -vectors

    return make_tile(min(tuning.tile_rows, key=cost), target)


def padded_row_words(words: int) -> int:
    """The number of words of a row, padded so that AMX tiles of equal length divide it."""
    tiles = max(1, -(-words // MAX_TILE_WORDS))
    return tiles * max(1, -(-words // tiles))


def choose_padded_tile(columns: int, row_words: int, target: Target) -> RegisterTile:
    """The AMX tile for a product of `columns` columns with rows of `row_words` words, a result of `padded_row_words`."""
    tile_words = row_words // -(-row_words // MAX_TILE_WORDS)
    return make_tile(1 if columns <= target.lanes else BLOCKS, target, tile_words)


def choose_int8_tile(columns: int, words: int, rows: Known, target: Target) -> RegisterTile:
    """The tile for a product of `rows` rows of `words` words of four int8: of AMX where this is faster.

    The words of an AMX tile divide those of a row, so that no tile reaches past the end of a row.
    """
    sizes = range(tuning_for(target).gemm.min_amx_words, MAX_TILE_WORDS + 1)
    fitting = [size for size in sizes if words % size == 0]
    if not fitting or not favors_amx_int8(words, rows, target):
        return choose_tile(columns, target, rows)
    return make_tile(1 if columns <= target.lanes else BLOCKS, target, max(fitting))


def favors_amx_int8(words: int, rows: Known, target: Target) -> bool:
    """Whether AMX is available, and faster than vectors for a product of `rows` rows of `words` words of four int8."""
    tuning = tuning_for(target).gemm
    is_short = words < tuning.min_amx_row_words or (isinstance(rows, int) and rows < tuning.min_amx_rows)
    return not is_short and has_amx_int8(target)
