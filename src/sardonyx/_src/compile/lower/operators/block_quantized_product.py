"""Lowers a product with block-quantized weights: a step that quantizes rows, if needed, and the product.

Products of one value share its quantized rows.
"""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.compile.kernels.block_quantized.blocks import BlockQuantizedMatrix, pack_blocks
from sardonyx._src.compile.kernels.block_quantized.int8_rows import (
    quantize_rows_step,
    quantized_row_bytes,
    quantized_rows_key,
)
from sardonyx._src.compile.kernels.block_quantized.matmul import block_quantized_matmul_step
from sardonyx._src.compile.lower import LaidOutRegion, Lowering, lowers
from sardonyx._src.compile.program import Step
from sardonyx._src.dtypes import DataType


@lowers("BlockQuantizedProduct")
def lower_block_quantized_product(
    region: LaidOutRegion[BlockQuantizedMatrix], lowering: Lowering
) -> Sequence[Step]:
    packed, a = pack_blocks(region.config, lowering.target), region.operands[0]
    steps = []
    if packed.format.has_int8_rows:
        key = (region.region.reads[0].value, a, quantized_rows_key(packed.format))
        rows = lowering.shared_rows.get(key)
        if rows is None:
            row_bytes = quantized_row_bytes(packed.format, packed.k)
            rows = lowering.temporary(DataType.UINT8, (*a.shape[:-1], row_bytes), f"{region.name}.int8_rows")
            steps.append(quantize_rows_step(a, rows, packed.format))
            lowering.shared_rows[key] = rows
        a = rows
    operands = region.epilogue_operands
    product = block_quantized_matmul_step(a, packed, region.results[0], region.epilogue, operands)
    return (*steps, product)
