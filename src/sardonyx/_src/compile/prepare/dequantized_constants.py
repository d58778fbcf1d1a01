"""Constants of a DequantizeLinear, or of a Cast from half precision, evaluated once for kernels that need floats."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sardonyx._src.compile.codegen.element_types import HALF_TYPES
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, Node, Tensor, TensorType, Value
from sardonyx._src.rewrite.support.evaluate import evaluate_node

MAX_DEQUANTIZED_BYTES = 1 << 30  # of all constants together; kernels dequantize the others in every run


class DequantizedConstants:
    """The elements of lazy constants as floats, each evaluated once and within `MAX_DEQUANTIZED_BYTES`."""

    def __init__(self, opset_imports: Mapping[str, int]) -> None:
        self._opset_imports = opset_imports
        self._elements: dict[Value, Array | None] = {}
        self._bytes = 0

    def elements(self, value: Value) -> Array | None:
        """The elements of a value whose node reads constants only; None for any other value, or over the limit."""
        node = value.producer
        if node is None or not (node.op_type == "DequantizeLinear" or is_upcast(node)):
            return None
        if value not in self._elements:
            self._elements[value] = self._evaluate(node)
        return self._elements[value]

    def _evaluate(self, node: Node) -> Array | None:
        tensors = [None if value is None else value.initializer for value in node.inputs]
        literals = [tensor for tensor in tensors if isinstance(tensor, Tensor)]
        if len(literals) != sum(value is not None for value in node.inputs):
            return None
        size = 4 * int(np.prod(literals[0].shape))
        if self._bytes + size > MAX_DEQUANTIZED_BYTES:
            return None
        arguments = [tensor if isinstance(tensor, Tensor) else None for tensor in tensors]
        results = evaluate_node(node, self._opset_imports, arguments)
        if results is None or not isinstance(results[0], np.ndarray):
            return None
        self._bytes += size
        return results[0]


def is_upcast(node: Node) -> bool:
    """Whether a node casts half precision to float32."""
    types = [value.type for value in (*node.inputs, *node.outputs) if value is not None]
    dtypes = [t.dtype for t in types if isinstance(t, TensorType)]
    is_cast = node.op_type == "Cast" and not node.domain
    return is_cast and len(dtypes) == 2 and dtypes[0] in HALF_TYPES and dtypes[1] is DataType.FLOAT


def upcast_source(value: Value) -> Array | None:
    """The half-precision constant that a value casts to float32; None if it is not such a cast."""
    node = value.producer
    if node is None or not is_upcast(node) or node.inputs[0] is None:
        return None
    literal = node.inputs[0].initializer
    return literal.numpy() if isinstance(literal, Tensor) else None
