"""Factors that move from the operand of a layer into its weight, channel by channel, with results that are equal.

A layer W of an operand x computes W x = (W diag(s)) (x / s).  The division is folded into the constants that precede the
operand, and costs nothing in a run.  Every node on the way from these constants to the operand is one whose result is divided
if some of its operands are, and nothing else reads what is divided.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, Node, Tensor, Value
from sardonyx._src.quantize.activations.layers import WEIGHT, ProductLayer
from sardonyx._src.quantize.activations.parameters import along
from sardonyx._src.quantize.weights.layers import axis_of_terms, product_kind
from sardonyx._src.rewrite.engine.edit import Edit
from sardonyx._src.rewrite.engine.view import View

NORMALIZATIONS = ("LayerNormalization", "RMSNormalization", "SimplifiedLayerNormalization")
HOMOGENEOUS = ("Abs", "Identity", "LeakyRelu", "Neg", "Relu")  # f(x / s) = f(x) / s for s > 0


class CannotFold(Exception):
    """A value cannot be divided; the message is the reason."""


@dataclass(frozen=True, slots=True)
class ScaledStorage:
    """A weight times a factor for each index of an axis, computed whenever it is read: no memory holds a second weight."""

    source: Tensor
    factors: Array
    axis: int

    def array(self, dtype: DataType, shape: tuple[int, ...]) -> Array:
        spread = self.factors.reshape([-1 if axis == self.axis else 1 for axis in range(len(shape))])
        return (self.source.numpy() * spread).astype(dtype.numpy)


@dataclass(frozen=True, slots=True)
class FoldedConstant:
    """A constant input of a node that is divided along an axis."""

    node: Node
    slot: int
    axis: int

    def scale(self, edit: Edit, factors: Array) -> None:
        """Multiplies the constant, for this node only."""
        value = self.node.inputs[self.slot]
        tensor = edit.tensor(value)
        assert value is not None and tensor is not None, "folded constants are constants"
        scale_constant(edit, value, {self.node}, scaled(tensor, factors, self.axis))


def scaled(tensor: Tensor, factors: Array, axis: int) -> Tensor:
    return Tensor(tensor.dtype, tensor.shape, ScaledStorage(tensor, factors, axis))


def scale_constant(edit: Edit, value: Value, readers: Collection[Node], tensor: Tensor) -> None:
    """Gives readers of a constant another tensor: the constant keeps its name if there are no other readers."""
    is_own = value.producer is None and edit.is_internal(value)
    if is_own and {node for node, _ in value.uses} <= set(readers):
        tensor.name = value.name
        value.initializer = tensor
        return
    for node in readers:
        changed = edit.make_constant(tensor, f"{value.name}_scaled", before=node)
        edit.update(node, inputs=[changed if other is value else other for other in node.inputs])


def fold_division(
    view: View, value: Value | None, readers: Collection[Node], length: int
) -> list[FoldedConstant]:
    """The constants that divide a value, which has `length` elements along its last axis, for these readers.

    Raises CannotFold.
    """
    node = None if value is None else value.producer
    if value is None or node is None or view.operator_of(node) is None or node.graph is not view.model.graph:
        raise CannotFold("no node of the main graph computes its operand")
    others = [reader.op_type for reader, _ in value.uses if reader not in readers]
    if others or value in view.public:
        raise CannotFold(f"{others[0] if others else 'the caller'} reads its operand, too")
    return fold_through(view, node, length)


def fold_through(view: View, node: Node, length: int) -> list[FoldedConstant]:
    """The constants that divide the result of a node."""
    kind = product_kind(view, node)
    if kind is not None:
        axis = 1 - axis_of_terms(view, node)
        bias = [constant_of(view, node, 2, length)] if len(node.inputs) > 2 and node.inputs[2] else []
        return [constant_of(view, node, 1, length, axis), *bias]
    if node.op_type in NORMALIZATIONS and sum(bool(output.uses) for output in node.outputs) == 1:
        slots = [slot for slot, value in enumerate(node.inputs) if slot and value is not None]
        return [constant_of(view, node, slot, length) for slot in slots]
    if node.op_type in HOMOGENEOUS and not node.domain:
        return fold_division(view, node.inputs[0], {node}, length)
    if node.op_type == "Mul":
        return fold_factor(view, node, length)
    if node.op_type in ("Add", "Sub"):
        return [item for slot in (0, 1) for item in fold_operand(view, node, slot, length)]
    raise CannotFold(f"{node.op_type} computes its operand")


def fold_factor(view: View, node: Node, length: int) -> list[FoldedConstant]:
    """One factor of a product is divided."""
    reasons = []
    for slot in (1, 0):
        try:
            return fold_operand(view, node, slot, length)
        except CannotFold as reason:
            reasons.append(str(reason))
    raise CannotFold(reasons[0])


def fold_operand(view: View, node: Node, slot: int, length: int) -> list[FoldedConstant]:
    value = node.inputs[slot]
    if view.tensor(value) is not None:
        return [constant_of(view, node, slot, length)]
    return fold_division(view, value, {node}, length)


def constant_of(view: View, node: Node, slot: int, length: int, axis: int | None = None) -> FoldedConstant:
    """A constant float32 input with `length` elements along an axis, by default its last one."""
    tensor = view.tensor(node.inputs[slot])
    if tensor is None or node.inputs[slot] in view.mutable:
        raise CannotFold(f"{node.op_type} computes its operand without a constant")
    axis = len(tensor.shape) - 1 if axis is None else axis
    if tensor.dtype is not DataType.FLOAT or not tensor.shape or tensor.shape[axis] != length:
        raise CannotFold(
            f"a constant of {node.op_type} does not have one number for each of its {length} terms"
        )
    return FoldedConstant(node, slot, axis)


def input_axis(layer: ProductLayer) -> int:
    """The axis of the weight along which it multiplies channels of the operand."""
    return 1 if layer.is_convolution else 1 - layer.axis


def group_count(edit: Edit, layer: ProductLayer) -> int:
    number = edit.attributes(layer.node).get("group", 1) if layer.is_convolution else 1
    assert isinstance(number, int), "a number of groups is an integer"
    return number


def by_input_channel(edit: Edit, layer: ProductLayer, weight: Array) -> Array:
    """The greatest magnitude with which a weight multiplies each channel of the operand: float32 [channels of the operand]."""
    groups = group_count(edit, layer)
    if not layer.is_convolution:
        return np.asarray(np.abs(weight).max(axis=layer.axis))
    parts = np.abs(weight).reshape(groups, -1, *weight.shape[1:])
    return np.asarray(parts.max(axis=(1, *range(3, parts.ndim))).reshape(-1))


def scale_inputs(edit: Edit, layer: ProductLayer, weight: Array, factors: Array) -> Array:
    """The weight that multiplies operands divided by the factors."""
    groups = group_count(edit, layer)
    if not layer.is_convolution:
        return np.asarray(weight * along(factors, 2, input_axis(layer)))
    parts = weight.reshape(groups, -1, *weight.shape[1:])
    spread = factors.reshape(groups, 1, weight.shape[1], *[1] * (weight.ndim - 2))
    return np.asarray((parts * spread).reshape(weight.shape))


def replace_constant(edit: Edit, node: Node, slot: int, numbers: Array) -> None:
    """An input of one node becomes other numbers, float32; other readers of the constant keep it."""
    value = node.inputs[slot]
    assert value is not None, "the node reads a constant"
    scale_constant(edit, value, {node}, Tensor.of(np.ascontiguousarray(numbers, np.float32)))


def replace_weight(edit: Edit, layer: ProductLayer, numbers: Array) -> None:
    replace_constant(edit, layer.node, WEIGHT, numbers)


def layers_that_read(layers: list[ProductLayer], value: Value) -> list[ProductLayer] | None:
    """The layers whose operand a value is; None if anything else reads it, too."""
    readers = [layer for layer in layers if layer.operand is value]
    return readers if readers and len(readers) == len(value.uses) else None
