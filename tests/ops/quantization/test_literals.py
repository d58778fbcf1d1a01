import ml_dtypes
import numpy as np
import pytest

from cases import Case, assert_case
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array

F, D = np.float32, np.float64


def text(*values: str) -> Array:
    return np.array(values, object)


CASES = [
    ("plain, without exponent", np.array([1e-7, 1e16, 0.1], F), ["0.0000001", "10000000000000000", "0.1"]),
    ("whole numbers", np.array([1, -0.0, 16777217, 100], F), ["1", "-0", "16777216", "100"]),
    ("words", np.array([np.nan, np.inf, -np.inf], F), ["NaN", "INF", "-INF"]),
    ("float64 has more digits", np.array([0.1, 1 / 3], D), ["0.1", "0.3333333333333333"]),
    ("float16 is exact", np.array([0.1, 65504], np.float16), ["0.099975586", "65504"]),
    ("bfloat16", np.array([1.5, 3.140625], ml_dtypes.bfloat16), ["1.5", "3.140625"]),
    ("bool", np.array([True, False]), ["1", "0"]),
    ("integers", np.array([2**64 - 1, 0], np.uint64), ["18446744073709551615", "0"]),
    ("shape", np.zeros((1, 0, 2), np.int8), []),
]


@pytest.mark.parametrize(("label", "x", "expected"), CASES)
def test_numbers_are_written(label: str, x: Array, expected: list[str]) -> None:
    assert_case(Case("Cast", 13, [x], [np.array(expected, object).reshape(x.shape)], {"to": 8}, label))


@pytest.mark.parametrize(
    ("to", "x", "expected"),
    [
        (1, text(" 7 ", ".5", "5.", "-0", "+1e+2"), np.array([7, 0.5, 5, -0.0, 100], F)),
        (11, text("1e400", "-1e-400"), np.array([np.inf, -0.0], D)),
        (7, text("9223372036854775807", "1E3", "-2.718"), np.array([2**63 - 1, 1000, -2])),
        (13, text("18446744073709551615", "-1"), np.array([2**64 - 1, 2**64 - 1], np.uint64)),
        (3, text("300", "-129"), np.array([44, 127], np.int8)),
        (9, text("0", "1", "0.0", "-3", "nan"), np.array([False, True, False, True, True])),
        (22, text("-8", "9"), np.array([-8, -7], ml_dtypes.int4)),
        (1, np.zeros((0, 2), object), np.zeros((0, 2), F)),
    ],
)
def test_strings_are_read(to: int, x: Array, expected: Array) -> None:
    assert_case(Case("Cast", 21, [x], [expected], {"to": to}))


@pytest.mark.parametrize("word", ["", "Hello World!", "1_000", "0x10", "1e", "--1", "1 2", "٣", "infinity"])
@pytest.mark.parametrize("to", [1, 7, 9])
def test_what_is_no_number_is_refused(word: str, to: int) -> None:
    with pytest.raises(
        EvaluationError, match="a string cast to a number must hold a decimal, INF, -INF or NaN"
    ):
        assert_case(Case("Cast", 13, [text("1", word)], [...], {"to": to}))


@pytest.mark.parametrize("word", ["inf", "NaN"])
def test_no_integer_is_infinite(word: str) -> None:
    with pytest.raises(EvaluationError, match="a string cast to an integer must hold a number in its range"):
        assert_case(Case("Cast", 13, [text(word)], [...], {"to": 6}))
