"""The steps of the gradient of a convolution by its weights."""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.compile.kernels.conv.weight_gradient import weight_gradient_steps
from sardonyx._src.compile.layouts.laid_out import LaidOutRegion
from sardonyx._src.compile.lower.lowering import Lowering
from sardonyx._src.compile.lower.registry import lowers
from sardonyx._src.compile.partition.patterns.conv_weight_gradient import ConvWeightGradient
from sardonyx._src.compile.partition.window_geometry import as_image
from sardonyx._src.compile.program.step import Step


@lowers("ConvWeightGradient")
def lower_conv_weight_gradient(
    region: LaidOutRegion[ConvWeightGradient], lowering: Lowering
) -> Sequence[Step]:
    (x, dy), (dw,), config = map(as_image, region.operands), region.results, region.config
    return weight_gradient_steps(x, dy, dw.reshape(config.dims), config.window, lowering.target)
