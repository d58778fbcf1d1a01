"""Constants behind a DequantizeLinear, or a Cast of 16 bits: floats for kernels that want them, made when one does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sardonyx._src.compile.elements import HALVES
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.graph import Node, Value
from sardonyx._src.ir.tensors import Array, Tensor
from sardonyx._src.ir.types import TensorType
from sardonyx._src.rewrite.evaluate import evaluated

if TYPE_CHECKING:
    from sardonyx._src.compile.forms import Forms

MOST = 1 << 30  # bytes that may be made so: beyond, kernels dequantize in every run


def dequantized_constant(at: Forms, value: Value) -> Array | None:
    """The elements of a deferred value whose node has constants alone; None for another one, or for too many."""
    node = value.producer
    if node is None or not (node.op_type == "DequantizeLinear" or is_widening(node)):
        return None
    return at.kept(("dequantized", value), lambda: made(at, node))


def is_widening(node: Node) -> bool:
    """Whether a node makes float32 of floats of 16 bits."""
    types = [one.type for one in (*node.inputs, *node.outputs) if one is not None]
    dtypes = [one.dtype for one in types if isinstance(one, TensorType)]
    return (
        node.op_type == "Cast"
        and not node.domain
        and len(dtypes) == 2
        and dtypes[0] in HALVES
        and dtypes[1] is DataType.FLOAT
    )


def half_of(at: Forms, value: Value) -> Array | None:
    """The elements of 16 bits that a deferred value has as float32; None for another one."""
    node = value.producer
    if value not in at.deferred or node is None or not is_widening(node) or node.inputs[0] is None:
        return None
    literal = node.inputs[0].initializer
    return literal.numpy() if isinstance(literal, Tensor) else None


def made(at: Forms, node: Node) -> Array | None:
    tensors = [None if one is None else one.initializer for one in node.inputs]
    literals = [one for one in tensors if isinstance(one, Tensor)]
    if len(literals) != len([one for one in node.inputs if one is not None]):
        return None
    size = 4 * int(np.prod(literals[0].shape))
    if at.widened + size > MOST:
        return None
    results = evaluated(
        node, at.model.opset_imports, [one if isinstance(one, Tensor) else None for one in tensors]
    )
    if results is None or not isinstance(results[0], np.ndarray):
        return None
    at.widened += size
    return results[0]
