"""Conversion of comparisons, selections and arithmetic on element types that earlier opsets lack."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from models import parse_model
from sardonyx._src.convert.conversion import convert
from sardonyx._src.errors import ConversionError
from sardonyx._src.interp.interpreter import Interpreter
from versions import convert_closely, convert_exactly, op_types

EDGES: dict[type[np.integer[Any]], list[int]] = {
    np.int64: [-(1 << 63), -(1 << 62) - 1, -1, 0, 1, (1 << 53) + 1, (1 << 63) - 1],
    np.uint64: [0, 1, 1 << 32, (1 << 53) + 1, (1 << 63) + 1, (1 << 64) - 2, (1 << 64) - 1],
}
FLOATS = [np.nan, -np.inf, -1.0, -0.0, 0.0, 1e-40, 1.0, np.inf]


@pytest.mark.parametrize("dtype", EDGES)
@pytest.mark.parametrize("op", ["Less", "Greater"])
def test_integers_of_64_bits_are_compared_exactly_in_floats(op: str, dtype: type[np.integer[Any]]) -> None:
    values = np.array(EDGES[dtype], dtype)
    name = np.dtype(dtype).name
    text = f"g ({name}[7,1] a, {name}[1,7] b) => (bool[7,7] y) {{ y = {op}(a, b) }}"
    convert_exactly(text, 9, 8, a=values[:, None], b=values[None])
    near = values[:, None] + np.array([0, 1], dtype)
    convert_exactly(text.replace("[1,7]", "[7,2]").replace("[7,7]", "[7,2]"), 9, 8, a=values[:, None], b=near)


def test_nan_is_equal_to_nothing_where_floats_cannot_be_equal() -> None:
    text = "g (float[8,1] a, float[1,8] b) => (bool[8,8] y) { y = Equal(a, b) }"
    values = np.array(FLOATS, np.float32)
    for target in (10, 8, 6):
        convert_exactly(text, 11, target, a=values[:, None], b=values[None])


def test_numbers_are_those_below_1_or_above_0() -> None:
    down = convert_exactly("g (float[8] x) => (bool[8] y) { y = IsNaN(x) }", 9, 8, x=FLOATS)
    assert op_types(down) == ["Less", "Greater", "Or", "Not"]


@pytest.mark.parametrize(
    "attributes", ["", "<detect_negative = 0>", "<detect_negative = 0, detect_positive = 0>"]
)
def test_infinities_lie_beyond_all_numbers(attributes: str) -> None:
    convert_exactly(f"g (float[8] x) => (bool[8] y) {{ y = IsInf{attributes}(x) }}", 10, 9, x=FLOATS)


@pytest.mark.parametrize("dtype", [np.int32, np.uint64])
def test_integers_are_chosen_by_arithmetic(dtype: type[np.integer[Any]]) -> None:
    values = np.array([1, 0, np.iinfo(dtype).max, 3], dtype)
    name = np.dtype(dtype).name
    text = f"g (bool[4] c, {name}[4] x, {name}[1] y) => ({name}[4] z) {{ z = Where(c, x, y) }}"
    convert_exactly(text, 9, 8, c=np.array([1, 0, 1, 0], bool), x=values, y=values[2:3])


def test_floats_are_selected_by_index_if_the_shapes_are_known() -> None:
    text = "g (bool[2,1] c, float[2,4] x, float[4] y) => (float[2,4] z) { z = Where(c, x, y) }"
    x = np.array([FLOATS[:4], FLOATS[4:]], np.float32)
    convert_exactly(text, 9, 8, c=np.array([[True], [False]]), x=x, y=[np.nan, np.inf, 1.0, 2.0])
    with pytest.raises(
        ConversionError, match="the shapes must be known, as floats are selected by index in the target"
    ):
        convert(parse_model(text.replace("2,4", "N,4").replace("2,1", "N,1"), opset=9), 8)


def test_integers_are_clipped_by_comparing() -> None:
    text = "g (int64[7] x, int64 low, int64 high) => (int64[7] y) { y = Clip(x, low, high) }"
    x = np.array(EDGES[np.int64])
    assert op_types(convert_exactly(text, 12, 11, x=x, low=-1, high=(1 << 53)))[-1] == "Where"


def test_limits_that_only_a_run_knows_are_those_of_max_and_min() -> None:
    text = "g (float[8] x, float low, float high) => (float[8] y) { y = Clip(x, low, high) }"
    for target in (10, 6):
        convert_exactly(text, 11, target, x=FLOATS, low=-0.5, high=0.5)


def test_a_double_without_limits_is_clipped_by_its_own_ends() -> None:
    text = "g (double[2] x) => (double[2] y) { y = Clip(x) }"
    convert_exactly(text, 1, 6, x=np.array([1e300, np.inf]))


def test_known_powers_of_integers_are_products() -> None:
    text = "g (int32[3] x) => (int32[3] y) { n = Constant<value_int = 3>() y = Pow(x, n) }"
    assert op_types(convert_exactly(text, 12, 11, x=np.array([2, -3, 1 << 20], np.int32))) == ["Mul", "Mul"]


def test_small_integers_wrap_around_as_before() -> None:
    for op in ("Add", "Sub", "Mul"):
        text = f"g (int8[3] a, int8[3] b) => (int8[3] y) {{ y = {op}(a, b) }}"
        convert_exactly(
            text, 14, 13, a=np.array([127, -128, 100], np.int8), b=np.array([1, 127, -3], np.int8)
        )


@pytest.mark.parametrize("op", ["BitwiseAnd", "BitwiseOr", "BitwiseXor"])
@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64, np.uint64])
def test_bits_are_combined_as_truth_values(op: str, dtype: type[np.integer[Any]]) -> None:
    values = np.array([0, 1, 85, np.iinfo(dtype).max, np.iinfo(dtype).min], dtype)
    name = np.dtype(dtype).name
    text = f"g ({name}[5,1] a, {name}[5] b) => ({name}[5,5] y) {{ y = {op}(a, b) }}"
    convert_exactly(text, 18, 17, a=values[:, None], b=values)


def test_ties_round_to_even() -> None:
    text = "g (float[9] x) => (float[9] y) { y = Round(x) }"
    x = [-2.5, -0.5, -0.3, 0.5, 1.5, 2.5, 0.49999997, 8388609.0, -np.inf]
    down = convert_exactly(text, 11, 10, x=x)
    assert op_types(down)[0] == "Abs"


@pytest.mark.parametrize("name", ["Cosh", "Sinh", "Asinh", "Acosh", "Atanh"])
@pytest.mark.filterwarnings("ignore:(divide by zero|invalid value|overflow) encountered:RuntimeWarning")
def test_hyperbolic_functions_are_as_near_as_floats_are(name: str) -> None:
    text = f"g (float[20] x) => (float[20] y) {{ y = {name}(x) }}"
    ends = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 3e38, 89.2, 1e-45]
    x = np.array([*ends, *np.geomspace(1e-30, 1.5, 5), *np.linspace(-2, 9, 5)], np.float32)
    original = parse_model(text, opset=9)
    before, after = (np.asarray(Interpreter(m).run({"x": x})["y"]) for m in (original, convert(original, 8)))
    np.testing.assert_allclose(after, before, 2e-7, 0)
    np.testing.assert_array_equal(np.signbit(after[:2]), np.signbit(before[:2]))


def test_the_sign_of_nan_is_nan() -> None:
    convert_exactly("g (float[8] x) => (float[8] y) { y = Sign(x) }", 9, 8, x=FLOATS)


def test_a_float_on_the_other_side_of_zero_is_brought_back() -> None:
    text = "g (float[6] a, float[6] b) => (float[6] y) { y = Mod(a, b) }"
    feeds = {"a": [-4.3, 4.3, 6.0, -0.0, -3.0, 2.0], "b": [2.0, -2.0, -3.0, 5.0, np.inf, np.nan]}
    assert "Mod" in op_types(convert_exactly(text, 28, 27, **feeds))


@pytest.mark.parametrize(
    "equation", ["bhqd,bhkd->bhqk", "bhqk,bkhd->bqhd", "ij,jk,kl->il", "ii->i", "...d,d"]
)
def test_einsum_is_products_of_matrices(equation: str) -> None:
    sizes = {"b": 2, "h": 3, "q": 4, "k": 5, "d": 6, "i": 2, "j": 3, "l": 4}
    random = np.random.default_rng(7)
    arrays = {
        f"x{i}": random.integers(-4, 4, [sizes[label] for label in term.replace("...", "qk")]).astype("f4")
        for i, term in enumerate(equation.split("->")[0].split(","))
    }
    formals = ", ".join(f"float{list(array.shape)} {name}" for name, array in arrays.items())
    text = f'g ({formals}) => (float[] y) {{ y = Einsum<equation = "{equation}">({", ".join(arrays)}) }}'
    assert "Einsum" not in op_types(convert_closely(text, 12, 11, **arrays))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("g (float[2] x) => (float[2] y, float[2] z) { y, z = Acosh(x) }", "Acosh must have at most 1 outputs; got 2"),
        ("g (float[2] x) => (float[2] y) { y = BitwiseNot(x) }", "input 0 'X' must be tensor.uint8."),
        ("g (float[2] x) => (float[2] y) { y = Sign(x, x) }", "Sign must have at most 1 inputs; got 2"),
    ],
)  # fmt: skip
def test_a_node_that_does_not_fit_its_own_version_is_refused(text: str, message: str) -> None:
    with pytest.raises(ConversionError, match=message):
        convert(parse_model(text, opset=18), 5)
