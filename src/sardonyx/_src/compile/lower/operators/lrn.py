"""LRN (local response normalization) of float32 images, channels-last; falls back to the reference kernel for other ranks and types."""

from __future__ import annotations

from sardonyx._src.compile.kernels.channels_last.lrn import LrnParameters, lrn_step
from sardonyx._src.compile.lower import LaidOutRegion, Lowering, lowers
from sardonyx._src.compile.partition import Read, Region, Scope, fused_region, matches
from sardonyx._src.compile.partition.fusion.epilogues import fuse_epilogue
from sardonyx._src.compile.partition.operands.window_geometry import as_image, is_image
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program import CHANNELS_LAST, Step


@matches("LRN", 13)
def match_lrn(op: BoundNode, scope: Scope) -> Region[LrnParameters] | None:
    x, size = op.input(0), op.attribute("size", int)
    if x is None or not is_image(scope, x) or size < 1 or scope.shape(op.output) != scope.shape(x):
        return None
    response = LrnParameters(size, *(op.attribute(name, float) for name in ("alpha", "beta", "bias")))
    epilogue = fuse_epilogue(scope, op.output, channels_last=True)
    return fused_region("LRN", op.node, response, (Read(x, CHANNELS_LAST),), epilogue, CHANNELS_LAST)


@lowers("LRN")
def lower_lrn(region: LaidOutRegion[LrnParameters], lowering: Lowering) -> Step:
    x, y = as_image(region.operands[0]), as_image(region.results[0])
    operands = tuple(map(as_image, region.epilogue_operands))
    return lrn_step(x, y, region.config, region.epilogue, operands)
