"""Epilogues of integer GEMMs and convolutions: elementwise consumers of int32 accumulators, of several element types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sardonyx._src.compile.codegen.expressions import Local, Scalar
from sardonyx._src.compile.kernels.epilogue import OperandLayout
from sardonyx._src.compile.kernels.gemm.integer_epilogue import IntegerEpilogue
from sardonyx._src.compile.kernels.gemm.packed_int8 import INT8_PER_WORD, make_padded_temporary
from sardonyx._src.compile.layouts.value_layouts import ValueLayouts
from sardonyx._src.compile.partition.epilogues import can_take, lay_out_operand, mark_fused, operand_layout
from sardonyx._src.compile.partition.fusion import Accepts, FusionGroup, GroupBuilder, Shape
from sardonyx._src.compile.program.tensor import (
    TensorView,
    channels_first_permutation,
    channels_last_permutation,
    element_bytes,
)
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.graph import Node, Value

EPILOGUE_DTYPES = frozenset({DataType.FLOAT, DataType.INT32, DataType.UINT8, DataType.INT8})
ACCUMULATOR = Local("x")


@dataclass(frozen=True, slots=True)
class KernelOperand:
    """An operand of the integer kernel itself, such as a column of weight sums: `o0`, `o1`, ... in order.

    is_row: whether it has one element per row, in the layout of `integer_epilogue.of_rows`.
    """

    layout: OperandLayout
    tensor: TensorView
    is_row: bool = False


@dataclass(frozen=True, slots=True)
class FusedIntegerEpilogue:
    """An epilogue with its operands, and the tensor `y` that the kernel writes: [N, ..., C] if channels are last."""

    epilogue: IntegerEpilogue
    operands: tuple[TensorView, ...]
    y: TensorView


class IntegerGroupBuilder(GroupBuilder):
    """A group after int32 accumulators: float32, int32, uint8 and int8 only."""

    max_operands = (
        14  # scales and zero points of several quantisations, which occupy no register during accumulation
    )

    def add(self, node: Node) -> bool:
        dtypes = [self.layouts.dtype_of(value) for value in node.outputs]
        return all(dtype in EPILOGUE_DTYPES for dtype in dtypes) and super().add(node)


def fuse_integer_epilogue(
    layouts: ValueLayouts,
    value: Value,
    start: Scalar,
    own: Sequence[KernelOperand],
    *,
    channels_last: bool = False,
) -> FusedIntegerEpilogue:
    """Fuses the elementwise consumers of a value into the kernel that computes it, and binds their result to its output.

    start: the value as an expression of the accumulator and of the kernel's own operands.
    """
    rank = len(layouts.known_shape(value))
    axis = 1 if channels_last else rank - 1

    def accepts(operand: Value, shape: Shape) -> bool:
        if layouts.dtype_of(operand) not in EPILOGUE_DTYPES:
            return False
        return can_take(
            layouts, operand, shape, layouts.known_shape(value), axis, channels_last=channels_last
        )

    group = group_consumers(layouts, value, accepts, start, len(own))
    kinds = [operand.layout for operand in own]
    tensors = [operand.tensor for operand in own]
    if group is not None:
        for operand, shape in list(zip(group.operands, group.shapes, strict=True))[len(own) :]:
            kind = operand_layout(shape, group.shape, axis)
            assert kind is not None, "`accepts` has checked every operand"
            kinds.append(kind)
            tensors.append(lay_out_operand(layouts, operand, shape, kind, channels_last=channels_last))
        mark_fused(layouts, group)
    result, expression = (value, start) if group is None else (group.result, group.value)
    dtypes = tuple(tensor.dtype for tensor in tensors)
    rows = tuple(i for i, operand in enumerate(own) if operand.is_row)
    tail = IntegerEpilogue(expression, tuple(kinds), dtypes, layouts.dtype(result), rows)
    return FusedIntegerEpilogue(
        tail, tuple(tensors), narrow_result(layouts, result, channels_last=channels_last)
    )


def group_consumers(
    layouts: ValueLayouts, value: Value, accepts: Accepts, start: Scalar, own: int
) -> FusionGroup | None:
    """The consumers that fit in the epilogue; `own` is the number of the kernel's own operands."""
    shape = layouts.shape(value)
    if shape is None or value in layouts.outputs:
        return None
    builder = IntegerGroupBuilder(layouts, shape, accepts, "o")
    for i in range(own):
        builder.operands[Value(f"operand {i}", None), ()] = Local(f"o{i}")
    builder.define(value, start)
    return builder.grow()


def narrow_result(layouts: ValueLayouts, value: Value, *, channels_last: bool = False) -> TensorView:
    """A tensor for a result, bound to it; rows of 8-bit elements are padded to whole int8x4 words, as GEMMs read them."""
    shape = layouts.known_shape(value)
    order = channels_last_permutation(len(shape)) if channels_last else tuple(range(len(shape)))
    inner = shape[order[-1]] if shape else 1
    is_free = value not in layouts.outputs and value not in layouts.concat_elision.concats
    if (
        not is_free
        or element_bytes(layouts.dtype(value)) != 1
        or not isinstance(inner, int)
        or inner % INT8_PER_WORD == 0
    ):
        return layouts.allocate_result(value, channels_last=channels_last)
    tensor = make_padded_temporary(layouts.dtype(value), [shape[i] for i in order], value.name)
    layouts.bind(value, tensor.permute(channels_first_permutation(len(shape))) if channels_last else tensor)
    return tensor
