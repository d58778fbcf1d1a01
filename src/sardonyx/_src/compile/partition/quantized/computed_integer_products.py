"""Products of 8-bit matrices, of which a run computes the second matrix or the zero points; int32 accumulators.

The kernel multiplies uint8 rows by int8 columns, so a signed a and an unsigned b are shifted by 128, with their zero
points.  Let a', b', za and zb be shifted: sum((a' - za) * (b' - zb)) = accumulator - za * (sum(b') - K * zb) - zb *
sum(a'), where the sums are over the K terms.  The epilogue computes the right side.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal, TypeAlias

from sardonyx._src.compile.codegen.expressions import Apply, Scalar
from sardonyx._src.compile.partition import BoundNode, Read, Region, Scope, Shape, fused_region
from sardonyx._src.compile.partition.operands.product_batches import is_broadcastable
from sardonyx._src.compile.partition.quantized.int8_layouts import INT8X4_ROWS, padded_layout
from sardonyx._src.compile.partition.quantized.integer_epilogues import (
    KernelExpression,
    KernelOperand,
    fuse_integer_epilogue,
)
from sardonyx._src.compile.partition.quantized.integer_products import INT8_TYPES, SIGN_OFFSET, shift_to_int8
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, Value
from sardonyx._src.ir.dims import Known, known_equal

MAX_RANK = 4
ZeroForm: TypeAlias = Literal["none", "scalar", "vector"]
Finish: TypeAlias = Callable[[KernelExpression], KernelExpression]


@dataclass(frozen=True, slots=True)
class ComputedIntegerProduct:
    """A product of a [..., M, K] and b [..., K, N], uint8 or int8; a is the first value read, then b, then zero points.

    k: the length of the sums.
    matrix: b as int8 if it is constant; then it is not read.
    zeros: the form of each zero point; the omitted ones are not read.
    shifts: the number that is added to each operand and to its zero point.
    result: the expression of an element of the result; its first operands are those of `correct_zero_points`.
    """

    k: Known
    matrix: Array | None
    zeros: tuple[ZeroForm, ZeroForm]
    shifts: tuple[int, int]
    result: KernelExpression

    @property
    def is_signed(self) -> bool:
        """Whether a is int8."""
        return self.shifts[0] != 0


def match_computed_product(
    op: BoundNode,
    scope: Scope,
    left: tuple[Value | None, Value | None],
    right: tuple[Value | None, Value | None],
    finish: Finish = lambda result: result,
    max_terms: int | None = None,
) -> Region[ComputedIntegerProduct] | None:
    """The region of a node; None if it is not supported.

    left, right: an operand and its zero points.
    finish: extends the expression of a sum to that of an element of the result, by constants.
    max_terms: the most terms that a sum may have, where it must not wrap around; guarded.
    """
    (a, za), (b, zb) = left, right
    k = None if a is None or b is None else length_of_sums(op, scope, a, b)
    if a is None or b is None or k is None:
        return None
    if max_terms is not None and not scope.guard_ge(max_terms, k):
        return None
    zeros = zero_form(scope, za, a, -2), zero_form(scope, zb, b, -1)
    if zeros[0] is None or zeros[1] is None:
        return None
    elements, matrix, shift = scope.constant(b), None, 0
    if elements is not None and elements.ndim == 2:
        matrix, offsets = shift_to_int8(elements, None)
        shift = int(offsets[0]) if offsets.size else 0  # all columns have the same one
    elif scope.dtype(b) is DataType.UINT8:
        shift = -SIGN_OFFSET
    shifts = (SIGN_OFFSET if scope.dtype(a) is DataType.INT8 else 0, shift)
    config = ComputedIntegerProduct(k, matrix, (zeros[0], zeros[1]), shifts, KernelExpression())
    config = replace(config, result=finish(correct_zero_points(config)))
    values = (a, *(() if matrix is not None else (b,)), *(v for v in (za, zb) if v is not None))
    reads = tuple(Read(value, INT8X4_ROWS) if i == 0 else Read(value) for i, value in enumerate(values))
    epilogue = fuse_integer_epilogue(scope, op.output, config.result)
    layout = padded_layout(scope, epilogue.result, channels_last=False)
    return fused_region("ComputedIntegerProduct", op.node, config, reads, epilogue, layout)


def length_of_sums(op: BoundNode, scope: Scope, a: Value, b: Value) -> Known | None:
    """K, the number of terms, if the operands are 8-bit matrices or batches of them; guarded.  None for other operands."""
    if not all(scope.is_native(v) and scope.dtype(v) in INT8_TYPES for v in (a, b)):
        return None
    if scope.shape(op.output) is None:
        return None
    left, right, result = scope.known_shape(a), scope.known_shape(b), scope.known_shape(op.output)
    if not 2 <= len(left) <= MAX_RANK or not 2 <= len(right) <= MAX_RANK:
        return None
    fits = all(is_broadcastable(scope, shape[:-2], result[:-2]) for shape in (left, right))
    return left[-1] if fits and scope.guard_equal(left[-1], right[-2]) else None


def zero_form(scope: Scope, zero: Value | None, operand: Value, axis: int) -> ZeroForm | None:
    """Whether a zero point is omitted, one number, or a number for each index along `axis` of an operand; otherwise None."""
    if zero is None:
        return "none"
    if not scope.is_native(zero) or scope.shape(zero) is None or scope.dtype(zero) not in INT8_TYPES:
        return None
    shape, operand_shape = scope.known_shape(zero), scope.known_shape(operand)
    if all(dim == 1 for dim in shape):
        return "scalar" if len(shape) <= len(operand_shape) else None
    return "vector" if is_zero_vector(shape, operand_shape, axis) else None


def is_zero_vector(shape: Shape, operand_shape: Shape, axis: int) -> bool:
    if len(shape) == 1:
        return known_equal(shape[0], operand_shape[axis]) is True
    expected = [*operand_shape[:-2], 1, 1]
    expected[axis] = operand_shape[axis]
    return len(shape) == len(operand_shape) and all(
        known_equal(*pair) is True for pair in zip(shape, expected, strict=True)
    )


def has_zero(config: ComputedIntegerProduct, side: int) -> bool:
    """Whether the zero point of an operand may differ from 0, once both are shifted for the kernel."""
    return config.zeros[side] != "none" or config.shifts[side] != 0


def correct_zero_points(config: ComputedIntegerProduct) -> KernelExpression:
    """The sums without the contributions of zero points.

    The operands come in this order, and are left out where an operand has no zero point:
    - for a: its zero points of rows, if these differ, and a term for each column, [..., 1, N];
    - for b: its zero points of columns, if these differ, and a term for each row, [..., M, 1].
    """
    row, column = (
        KernelOperand("matrix", DataType.INT32, is_row=True),
        KernelOperand("matrix", DataType.INT32),
    )
    result = KernelExpression()
    for side, (term, zeros) in enumerate(((column, row), (row, column))):
        if not has_zero(config, side):
            continue
        operands = (zeros, term) if config.zeros[side] == "vector" else (term,)
        names = result.next_operands(len(operands))
        contribution: Scalar = Apply("mul", tuple(names)) if len(names) > 1 else names[0]
        result = result.extend(Apply("sub", (result.value, contribution)), *operands)
    return result
