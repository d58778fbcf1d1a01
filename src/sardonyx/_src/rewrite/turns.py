"""How operators do their work on tensors whose axes stand in another order.

A tensor is turned by `perm` when its axis i is axis perm[i] of the tensor at hand, as behind a Transpose of that tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sardonyx._src.ir.graph import Node, Value
from sardonyx._src.ir.tensors import Array
from sardonyx._src.rewrite.axis_lists import axes_of
from sardonyx._src.rewrite.cuts import is_given, numbers
from sardonyx._src.rewrite.edit import Edit

Perm = tuple[int, ...]

AXES = {"axis", "axes", "block_size", "broadcast"}  # attributes of what is not the same for all axes
REDUCTIONS = (
    *("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2"),
    *("ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"),
)


@dataclass(frozen=True, slots=True)
class Turned:
    """A node's work on tensors at hand: which inputs are such, what replaces constants and attributes, and how its
    outputs are turned."""

    slots: Sequence[int]
    perm: Perm  # of every output
    constants: Mapping[int, Array] = field(default_factory=dict)
    attributes: Mapping[str, object] = field(default_factory=dict)


def perm_of(node: Node, edit: Edit) -> Perm | None:
    """The order of a Transpose; None where it is none, or a missing one reverses axes that are not counted."""
    perm = edit.attributes(node).get("perm")
    if isinstance(perm, tuple):
        found = tuple(int(axis) for axis in perm)
        return found if sorted(found) == list(range(len(found))) else None
    rank = edit.rank(node.inputs[0])
    return None if rank is None else tuple(reversed(range(rank)))


def composed(first: Perm, second: Perm) -> Perm:
    """The order of two Transposes, one behind the other."""
    return tuple(first[axis] for axis in second)


def inverse(perm: Perm) -> Perm:
    """The order that undoes a Transpose."""
    return tuple(perm.index(axis) for axis in range(len(perm)))


def is_straight(perm: Perm) -> bool:
    return perm == tuple(range(len(perm)))


def turned(node: Node, perm: Perm, edit: Edit) -> Turned | None:
    """How a node works where its inputs are turned by `perm`; None where that cannot be said."""
    if node.device_configurations or node.subgraphs or not node.inputs:
        return None
    if is_elementwise(node, edit):
        return elementwise(node, perm, edit)
    known = WORK.get(node.op_type)
    if known is None or not edit.is_a(node, node.op_type):
        return None
    return known(node, perm, edit)


def is_elementwise(node: Node, edit: Edit) -> bool:
    """Whether a node treats all axes alike; before version 7 operands are not broadcast from the last axis on."""
    found = edit.meaning(node)
    if found is None or not found.op.elementwise or found.op.is_random or len(node.outputs) != 1:
        return False
    return not AXES & found.schema.attributes.keys() and (len(node.inputs) == 1 or found.version >= 7)


def elementwise(node: Node, perm: Perm, edit: Edit) -> Turned | None:
    return operands(node, perm, edit, [], {})


def operands(
    node: Node, perm: Perm, edit: Edit, exact: Sequence[int], attributes: Mapping[str, object]
) -> Turned | None:
    """Inputs that are turned, or constants that are turned beforehand, `exact` ones of full rank."""
    slots: list[int] = []
    constants: dict[int, Array] = {}
    for i, value in enumerate(node.inputs):
        if value is None or (i not in exact and edit.shape(value) == ()):
            continue
        data = edit.constant(value)
        if data is None:
            slots.append(i)
        elif data.ndim > len(perm) or (i in exact and data.ndim != len(perm)):
            return None
        elif data.size != 1 or i in exact:
            whole = data.reshape((1,) * (len(perm) - data.ndim) + data.shape)
            constants[i] = np.ascontiguousarray(whole.transpose(np.argsort(perm)))
    return Turned(slots, perm, constants, attributes) if slots else None


def axis_in(node: Node, perm: Perm, edit: Edit) -> int | None:
    """The node's one axis among those at hand."""
    axis = edit.attributes(node).get("axis")
    return perm[axis] if isinstance(axis, int) and -len(perm) <= axis < len(perm) else None


def along(node: Node, perm: Perm, edit: Edit) -> Turned | None:
    """Work along one axis; before version 13 the Softmax family goes over all axes behind it."""
    axis = axis_in(node, perm, edit)
    if axis is None or (node.op_type != "Split" and edit.version(node) < 13):
        return None
    return Turned([0], perm, {}, {"axis": axis})


def joined(node: Node, perm: Perm, edit: Edit) -> Turned | None:
    axis = axis_in(node, perm, edit)
    return None if axis is None else operands(node, perm, edit, range(len(node.inputs)), {"axis": axis})


def reduced(node: Node, perm: Perm, edit: Edit) -> Turned | None:
    axes = axes_of(node, len(perm), edit)
    attributes = edit.attributes(node)
    if axes is None or (not axes and attributes.get("noop_with_empty_axes")):
        return None
    rest = perm if attributes["keepdims"] else without(perm, axes or range(len(perm)))
    return with_list(node, rest, [perm[axis] for axis in axes], edit)


def squeezed(node: Node, perm: Perm, edit: Edit) -> Turned | None:
    axes = axes_of(node, len(perm), edit)
    return with_list(node, without(perm, axes), [perm[axis] for axis in axes], edit) if axes else None


def with_list(node: Node, perm: Perm, axes: Sequence[int], edit: Edit) -> Turned:
    found = edit.meaning(node)
    assert found is not None, f"{node!r} is of a known operator"
    if not axes:
        return Turned([0], perm)
    if "axes" in found.schema.attributes:
        return Turned([0], perm, {}, {"axes": list(axes)})
    return Turned([0], perm, {1: np.array(axes, np.int64)})


def without(perm: Perm, axes: Sequence[int]) -> Perm:
    """The order of the axes that are left when some of the turned tensor's go."""
    left = [place for axis, place in enumerate(perm) if axis not in axes]
    return tuple(sorted(left).index(place) for place in left)


def gathered(node: Node, perm: Perm, edit: Edit) -> Turned | None:
    """One entry of an axis, which goes, or a row of entries."""
    axis, rank, own = axis_in(node, perm, edit), edit.rank(node.inputs[1]), edit.attributes(node)["axis"]
    if axis is None or rank not in (0, 1):
        return None
    assert isinstance(own, int), "axis is an integer"
    return Turned([0], perm if rank else without(perm, [own % len(perm)]), {}, {"axis": axis})


def multiplied(node: Node, perm: Perm, edit: Edit) -> Turned | None:
    """A product of rows with a matrix, where they stay rows."""
    last = len(perm) - 1
    if last < 1 or perm[last] != last or edit.rank(node.inputs[1]) != 2:
        return None
    return Turned([0], perm)


def sliced(node: Node, perm: Perm, edit: Edit) -> Turned | None:
    starts = numbers(node, 0, edit)
    axes = numbers(node, 2, edit) if is_given(node, 2, edit) else tuple(range(len(starts or ())))
    if not axes or not all(-len(perm) <= axis < len(perm) for axis in axes):
        return None
    chosen = [perm[axis] for axis in axes]
    if edit.version(node) == 1:
        return Turned([0], perm, {}, {"axes": chosen})
    return Turned([0], perm, {3: np.array(chosen, np.int64)})


def padded(node: Node, perm: Perm, edit: Edit) -> Turned | None:
    """Counts stand in the order of the axes, unless axes are named."""
    if edit.version(node) < 11:
        found = edit.attributes(node)["pads"]
        counts = np.array(found, np.int64)
        return (
            Turned([0], perm, {}, {"pads": in_order(counts, perm)}) if counts.size == 2 * len(perm) else None
        )
    if len(node.inputs) > 3 and node.inputs[3] is not None:
        axes = edit.constant(node.inputs[3])
        if axes is None or not all(-len(perm) <= axis < len(perm) for axis in axes):
            return None
        return Turned([0], perm, {3: np.array([perm[int(axis)] for axis in axes], np.int64)})
    known = edit.constant(node.inputs[1])
    if known is None or known.size != 2 * len(perm):
        return None
    return Turned([0], perm, {1: np.array(in_order(known, perm), np.int64)})


def in_order(counts: Array, perm: Perm) -> list[int]:
    rows = counts.reshape(2, -1)[:, np.argsort(perm)]
    return [int(n) for n in rows.reshape(-1)]


def scaled(node: Node, perm: Perm, edit: Edit) -> Turned | None:
    """Quantisation with one scale for all elements."""
    return Turned([0], perm) if all(edit.shape(v) == () for v in node.inputs[1:]) else None


WORK: Mapping[str, Callable[[Node, Perm, Edit], Turned | None]] = {
    **dict.fromkeys(REDUCTIONS, reduced),
    **dict.fromkeys(("Softmax", "LogSoftmax", "Hardmax", "Split"), along),
    **dict.fromkeys(("QuantizeLinear", "DequantizeLinear"), scaled),
    "Concat": joined,
    "Squeeze": squeezed,
    "Gather": gathered,
    "MatMul": multiplied,
    "Slice": sliced,
    "Pad": padded,
}


def rewritten(node: Node, sources: Mapping[Value, Value], how: Turned, edit: Edit) -> Node:
    """The node's work on tensors at hand, which stand for those that the node reads, put before it."""
    inputs: list[Value | None] = list(node.inputs)
    inputs += [None] * (max(how.constants, default=-1) + 1 - len(inputs))
    for slot in how.slots:
        value = inputs[slot]
        assert value is not None, "what is turned is there"
        inputs[slot] = sources[value]
    for slot, data in how.constants.items():
        inputs[slot] = edit.constant_of(data, f"{node.outputs[0].name}_turned", before=node)
    attributes = {**dict(node.attributes), **how.attributes}
    return edit.make(
        node.op_type, inputs, attributes, before=node, outputs=len(node.outputs), domain=node.domain
    )
