"""Requantization: a division by the constant scale of a QuantizeLinear is folded into the factors of its dividend.

    QuantizeLinear(DequantizeLinear(q) + DequantizeLinear(r)), where q = QuantizeLinear(accumulator * scale + bias):
        q - z = clamp(round(accumulator * (scale / s) + bias / s), low - z, high - z)
        y = saturate(round((q - z) * (s / sy) + (r - zr) * (sr / sy)) + zy)

The dividend is a sum of integers times constants.  The constants are divided in float64 and rounded once to float32,
so that a division becomes a chain of multiply-adds.  A dividend that is no such sum, as the result of a function, is
still divided.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from sardonyx._src.compile.codegen.expressions import Apply, Cast, Local, Number, Scalar, Select
from sardonyx._src.compile.kernels.elementwise.operator_call import apply
from sardonyx._src.compile.kernels.elementwise.quantization import QUANTIZED_RANGES
from sardonyx._src.compile.kernels.epilogue import OperandLayout
from sardonyx._src.compile.partition.quantized.integer_epilogues import KernelOperand, constant_operand
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array

MAX_ACCUMULATOR = float(1 << 31)
MAX_ROUNDED = float(1 << 30)  # floats of lesser magnitude fit in int32 once they are rounded
ONE = np.ones(())


@dataclass(frozen=True, slots=True)
class ScaledAccumulator:
    """The expression `value` = accumulator * scale + bias of an epilogue.

    scale, bias: float64, an element for each column.
    """

    value: Scalar
    accumulator: Scalar
    scale: Array
    bias: Array


@dataclass(frozen=True, slots=True)
class IntegerTerm:
    """factor * integer.
    factor: float64, one element or one for each column.
    bound: an upper bound of the integer's magnitude.

    is_operand: whether the integer is an operand, and does not depend on the accumulator.
    """

    factor: Array
    integer: Scalar
    bound: float
    is_operand: bool = False


@dataclass(frozen=True, slots=True)
class IntegerSum:
    """A sum of terms and a constant, float64, of one element or one for each column."""

    terms: tuple[IntegerTerm, ...]
    constant: Array

    def __add__(self, other: IntegerSum) -> IntegerSum:
        return IntegerSum((*self.terms, *other.terms), self.constant + other.constant)

    def scale(self, factor: float) -> IntegerSum:
        terms = tuple(replace(term, factor=term.factor * factor) for term in self.terms)
        return IntegerSum(terms, self.constant * factor)

    def divide(self, divisor: float) -> IntegerSum:
        terms = tuple(replace(term, factor=term.factor / divisor) for term in self.terms)
        return IntegerSum(terms, self.constant / divisor)

    @property
    def bound(self) -> float:
        """An upper bound of the sum's magnitude."""
        magnitude: Array = np.abs(self.constant)
        for term in self.terms:
            magnitude = magnitude + np.abs(term.factor) * term.bound
        return float(magnitude.max(initial=0))


class RequantizationFolder:
    """Folds the divisions of an epilogue's expression.

    constants: the operands of the epilogue that are constants of one element, by name.
    types: the element types of all operands, by name.
    operands: the constants that the new expression needs, `c0`, `c1`, ...
    """

    def __init__(
        self,
        scaled: ScaledAccumulator,
        constants: Mapping[str, float],
        types: Mapping[str, DataType],
    ) -> None:
        self.scaled, self.constants, self.types = scaled, constants, types
        self.operands: list[KernelOperand] = []
        self.bounded: dict[int, Scalar] = {}  # quotients below `MAX_ROUNDED`, by `id`
        self.rewritten: dict[int, Scalar] = {}
        self.sums: dict[int, IntegerSum | None] = {}

    def rewrite(self, value: Scalar) -> Scalar:
        """An expression with divisions folded; the expression itself if there are none."""
        if id(value) not in self.rewritten:
            self.rewritten[id(value)] = self.rewrite_node(value)
        return self.rewritten[id(value)]

    def has_bounded_quotient(self, value: Scalar) -> bool:
        """Whether the quotient that a quantized result rounds fits in int32, whatever the inputs are."""
        match value:
            case Cast(
                value=Apply(op="clamp", args=(Apply(op="add", args=(Apply(op="round", args=(x,)), _)), *_))
            ):
                return id(x) in self.bounded
            case Cast(value=Apply(op="clamp", args=(Apply(op="round", args=(x,)), *_))):
                return id(x) in self.bounded
        return False

    def rewrite_node(self, value: Scalar) -> Scalar:
        match value:
            case Apply(op="div", args=(dividend, Local(name=name))) if name in self.constants:
                quotient = self.divide(dividend, self.constants[name])
                return self.rewrite_operands(value) if quotient is None else quotient
            case Cast(dtype=dtype, value=Apply(op="clamp", args=(Apply() as x, *bounds))) if (
                dtype in QUANTIZED_RANGES
            ):
                return Cast(dtype, Apply("clamp", (self.drop_relu(x, QUANTIZED_RANGES[dtype][0]), *bounds)))
        return self.rewrite_operands(value)

    def rewrite_operands(self, value: Scalar) -> Scalar:
        """A node with its operands rewritten."""
        match value:
            case Apply(op=op, args=args):
                return Apply(op, tuple(map(self.rewrite, args)))
            case Cast(dtype=dtype, value=x):
                return Cast(dtype, self.rewrite(x))
            case Select():
                return Select(value.op, *map(self.rewrite, (value.a, value.b, value.then, value.otherwise)))
        return value

    def drop_relu(self, value: Scalar, low: float) -> Scalar:
        """round(max(x, 0)) + zero point, rewritten; without the maximum if clamping at `low`, which follows, has the same effect."""
        match value:
            case Apply(op="add", args=(Apply(op="round") as rounded, zero)):
                return Apply("add", (self.rewrite_rounded(rounded, self.zero_point(zero) == low), zero))
            case Apply(op="round"):
                return self.rewrite_rounded(value, low == 0)
        return self.rewrite(value)

    def rewrite_rounded(self, value: Apply, drops_relu: bool) -> Scalar:
        """round(x), rewritten; drops_relu: whether x replaces an argument max(x, 0)."""
        new = self.rewrite(value)
        match new:
            case Apply(args=(Apply(op="max", args=(x, Number(value=0))),)) if drops_relu:
                return apply("round", x)
        return new

    # --- sums of integers ---------------------------------------------------------------------

    def divide(self, dividend: Scalar, scale: float) -> Scalar | None:
        """dividend / scale by multiply-adds; None if the dividend is neither a sum of integers nor the Relu of one."""
        match dividend:
            case Apply(op="max", args=(x, Number(value=0))) if scale > 0:
                quotient = self.divide(x, scale)
                return None if quotient is None else self.bound_as(apply("max", quotient, 0), quotient)
        terms = self.integer_sum(dividend)
        if terms is None or not is_moderate_scale(np.asarray(scale)):
            return None
        terms = terms.divide(scale)
        if not all(is_moderate_scale(term.factor) for term in terms.terms):
            return None
        value = self.emit(terms)
        if terms.bound < MAX_ROUNDED:
            self.bounded[id(value)] = value
        return value

    def bound_as(self, value: Scalar, other: Scalar) -> Scalar:
        """Returns `value`, after recording that its quotient is bounded if the quotient `other` is."""
        if id(other) in self.bounded:
            self.bounded[id(value)] = value
        return value

    def integer_sum(self, value: Scalar) -> IntegerSum | None:
        """An expression as a sum of integers times constants; None if it is anything else."""
        if id(value) not in self.sums:
            self.sums[id(value)] = self.expand(value)
        return self.sums[id(value)]

    def expand(self, value: Scalar) -> IntegerSum | None:
        if value is self.scaled.value:
            term = IntegerTerm(
                self.scaled.scale, Cast(DataType.FLOAT, self.scaled.accumulator), MAX_ACCUMULATOR
            )
            return IntegerSum((term,), self.scaled.bias)
        match value:
            case Apply(op="mul", args=(x, Local(name=name))) if name in self.constants:
                terms = self.integer_sum(x)
                return None if terms is None else terms.scale(self.constants[name])
            case Apply(op="add", args=(a, b)):
                left, right = self.integer_sum(a), self.integer_sum(b)
                return None if left is None or right is None else left + right
        integer = self.integer_term(value)
        return None if integer is None else IntegerSum((integer,), np.zeros(()))

    def integer_term(self, value: Scalar) -> IntegerTerm | None:
        """A quantized integer minus its zero point, the factor in a DequantizeLinear; None for any other value."""
        match value:
            case Apply(op="sub", args=(Apply(op="clamp", args=(x, Number(low), Number(high))), zero)):
                return self.shifted_term(x, self.zero_point(zero), (low, high))
            case Apply(op="clamp", args=(Apply(op="round") as x, Number(low), Number(high))):
                clamped = apply("clamp", self.rewrite_rounded(x, low == 0), low, high)
                return IntegerTerm(ONE, clamped, max(-low, high))
            case Apply(
                op="sub", args=(Cast(dtype=DataType.FLOAT, value=Local(name=name)), Cast(value=Local()))
            ):
                return self.operand_term(value, name)
            case Cast(dtype=DataType.FLOAT, value=Local(name=name)):
                return self.operand_term(value, name)
        return None

    def shifted_term(
        self, value: Scalar, zero: float | None, limits: tuple[float, float]
    ) -> IntegerTerm | None:
        """clamp(round(x) + zero, *limits) - zero for a constant zero: round(x) clamped at shifted limits."""
        match value:
            case Apply(op="add", args=(Apply(op="round") as x, added)):
                if zero is not None and self.zero_point(added) == zero:
                    low, high = (limit - zero for limit in limits)
                    bounds = [self.constant(np.asarray(limit)) for limit in (low, high)]
                    clamped = apply("clamp", self.rewrite_rounded(x, low == 0), *bounds)
                    return IntegerTerm(ONE, clamped, high - low)
        return None

    def operand_term(self, value: Scalar, name: str) -> IntegerTerm | None:
        """An operand of integers, minus their zero point if there is one."""
        dtype = self.types[name]
        return (
            IntegerTerm(ONE, value, 2.0 ** (dtype.bits + 1), is_operand=True)
            if dtype in QUANTIZED_RANGES
            else None
        )

    def zero_point(self, value: Scalar) -> float | None:
        """A constant zero point, as a float."""
        match value:
            case Number(value=number):
                return number
            case Cast(dtype=DataType.FLOAT, value=Local(name=name)):
                return self.constants.get(name)
        return None

    # --- emission -----------------------------------------------------------------------------

    def emit(self, terms: IntegerSum) -> Scalar:
        """A chain of multiply-adds.  It begins with the constant and the operands, since the accumulator is known last."""
        total: Scalar | None = (
            self.constant(terms.constant) if terms.constant.ndim or terms.constant else None
        )
        for term in sorted(terms.terms, key=lambda term: not term.is_operand):
            factor = self.constant(term.factor)
            product = (term.integer, factor)
            total = Apply("mul", product) if total is None else Apply("fma", (*product, total))
        assert total is not None, "a sum of integers has terms"
        return total

    def constant(self, elements: Array) -> Local:
        """A new operand: a constant, rounded to float32."""
        layout: OperandLayout = "column" if elements.ndim else "scalar"
        self.operands.append(constant_operand(layout, elements.astype(np.float32)))
        return Local(f"c{len(self.operands) - 1}")


def is_moderate_scale(scale: Array) -> bool:
    """Whether scales are positive or negative numbers whose products with accumulators neither overflow nor underflow."""
    magnitudes = np.abs(scale.astype(np.float64))
    return scale.dtype in (np.float32, np.float64) and bool(
        ((magnitudes > 1e-30) & (magnitudes < 1e25)).all()
    )
