"""Lowers the gradient of a convolution by its weights (`partition.patterns.conv_weight_gradient`)."""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.compile.kernels.conv.weight_gradient import weight_gradient_steps
from sardonyx._src.compile.kernels.depthwise.weight_gradient import depthwise_weight_gradient_step
from sardonyx._src.compile.lower import LaidOutRegion, Lowering, lowers
from sardonyx._src.compile.partition.operands.window_geometry import as_image
from sardonyx._src.compile.partition.patterns.conv_weight_gradient import ConvWeightGradient
from sardonyx._src.compile.program import Step


@lowers("ConvWeightGradient")
def lower_conv_weight_gradient(
    region: LaidOutRegion[ConvWeightGradient], lowering: Lowering
) -> Sequence[Step]:
    (x, dy), (dw,), config = map(as_image, region.operands), region.results, region.config
    weights = dw.reshape(config.dims)
    if 1 < config.groups == config.dims[0] and config.dims[1] == 1:
        return [depthwise_weight_gradient_step(x, dy, weights, config.window)]
    return weight_gradient_steps(x, dy, weights, config.window, lowering.target, config.groups)
