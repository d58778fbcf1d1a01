"""Pushing Transposes through operators: how a node computes the same from the untransposed inputs.

A tensor is transposed by `perm` if its axis i is axis perm[i] of the untransposed tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Array, Node, Value
from sardonyx._src.ops.traits import PermutationRule
from sardonyx._src.rewrite.engine.edit import Edit
from sardonyx._src.rewrite.support.axes import axes_of
from sardonyx._src.rewrite.support.slices import has_slice_input, slice_numbers

Perm = tuple[int, ...]

AXIS_ATTRIBUTES = {
    "axis",
    "axes",
    "block_size",
    "broadcast",
}  # attributes of operators that treat some axes differently


@dataclass(frozen=True, slots=True)
class TransposedNode:
    """A node rewritten to read untransposed tensors.

    slots: the inputs to replace by their untransposed tensors.
    perm: the permutation that every output then lacks.
    constants: the inputs to replace by other constants, by position.
    attributes: the attributes that change.
    """

    slots: Sequence[int]
    perm: Perm
    constants: Mapping[int, Array] = field(default_factory=dict)
    attributes: Mapping[str, object] = field(default_factory=dict)


def perm_of(node: Node, edit: Edit) -> Perm | None:
    """The permutation of a Transpose; None if it is invalid, or omitted and the rank unknown."""
    perm = edit.attributes(node).get("perm")
    if isinstance(perm, tuple):
        order = tuple(int(axis) for axis in perm)
        return order if sorted(order) == list(range(len(order))) else None
    rank = edit.rank(node.inputs[0])
    return None if rank is None else tuple(reversed(range(rank)))


def compose(first: Perm, second: Perm) -> Perm:
    """The permutation of two successive Transposes."""
    return tuple(first[axis] for axis in second)


def inverse(perm: Perm) -> Perm:
    """The inverse permutation."""
    return tuple(perm.index(axis) for axis in range(len(perm)))


def is_identity_permutation(perm: Perm) -> bool:
    return perm == tuple(range(len(perm)))


def push_transpose(node: Node, perm: Perm, edit: Edit) -> TransposedNode | None:
    """Push a Transpose by `perm` from the inputs of a node to its outputs; None if that is not possible."""
    if node.device_configurations or node.subgraphs or not node.inputs:
        return None
    if is_elementwise(node, edit):
        return push_elementwise(node, perm, edit)
    operator = edit.operator_of(node)
    if operator is None or not edit.is_a(node, node.op_type, node.domain):
        return None
    if operator.op.reduction:
        return push_reduction(node, perm, edit)
    rule = operator.op.under_permutation
    return PUSH_RULES[rule](node, perm, edit) if rule is not None else None


def is_elementwise(node: Node, edit: Edit) -> bool:
    """Whether a node is elementwise with NumPy broadcasting, which binary operators have since version 7."""
    operator = edit.operator_of(node)
    if operator is None or not operator.op.elementwise or operator.op.is_random or len(node.outputs) != 1:
        return False
    return not AXIS_ATTRIBUTES & operator.schema.attributes.keys() and (
        len(node.inputs) == 1 or operator.version >= 7
    )


def inputs_with_elements(node: Node, edit: Edit) -> Sequence[Value | None]:
    """The inputs from whose elements an elementwise node computes; the other one of CastLike gives an element type, of any shape."""
    operator = edit.operator_of(node)
    return node.inputs[:1] if operator is not None and operator.op.casts else node.inputs


def push_elementwise(node: Node, perm: Perm, edit: Edit) -> TransposedNode | None:
    inputs = inputs_with_elements(node, edit)
    return push_operands(node, perm, edit, [], {}) if inputs == node.inputs else TransposedNode([0], perm)


def push_operands(
    node: Node, perm: Perm, edit: Edit, exact: Sequence[int], attributes: Mapping[str, object]
) -> TransposedNode | None:
    """Replace transposed inputs, and permute constants.

    exact: the inputs that must have the full rank; the others may be broadcast.
    """
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
            full_rank = data.reshape((1,) * (len(perm) - data.ndim) + data.shape)
            constants[i] = np.ascontiguousarray(full_rank.transpose(np.argsort(perm)))
    return TransposedNode(slots, perm, constants, attributes) if slots else None


def axis_in(node: Node, perm: Perm, edit: Edit) -> int | None:
    """The axis attribute of a node, as an axis of the untransposed tensor."""
    axis = edit.attributes(node).get("axis")
    return perm[axis] if isinstance(axis, int) and -len(perm) <= axis < len(perm) else None


def push_along_axis(node: Node, perm: Perm, edit: Edit) -> TransposedNode | None:
    """Push a Transpose through an operator along one axis."""
    axis = axis_in(node, perm, edit)
    return None if axis is None else TransposedNode([0], perm, {}, {"axis": axis})


def push_softmax(node: Node, perm: Perm, edit: Edit) -> TransposedNode | None:
    """Push through Softmax and its relatives of version 13 or later; earlier ones normalize over all axes from `axis` on."""
    return push_along_axis(node, perm, edit) if edit.version(node) >= 13 else None


def push_concat(node: Node, perm: Perm, edit: Edit) -> TransposedNode | None:
    axis = axis_in(node, perm, edit)
    return None if axis is None else push_operands(node, perm, edit, range(len(node.inputs)), {"axis": axis})


def push_reduction(node: Node, perm: Perm, edit: Edit) -> TransposedNode | None:
    axes = axes_of(node, len(perm), edit)
    attributes = edit.attributes(node)
    if axes is None or (not axes and attributes.get("noop_with_empty_axes")):
        return None
    rest = perm if attributes["keepdims"] else drop_axes(perm, axes or range(len(perm)))
    return with_axes_list(node, rest, [perm[axis] for axis in axes], edit)


def push_squeeze(node: Node, perm: Perm, edit: Edit) -> TransposedNode | None:
    axes = axes_of(node, len(perm), edit)
    return with_axes_list(node, drop_axes(perm, axes), [perm[axis] for axis in axes], edit) if axes else None


def with_axes_list(node: Node, perm: Perm, axes: Sequence[int], edit: Edit) -> TransposedNode:
    operator = edit.operator_of(node)
    assert operator is not None, f"{node!r} has a known operator"
    if not axes:
        return TransposedNode([0], perm)
    if "axes" in operator.schema.attributes:
        return TransposedNode([0], perm, {}, {"axes": list(axes)})
    return TransposedNode([0], perm, {1: np.array(axes, np.int64)})


def drop_axes(perm: Perm, axes: Sequence[int]) -> Perm:
    """The permutation that remains when some axes of the transposed tensor are removed."""
    rest = [source for axis, source in enumerate(perm) if axis not in axes]
    return tuple(sorted(rest).index(source) for source in rest)


def push_gather(node: Node, perm: Perm, edit: Edit) -> TransposedNode | None:
    """Push through a Gather with a scalar index, which removes the axis, or with a vector of indices."""
    axis, rank, own = axis_in(node, perm, edit), edit.rank(node.inputs[1]), edit.attributes(node)["axis"]
    if axis is None or rank not in (0, 1):
        return None
    assert isinstance(own, int), "axis is an integer"
    return TransposedNode([0], perm if rank else drop_axes(perm, [own % len(perm)]), {}, {"axis": axis})


def push_matmul(node: Node, perm: Perm, edit: Edit) -> TransposedNode | None:
    """Push through a product with a matrix, if the last axis stays last."""
    last = len(perm) - 1
    if last < 1 or perm[last] != last or edit.rank(node.inputs[1]) != 2:
        return None
    return TransposedNode([0], perm)


def push_slice(node: Node, perm: Perm, edit: Edit) -> TransposedNode | None:
    starts = slice_numbers(node, 0, edit)
    axes = slice_numbers(node, 2, edit) if has_slice_input(node, 2, edit) else tuple(range(len(starts or ())))
    if not axes or not all(-len(perm) <= axis < len(perm) for axis in axes):
        return None
    slice_axes = [perm[axis] for axis in axes]
    if edit.version(node) == 1:
        return TransposedNode([0], perm, {}, {"axes": slice_axes})
    return TransposedNode([0], perm, {3: np.array(slice_axes, np.int64)})


def push_pad(node: Node, perm: Perm, edit: Edit) -> TransposedNode | None:
    """Push through a Pad; its counts are in the order of the axes, unless an input `axes` lists other axes."""
    if edit.version(node) < 11:
        pads = edit.attributes(node)["pads"]
        counts = np.array(pads, np.int64)
        return (
            TransposedNode([0], perm, {}, {"pads": permute_pad_counts(counts, perm)})
            if counts.size == 2 * len(perm)
            else None
        )
    if len(node.inputs) > 3 and node.inputs[3] is not None:
        axes = edit.constant(node.inputs[3])
        if axes is None or not all(-len(perm) <= axis < len(perm) for axis in axes):
            return None
        return TransposedNode([0], perm, {3: np.array([perm[int(axis)] for axis in axes], np.int64)})
    count_data = edit.constant(node.inputs[1])
    if count_data is None or count_data.size != 2 * len(perm):
        return None
    return TransposedNode([0], perm, {1: np.array(permute_pad_counts(count_data, perm), np.int64)})


def permute_pad_counts(counts: Array, perm: Perm) -> list[int]:
    rows = counts.reshape(2, -1)[:, np.argsort(perm)]
    return [int(n) for n in rows.reshape(-1)]


def push_quantization(node: Node, perm: Perm, edit: Edit) -> TransposedNode | None:
    """Push through quantization with one scale per tensor."""
    return TransposedNode([0], perm) if all(edit.shape(v) == () for v in node.inputs[1:]) else None


PUSH_RULES: Mapping[PermutationRule, Callable[[Node, Perm, Edit], TransposedNode | None]] = {
    "along_axis": push_along_axis,
    "softmax": push_softmax,
    "per_tensor_quantization": push_quantization,
    "concat": push_concat,
    "squeeze": push_squeeze,
    "gather": push_gather,
    "matmul": push_matmul,
    "slice": push_slice,
    "pad": push_pad,
}


def emit_transposed(node: Node, sources: Mapping[Value, Value], plan: TransposedNode, edit: Edit) -> Node:
    """Emit the transposed form of a node before it; `sources` maps its inputs to the untransposed tensors."""
    inputs: list[Value | None] = list(node.inputs)
    inputs += [None] * (max(plan.constants, default=-1) + 1 - len(inputs))
    for slot in plan.slots:
        value = inputs[slot]
        assert value is not None, "a transposed input is present"
        inputs[slot] = sources[value]
    for slot, data in plan.constants.items():
        inputs[slot] = edit.make_constant(data, f"{node.outputs[0].name}_transposed", before=node)
    attributes = {**dict(node.attributes), **plan.attributes}
    return edit.make(
        node.op_type, inputs, attributes, before=node, outputs=len(node.outputs), domain=node.domain
    )
