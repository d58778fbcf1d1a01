"""Pooling of dense planes: of images that are channels-first anyway, and whatever `pooling` does not support.

That is: indices of MaxPool, three spatial dims, other element types, open channels.
"""

from __future__ import annotations

from sardonyx._src.compile.kernels.pooling.pooling import PoolingAlgorithm
from sardonyx._src.compile.lower import LaidOutRegion, Lowering, lowers
from sardonyx._src.compile.partition import Read, Region, Scope, Write
from sardonyx._src.compile.partition.operands.window_geometry import node_window
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program import Step, TensorView, Window
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType

FLOATS = (DataType.FLOAT, DataType.DOUBLE)
BYTES = (DataType.INT8, DataType.UINT8)
MAX_DIMS = 3
NORMS = (1.0, 2.0)


@dataclass(frozen=True, slots=True)
class PlanePool:
    """The parameters of a pooling.

    outputs: the indices of the outputs that are used: 0 the values, 1 the positions of maxima.
    column_major: whether positions count in column-major order (`storage_order`).
    """

    algorithm: PoolingAlgorithm
    window: Window
    outputs: tuple[int, ...]
    column_major: bool


def match_plane_pool(op: BoundNode, scope: Scope, algorithm: PoolingAlgorithm) -> Region[PlanePool] | None:
    x, kernel = op.input(0), op.ints("kernel_shape")
    if x is None or kernel is None or not scope.is_native(x) or scope.shape(op.output) is None:
        return None
    rank, dtype = len(kernel), scope.dtype(x)
    if dtype not in FLOATS and not (algorithm.kind == "max" and dtype in BYTES):
        return None
    if algorithm.kind == "lp" and algorithm.p not in NORMS:
        return None
    sizes = scope.known_shape(x)[2:]
    if not 1 <= rank <= MAX_DIMS or len(sizes) != rank:
        return None
    window = node_window(op, sizes, kernel)
    if window is None:
        return None
    outputs = tuple(i for i in range(len(op.node.outputs)) if op.is_output_used(i))
    config = PlanePool(algorithm, window, outputs, bool(op.attributes.get("storage_order")))
    writes = tuple(Write(op.node.outputs[i]) for i in outputs)
    return Region("PlanePool", (op.node,), config, (Read(x),), writes) if writes else None


@lowers("PlanePool")
def lower_plane_pool(region: LaidOutRegion[PlanePool], lowering: Lowering) -> Step:
    from sardonyx._src.compile.kernels.pooling.line_pooling import LINE_TYPES  # lazy: few models need it

    # Lazy: few models need it.
    from sardonyx._src.compile.kernels.pooling.plane_pooling import plane_pooling_step

    config, (x,) = region.config, region.operands
    if config.outputs == (0,) and x.dtype in LINE_TYPES and config.window.rank < MAX_DIMS:
        return lower_lines(config, x, region.results[0])
    results = dict(zip(config.outputs, region.results, strict=True))
    written = results.get(0), results.get(1)
    return plane_pooling_step(x, written, config.algorithm, config.window, column_major=config.column_major)


def lower_lines(config: PlanePool, x: TensorView, y: TensorView) -> Step:
    """The pooling of one or two spatial dims; one dim becomes the rows of planes of height 1."""
    # Lazy: few models need it.
    from sardonyx._src.compile.kernels.pooling.line_pooling import line_pooling_step

    if config.window.rank == 1:
        x, y = (tensor.reshape((*tensor.shape[:-1], 1, tensor.shape[-1])) for tensor in (x, y))
    return line_pooling_step(x, y, config.algorithm, config.window.as_image())
