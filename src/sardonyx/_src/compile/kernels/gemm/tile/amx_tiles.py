"""AMX tiles: products of up to 32 rows and 32 columns, accumulated in the tile registers of the processor.

    tiles 0..3: sums of two blocks of 16 rows times two blocks of 16 columns; 4, 5: rows of A; 6, 7: columns of B

A tile has up to 16 rows of 64 bytes.  A tile of A holds `words` words of each row, words of four int8 or of two bfloat16; a
tile of B holds [words, 16] words, in the order of packed panels.  The configuration of the tiles belongs to the thread.  It
is loaded again only for another number of rows, and released at the end of a kernel.  Source: Intel 64 and IA-32
Architectures Software Developer's Manual, volume 1, chapter 18.
"""

from __future__ import annotations

from sardonyx._src.compile.codegen import I64, LLVMType, LLVMValue, MemoryLocation, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.dataclass import dataclass

TILE_ROWS = 16  # rows of a tile
TILE_BYTES = 64  # bytes of a row
WORD_BYTES = 4
BLOCKS = 2  # blocks of rows, and at most of columns, that are accumulated together
LEFT, RIGHT = 4, 6  # the first tiles of A and of B
NUM_TILES = 8
CONFIG = "%tile_config"  # [64] bytes: palette, bytes of a row of each tile from 16 on, rows of each tile from 48 on
COLUMN_BYTES_AT, ROWS_AT = 16, 48
BYTE = LLVMType("i8")


@dataclass(frozen=True, slots=True)
class AmxTiles:
    """The configuration of a kernel's tiles.

    vectors: the blocks of 16 columns, 1 or 2.
    words: the words along k of a tile.
    rows: the number of rows that was last configured.
    """

    vectors: int
    words: int
    rows: MemoryLocation


@dataclass(frozen=True, slots=True)
class PanelShare:
    """The part of the next panel that a row block prefetches: for each tile along k, `lines` cache lines from `first_line` on."""

    address: str
    first_line: LLVMValue
    lines: LLVMValue


@dataclass(frozen=True, slots=True)
class AmxOperands:
    """The operands of a block of tiles.

    left: the address of the first row of A; rows are `row_stride` words apart.
    panel: the address of B [words, width]; words: a multiple of the tiles' words.
    next_panel: memory that is prefetched into the level-2 cache meanwhile.
    """

    left: str
    row_stride: LLVMValue
    panel: str
    words: LLVMValue
    next_panel: PanelShare


def has_amx_int8(target: Target) -> bool:
    """Whether the target multiplies tiles of int8."""
    return {"+amx-tile", "+amx-int8"} <= set(target.features.split(",")) and target.lanes == TILE_ROWS


def has_amx_bf16(target: Target) -> bool:
    """Whether the target multiplies tiles of bfloat16."""
    return {"+amx-tile", "+amx-bf16"} <= set(target.features.split(",")) and target.lanes == TILE_ROWS


def new_amx_tiles(b: KernelBuilder, vectors: int, words: int) -> AmxTiles:
    """Allocates the configuration; `configure_rows` sets the number of rows."""
    b.allocas.append(f" {CONFIG} = alloca [64 x i8], align 64")
    rows = b.new_slot("configured", I64)
    b.store(rows, b.constant(0, I64))
    for offset in range(0, 64, 8):
        b.store(MemoryLocation(b.gep(CONFIG, b.constant(offset, I64), "i8"), I64), b.constant(0, I64))
    store_byte(b, 0, b.constant(1, BYTE))  # the palette
    for tile in range(NUM_TILES):
        is_left = LEFT <= tile < RIGHT
        column_bytes = words * WORD_BYTES if is_left else TILE_BYTES
        store_byte(b, COLUMN_BYTES_AT + 2 * tile, b.constant(column_bytes, BYTE))
        if tile >= RIGHT:
            store_byte(b, ROWS_AT + tile, b.constant(words, BYTE))
    return AmxTiles(vectors, words, rows)


def store_byte(b: KernelBuilder, offset: int, value: LLVMValue) -> None:
    """Stores a byte of the configuration."""
    b.store(MemoryLocation(b.gep(CONFIG, b.constant(offset, I64), "i8"), BYTE), value)


def configure_rows(b: KernelBuilder, tiles: AmxTiles, num_rows: LLVMValue) -> None:
    """Loads the configuration for a number of rows, 1 to 32, unless it is loaded."""
    with b.if_then(b.load(tiles.rows).ne(num_rows)):
        first = b.min(num_rows, TILE_ROWS)
        rest = num_rows - TILE_ROWS
        rest = b.select(rest < 1, b.constant(1, I64), rest)
        for block, count in enumerate((first, rest)):
            rows = count.convert("trunc", "i8")
            for tile in (*accumulator_tiles(block), LEFT + block):
                store_byte(b, ROWS_AT + tile, rows)
        b.declarations["declare void @llvm.x86.ldtilecfg(ptr)"] = None
        b.lines.append(f" call void @llvm.x86.ldtilecfg(ptr {CONFIG})")
        b.store(tiles.rows, num_rows)


def release_tiles(b: KernelBuilder) -> None:
    """Returns the tiles to their initial state, in which the system does not save them."""
    b.declarations["declare void @llvm.x86.tilerelease()"] = None
    b.lines.append(" call void @llvm.x86.tilerelease()")


def clear_tiles(b: KernelBuilder, tiles: AmxTiles, rows: int) -> None:
    """Sets the sums of `rows` rows, 16 or 32, to zeros."""
    b.declarations["declare void @llvm.x86.tilezero(i8 immarg)"] = None
    for _, _, tile in sum_tiles(tiles, rows):
        b.lines.append(f" call void @llvm.x86.tilezero(i8 {tile})")


def load_tiles(b: KernelBuilder, tiles: AmxTiles, rows: int, address: str, row_stride: LLVMValue) -> None:
    """Loads the sums of `rows` rows, 16 or 32, which are `row_stride` words apart; 0 if one row serves for all."""
    for r, v, tile in sum_tiles(tiles, rows):
        offset = row_stride * (r * TILE_ROWS) + v * TILE_ROWS
        access_tile(b, "tileloadd64", tile, b.gep(address, offset, "i32"), row_stride)


def store_tiles(b: KernelBuilder, tiles: AmxTiles, rows: int, address: str, row_stride: LLVMValue) -> None:
    """Stores the sums of the rows that are configured among `rows` rows, 16 or 32, `row_stride` words apart."""
    for r, v, tile in sum_tiles(tiles, rows):
        offset = row_stride * (r * TILE_ROWS) + v * TILE_ROWS
        access_tile(b, "tilestored64", tile, b.gep(address, offset, "i32"), row_stride)


def multiply_tiles(
    b: KernelBuilder, tiles: AmxTiles, instruction: str, operands: AmxOperands, rows: int
) -> None:
    """Adds A [rows, words] @ B to the sums of 16 or 32 rows; instruction: the intrinsic's name, such as `tdpbusd`."""
    width = tiles.vectors * TILE_ROWS
    panel_stride = b.constant(width, I64)
    b.declarations[f"declare void @llvm.x86.{instruction}(i8 immarg, i8 immarg, i8 immarg)"] = None
    with b.loop(b.constant(0, I64), operands.words, tiles.words, "k") as k:
        for v in range(tiles.vectors):
            address = b.gep(operands.panel, k * width + v * TILE_ROWS, "i32")
            access_tile(b, "tileloadd64", RIGHT + v, address, panel_stride)
        for r in range(rows // TILE_ROWS):
            address = b.gep(operands.left, operands.row_stride * (r * TILE_ROWS) + k, "i32")
            access_tile(b, "tileloadd64", LEFT + r, address, operands.row_stride)
        prefetch_share(b, operands.next_panel, k * (width * WORD_BYTES))
        for r, v, tile in sum_tiles(tiles, rows):
            b.lines.append(f" call void @llvm.x86.{instruction}(i8 {tile}, i8 {LEFT + r}, i8 {RIGHT + v})")


def sum_tiles(tiles: AmxTiles, rows: int) -> list[tuple[int, int, int]]:
    """The tiles of the sums of `rows` rows: the block of rows, the block of columns, and the number of each."""
    blocks = range(rows // TILE_ROWS)
    return [(r, v, accumulator_tiles(r)[v]) for r in blocks for v in range(tiles.vectors)]


def share_panel(
    b: KernelBuilder, tiles: AmxTiles, panel: str, block: LLVMValue, blocks: LLVMValue
) -> PanelShare:
    """The share of one of `blocks` row blocks in the prefetches of a panel."""
    lines = b.udiv(blocks + (tiles.words * tiles.vectors - 1), blocks)
    return PanelShare(panel, block * lines, lines)


def prefetch_share(b: KernelBuilder, share: PanelShare, offset: LLVMValue) -> None:
    """Prefetches the lines for one tile along k; offset: the bytes of the panel before that tile."""
    b.declarations["declare void @llvm.prefetch.p0(ptr, i32 immarg, i32 immarg, i32 immarg)"] = None
    start = b.gep(share.address, offset + share.first_line * TILE_BYTES, "i8")
    with b.loop(b.constant(0, I64), share.lines, 1, "line") as line:
        address = b.gep(start, line * TILE_BYTES, "i8")
        b.lines.append(f" call void @llvm.prefetch.p0(ptr {address}, i32 0, i32 2, i32 1)")


def accumulator_tiles(block: int) -> tuple[int, int]:
    """The tiles of the sums of a block of rows."""
    return block * BLOCKS, block * BLOCKS + 1


def access_tile(b: KernelBuilder, intrinsic: str, tile: int, address: str, stride: LLVMValue) -> None:
    """Loads or stores a tile whose rows are `stride` words apart."""
    b.declarations[f"declare void @llvm.x86.{intrinsic}(i8 immarg, ptr, i64)"] = None
    b.lines.append(f" call void @llvm.x86.{intrinsic}(i8 {tile}, ptr {address}, {stride * WORD_BYTES})")
