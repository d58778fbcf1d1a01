"""QLinearConv and QLinearMatMul by constants: exact sums, scaled and rounded once, in double."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from sardonyx._src.compile.elementwise.given import apply
from sardonyx._src.compile.elementwise.quantization import LIMITS
from sardonyx._src.compile.integer_endings import Given, IntegerEnding, integer_ending
from sardonyx._src.compile.loops.ir import Apply, Cast, Local, Scalar
from sardonyx._src.compile.lower import integer_convolution, integer_products
from sardonyx._src.compile.lower.integer_products import BYTES
from sardonyx._src.compile.lower.quantized import is_small, less
from sardonyx._src.compile.lowering import Lowering
from sardonyx._src.compile.nodes import Call
from sardonyx._src.compile.registry import lowers
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.tensors import Array


@lowers("QLinearConv", 10)
def qlinear_conv(call: Call, at: Lowering) -> bool:
    found = constants(call, at, (1, 3, 4, 5, 6, 7))
    bias = at.constant(call.input(8))
    if found is None or (bias is None and call.input(8) is not None):
        return False
    x_scale, weights, w_scale, zeros, y_scale, _ = found
    made = integer_convolution.convolution(call, at, (call.input(0), call.input(2)), (weights, zeros))
    count = len(weights)
    if (
        made is None
        or x_scale.size != 1
        or at.constant(call.input(2)) is None
        or w_scale.size not in (1, count)
    ):
        return False
    if bias is not None and bias.shape != (count,):
        return False
    added = np.zeros(count, np.int64) if bias is None else bias.astype(np.int64)
    if not is_small(made.weights, added):
        return False
    factor = w_scale.reshape(-1).astype(np.float64) * x_scale.item() / y_scale.item()
    end = partial(rounded, call, at, np.broadcast_to(factor, (count,)), channels_last=True)
    integer_convolution.emit(at, replace(made, added=added), end)
    return True


@lowers("QLinearMatMul", 21)
def qlinear_matmul(call: Call, at: Lowering) -> bool:
    found = constants(call, at, (1, 3, 4, 5, 6, 7))
    if found is None or at.constant(call.input(2)) is None:
        return False
    a_scale, b, b_scale, zeros, y_scale, _ = found
    made = integer_products.product(call, at, (call.input(0), call.input(2)), (b, zeros))
    if made is None or a_scale.size != 1 or not is_small(less(b, zeros).T):
        return False
    if b_scale.size != 1 and b_scale.shape not in ((b.shape[1],), (1, b.shape[1])):
        return False
    factor = a_scale.astype(np.float64).reshape(()) * b_scale.astype(np.float64).reshape(-1)
    columns = np.broadcast_to(factor / y_scale.astype(np.float64).reshape(()), (b.shape[1],))
    integer_products.emit(call, at, made, partial(rounded, call, at, columns, channels_last=False))
    return True


def constants(call: Call, at: Lowering, indices: tuple[int, ...]) -> list[Array] | None:
    """Some inputs, of which the last two are y's one scale and zero point; None if one of them is not known."""
    found = [at.constant(call.input(i)) for i in indices]
    known = [one for one in found if one is not None]
    if len(known) < len(found) or known[-2].size != 1 or known[-1].size != 1:
        return None
    is_bytes = known[1].dtype in (np.uint8, np.int8) and at.dtype_of(call.output) in BYTES
    return known if is_bytes else None


def rounded(
    call: Call, at: Lowering, factor: Array, start: Scalar, given: list[Given], *, channels_last: bool
) -> IntegerEnding:
    """Sums times a factor for each column, to the nearest number of the result's type."""
    zero, to = at.constant(call.input(7)), at.dtype(call.output)
    assert zero is not None, "the zero point has been looked at"
    places = [Local(f"o{len(given) + i}") for i in range(2)]
    columns = Given("column", at.constant_tensor(factor.astype(np.float64)))
    point = Given("scalar", at.constant_tensor(zero.reshape(()).astype(np.float64)))
    whole: Apply = apply("round", apply("mul", Cast(DataType.DOUBLE, start), places[0]))
    value = Cast(to, apply("clamp", apply("add", whole, places[1]), *LIMITS[to]))
    return integer_ending(at, call.output, value, [*given, columns, point], channels_last=channels_last)
