"""MatMul and Gemm by a constant matrix of 2, 4 or 8 bits, dequantized in blocks: a product that reads the packed codes."""

from __future__ import annotations

from sardonyx._src.compile.kernels.block_quantized.blocks import BlockQuantizedMatrix
from sardonyx._src.compile.partition import BoundNode, Read, Region, Scope, fused_region, fuses
from sardonyx._src.compile.partition.fusion.epilogues import fuse_epilogue
from sardonyx._src.compile.partition.quantized.block_quantized_operand import match_block_quantized
from sardonyx._src.compile.partition.quantized.dequantized_operands import match_dequantized_operands
from sardonyx._src.compile.program.operands.layout import ROWS
from sardonyx._src.dtypes import DataType


@fuses("MatMul", 13)
def match_block_quantized_matmul(op: BoundNode, scope: Scope) -> Region[BlockQuantizedMatrix] | None:
    return match_product(op, scope, is_transposed=False)


@fuses("Gemm", 13)
def match_block_quantized_gemm(op: BoundNode, scope: Scope) -> Region[BlockQuantizedMatrix] | None:
    if op.attributes["transA"] or op.attributes["alpha"] != 1.0 or op.input(2) is not None:
        return None
    return match_product(op, scope, is_transposed=bool(op.attributes["transB"]))


def match_product(op: BoundNode, scope: Scope, *, is_transposed: bool) -> Region[BlockQuantizedMatrix] | None:
    """The region of a product of float32 rows; products of two 8-bit operands are left to the integer patterns."""
    a = op.input(0)
    if a is None or scope.dtype_of(a) is not DataType.FLOAT or not scope.is_native(a):
        return None
    if len(scope.known_shape(a)) < 2 or scope.shape(op.output) is None:
        return None
    if match_dequantized_operands(op, scope) is not None:
        return None
    matrix = match_block_quantized(scope, op.input(1), is_transposed=is_transposed)
    if matrix is None:
        return None
    epilogue = fuse_epilogue(scope, op.output)
    return fused_region("BlockQuantizedProduct", op.node, matrix, (Read(a, ROWS),), epilogue)
