"""LLVM text written as arithmetic."""

from __future__ import annotations

import ctypes

import pytest

from sardonyx._src.compile.llvm.jit import load
from sardonyx._src.compile.text import Code, Kind, Value

FLOAT, INT = Kind("float"), Kind("i32")


def number(code: Code, value: float, kind: Kind = FLOAT) -> Value:
    return code.constant(value, kind)


def computed(code: Code, result: Value) -> float:
    """What straight code gives, compiled and called."""
    body = "\n".join(
        ("define void @f(ptr %y) {", "entry:", *code.lines, f" store {result}, ptr %y", " ret void", "}")
    )
    y = (ctypes.c_int32 if result.kind.element == "i32" else ctypes.c_float)()
    load("\n".join((*code.declarations, body)), ["f"]).function("f", ctypes.c_void_p)(ctypes.addressof(y))
    return float(y.value)


def test_constants_are_the_bits_of_the_nearest_float() -> None:
    assert FLOAT.constant(0.1) == "0x3FB99999A0000000"
    assert Kind("double").constant(0.1) == "0x3FB999999999999A"
    assert Kind("float", 4).constant(1) == "splat (float 0x3FF0000000000000)"
    assert INT.constant(-3) == "-3"
    assert Kind("i1").constant(1) == "true"


def test_an_integer_has_no_fraction() -> None:
    with pytest.raises(AssertionError, match=r"0\.5 is no constant of i32"):
        INT.constant(0.5)


def test_one_lane_is_a_scalar() -> None:
    assert (str(FLOAT), FLOAT.suffix) == ("float", "f32")
    assert (str(Kind("float", 16)), Kind("float", 16).suffix) == ("<16 x float>", "v16f32")


def test_kinds_do_not_mix() -> None:
    code = Code(fused=False)
    with pytest.raises(AssertionError, match="i32 2 beside float"):
        number(code, 1) + number(code, 2, INT)


def test_floats_have_no_bitwise_operations() -> None:
    with pytest.raises(AssertionError, match="no such operation on float"):
        number(Code(fused=False), 1) & 1


def test_arithmetic_takes_numbers_on_both_sides() -> None:
    code = Code(fused=False)
    x = number(code, 4)
    assert computed(code, 2 / (1 - x * 0.5) + 10) == 8.0


def test_shifts_keep_the_sign() -> None:
    code = Code(fused=False)
    assert computed(code, (number(code, -8, INT) >> 1) ^ 1) == -3.0


def test_limits_keep_nan() -> None:
    code = Code(fused=False)
    nan = number(code, float("nan"))
    kept = nan.at_most(1).at_least(-1)
    assert computed(code, code.select(kept.differs(kept), 1, nan)) == 1.0


def test_polynomials_begin_with_the_constant() -> None:
    code = Code(fused=False)
    assert computed(code, code.polynomial(number(code, 2), (1, 10, 100))) == 421.0


@pytest.mark.parametrize(("fused", "result"), [(True, 2.0**-46), (False, 0.0)])
def test_only_fma_rounds_once(fused: bool, result: float) -> None:
    code = Code(fused)
    x = number(code, 1 + 2**-23)
    assert computed(code, code.fma(x, x, -(1 + 2**-22))) == result


@pytest.mark.parametrize(("x", "result"), [(1, 7.0), (5, 50.0)])
def test_the_rare_way_is_taken_if_the_condition_holds(x: float, result: float) -> None:
    code = Code(fused=False)
    value = number(code, x)
    assert computed(code, code.if_any(value > 3, lambda: value * 10, value + 6)) == result


def test_tables_are_looked_up_in_every_lane() -> None:
    code = Code(fused=False)
    index = Value(code, Kind("i32", 2), "<i32 2, i32 0>")
    found = code.looked_up("@numbers", (1, 2, 4), index).converted("fptrunc", "float")
    first, second = (code.emit(FLOAT, f"extractelement {found}, i32 {lane}") for lane in (0, 1))
    assert computed(code, first * 10 + second) == 41.0
