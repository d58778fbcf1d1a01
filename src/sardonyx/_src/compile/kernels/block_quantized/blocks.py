"""Block-quantized weights: a matrix of integer codes of 2, 4 or 8 bits, with a scale and a zero point for each block of a column.

    weights[k, n] = (codes[k, n] - zeros[k // size, n]) * scales[k // size, n]

A term is an index k along the reduction.  Codes are packed in the order in which a product reads them: [panels, blocks,
bytes], where a panel has the columns of a register tile.  The bytes of a block are

- the scales [width] float32;
- the zero points [width] uint8, unless all zero points of the matrix are equal;
- words of 32 bits, [terms of the block / terms of a word, width]: each has consecutive terms of one column, the first one in
  the lowest bits.  For products in integers, the four bytes of a word have the first four terms in their lowest bits, the
  next four terms in the bits above them, and so on: a shift and a mask yield a word of four terms, one in each byte.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.kernels.block_quantized.word_packing import NIBBLE_WORDS, WORDS, copy_words
from sardonyx._src.compile.kernels.gemm.packing.packing import make_constant
from sardonyx._src.compile.kernels.gemm.tile.register_tile import RegisterTile, make_tile
from sardonyx._src.compile.kernels.tuning import BlockQuantizedTuning, tuning_for
from sardonyx._src.compile.llvm.loaded_kernels import compile_kernel_async
from sardonyx._src.compile.program import TensorView
from sardonyx._src.compile.program.operands.lazy_constants import LazyConstant
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array

WORD_BITS = 32
WORD_BYTES = 4


@dataclass(frozen=True, slots=True)
class BlockFormat:
    """The format of packed blocks.

    bits, size, width: the bits of a code, the terms of a block, the columns of a panel.
    zero: the zero point of the whole matrix; None if blocks have zero points of their own, one for each column.
    has_int8_rows: whether rows of A are rounded to int8; words then have the order of terms for products in integers.
    """

    bits: int
    size: int
    width: int
    zero: int | None
    has_int8_rows: bool = False

    @property
    def word_terms(self) -> int:
        """The number of codes in a word."""
        return WORD_BITS // self.bits

    @property
    def zeros_offset(self) -> int:
        """The offset in bytes of the zero points, which follow the scales."""
        return 4 * self.width

    @property
    def words_offset(self) -> int:
        """The offset in bytes of the words, which come last."""
        return self.zeros_offset + (self.width if self.zero is None else 0)

    @property
    def word_row_bytes(self) -> int:
        """The bytes of one word for each column of a panel."""
        return 4 * self.width

    @property
    def words(self) -> int:
        """The number of words of a block in each column."""
        return -(-self.size // self.word_terms)

    @property
    def block_bytes(self) -> int:
        return self.words_offset + self.words * self.word_row_bytes


@dataclass(frozen=True, slots=True, eq=False)
class PackedCodes:
    """Codes [k, columns] of which each column is a row of packed bytes, [columns, k * bits / 8] uint8, low bits first."""

    rows: Array
    bits: int

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows.shape[1] * 8 // self.bits, len(self.rows)

    def __getitem__(self, part: tuple[slice, slice]) -> Array:
        """The codes of some terms and columns, unpacked, uint8."""
        return unpack_rows(self.rows[part[1]], self.bits).T[part[0]]


def unpack_rows(rows: Array, bits: int) -> Array:
    """Codes [n, m * 8 / bits] uint8 from packed bytes [n, m], the low bits of a byte first."""
    if bits == 8:
        return rows
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    codes: Array = (rows[:, :, None] >> shifts) & np.uint8((1 << bits) - 1)
    return codes.reshape(len(rows), -1)


@dataclass(frozen=True, slots=True, eq=False)
class BlockQuantizedMatrix:
    """A constant matrix [k, columns] of codes.

    codes: [k, columns] uint8, as the model stores them; signed codes as bytes in two's complement.
    code_offset: the number that is added to a stored code (modulo 256) to make it unsigned.
    scales: [blocks, columns] float32.
    zeros: [blocks, columns] uint8, the zero points of the unsigned codes.
    bits, size: the bits of a code, and the terms of a block.
    allows_int8_rows: whether the rows that multiply the matrix may be rounded to int8.
    """

    codes: Array | PackedCodes
    code_offset: int
    scales: Array
    zeros: Array
    bits: int
    size: int
    allows_int8_rows: bool = False


@dataclass(frozen=True, slots=True)
class PackedBlocks:
    """A packed right operand: B [k, columns] as a tensor [panels, blocks, bytes], for a register tile."""

    tensor: TensorView
    tile: RegisterTile
    format: BlockFormat
    k: int
    columns: int

    @property
    def num_panels(self) -> int:
        return -(-self.columns // self.tile.width)


def pack_blocks(matrix: BlockQuantizedMatrix, target: Target) -> PackedBlocks:
    """The packed matrix as a lazy constant: it is packed when it is first read."""
    tile = make_tile(tuning_for(target).gemm.dynamic_tile_vectors, target)
    first_zero = int(matrix.zeros.flat[0])
    zero = first_zero if bool((matrix.zeros == first_zero).all()) else None
    k, columns = matrix.codes.shape
    has_int8_rows = matrix.allows_int8_rows and target.lanes > 1
    format_ = BlockFormat(matrix.bits, matrix.size, tile.width, zero, has_int8_rows)
    shape = (-(-columns // tile.width), len(matrix.scales), format_.block_bytes)

    def compute_rows(panels: Array, first: int) -> None:
        fill_panels(panels, matrix, format_, first * tile.width)

    if has_packed_words(matrix, format_):
        compile_kernel_async(NIBBLE_WORDS if format_.has_int8_rows and format_.bits == 4 else WORDS)
    source = matrix.codes.rows if isinstance(matrix.codes, PackedCodes) else matrix.codes
    lazy = LazyConstant(shape, 2, source, compute_rows, np.dtype(np.uint8))
    return PackedBlocks(make_constant(lazy), tile, format_, k, columns)


def fill_panels(panels: Array, matrix: BlockQuantizedMatrix, format_: BlockFormat, first: int) -> None:
    """Writes panels [panels, blocks, bytes] from column `first` on; columns and terms past the last one are zeros."""
    is_packed = has_packed_words(matrix, format_)
    for number, panel in enumerate(panels):
        start = first + number * format_.width
        columns = slice(start, start + format_.width)
        scales = np.ascontiguousarray(matrix.scales[:, columns], np.float32)
        count = scales.shape[1]
        panel[:, : format_.words_offset] = 0
        panel[:, : 4 * count] = scales.view(np.uint8)
        if format_.zero is None:
            panel[:, format_.zeros_offset : format_.zeros_offset + count] = matrix.zeros[:, columns]
        if not is_packed:
            words = words_of_codes(matrix, format_, columns, len(panel))
            panel[:, format_.words_offset :] = words.reshape(len(panel), -1)
    if is_packed:
        copy_packed_words(panels, matrix, format_, first)


def has_packed_words(matrix: BlockQuantizedMatrix, format_: BlockFormat) -> bool:
    """Whether the model has packed the words: terms of a column are consecutive in both, and no word spans two blocks.

    For products in integers, codes of 4 bits change places within a word.
    """
    codes = matrix.codes
    if not isinstance(codes, PackedCodes) or codes.bits != format_.bits or format_.size % format_.word_terms:
        return False
    return not codes.shape[0] % format_.size and (not format_.has_int8_rows or format_.bits in (4, 8))


def copy_packed_words(panels: Array, matrix: BlockQuantizedMatrix, format_: BlockFormat, first: int) -> None:
    """Writes the words of panels [panels, blocks, bytes] from column `first` on, from words that the model has packed."""
    assert isinstance(matrix.codes, PackedCodes), "codes must be packed"
    stored = matrix.codes.rows[first : first + len(panels) * format_.width].view("<u4")
    if len(stored) % format_.width:
        panels[-1, :, format_.words_offset :] = 0
    copy_words(
        panels,
        stored,
        first_byte=format_.words_offset,
        block_words=format_.words,
        exchanges_nibbles=format_.has_int8_rows and format_.bits == 4,
    )


def words_of_codes(matrix: BlockQuantizedMatrix, format_: BlockFormat, columns: slice, blocks: int) -> Array:
    """The words of a slice of columns, [blocks, bytes]."""
    codes = (matrix.codes[:, columns] + np.uint8(matrix.code_offset)).astype(np.uint8, copy=False)
    codes &= np.uint8((1 << matrix.bits) - 1)
    k, count = codes.shape
    width = format_.width
    terms = np.zeros((blocks, format_.words * format_.word_terms, width), np.uint8)
    full_blocks = k // format_.size
    full_terms = full_blocks * format_.size
    terms[:full_blocks, : format_.size, :count] = codes[:full_terms].reshape(full_blocks, format_.size, count)
    if full_blocks < blocks:
        terms[full_blocks, : k - full_terms, :count] = codes[full_terms:]
    fields = terms.reshape(blocks, format_.words, *word_dims(format_), width)
    # Now [blocks, words, codes of a byte, bytes, width].
    fields = fields if format_.has_int8_rows else fields.swapaxes(2, 3)
    packed = fields[:, :, 0].copy()
    for number in range(1, fields.shape[2]):
        packed |= fields[:, :, number] << np.uint8(number * matrix.bits)
    return packed.transpose(0, 1, 3, 2).reshape(blocks, -1)


def word_dims(format_: BlockFormat) -> tuple[int, int]:
    """The dims of consecutive terms in a word: [codes of a byte, bytes] for products in integers, else [bytes, codes of a byte]."""
    byte_codes = 8 // format_.bits
    return (byte_codes, WORD_BYTES) if format_.has_int8_rows else (WORD_BYTES, byte_codes)


def terms_per_part(format_: BlockFormat) -> int:
    """The number of terms that are unpacked or dequantized at a time for many rows: those of whole blocks."""
    return max(1, BlockQuantizedTuning.k_block // format_.size) * format_.size


def view_as_codes(elements: Array, dtype: DataType) -> tuple[Array, int]:
    """Quantized elements as codes, and the offset that makes the codes unsigned; only the low bits of a byte count."""
    offset = 1 << (dtype.bits - 1) if dtype.is_signed else 0
    if elements.dtype.itemsize == 1 and elements.dtype.kind in "iu":
        return elements.view(np.uint8), offset
    return elements.astype(np.int8 if dtype.is_signed else np.uint8).view(np.uint8), offset
