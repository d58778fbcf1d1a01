"""Block-quantized weights: a constant matrix that a DequantizeLinear computes, of which a product reads the codes.

The codes are integers of 2 to 8 bits; each block of a column has a scale and a zero point.
"""

from __future__ import annotations

import math

import numpy as np

from sardonyx._src.compile.kernels.block_quantized.blocks import (
    WORD_BITS,
    BlockQuantizedMatrix,
    PackedCodes,
    view_as_codes,
)
from sardonyx._src.compile.kernels.elementwise.quantization import integer_attribute
from sardonyx._src.compile.kernels.tuning import BlockQuantizedTuning
from sardonyx._src.compile.partition import Scope
from sardonyx._src.compile.prepare.packed_weights import ACCURACY_LEVEL, PackedColumns
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, Node, Tensor, Value

# Metadata of a DequantizeLinear: with level 4, the rows that its result is multiplied by may be rounded to int8.
INT8_ACCURACY = "4"
CODE_TYPES = frozenset(
    {DataType.UINT2, DataType.INT2, DataType.UINT4, DataType.INT4, DataType.UINT8, DataType.INT8}
)


def match_block_quantized(
    scope: Scope, value: Value | None, *, is_transposed: bool = False
) -> BlockQuantizedMatrix | None:
    """The large matrix [k, columns] that a deferred DequantizeLinear computes from constants; None for any other value.

    is_transposed: whether the product reads the value, [columns, k], with its dims exchanged.
    """
    node = None if value is None else value.producer
    if value is None or node is None or value not in scope.deferred or node.op_type != "DequantizeLinear":
        return None
    dtype = scope.dtype_of(node.inputs[0])
    if dtype not in CODE_TYPES or scope.dtype_of(value) is not DataType.FLOAT:
        return None
    columns, offset = code_matrix(scope, node.inputs[0], dtype, is_transposed=is_transposed)
    if columns is None or math.prod(columns.shape) < BlockQuantizedTuning.min_weights:
        return None
    scales = scope.constant(node.inputs[1])
    zeros = unsigned_zeros(node, scope, dtype)
    bits = dtype.bits if offset or zeros is None else needed_bits(columns, zeros)
    size = block_size(node, columns.shape[0], bits, is_transposed=is_transposed)
    if size is None or scales is None or scales.dtype != np.float32 or zeros is None:
        return None
    grids = [scale_grid(node, x, columns.shape, size, is_transposed=is_transposed) for x in (scales, zeros)]
    if grids[0] is None or grids[1] is None:
        return None
    rounds = node.has_metadata and node.metadata.get(ACCURACY_LEVEL) == INT8_ACCURACY
    return BlockQuantizedMatrix(columns, offset, grids[0], grids[1], bits, size, rounds)


def code_matrix(
    scope: Scope, value: Value | None, dtype: DataType, *, is_transposed: bool
) -> tuple[Array | PackedCodes | None, int]:
    """The codes [k, columns] of a constant matrix, and the offset that makes them unsigned; None for any other value.

    Codes that the model has packed stay so.
    """
    literal = None if value is None else value.initializer
    if isinstance(literal, Tensor) and isinstance(literal.storage, PackedColumns) and not is_transposed:
        return PackedCodes(literal.storage.rows, dtype.bits), 0
    elements = scope.constant(value)
    if elements is None or elements.ndim != 2:
        return None, 0
    codes, offset = view_as_codes(elements, dtype)
    return codes.T if is_transposed else codes, offset


def needed_bits(codes: Array | PackedCodes, zeros: Array) -> int:
    """The bits of a packed code, enough for all codes and zero points: the codes of a byte type often fit in 2 or 4 bits."""
    if isinstance(codes, PackedCodes):
        if codes.bits < 8:
            return codes.bits
        codes = codes.rows
    largest = max(int(codes.max()), int(zeros.max()))
    return next(bits for bits in (2, 4, 8) if largest < 1 << bits)


def unsigned_zeros(node: Node, scope: Scope, dtype: DataType) -> Array | None:
    """The zero points of a DequantizeLinear as unsigned codes, uint8; None if a run computes them."""
    value = node.inputs[2] if len(node.inputs) > 2 else None
    if value is None:
        return np.full((), view_as_codes(np.empty(0, np.uint8), dtype)[1], np.uint8)
    zeros = scope.constant(value)
    if zeros is None:
        return None
    codes, offset = view_as_codes(zeros, dtype)
    unsigned: Array = (codes + np.uint8(offset)) & np.uint8((1 << dtype.bits) - 1)
    return unsigned


def along_k(node: Node, *, is_transposed: bool) -> bool:
    """Whether the scales of a DequantizeLinear of a matrix vary along k."""
    return integer_attribute(node, "axis", 1) % 2 == (1 if is_transposed else 0)


def scale_grid(
    node: Node, scales: Array, shape: tuple[int, ...], size: int, *, is_transposed: bool
) -> Array | None:
    """Scales or zero points as [blocks, columns] for packed blocks of `size` terms of a matrix [k, columns].

    None if they have another shape.
    """
    k, columns = shape
    blocks = -(-k // size)
    if scales.size == 1:
        return np.broadcast_to(scales.reshape(1, 1), (blocks, columns))
    varies_along_k = along_k(node, is_transposed=is_transposed)
    if integer_attribute(node, "block_size", 0):
        grid = scales.T if is_transposed else scales
        is_grid = varies_along_k and grid.ndim == 2 and grid.shape[1] == columns
        return spread(grid, blocks) if is_grid else None
    if scales.shape != (columns,) or varies_along_k:
        return None
    return np.broadcast_to(scales, (blocks, columns))


def block_size(node: Node, k: int, bits: int, *, is_transposed: bool) -> int | None:
    """The terms of a packed block: the node's block size, or a divisor if that is long; None if a word would span two blocks."""
    limit, stated = BlockQuantizedTuning.k_block, integer_attribute(node, "block_size", 0)
    size = stated if stated and along_k(node, is_transposed=is_transposed) else 0
    if not 0 < size < k:
        return limit
    if size > limit:
        size = next((part for part in (limit, limit // 2, limit // 4) if size % part == 0), size)
    is_packable = size <= limit and size % (WORD_BITS // bits) == 0
    return size if is_packable else None


def spread(grid: Array, blocks: int) -> Array:
    """Scales [blocks, columns] from those of longer blocks, each row repeated for the packed blocks within."""
    if len(grid) == blocks:
        return grid
    repeats = -(-blocks // len(grid))
    return np.repeat(grid, repeats, axis=0)[:blocks]
