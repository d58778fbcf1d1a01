"""Elementwise operators: as large a group of them as can be in one kernel."""

from __future__ import annotations

from dataclasses import replace

from sardonyx.compile.elements import ELEMENTS
from sardonyx.compile.elementwise.kernel import elementwise
from sardonyx.compile.elementwise.operators import SCALARS
from sardonyx.compile.endings import absorb
from sardonyx.compile.fusion import Group, Shape, beginning
from sardonyx.compile.lowering import Lowering, last_order
from sardonyx.compile.nodes import Call
from sardonyx.compile.registry import lowers
from sardonyx.compile.tensor import Tensor
from sardonyx.ir.dims import Known, dim_min
from sardonyx.ir.graph import Value
from sardonyx.schema import versions


def lower(call: Call, at: Lowering) -> bool:
    group = beginning(at, call.node)
    values = () if group is None else (group.result, *group.operands)
    if group is None or not all(at.dtype_of(value) in ELEMENTS for value in values):
        return False
    last = len(group.shape) > 2 and any(is_last(at, v, s, group) for v, s in operands(group))
    inputs = [placed(at, value, shape, group, last=last) for value, shape in operands(group)]
    absorb(at, group)
    out = at.result(group.result, channels_last=last)
    at.emit(elementwise(group.value, inputs, out))
    return True


def operands(group: Group) -> list[tuple[Value, Shape]]:
    return list(zip(group.operands, group.shapes, strict=True))


def is_last(at: Lowering, value: Value, shape: Shape, group: Group) -> bool:
    """Whether an operand of the result's dims is there with its channels innermost."""
    return shape == group.shape and at.shape(value) == shape and at.has_channels_last(value)


def placed(at: Lowering, value: Value, shape: Shape, group: Group, *, last: bool) -> Tensor:
    """An operand with as many dims as the result, in their order."""
    if last and at.shape(value) == group.shape:
        return at.channels_last(value)
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


for name in SCALARS.keys() - {"Identity"}:
    lowers(name, versions("", name)[-1])(lower)
