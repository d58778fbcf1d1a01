"""Epilogues of float kernels: elementwise consumers fused into a kernel's store, with their operands in its layout."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sardonyx._src.compile.codegen.expressions import Scalar
from sardonyx._src.compile.kernels.epilogue import RESULT, Epilogue, OperandLayout
from sardonyx._src.compile.layouts.value_layouts import ValueLayouts
from sardonyx._src.compile.partition.fusion import FusionGroup, Shape, fuse_consumers
from sardonyx._src.compile.program.tensor import TensorView, channels_last_permutation
from sardonyx._src.ir.graph import Value


@dataclass(frozen=True, slots=True)
class FusedEpilogue:
    """An epilogue with its operands, and the tensor `y` that the kernel writes: [N, ..., C] if channels are last."""

    epilogue: Epilogue
    operands: tuple[TensorView, ...]
    y: TensorView


def fuse_epilogue(
    layouts: ValueLayouts, value: Value, *, channels_last: bool = False, start: Scalar = RESULT
) -> FusedEpilogue:
    """Fuses the elementwise consumers of a value into the kernel that computes it, and binds their result to its output.

    The columns of the epilogue's operands run along the last dim, or along the channels.  start: the value as an
    expression of the kernel's result.
    """
    rank = len(layouts.known_shape(value))
    axis = 1 if channels_last else rank - 1

    def accepts(operand: Value, shape: Shape) -> bool:
        return can_take(
            layouts, operand, shape, layouts.known_shape(value), axis, channels_last=channels_last
        )

    group = fuse_consumers(layouts, value, accepts, start)
    if group is None:
        return FusedEpilogue(Epilogue(start), (), layouts.allocate_result(value, channels_last=channels_last))
    kinds = tuple(k for shape in group.shapes if (k := operand_layout(shape, group.shape, axis)) is not None)
    operands = tuple(
        lay_out_operand(layouts, operand, shape, kind, channels_last=channels_last)
        for operand, shape, kind in zip(group.operands, group.shapes, kinds, strict=True)
    )
    mark_fused(layouts, group)
    y = layouts.allocate_result(group.result, channels_last=channels_last)
    return FusedEpilogue(Epilogue(group.value, kinds), operands, y)


def can_take(
    layouts: ValueLayouts, operand: Value, shape: Shape, whole: Shape, axis: int, *, channels_last: bool
) -> bool:
    """Whether an epilogue can read an operand, whose broadcast dims are `shape`."""
    dims = layouts.known_shape(operand)
    kind = operand_layout(shape, whole, axis)
    if kind is None or not has_static_dims(dims, shape):
        return False
    # A matrix has its channels at axis 1 only if it has the rank of the result.
    return kind != "matrix" or not channels_last or len(dims) == len(shape)


def mark_fused(layouts: ValueLayouts, group: FusionGroup) -> None:
    """Marks the nodes of a group as lowered; emitted steps are attributed to them too."""
    layouts.lowered.update(group.nodes)
    layouts.node_names = (*layouts.node_names, *(node.name or node.outputs[0].name for node in group.nodes))


def has_static_dims(dims: Shape, broadcast: Shape) -> bool:
    """Whether an operand's dims equal its broadcast dims, apart from ones: none may turn out to be 1 at run time."""
    return [dim for dim in dims if dim != 1] == [dim for dim in broadcast if dim != 1]


def operand_layout(shape: Shape, whole: Shape, axis: int) -> OperandLayout | None:
    """How an operand broadcasts along rows whose columns are dim `axis`; None if no epilogue can read it."""
    if all(dim == 1 for dim in shape):
        return "scalar"
    if shape == whole:
        return "matrix"
    rest = [dim for i, dim in enumerate(shape) if i != axis]
    return "column" if shape[axis] == whole[axis] and all(dim == 1 for dim in rest) else None


def lay_out_operand(
    layouts: ValueLayouts, value: Value, shape: Shape, kind: OperandLayout, *, channels_last: bool
) -> TensorView:
    """An operand in the layout that the epilogue reads."""
    if kind == "matrix":
        tensor = layouts.channels_last(value) if channels_last else layouts.dense_rows(value)
        return broadcast_to(tensor, channels_last_shape(shape) if channels_last else shape)
    dense = layouts.dense(value)
    return dense.reshape((dense.num_elements,))


def channels_last_shape(shape: Shape) -> Shape:
    """Dims [N, C, ...] as [N, ..., C]."""
    return tuple(shape[i] for i in channels_last_permutation(len(shape)))


def broadcast_to(tensor: TensorView, shape: Shape) -> TensorView:
    """A tensor with leading dims of stride 0, and the dims of the result."""
    lead = len(shape) - tensor.rank
    return replace(tensor, shape=shape, strides=(0,) * lead + tensor.strides)
