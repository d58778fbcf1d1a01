"""Lowers a product with a low-rank update (`partition.patterns.low_rank_update`)."""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.compile.kernels.gemm.floats.low_rank import LowRankUpdate
from sardonyx._src.compile.kernels.gemm.floats.matmul import matmul_steps
from sardonyx._src.compile.kernels.gemm.packing.panels import Panels, pack_tensor
from sardonyx._src.compile.lower import LaidOutRegion, Lowering, lowers
from sardonyx._src.compile.lower.constant_panels import constant_panels
from sardonyx._src.compile.partition.patterns.low_rank_update import LowRankProduct
from sardonyx._src.compile.program import Step


@lowers("LowRankUpdate")
def lower_low_rank_update(region: LaidOutRegion[LowRankProduct], lowering: Lowering) -> Sequence[Step]:
    x, t, b, *_ = region.operands
    panels, packing = pack_weights(region, lowering)
    factor, steps = pack_tensor(b, lowering.target, region.region.reads[2].value.name)
    product = matmul_steps(
        x,
        panels,
        region.results[0],
        epilogue=region.epilogue,
        operands=region.epilogue_operands,
        update=LowRankUpdate(t, factor, region.config.scale),
    )
    return *packing, *steps, *product


def pack_weights(region: LaidOutRegion[LowRankProduct], lowering: Lowering) -> tuple[Panels, Sequence[Step]]:
    """W packed into panels: at compile time if it is constant, otherwise by steps."""
    matrix, value = region.config.matrix, region.config.value
    if matrix is None:
        return pack_tensor(region.operands[3], lowering.target, value.name)
    return constant_panels(matrix, value, lowering), ()
