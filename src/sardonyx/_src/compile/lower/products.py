"""MatMul and Gemm: products of matrices, with what follows them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sardonyx._src.compile.endings import Ending, ending, how, placed
from sardonyx._src.compile.fusion import Shape
from sardonyx._src.compile.loops.ir import Apply, Local, Number, Scalar
from sardonyx._src.compile.lower.quantized import quantized_product
from sardonyx._src.compile.lower.softmax_attention import begins, ends
from sardonyx._src.compile.lowering import Lowering
from sardonyx._src.compile.nodes import Call
from sardonyx._src.compile.products.matmul import matmul
from sardonyx._src.compile.products.packing import constant, packed_bias
from sardonyx._src.compile.products.panels import Panels, constant_panels, packed_panels
from sardonyx._src.compile.registry import lowers
from sardonyx._src.compile.tail import RESULT, How, Tail
from sardonyx._src.compile.tensor import Tensor
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Known
from sardonyx._src.ir.graph import Value
from sardonyx._src.ir.tensors import Array


@lowers("MatMul", 13)
def matmul_(call: Call, at: Lowering) -> bool:
    if ends(call, at) or begins(call, at) or quantized_product(call, at):
        return True
    a, b = call.input(0), call.input(1)
    if a is None or b is None or not fits(call, at, a, b):
        return False
    is_open = has_open_batch(at.known_shape(call.output))
    if is_open and at.known_shape(b)[:-2] not in ((), at.known_shape(a)[:-2]):
        return False
    left = at.dense(a) if is_open else at.strided(a)
    panels = right(at, b)
    end = ending(at, call.output)
    at.emit(*matmul(left, panels, end.y, tail=end.tail, operands=end.operands))
    return True


def has_open_batch(shape: tuple[Known, ...]) -> bool:
    """Whether a batch has more dims than a kernel walks along, not all of them numbers: they have to be dense then."""
    return len(shape) > 4 and not all(isinstance(dim, int) for dim in shape[:-2])


def fits(call: Call, at: Lowering, a: Value, b: Value) -> bool:
    """Whether both are matrices, or stacks of them, that are known to go together."""
    if not (are_floats(at, a, b) and at.is_native(a) and at.is_native(b)) or at.shape(call.output) is None:
        return False
    left, right, result = at.known_shape(a), at.known_shape(b), at.known_shape(call.output)
    if min(len(left), len(right)) < 2 or not at.agree(left[-1], right[-2]):
        return False
    return broadcasts(at, left[:-2], result[:-2]) and broadcasts(at, right[:-2], result[:-2])


def are_floats(at: Lowering, *values: Value) -> bool:
    return all(at.dtype_of(value) is DataType.FLOAT for value in values)


def broadcasts(at: Lowering, shape: tuple[Known, ...], whole: tuple[Known, ...]) -> bool:
    inner = whole[len(whole) - len(shape) :]
    return all(a == 1 or at.agree(a, b) for a, b in zip(shape, inner, strict=True))


def right(at: Lowering, b: Value) -> Panels:
    """The right operand in panels: made beforehand if it is a constant."""
    elements = at.packable(b)
    if elements is not None:
        return at.kept(("panels", b), lambda: constant_panels(elements, at.target))
    panels, steps = packed_panels(at.strided(b), at.target, b.name)
    at.emit(*steps)
    return panels


@lowers("Gemm", 13)
def gemm(call: Call, at: Lowering) -> bool:
    """alpha * A' @ B' + beta * C, with C a constant of one number for each column, or an operand of the tail."""
    a, b, bias = call.input(0), call.input(1), column(call, at)
    if (bias is not None or call.input(2) is None) and quantized_product(call, at, bias):
        return True
    other = operand(call, at) if bias is None else None
    if a is None or b is None or (bias is None and other is None and call.input(2) is not None):
        return False
    alpha, matrix = call.attribute("alpha", float), at.packable(b)
    if not (are_floats(at, a, b) and at.is_native(a) and at.is_native(b)) or at.shape(call.output) is None:
        return False
    if matrix is None and alpha != 1.0 and bias is not None:
        return False  # the kernel adds the bias before the tail can scale
    if not at.agree(*inner(call, at, a, b)):
        return False
    left = turned(at.strided(a), call.attribute("transA", int))
    if matrix is not None:
        plain = matrix.T if call.attribute("transB", int) else matrix
        scaled = plain if alpha == 1.0 else plain.astype(np.float32) * np.float32(alpha)
        panels, alpha = constant_panels(scaled, at.target), 1.0
    else:
        panels, steps = packed_panels(turned(at.strided(b), call.attribute("transB", int)), at.target, b.name)
        at.emit(*steps)
    start = times(RESULT, alpha)
    end = ending(at, call.output, start=start) if other is None else plus(call, at, start, *other)
    added = None if bias is None else constant(packed_bias(bias, panels.tile), "bias")
    at.emit(*matmul(left, panels, end.y, bias=added, tail=end.tail, operands=end.operands))
    return True


def inner(call: Call, at: Lowering, a: Value, b: Value) -> tuple[Known, Known]:
    """How many terms the sums have, by either operand."""
    left, right = at.known_shape(a), at.known_shape(b)
    return left[0 if call.attribute("transA", int) else 1], right[1 if call.attribute("transB", int) else 0]


def column(call: Call, at: Lowering) -> Array | None:
    """beta * C as one number for each column; None if it is something else."""
    shape, elements = at.shape(call.output), at.constant(call.input(2))
    if elements is None or shape is None or not isinstance(shape[1], int):
        return None
    if elements.size not in (1, shape[1]) or (elements.ndim == 2 and elements.shape[0] != 1):
        return None
    flat = np.broadcast_to(elements.reshape(-1), (shape[1],))
    scaled: Array = (flat * np.float32(call.attribute("beta", float))).astype(np.float32)
    return scaled


def operand(call: Call, at: Lowering) -> tuple[Value, Shape, How] | None:
    """C with its dims beside the result's, if a tail can add it."""
    value, whole = call.input(2), at.shape(call.output)
    if value is None or whole is None or not at.is_native(value) or not are_floats(at, value):
        return None
    dims = at.known_shape(value)
    shape = (*(1 for _ in whole[len(dims) :]), *dims)
    found = how(shape, whole, 1) if len(shape) == len(whole) else None
    return None if found is None else (value, shape, found)


def plus(call: Call, at: Lowering, start: Scalar, value: Value, shape: Shape, found: How) -> Ending:
    """The end of a product to which beta * C is added."""
    added = times(Local("o0"), call.attribute("beta", float))
    other = placed(at, value, shape, found, channels_last=False)
    return Ending(Tail(Apply("add", (start, added)), (found,)), (other,), at.result(call.output))


def times(value: Scalar, factor: float) -> Scalar:
    return value if factor == 1.0 else Apply("mul", (value, Number(factor)))


def turned(tensor: Tensor, is_turned: int) -> Tensor:
    """A matrix, transposed if that is asked."""
    return replace(tensor, shape=tensor.shape[::-1], strides=tensor.strides[::-1]) if is_turned else tensor
