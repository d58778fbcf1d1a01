"""MeanVarianceNormalization in float32: the normalized axes are viewed as innermost, and copied if they are not dense then."""

from __future__ import annotations

from sardonyx._src.compile.kernels.reductions.layer_norm import NormParams, layer_norm_step
from sardonyx._src.compile.lower import LaidOutRegion, Lowering, lowers
from sardonyx._src.compile.partition import Read, Region, Scope, Write, matches
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program import Step, TensorView
from sardonyx._src.compile.program.operands.layout import CustomLayout, Permuted
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ops.nn.mean_variance_normalization import EPSILON


@dataclass(frozen=True, slots=True)
class MeanVariance:
    """The parameters of a MeanVarianceNormalization.

    order: a permutation of the dims that moves the normalized ones innermost.
    axis: the first normalized dim after the permutation.
    """

    order: tuple[int, ...]
    axis: int


@matches("MeanVarianceNormalization", 13)
def match_mean_variance_normalization(op: BoundNode, scope: Scope) -> Region[MeanVariance] | None:
    x = op.input(0)
    if x is None or not scope.is_native(x) or scope.dtype_of(x) is not DataType.FLOAT:
        return None
    shape, axes = scope.known_shape(x), op.ints("axes") or ()
    rank = len(shape)
    if scope.shape(op.output) != shape or not all(-rank <= axis < rank for axis in axes):
        return None
    normalized_axes = sorted({axis % rank for axis in axes})
    if not normalized_axes or len(normalized_axes) < len(axes):
        return None
    order = (*(axis for axis in range(rank) if axis not in normalized_axes), *normalized_axes)
    config = MeanVariance(order, rank - len(normalized_axes))
    read = Read(x, innermost_layout(order, len(normalized_axes)))
    return Region("MeanVariance", (op.node,), config, (read,), (Write(op.output, Permuted(order)),))


def innermost_layout(order: tuple[int, ...], count: int) -> CustomLayout:
    """The layout of a tensor whose last `count` dims in the given order are dense."""

    def find(tensor: TensorView) -> TensorView | None:
        permuted = tensor.permute(order)
        inner = TensorView(tensor.dtype, permuted.shape[-count:], permuted.strides[-count:], tensor.buffer)
        return permuted if inner.is_dense else None

    return CustomLayout(f"innermost {order[-count:]}", find, Permuted(order).allocate)


@lowers("MeanVariance")
def lower_mean_variance(region: LaidOutRegion[MeanVariance], lowering: Lowering) -> Step:
    config = region.config
    result = region.results[0].permute(config.order)
    params = NormParams(EPSILON, epsilon_outside=True)
    return layer_norm_step(region.operands[0], result, config.axis, params)
