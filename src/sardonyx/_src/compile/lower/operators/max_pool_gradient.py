"""Lowers the gradient of MaxPool (`partition.patterns.max_pool_gradient`)."""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.compile.kernels.data_movement.copy import copy_step
from sardonyx._src.compile.kernels.pooling.max_pool_gradient import max_pool_gradient_step
from sardonyx._src.compile.lower import LaidOutRegion, Lowering, lowers
from sardonyx._src.compile.partition.operands.window_geometry import as_image
from sardonyx._src.compile.partition.patterns.max_pool_gradient import MaxPoolGradient
from sardonyx._src.compile.program import Step
from sardonyx._src.compile.program.operands.tensor import channels_last_permutation


@lowers("MaxPoolGradient")
def lower_max_pool_gradient(region: LaidOutRegion[MaxPoolGradient], lowering: Lowering) -> Sequence[Step]:
    (x, dy), (dx,), shape = region.operands, region.results, region.config.flat_shape
    steps = []
    if shape is not None:
        source = dy.reshape(shape).permute(channels_last_permutation(len(shape)))
        dy = lowering.temporary(dy.dtype, source.shape, "dy")
        steps.append(copy_step(source, dy))
    step = max_pool_gradient_step(as_image(x), as_image(dy), as_image(dx), region.config.window)
    return *steps, step
