"""Elementwise operators: as large a group of them as can be in one kernel."""

from __future__ import annotations

from dataclasses import replace

from sardonyx._src.compile.elements import ELEMENTS
from sardonyx._src.compile.elementwise.kernel import elementwise
from sardonyx._src.compile.elementwise.operators import SCALARS
from sardonyx._src.compile.endings import absorb
from sardonyx._src.compile.fusion import Group, Shape, beginning
from sardonyx._src.compile.lowering import Lowering
from sardonyx._src.compile.nodes import Call
from sardonyx._src.compile.registry import lowers
from sardonyx._src.compile.tensor import Tensor, last_order
from sardonyx._src.ir.dims import Known, dim_min
from sardonyx._src.ir.graph import Value
from sardonyx._src.schema import versions


def lower(call: Call, at: Lowering) -> bool:
    group = beginning(at, call.node)
    if group is None or not is_known(at, group):
        return False
    put_down(at, group)
    return True


def is_known(at: Lowering, group: Group) -> bool:
    """Whether kernels know the element types of a group's operands and of its result."""
    return all(at.dtype_of(value) in ELEMENTS for value in (group.result, *group.operands))


def put_down(at: Lowering, group: Group) -> None:
    """Emits the kernel of a group, channels last if one of its operands is."""
    last = len(group.shape) > 2 and any(is_last(at, v, s, group) for v, s in operands(group))
    inputs = [placed(at, value, shape, group, last=last) for value, shape in operands(group)]
    absorb(at, group)
    out = at.result(group.result, channels_last=last)
    at.emit(elementwise(group.value, inputs, out))


def operands(group: Group) -> list[tuple[Value, Shape]]:
    return list(zip(group.operands, group.shapes, strict=True))


def is_last(at: Lowering, value: Value, shape: Shape, group: Group) -> bool:
    """Whether an operand with the result's dims, ones apart that only sizes will tell, has its channels innermost."""
    return shape == group.shape and has_rank(at, value, group) and at.has_channels_last(value)


def has_rank(at: Lowering, value: Value, group: Group) -> bool:
    shape = at.shape(value)
    return shape is not None and len(shape) == len(group.shape)


def placed(at: Lowering, value: Value, shape: Shape, group: Group, *, last: bool) -> Tensor:
    """An operand with as many dims as the result, in their order."""
    if last and shape == group.shape and has_rank(at, value, group):
        return spread(at.channels_last(value), tuple(shape[i] for i in last_order(len(shape))))
    source = at.dense(value) if at.shape(value) == group.shape else at.strided(value)
    found = spread(source, shape)
    return found.permuted(last_order(found.rank)) if last else found


def spread(tensor: Tensor, shape: Shape) -> Tensor:
    """A tensor under dims that differ from its own by ones; a dim that may turn out to be 1 stands still where it is."""
    own = iter([(d, s) for d, s in zip(tensor.shape, tensor.strides, strict=True) if d != 1])
    strides: list[Known] = []
    for dim in shape:
        size, stride = (1, 0) if dim == 1 else next(own)
        strides.append(stride if size in (1, dim) else stride * dim_min(1, size - 1))
    return replace(tensor, shape=shape, strides=tuple(strides))


for name in SCALARS.keys() - {"Cast", "Identity", "DequantizeLinear"}:
    lowers(name, versions("", name)[-1])(lower)
