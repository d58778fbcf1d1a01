"""The step of a product with block-quantized weights."""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.compile.kernels.block_quantized.blocks import BlockQuantizedMatrix, pack_blocks
from sardonyx._src.compile.kernels.block_quantized.matmul import block_quantized_matmul_step
from sardonyx._src.compile.layouts.laid_out import LaidOutRegion
from sardonyx._src.compile.lower.lowering import Lowering
from sardonyx._src.compile.lower.registry import lowers
from sardonyx._src.compile.program.step import Step


@lowers("BlockQuantizedProduct")
def lower_block_quantized_product(
    region: LaidOutRegion[BlockQuantizedMatrix], lowering: Lowering
) -> Sequence[Step]:
    packed = pack_blocks(region.config, lowering.target)
    operands = region.epilogue_operands
    return (
        block_quantized_matmul_step(region.operands[0], packed, region.results[0], region.epilogue, operands),
    )
