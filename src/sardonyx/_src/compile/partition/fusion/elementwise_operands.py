"""Operands of elementwise nodes in a group: how they broadcast to its dims, per axis and per channel as well."""

from __future__ import annotations

from math import frexp, isfinite

import numpy as np

from sardonyx._src.compile.kernels.elementwise import quantization
from sardonyx._src.compile.partition import Scope
from sardonyx._src.ir import Array, Node, Value
from sardonyx._src.ir.dims import Known

QUANTIZATION = ("QuantizeLinear", "DequantizeLinear")
SHARED_OPERATORS = frozenset(  # whose constants are operands
    "Add Sub Mul PRelu Where Equal Less LessOrEqual Greater GreaterOrEqual".split()
)
NEUTRAL_NUMBERS = (0, 1, -1)
Shape = tuple[Known, ...]


def is_cast(node: Node) -> bool:
    return node.op_type == "Cast"


def reads_by_broadcasting(node: Node, index: int) -> bool:
    """Whether a node reads an input by ordinary broadcasting, and not per axis or per channel."""
    return index == 0 or node.op_type not in ("BatchNormalization", *QUANTIZATION)


def broadcast_shape(scope: Scope, node: Node, index: int, value: Value, result_shape: Shape) -> Shape | None:
    """The dims of an operand padded to the rank of the result; None if it is not known to broadcast."""
    dims = scope.shape(value)
    shape = None if dims is None else align_dims(node, index, dims, result_shape)
    if shape is None or (node.op_type in QUANTIZATION and index > 0 and not has_one_shape(scope, node)):
        return None
    if node.op_type in QUANTIZATION and index > 0 and quantization.is_blocked(node, dims or (), result_shape):
        blocks = quantization.block_shape(node, result_shape)
        if blocks is None or not all(map(scope.guard_required_equal, shape, blocks)):
            return None
        return tuple(1 if block == 1 else b for block, b in zip(blocks, result_shape, strict=True))
    if not all(scope.guard_broadcast(a, b) for a, b in zip(shape, result_shape, strict=True)):
        return None
    return tuple(1 if a == 1 else b for a, b in zip(shape, result_shape, strict=True))


def align_dims(node: Node, index: int, dims: Shape, result_shape: Shape) -> Shape | None:
    """The dims of an input of a node padded to the rank of its result; None if they cannot be padded so."""
    if len(dims) > len(result_shape):
        return None
    shape: Shape | None = dims
    if node.op_type == "BatchNormalization" and index > 0:
        shape = (*dims, *(1 for _ in result_shape[2:]))  # one element per channel
    if node.op_type in QUANTIZATION and index > 0:
        shape = quantization.align_to_axis(node, dims, result_shape)
    return None if shape is None else (*(1 for _ in result_shape[len(shape) :]), *shape)


def has_one_shape(scope: Scope, node: Node) -> bool:
    """Whether the scale and the zero point of a node have the same shape, or one element each."""
    shapes = [scope.shape(value) for value in node.inputs[1:] if value is not None]
    return all(map(is_single_element, shapes)) or all(
        shape is not None and shape == shapes[0] for shape in shapes
    )


def is_deferred_dequantize(scope: Scope, value: Value) -> bool:
    """Whether a DequantizeLinear computes the value from 8-bit or narrower codes, which consumers better read than the floats."""
    node = value.producer
    if node is None or node.op_type != "DequantizeLinear" or node.domain:
        return False
    return scope.dtype_of(node.inputs[0]) in quantization.QUANTIZED_TYPES


def is_single_element(shape: Shape | None) -> bool:
    """Whether a tensor has one element."""
    return shape is not None and all(dim == 1 for dim in shape)


def is_per_node_constant(node: Node, index: int, number: float) -> bool:
    """Whether a constant stays an operand, so that nodes share kernels: it differs from node to node, and is no faster as a number.

    Neutral elements, bounds, exponents, integer divisors and powers of two as divisors are faster, or few.
    """
    if is_quantization_parameter(node, index):
        return number != 0
    if node.op_type == "Div":
        return isinstance(number, float) and frexp(number)[0] not in (0.5, -0.5, 0.0)
    return node.op_type in SHARED_OPERATORS and number not in NEUTRAL_NUMBERS and isfinite(number)


def is_quantization_parameter(node: Node, index: int) -> bool:
    return node.op_type in QUANTIZATION and index > 0


def scalar_constant(elements: Array | None) -> float | int | bool | None:
    """The element of a constant that has one; None for other constants."""
    if elements is None or elements.size != 1 or elements.dtype.kind not in "fiub":
        return None
    element = np.asarray(elements).reshape(()).item()
    return element if isinstance(element, float | int | bool) else None
