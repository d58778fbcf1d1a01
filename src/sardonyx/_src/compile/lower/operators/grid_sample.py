"""GridSample of images by linear interpolation; other modes and numbers of axes are decomposed."""

from __future__ import annotations

from sardonyx._src.compile.kernels.sampling.grid_sample import GridSampling, grid_sample_step
from sardonyx._src.compile.lower import LaidOutRegion, Lowering, lowers
from sardonyx._src.compile.partition import Read, Region, Scope, Write, matches
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program import CHANNELS_LAST, Step
from sardonyx._src.dtypes import DataType


@matches("GridSample", 22)
def match_grid_sample(op: BoundNode, scope: Scope) -> Region[GridSampling] | None:
    x, grid, padding = op.input(0), op.input(1), op.attribute("padding_mode", str)
    if x is None or grid is None or not (scope.is_native(x) and scope.is_native(grid)):
        return None
    if scope.dtype(x) is not DataType.FLOAT or scope.dtype(grid) is not DataType.FLOAT:
        return None
    if op.attribute("mode", str) != "linear" or padding not in ("zeros", "border"):
        return None
    image, points, result = scope.known_shape(x), scope.known_shape(grid), scope.shape(op.output)
    if len(image) != 4 or len(points) != 4 or result is None:
        return None
    pairs = [(points[3], 2), (image[0], points[0]), *zip(result, (*image[:2], *points[1:3]), strict=True)]
    if not all(scope.guard_required_equal(*pair) for pair in pairs):
        return None
    if not all(scope.guard_ge(size, 1) for size in image[2:]):
        return None  # the reference kernel raises the error
    config = GridSampling(padding == "border", bool(op.attribute("align_corners", int)))
    reads = (Read(x, CHANNELS_LAST), Read(grid))
    return Region("GridSample", (op.node,), config, reads, (Write(op.output, CHANNELS_LAST),))


@lowers("GridSample")
def lower_grid_sample(region: LaidOutRegion[GridSampling], lowering: Lowering) -> Step:
    (x, grid), (y,) = region.operands, region.results
    return grid_sample_step(x, grid, y, region.config)
