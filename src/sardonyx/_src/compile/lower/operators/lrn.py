"""LRN (local response normalization) of float32 images, channels-last; falls back to the reference kernel for other ranks and types."""

from __future__ import annotations

from sardonyx._src.compile.kernels.channels_last.lrn import LrnParameters, lrn_step
from sardonyx._src.compile.lower.lowering import Lowering
from sardonyx._src.compile.lower.operators.pooling import is_image
from sardonyx._src.compile.lower.registry import lowers
from sardonyx._src.compile.lower.window_geometry import as_image
from sardonyx._src.compile.partition.epilogues import fuse_epilogue
from sardonyx._src.compile.prepare.bound_node import BoundNode


@lowers("LRN", 13)
def lower_lrn(op: BoundNode, lowering: Lowering) -> bool:
    x, size = op.input(0), op.attribute("size", int)
    if x is None or not is_image(lowering, x) or size < 1 or lowering.shape(op.output) != lowering.shape(x):
        return False
    response = LrnParameters(size, *(op.attribute(name, float) for name in ("alpha", "beta", "bias")))
    source = as_image(lowering.channels_last(x))
    fused = fuse_epilogue(lowering, op.output, channels_last=True)
    operands = tuple(map(as_image, fused.operands))
    lowering.emit(lrn_step(source, as_image(fused.y), response, fused.epilogue, operands))
    return True
