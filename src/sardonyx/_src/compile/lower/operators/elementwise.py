"""Elementwise operators: a node and the elementwise consumers that fuse with it become one kernel.

The kernel is channels-last if one of its operands is.  Falls back to the reference kernel for element types without a native representation.
"""

from __future__ import annotations

from dataclasses import replace

from sardonyx._src.compile.codegen.element_types import LLVM_ELEMENTS
from sardonyx._src.compile.kernels.elementwise.elementwise import elementwise_step
from sardonyx._src.compile.kernels.elementwise.operators import SCALAR_OPERATORS
from sardonyx._src.compile.lower.lowering import Lowering
from sardonyx._src.compile.lower.registry import lowers
from sardonyx._src.compile.partition.epilogues import mark_fused
from sardonyx._src.compile.partition.fusion import FusionGroup, Shape, fuse_from
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program.tensor import TensorView, channels_last_permutation
from sardonyx._src.ir.dims import Known, dim_min
from sardonyx._src.ir.graph import Value
from sardonyx._src.schema import versions


def lower_elementwise(op: BoundNode, lowering: Lowering) -> bool:
    group = fuse_from(lowering, op.node)
    if group is None or not has_supported_types(lowering, group):
        return False
    emit_group(lowering, group)
    return True


def has_supported_types(lowering: Lowering, group: FusionGroup) -> bool:
    """Whether a group's operands and result have element types with a native representation."""
    return all(lowering.dtype_of(value) in LLVM_ELEMENTS for value in (group.result, *group.operands))


def emit_group(lowering: Lowering, group: FusionGroup) -> None:
    """Emits the kernel of a fusion group, channels-last if one of its operands is."""
    channels_last = len(group.shape) > 2 and any(
        is_channels_last(lowering, v, s, group) for v, s in operand_shapes(group)
    )
    operands = [
        lay_out(lowering, value, shape, group, channels_last=channels_last)
        for value, shape in operand_shapes(group)
    ]
    mark_fused(lowering, group)
    result = lowering.allocate_result(group.result, channels_last=channels_last)
    lowering.emit(elementwise_step(group.value, operands, result))


def operand_shapes(group: FusionGroup) -> list[tuple[Value, Shape]]:
    return list(zip(group.operands, group.shapes, strict=True))


def is_channels_last(lowering: Lowering, value: Value, shape: Shape, group: FusionGroup) -> bool:
    """Whether an operand is channels-last and has the result's dims (some of which may be 1 at run time)."""
    return (
        shape == group.shape and has_result_rank(lowering, value, group) and lowering.has_channels_last(value)
    )


def has_result_rank(lowering: Lowering, value: Value, group: FusionGroup) -> bool:
    shape = lowering.shape(value)
    return shape is not None and len(shape) == len(group.shape)


def lay_out(
    lowering: Lowering, value: Value, shape: Shape, group: FusionGroup, *, channels_last: bool
) -> TensorView:
    """An operand with the rank and the layout of the result."""
    if channels_last and shape == group.shape and has_result_rank(lowering, value, group):
        return with_unit_dims(
            lowering.channels_last(value), tuple(shape[i] for i in channels_last_permutation(len(shape)))
        )
    source = lowering.dense(value) if lowering.shape(value) == group.shape else lowering.any_layout(value)
    tensor = with_unit_dims(source, shape)
    return tensor.permute(channels_last_permutation(tensor.rank)) if channels_last else tensor


def with_unit_dims(tensor: TensorView, shape: Shape) -> TensorView:
    """A view with unit dims inserted or removed, so that its dims broadcast to `shape`.

    The stride of a dim that may be 1 at run time is an expression that is 0 in that case.
    """
    dims = iter([(d, s) for d, s in zip(tensor.shape, tensor.strides, strict=True) if d != 1])
    strides: list[Known] = []
    for dim in shape:
        size, stride = (1, 0) if dim == 1 else next(dims)
        strides.append(stride if size in (1, dim) else stride * dim_min(1, size - 1))
    return replace(tensor, shape=shape, strides=tuple(strides))


for name in SCALAR_OPERATORS.keys() - {"Cast", "Identity", "DequantizeLinear"}:
    lowers(name, versions("", name)[-1])(lower_elementwise)
