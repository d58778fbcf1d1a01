"""Transpose of dequantized bytes, and of a dequantized constant: its integer codes are transposed instead, so that a product can read them packed.

Constant folding leaves such a DequantizeLinear, since the result is larger than the codes.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.compile.prepare.decompositions import dequantized_movement
from sardonyx._src.ir import Node, Tensor, Value
from sardonyx._src.rewrite.engine.edit import Edit
from sardonyx._src.rewrite.support.transposes import Perm, perm_of


def decompose(node: Node, edit: Edit) -> bool:
    return transpose_constant(node, edit) or dequantized_movement.decompose(node, edit)


def transpose_constant(node: Node, edit: Edit) -> bool:
    value = node.inputs[0] if node.inputs else None
    source = None if value is None else value.producer
    if value is None or source is None or source.op_type != "DequantizeLinear" or source.domain:
        return False
    operands = [(v, edit.tensor(v)) for v in source.inputs if v is not None]
    perm, shape = perm_of(node, edit), edit.shape(value)
    if not perm or shape is None or edit.operator_of(source) is None or not edit.has_one_use(value):
        return False
    axis = edit.attributes(source)["axis"]
    if any(tensor is None for _, tensor in operands) or not isinstance(axis, int) or axis >= len(shape):
        return False
    inputs = [transposed(edit, v, tensor, perm, node) for v, tensor in operands if tensor is not None]
    attributes = {**dict(source.attributes), "axis": perm.index(axis % len(shape))}
    return edit.replace(node, "DequantizeLinear", inputs, attributes)


def transposed(edit: Edit, value: Value, tensor: Tensor, perm: Perm, before: Node) -> Value:
    """A constant with permuted dims; a scale or zero point of another rank is unchanged."""
    if len(tensor.shape) != len(perm):
        return value
    data = np.ascontiguousarray(tensor.numpy().transpose(perm))
    return edit.make_constant(Tensor.of(data, tensor.dtype), value.name, before=before)
