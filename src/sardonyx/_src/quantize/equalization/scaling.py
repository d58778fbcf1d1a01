"""Factors that move from the operand of a layer into its weight, channel by channel, with results that are equal.

A layer W of an operand x computes W x = (W diag(s)) (x / s).  The division is folded into the constants that precede the
operand: it costs nothing in a run.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.ir import Array, Node, Value
from sardonyx._src.quantize.activations.constants import drop_unused, replace_input
from sardonyx._src.quantize.activations.layers import WEIGHT, ProductLayer
from sardonyx._src.quantize.activations.parameters import along
from sardonyx._src.rewrite.engine.edit import Edit


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
    constant = edit.make_constant(
        np.ascontiguousarray(numbers, np.float32), f"{value.name}_scaled", before=node
    )
    replace_input(edit, node, slot, constant)
    drop_unused(edit, value)


def replace_weight(edit: Edit, layer: ProductLayer, numbers: Array) -> None:
    replace_constant(edit, layer.node, WEIGHT, numbers)


def layers_that_read(layers: list[ProductLayer], value: Value) -> list[ProductLayer] | None:
    """The layers whose operand a value is; None if anything else reads it, too."""
    readers = [layer for layer in layers if layer.operand is value]
    return readers if readers and len(readers) == len(value.uses) else None
