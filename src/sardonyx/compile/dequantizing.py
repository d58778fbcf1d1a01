"""Constants behind a DequantizeLinear: floats for kernels that want them, made when one does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sardonyx.ir.graph import Node, Value
from sardonyx.ir.tensors import Array, Tensor
from sardonyx.rewrite.evaluate import evaluated

if TYPE_CHECKING:
    from sardonyx.compile.forms import Forms

MOST = 1 << 30  # bytes that may be made so: beyond, kernels dequantize in every run


def dequantized_constant(at: Forms, value: Value) -> Array | None:
    """The elements of a deferred value whose node has constants alone; None for another one, or for too many."""
    node = value.producer
    if node is None or node.op_type != "DequantizeLinear":
        return None
    return at.kept(("dequantized", value), lambda: made(at, node))


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
