"""Unique is native in all its forms, and every result is that of NumPy or the reference engine."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.ir import Array

OUTPUTS = ("y", "first", "inverse", "counts")
RNG = np.random.default_rng(2)
TYPES = {"float": "float32", "double": "float64", "int8": "int8", "uint16": "uint16", "int64": "int64", "bool": "bool", "float16": "float16"}  # fmt: skip


def unique_model(dtype: str, shape: str, attributes: str, outputs: tuple[str, ...] = OUTPUTS) -> str:
    names = ", ".join(name if name in outputs else f"unused_{name}" for name in OUTPUTS)
    y = ",".join("?" * (shape.count(",") + 1)) if "axis" in attributes else "?"
    types = {"y": f"{dtype}[{y}]", "first": "int64[?]", "inverse": "int64[?]", "counts": "int64[?]"}
    results = ", ".join(f"{types[name]} {name}" for name in outputs)
    x = f"{dtype}[{shape}]" if shape else dtype
    return f"g ({x} x) => ({results}) {{ {names} = Unique <{attributes}>(x) }}"


def assert_native(text: str, xs: list[Array]) -> None:
    model = parse_model(text, opset=28)
    session, reference = sx.Session(model, engine="native", threads=1), sx.Session(model, engine="reference")
    assert session.stats.fallback_nodes == 0
    for x in xs:
        actual, expected = session.run({"x": x}), reference.run({"x": x})
        for name, array in expected.items():
            np.testing.assert_array_equal(actual[name], array, err_msg=f"{name} of {x}", strict=True)
    assert not session.stats.bailouts


def test_distinct_numbers_with_their_places_and_counts() -> None:
    session = sx.Session(parse_model(unique_model("float", "N", "sorted = 1"), opset=28), engine="native")
    for _ in range(3):
        results = session.run({"x": np.array([2, 1, 1, 3, 4, 3], np.float32)})
    assert [results[name].tolist() for name in OUTPUTS] == [
        [1, 2, 3, 4], [1, 0, 3, 4], [1, 0, 0, 2, 3, 2], [2, 1, 2, 1]
    ]  # fmt: skip
    assert session.stats.fast_path_runs == 1


def test_all_nan_are_one_value_and_so_are_the_zeros() -> None:
    text = unique_model("float", "N", "sorted = 1")
    other_nan = np.array([0xFFC00001], np.uint32).view(np.float32)[0]
    x = np.array([np.nan, -0.0, -np.inf, other_nan, 0.0, np.inf, -1e-45, 1e-45], np.float32)
    results = sx.Session(parse_model(text, opset=28), engine="native").run({"x": x})
    np.testing.assert_array_equal(
        results["y"], np.array([-np.inf, -1e-45, 0, 1e-45, np.inf, np.nan], np.float32)
    )
    assert np.signbit(results["y"][2])  # the first of the zeros
    assert results["inverse"].tolist() == [5, 2, 0, 5, 2, 4, 1, 3]
    assert results["counts"].tolist() == [1, 1, 2, 1, 1, 2]
    assert_native(text, [x])


@pytest.mark.parametrize("is_sorted", [0, 1])
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("axis", ["", ", axis = 0", ", axis = 1", ", axis = -1"])
def test_slices_of_every_axis(dtype: str, axis: str, is_sorted: int) -> None:
    shapes = [(3, 4, 2), (5, 1, 1), (0, 2, 3), (40, 3, 2), (1, 0, 2), (2, 30, 2), (3, 4, 0), (40, 3, 2)]
    xs = [RNG.integers(0, 3, shape).astype(TYPES[dtype]) for shape in shapes]
    assert_native(unique_model(dtype, "N,M,K", f"sorted = {is_sorted}{axis}"), xs)


@pytest.mark.parametrize(
    "outputs", [("y",), ("inverse",), ("counts",), ("first", "counts"), ("y", "inverse")]
)
def test_some_of_the_results(outputs: tuple[str, ...]) -> None:
    xs = [RNG.integers(0, 5, n).astype(np.float32) for n in (7, 1, 0, 200, 200)]
    assert_native(unique_model("float", "N", "sorted = 1", outputs), xs)


def test_a_scalar_has_one_element() -> None:
    assert_native(unique_model("float", "", "sorted = 1"), [np.array(3, np.float32)])


@pytest.mark.parametrize("is_sorted", [0, 1])
def test_many_different_numbers(is_sorted: int) -> None:
    xs = [RNG.permutation(5000).astype(np.float32), RNG.standard_normal(4097).astype(np.float32)]
    assert_native(unique_model("float", "N", f"sorted = {is_sorted}"), xs)
    numbers = RNG.integers(-(2**63), 2**63 - 1, 3000)
    assert_native(unique_model("int64", "N", f"sorted = {is_sorted}"), [numbers, numbers // 2**40 * 2**32])
