"""Div, Mod and Pow of integers, if the right operand is no constant scalar: elementwise steps after a check.

Division by zero, and zero to a negative power, are errors.  A step checks for them and sets a fault, so that the
reference engine repeats the run and reports the error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sardonyx._src.compile.codegen.element_types import LLVM_ELEMENTS
from sardonyx._src.compile.codegen.expressions import Apply, Cast, Local, Number, Scalar, Select
from sardonyx._src.compile.kernels.elementwise.elementwise import elementwise_step
from sardonyx._src.compile.kernels.elementwise.nonzero_check import nonzero_check_step
from sardonyx._src.compile.lower import LaidOutRegion, Lowering, lowers
from sardonyx._src.compile.partition import Read, Region, Scope, Write
from sardonyx._src.compile.partition.operands.product_batches import is_broadcastable
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program import ANY, DENSE, Step
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType

LEFT, RIGHT = Local("i0"), Local("i1")


@dataclass(frozen=True, slots=True)
class CheckedIntegers:
    """An elementwise operation of two integers.

    is_valid: an expression that must not be zero; None if no check is needed.
    """

    expression: Scalar
    is_valid: Scalar | None


def match_integers(op: BoundNode, scope: Scope) -> Region[CheckedIntegers] | None:
    left, right, shape = op.input(0), op.input(1), scope.shape(op.output)
    if left is None or right is None or shape is None:
        return None
    config = checked_operation(op, scope.dtype_of(left), scope.dtype_of(right))
    if config is None or not (scope.is_native(left) and scope.is_native(right)):
        return None
    if not all(is_broadcastable(scope, scope.known_shape(value), shape) for value in (left, right)):
        return None
    known = scope.constant(right)
    if known is not None and (known > 0).all():
        config = replace(config, is_valid=None)
    reads = (Read(left, ANY), Read(right, DENSE if config.is_valid == RIGHT else ANY))
    return Region("CheckedIntegers", (op.node,), config, reads, (Write(op.output),))


def checked_operation(op: BoundNode, left: DataType | None, right: DataType | None) -> CheckedIntegers | None:
    if left is None or right is None or not (left.is_integer and right.is_integer):
        return None
    if left not in LLVM_ELEMENTS or right not in LLVM_ELEMENTS:
        return None
    if op.op_type == "Pow":
        return integer_power(left, right)
    name = "div" if op.op_type == "Div" else "fmod" if op.attribute("fmod", int) else "mod"
    return CheckedIntegers(Apply(name, (LEFT, RIGHT)), RIGHT)


def integer_power(base: DataType, exponent: DataType) -> CheckedIntegers:
    """Powers modulo 2^64.  Negative powers of 1 and -1 are integers; those of other numbers are rounded to 0."""
    x, y = Cast(DataType.INT64, LEFT), Cast(DataType.INT64, RIGHT)
    power = Apply("ipow", (x, y))
    if not exponent.is_signed:
        return CheckedIntegers(Cast(base, power), None)
    sign = Apply("sub", (Number(1), Apply("mul", (Number(2), Apply("and", (y, Number(1)))))))
    inverse = Select("eq", x, Number(1), Number(1), Select("eq", x, Number(-1), sign, Number(0)))
    is_valid = Apply("or", (Apply("not", (Apply("eq", (x, Number(0))),)), Apply("le", (Number(0), y))))
    return CheckedIntegers(Cast(base, Select("lt", y, Number(0), inverse, power)), is_valid)


@lowers("CheckedIntegers")
def lower_integers(region: LaidOutRegion[CheckedIntegers], lowering: Lowering) -> Sequence[Step]:
    (left, right), (y,), config = region.operands, region.results, region.config
    steps = list[Step]()
    if config.is_valid is not None:
        checked = right
        if config.is_valid != RIGHT:
            checked = lowering.temporary(DataType.BOOL, y.shape, f"{region.region.node_names[0]}/valid")
            steps.append(elementwise_step(config.is_valid, (left, right), checked))
        steps.append(nonzero_check_step(checked, lowering.status))
    return *steps, elementwise_step(config.expression, (left, right), y)
