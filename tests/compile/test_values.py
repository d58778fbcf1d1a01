"""Values as instructions: what type numbers take, what is put down once, and what costs one instruction."""

from __future__ import annotations

import pytest

from sardonyx._src.compile.loops.ir import Apply, Cast, Load, Local, Number, Scalar, Select, distinct
from sardonyx._src.compile.loops.terms import described
from sardonyx._src.compile.products.micro import is_cheap
from sardonyx._src.compile.tail import RESULT, Tail
from sardonyx._src.compile.text import Element, Kind, Value
from sardonyx._src.compile.values import KernelText
from sardonyx._src.dtypes import DataType

X, Y = Local("x"), Local("y")


def evaluated(value: Scalar, element: Element, **types: Element) -> tuple[Value, list[str]]:
    """The value in four lanes, and its instructions; names are of the types given."""
    code = KernelText(fused=True)
    names = {name: Value(code, Kind(of, 4), f"%{name}") for name, of in types.items()}

    def leaf(one: Local | Load) -> Value:
        assert isinstance(one, Local)
        return names[one.name]

    return code.evaluated(value, Kind(element, 4), leaf), code.lines


def test_numbers_are_of_the_type_of_what_stands_beside_them() -> None:
    value, lines = evaluated(Apply("add", (Number(3), X)), "float", x="i64")
    assert value.kind == Kind("i64", 4)
    assert lines == [" %v1 = add <4 x i64> splat (i64 3), %x"]


def test_numbers_compared_with_integers_are_integers() -> None:
    value, lines = evaluated(Apply("lt", (X, Apply("neg", (Number(3),)))), "i1", x="i32")
    assert value.kind == Kind("i1", 4)
    assert "icmp slt <4 x i32> %x" in lines[-1]


def test_numbers_alone_are_of_the_type_that_is_wanted() -> None:
    value, _ = evaluated(Number(2), "i8")
    assert str(value) == "<4 x i8> splat (i8 2)"


def test_naturals_are_compared_and_shifted_as_such() -> None:
    _, lines = evaluated(Apply("max", (X, Y)), "u8", x="u8", y="u8")
    assert "icmp ugt <4 x i8> %x, %y" in lines[0]


@pytest.mark.parametrize(("op", "compares"), [("max", "ogt"), ("min", "olt")])
def test_extremes_with_a_number_are_one_comparison(op: str, compares: str) -> None:
    for args in ((X, Number(0)), (Number(0), X)):
        _, lines = evaluated(Apply(op, args), "float", x="float")
        assert len(lines) == 2
        assert f"fcmp {compares} <4 x float> splat" in lines[0], (
            "NaN must not be what is chosen by the comparison"
        )


def test_extremes_with_nan_are_nan() -> None:
    _, lines = evaluated(Apply("max", (X, Number(float("nan")))), "float", x="float")
    assert "llvm.maximum" in lines[0]


def test_what_values_share_is_put_down_once() -> None:
    square = Apply("mul", (X, X))
    _, lines = evaluated(Apply("add", (square, square)), "float", x="float")
    assert len(lines) == 2


def test_casts_between_integers_of_one_width_are_nothing() -> None:
    value, lines = evaluated(Cast(DataType.UINT32, X), "u32", x="i32")
    assert not lines
    assert value.kind.element == "u32"


def test_values_are_described_with_each_object_once() -> None:
    square = Apply("mul", (X, X))
    chosen = Select("lt", square, Number(1), Cast(DataType.FLOAT, square), Number(0))
    assert len(list(distinct(chosen))) == 6
    assert described((chosen, square)) == "0=mul(x,x);1=float(0);2=lt(0,1n)?1:0n;2,0"


def test_descriptions_tell_zeros_apart() -> None:
    assert described((Apply("add", (X, Number(0.0))),)) != described((Apply("add", (X, Number(-0.0))),))


def test_a_tail_that_uses_results_again_is_no_larger_for_it() -> None:
    """Written out as a tree it would have 2^24 leaves."""
    value: Scalar = RESULT
    for _ in range(24):
        value = Apply("mul", (value, value))
    tail = Tail(value)
    assert len(tail.key) < 1000
    assert not is_cheap(tail)
