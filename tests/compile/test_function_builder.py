"""The function builder: operators on values, constants, and straight-line instructions."""

from __future__ import annotations

import ctypes

import pytest

from sardonyx._src.compile.codegen import FunctionBuilder, LLVMType, LLVMValue
from sardonyx._src.compile.llvm.jit import load

FLOAT, INT = LLVMType("float"), LLVMType("i32")


def number(builder: FunctionBuilder, value: float, llvm_type: LLVMType = FLOAT) -> LLVMValue:
    return builder.constant(value, llvm_type)


def execute(builder: FunctionBuilder, result: LLVMValue) -> float:
    """Compiles straight-line builder that ends in `result`, calls it, and returns the result."""
    body = "\n".join(
        ("define void @f(ptr %y) {", "entry:", *builder.lines, f" store {result}, ptr %y", " ret void", "}")
    )
    y = (ctypes.c_int32 if result.type.element == "i32" else ctypes.c_float)()
    load("\n".join((*builder.declarations, body)), ["f"]).function("f", ctypes.c_void_p)(ctypes.addressof(y))
    return float(y.value)


def test_constants_are_the_bits_of_the_nearest_float() -> None:
    assert FLOAT.constant(0.1) == "0x3FB99999A0000000"
    assert LLVMType("double").constant(0.1) == "0x3FB999999999999A"
    assert LLVMType("float", 4).constant(1) == "splat (float 0x3FF0000000000000)"
    assert INT.constant(-3) == "-3"
    assert LLVMType("i1").constant(1) == "true"


def test_integer_constants_must_be_integral() -> None:
    with pytest.raises(AssertionError, match=r"constant of i32 must be an integer; got 0\.5"):
        INT.constant(0.5)


def test_one_lane_is_a_scalar() -> None:
    assert (str(FLOAT), FLOAT.suffix) == ("float", "f32")
    assert (str(LLVMType("float", 16)), LLVMType("float", 16).suffix) == ("<16 x float>", "v16f32")


def test_operands_must_have_one_type() -> None:
    builder = FunctionBuilder(has_fma=False)
    with pytest.raises(AssertionError, match="operand must be of type float; got i32 2"):
        number(builder, 1) + number(builder, 2, INT)


def test_floats_have_no_bitwise_instructions() -> None:
    with pytest.raises(AssertionError, match="no such instruction for float"):
        number(FunctionBuilder(has_fma=False), 1) & 1


def test_either_operand_may_be_a_number() -> None:
    builder = FunctionBuilder(has_fma=False)
    x = number(builder, 4)
    assert execute(builder, 2 / (1 - x * 0.5) + 10) == 8.0


def test_right_shifts_of_signed_integers_are_arithmetic() -> None:
    builder = FunctionBuilder(has_fma=False)
    assert execute(builder, (number(builder, -8, INT) >> 1) ^ 1) == -3.0


def test_clamping_propagates_nan() -> None:
    builder = FunctionBuilder(has_fma=False)
    nan = number(builder, float("nan"))
    clamped = nan.clamp_max(1).clamp_min(-1)
    assert execute(builder, builder.select(clamped.ne(clamped), 1, nan)) == 1.0


def test_polynomial_coefficients_start_with_the_constant_term() -> None:
    builder = FunctionBuilder(has_fma=False)
    assert execute(builder, builder.horner(number(builder, 2), (1, 10, 100))) == 421.0


@pytest.mark.parametrize(("has_fma", "result"), [(True, 2.0**-46), (False, 0.0)])
def test_only_fma_rounds_once(has_fma: bool, result: float) -> None:
    builder = FunctionBuilder(has_fma)
    x = number(builder, 1 + 2**-23)
    assert execute(builder, builder.fma(x, x, -(1 + 2**-22))) == result


@pytest.mark.parametrize(("x", "result"), [(1, 7.0), (5, 50.0)])
def test_the_rare_branch_is_executed_if_the_condition_holds(x: float, result: float) -> None:
    builder = FunctionBuilder(has_fma=False)
    value = number(builder, x)
    assert execute(builder, builder.branch_if_any(value > 3, lambda: value * 10, value + 6)) == result


def test_table_lookup_gathers_lane_by_lane() -> None:
    builder = FunctionBuilder(has_fma=False)
    index = LLVMValue(builder, LLVMType("i32", 2), "<i32 2, i32 0>")
    entries = builder.table_lookup("@numbers", (1, 2, 4), index).convert("fptrunc", "float")
    first, second = (builder.emit(FLOAT, f"extractelement {entries}, i32 {lane}") for lane in (0, 1))
    assert execute(builder, first * 10 + second) == 41.0
