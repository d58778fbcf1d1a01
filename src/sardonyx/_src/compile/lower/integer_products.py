"""MatMulInteger by a constant matrix: sums of products of bytes, less what zero points add to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sardonyx._src.compile.integer_endings import SUMS, Given, IntegerEnding, integer_ending
from sardonyx._src.compile.loops.ir import Apply, Cast, Local, Number, Scalar
from sardonyx._src.compile.lowering import Lowering
from sardonyx._src.compile.nodes import Call
from sardonyx._src.compile.products.integer_matmul import integer_matmul
from sardonyx._src.compile.products.integer_tail import IntegerTail, of_rows
from sardonyx._src.compile.products.packing import constant
from sardonyx._src.compile.products.panels import Panels
from sardonyx._src.compile.products.words import constant_words, in_words, packed_sums, padded
from sardonyx._src.compile.registry import lowers
from sardonyx._src.compile.tensor import Tensor, row_major
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.graph import Value
from sardonyx._src.ir.tensors import Array

End = Callable[[Scalar, list[Given]], IntegerEnding]
BYTES = (DataType.UINT8, DataType.INT8)
HALF = 128  # between the two types of bytes


@dataclass(frozen=True, slots=True)
class Factors:
    """The constant side of a product: int8 [K, N] and what it takes to make up for its zero points.

    sums: of its columns less K zero points, [N] int64, which the left zero point is multiplied with.  zeros: [N] int64.
    """

    panels: Panels
    sums: Array
    zeros: Array


@dataclass(frozen=True, slots=True)
class Product:
    """a [..., M, K] of bytes, whose zero point is `zero` (None: 0), by constant bytes b [K, N] less theirs."""

    a: Value
    zero: Value | None
    b: Array
    zeros: Array | None


@lowers("MatMulInteger", 10)
def matmul_integer(call: Call, at: Lowering) -> bool:
    b, zeros = at.constant(call.input(1)), at.constant(call.input(3))
    if b is None or (zeros is None and call.input(3) is not None):
        return False
    found = product(call, at, (call.input(0), call.input(2)), (b, zeros))
    if found is None:
        return False
    emit(call, at, found, lambda start, given: integer_ending(at, call.output, start, given))
    return True


def product(
    call: Call, at: Lowering, left: tuple[Value | None, Value | None], right: tuple[Array, Array | None]
) -> Product | None:
    """The product of a node, if kernels can do it; each side with its zero points."""
    (a, zero), (b, zeros) = left, right
    if a is None or not fits(call, at, a, b) or not is_single(at, zero):
        return None
    return Product(a, zero, b, zeros) if zeros is None or is_of_columns(zeros, b) else None


def emit(call: Call, at: Lowering, found: Product, end: End) -> None:
    """Puts down a product; `end` makes its end of what the sums are, and of the operands of that."""
    factors = factors_of(at, found.b, found.zeros)
    start, given, bias = sums(at, found.a, found.zero, factors, call.output)
    ending = end(start, given)
    flips = at.dtype(found.a) is DataType.INT8
    source = words(at, found.a)
    at.emit(
        *integer_matmul(source, factors.panels, ending.y, bias, ending.tail, ending.operands, flips=flips)
    )


def fits(call: Call, at: Lowering, a: Value, b: Array) -> bool:
    """Whether a stack of matrices of bytes is multiplied by one matrix of bytes."""
    shape, result = at.shape(a), at.shape(call.output)
    if shape is None or result is None or at.dtype_of(a) not in BYTES or not at.is_native(a):
        return False
    if len(shape) < 2 or len(shape) > 4 or b.ndim != 2 or not isinstance(shape[-1], int):
        return False
    return shape[-1] == b.shape[0] and result == (*shape[:-1], b.shape[1])


def is_single(at: Lowering, value: Value | None) -> bool:
    """Whether there is one number, or none."""
    if value is None:
        return True
    shape = at.shape(value)
    return shape is not None and all(dim == 1 for dim in shape) and at.is_native(value)


def is_of_columns(zeros: Array, b: Array) -> bool:
    return zeros.size == 1 or zeros.shape in ((b.shape[1],), (1, b.shape[1]))


def factors_of(at: Lowering, b: Array, zeros: Array | None) -> Factors:
    """B less its zero points if that are bytes; otherwise with them beside it."""
    rows, columns = b.shape
    wide = b.astype(np.int16)
    zero = np.zeros(columns, np.int16)
    if zeros is not None:
        zero = np.broadcast_to(zeros.reshape(-1).astype(np.int16), (columns,))
    moved = wide - zero
    if moved.size == 0 or (moved.min() >= -HALF and moved.max() < HALF):
        zero = np.zeros(columns, np.int16)
    else:
        shift = HALF if b.dtype == np.uint8 else 0
        moved, zero = wide - shift, zero - shift
    sums = moved.sum(0, dtype=np.int64) - rows * zero.astype(np.int64)
    return Factors(constant_words(moved.astype(np.int8), at.target), sums, zero.astype(np.int64))


def sums(
    at: Lowering, a: Value, zero: Value | None, factors: Factors, result: Value
) -> tuple[Scalar, list[Given], Tensor | None]:
    """What the sums are less what zero points add, with the operands of that, and what they begin with.

    (a - z) @ (b - zeros) = a @ b - z * sums - zeros * (sums of rows of a).
    """
    shift = HALF if at.dtype(a) is DataType.INT8 else 0
    start: Scalar = SUMS
    given: list[Given] = []
    known = np.zeros(1, np.int64) if zero is None else at.constant(zero)
    bias = None
    if known is not None:
        begin = -(int(known.reshape(())) + shift) * factors.sums
        bias = constant(packed_sums(wrapped(begin), factors.panels.tile), "bias")
    else:
        assert zero is not None, "a zero point that is left out is known"
        given += [Given("scalar", at.dense(zero)), column(at, factors.sums)]
        point = Apply("add", (Cast(DataType.INT32, Local("o0")), Number(shift)))
        start = Apply("sub", (start, Apply("mul", (point, Local("o1")))))
    if factors.zeros.any():
        of_row, zeros = f"o{len(given)}", f"o{len(given) + 1}"
        given += [Given("matrix", row_sums(at, a, result), is_row=True), column(at, factors.zeros)]
        start = Apply("sub", (start, Apply("mul", (Local(of_row), Local(zeros)))))
    return start, given, bias


def wrapped(numbers: Array) -> Array:
    """The low 32 bits of integers."""
    return numbers.astype(np.int64).astype(np.int32)


def column(at: Lowering, numbers: Array) -> Given:
    return Given("column", at.constant_tensor(wrapped(numbers)))


def row_sums(at: Lowering, a: Value, result: Value) -> Tensor:
    """The sum of each row of bytes, laid beside a result: a product with a column of ones."""
    shape = at.known_shape(a)
    k = shape[-1]
    assert isinstance(k, int), "how long rows are is known"
    panels = at.kept(("ones", k), lambda: constant_words(np.ones((k, 1), np.int8), at.target))
    made = at.temporary(DataType.INT32, (*shape[:-1], 1), f"{a.name}/sums")
    flips = at.dtype(a) is DataType.INT8
    at.emit(*integer_matmul(words(at, a), panels, made, None, IntegerTail(), flips=flips))
    dims = shape[:-1]
    whole = Tensor(DataType.INT32, at.known_shape(result), row_major(at.known_shape(result)), made.storage)
    return of_rows(Tensor(DataType.INT32, dims, row_major(dims), made.storage), whole)


def words(at: Lowering, value: Value) -> Tensor:
    """A value of bytes [..., K] in words; copied to where rows are whole words apart if they are not."""
    at.strided(value)
    for form in at.forms[value]:
        found = in_words(form)
        if found is not None:
            return found
    made = padded(at.dtype(value), at.known_shape(value), value.name)
    at.copy(value, at.forms[value][0], made)
    found = in_words(made)
    assert found is not None, "rows have been made so"
    return found
