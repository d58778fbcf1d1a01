"""Products between a DequantizeLinear and a QuantizeLinear: of the integers, which are summed up exactly."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sardonyx._src.compile.elementwise.quantization import integer
from sardonyx._src.compile.integer_endings import Given, IntegerEnding, integer_ending
from sardonyx._src.compile.loops.ir import Apply, Cast, Local, Scalar, distinct
from sardonyx._src.compile.loops.ir import operands as operands_of
from sardonyx._src.compile.lower import integer_products
from sardonyx._src.compile.lower.integer_convolution import convolution, emit
from sardonyx._src.compile.lower.integer_products import BYTES
from sardonyx._src.compile.lowering import Lowering
from sardonyx._src.compile.nodes import Call
from sardonyx._src.compile.products.bytes import has_fast_bytes
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.graph import Value
from sardonyx._src.ir.tensors import Array

MOST = (1 << 31) - 1  # that a sum of products may come to
BYTE = 255


@dataclass(frozen=True, slots=True)
class Quantized:
    """What a float stands for: `scale` times a value of bytes less its zero point."""

    value: Value
    scale: Array
    zero: Value | None
    axis: int


def quantized(at: Lowering, value: Value | None) -> Quantized | None:
    """The bytes that a float is made of by known scales, which are ordinary numbers."""
    node = None if value is None else value.producer
    if value is None or node is None or value not in at.deferred or node.op_type != "DequantizeLinear":
        return None
    x, scale = node.inputs[0], at.constant(node.inputs[1])
    zero = node.inputs[2] if len(node.inputs) > 2 else None
    if x is None or scale is None or at.dtype_of(x) not in BYTES or integer(node, "block_size", 0):
        return None
    if not is_ordinary(scale) or scale.ndim > 1 or at.dtype_of(value) is not DataType.FLOAT:
        return None
    if zero is not None and (at.constant(zero) is None or at.shape(zero) != at.shape(node.inputs[1])):
        return None
    return Quantized(x, scale, zero, integer(node, "axis", 1))


def is_ordinary(scale: Array) -> bool:
    """Whether scales are numbers that float32 holds in full, and times sums of integers as well."""
    sizes = np.abs(scale.astype(np.float64))
    return scale.dtype in (np.float32, np.float64) and bool(((sizes > 1e-30) & (sizes < 1e25)).all())


def quantized_convolution(call: Call, at: Lowering) -> bool:
    """A Conv of bytes by constant bytes, which is done in them; False if it is none, or floats are as fast."""
    x, w = quantized(at, call.input(0)), quantized(at, call.input(1))
    bias = at.constant(call.input(2))
    if (
        x is None
        or w is None
        or not has_fast_bytes(at.target)
        or (bias is None and call.input(2) is not None)
    ):
        return False
    weights, zeros = at.constant(w.value), at.constant(w.zero)
    is_by_row = w.scale.size == 1 or w.axis == 0
    if (
        weights is None
        or x.scale.size != 1
        or not is_by_row
        or (bias is not None and bias.dtype != np.float32)
    ):
        return False
    found = convolution(call, at, (x.value, x.zero), (weights, zeros))
    if found is None or not is_small(found.weights):
        return False
    scale = np.broadcast_to(
        w.scale.reshape(-1).astype(np.float64) * float(x.scale.reshape(())), (len(weights),)
    )
    emit(at, found, lambda start, given: scaled(call, at, (start, given), scale, bias))
    return True


def quantized_product(call: Call, at: Lowering, bias: Array | None = None) -> bool:
    """A MatMul or Gemm of bytes by constant bytes; bias: a number for each column."""
    x, w = quantized(at, call.input(0)), quantized(at, call.input(1))
    if x is None or w is None or x.scale.size != 1 or not has_fast_bytes(at.target) or has_more(call):
        return False
    weights, zeros, column = at.constant(w.value), at.constant(w.zero), 1
    if weights is None or weights.ndim != 2:
        return False
    if call.attributes.get("transB"):
        weights, column = weights.T, 0
    found = integer_products.product(call, at, (x.value, x.zero), (weights, zeros))
    if found is None or (w.scale.size > 1 and w.axis % 2 != column) or not is_small(less(weights, zeros).T):
        return False
    columns = (weights.shape[1],)
    scale = np.broadcast_to(w.scale.reshape(-1).astype(np.float64) * x.scale.item(), columns)
    if not is_ordinary(scale):
        return False
    integer_products.emit(call, at, found, lambda start, given: scaled(call, at, (start, given), scale, bias))
    return True


def has_more(call: Call) -> bool:
    """Whether a Gemm does more than a product with a sum behind."""
    return bool(call.attributes.get("transA")) or call.attributes.get("alpha", 1.0) != 1.0


def less(weights: Array, zeros: Array | None) -> Array:
    """Weights [K, N] less zero points, one or one for each column."""
    wide = weights.astype(np.int64)
    return wide if zeros is None else wide - zeros.reshape(-1).astype(np.int64)


def is_small(weights: Array, added: Array | None = None) -> bool:
    """Whether no sum of bytes times weights [M, ...], and what is added to it, leaves 32 bits."""
    sizes = np.abs(weights.astype(np.int64)).reshape(len(weights), -1).sum(1) * BYTE
    return int((sizes if added is None else sizes + np.abs(added)).max(initial=0)) <= MOST


def scaled(
    call: Call, at: Lowering, sums: tuple[Scalar, list[Given]], scale: Array, bias: Array | None
) -> IntegerEnding:
    """Sums times a scale for each column and a bias, with what follows; a quantization's scale goes into both."""
    start, given = sums
    places = [Local(f"o{len(given) + i}") for i in range(2)]
    exact = scale, np.zeros_like(scale) if bias is None else bias.astype(np.float64)
    given = [*given, *(Given("column", at.constant_tensor(one.astype(np.float32))) for one in exact)]
    value = Apply("fma", (Cast(DataType.FLOAT, start), *places))
    end = integer_ending(at, call.output, value, given, channels_last=call.op_type == "Conv")
    divided = divisor(end, value)
    if divided is None:
        return end
    index, node = divided
    step = end.operands[index].storage.data
    if not isinstance(step, np.ndarray) or not is_ordinary(step) or not is_ordinary(exact[0] / step.item()):
        return end
    shorter = replaced(end.tail.value, node, value)
    operands = list(end.operands)
    for place, numbers in zip(places, exact, strict=True):
        operands[int(place.name[1:])] = at.constant_tensor(
            (numbers / float(step.reshape(()))).astype(np.float32)
        )
    return replace(end, tail=replace(end.tail, value=shorter), operands=tuple(operands))


def divisor(end: IntegerEnding, start: Scalar) -> tuple[int, Scalar] | None:
    """The division by one number that is all that becomes of the sums at first: of which operand, and the node."""
    readers = [one for one in distinct(end.tail.value) if any(part is start for part in operands_of(one))]
    match readers:
        case [Apply(op="div", args=(a, Local(name=name))) as node] if a is start:
            index = int(name[1:])
            return (index, node) if end.tail.operands[index] == "scalar" else None
    return None


def replaced(value: Scalar, old: Scalar, new: Scalar) -> Scalar:
    """A value with one of its parts, by identity, replaced."""
    if value is old:
        return new
    match value:
        case Apply():
            return replace(value, args=tuple(replaced(one, old, new) for one in value.args))
        case Cast():
            return replace(value, value=replaced(value.value, old, new))
    return value
