"""Lowering of TopK: values and indices equal those of the reference engine."""

from __future__ import annotations

import numpy as np
import pytest

from compile.reference_comparison import assert_matches_reference, normal
from models import parse_model
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir import Array
from sardonyx._src.runtime.limits.run_limits import Bailout

ELEMENT_TYPES = {"float32": "float", "float64": "double", "int32": "int32", "int64": "int64"}


def model_text(element_type: str, k: int, *, axis: int = -1, largest: int = 1, dims: str = "a,b,c") -> str:
    return f"""g ({element_type}[{dims}] x) => ({element_type}[] v, int64[] i) <int64[1] k = {{{k}}}> {{
      v, i = TopK<axis = {axis}, largest = {largest}>(x, k) }}"""


def assert_matches_interpreter(x: Array, k: int, *, axis: int = -1, largest: int = 1) -> None:
    """Asserts that values and indices are those of the reference engine, bit for bit."""
    element_type = ELEMENT_TYPES[x.dtype.name]
    dims = ",".join("abcd"[: x.ndim])
    source = model_text(element_type, k, axis=axis, largest=largest, dims=dims)
    reference = Interpreter(parse_model(source, opset=28)).run({"x": x})
    assert_matches_reference(source, {"x": x})
    indices_only = source.replace(f"({element_type}[] v, int64[] i)", "(int64[] i)")
    [result] = assert_matches_reference(indices_only, {"x": x})
    np.testing.assert_array_equal(result, reference["i"])


@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize("k", [0, 1, 2, 5, 40, 41])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_best_elements_come_first(k: int, axis: int, largest: int) -> None:
    shape = [3, 4, 2]
    shape[axis] = 41
    assert_matches_interpreter(normal(*shape), k, axis=axis, largest=largest)
    assert_matches_interpreter(normal(*shape) * np.float64(1 + 1e-12), k, axis=axis, largest=largest)


@pytest.mark.parametrize("largest", [0, 1])
def test_64_bit_elements_that_differ_in_their_last_bit(largest: int) -> None:
    rng = np.random.default_rng(3)
    x = rng.integers(-4, 4, (3, 300))
    for k in (1, 20, 300):
        assert_matches_interpreter(x + 2**62, k, largest=largest)
        assert_matches_interpreter(1 + x * 2.0**-52, k, largest=largest)


@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize("k", [1, 7, 300, 1000])
def test_equal_elements_are_ordered_by_index(k: int, largest: int) -> None:
    x = np.random.default_rng(1).integers(-3, 4, (2, 1000))
    assert_matches_interpreter(x.astype(np.int32), k, largest=largest)
    floats = x.astype(np.float32)
    floats[floats == 2] = -0.0
    assert_matches_interpreter(floats, k, largest=largest)
    assert_matches_interpreter(x, k, largest=largest)
    assert_matches_interpreter(floats.astype(np.float64), k, largest=largest)


@pytest.mark.parametrize("largest", [0, 1])
def test_nan_is_greater_than_all_numbers(largest: int) -> None:
    x = normal(3, 200)
    x[0, ::3] = np.nan
    x[1, ::2] = np.inf
    x[1, 1::2] = -np.nan
    x[2, 50:60] = -np.inf
    for k in (3, 70, 150, 200):
        assert_matches_interpreter(x, k, largest=largest)
        assert_matches_interpreter(x.astype(np.float64), k, largest=largest)


def test_integer_bounds_are_ordinary_elements() -> None:
    for dtype in (np.int32, np.int64):
        bounds = np.iinfo(dtype)
        x = np.array([[5, bounds.min, bounds.max, 0, bounds.min]], dtype)
        for k in (1, 3, 5):
            assert_matches_interpreter(x, k)
            assert_matches_interpreter(x, k, largest=0)


def test_k_greater_than_n_bails_out_at_run_time() -> None:
    source = model_text("float", 3, dims="a,b")
    assert_matches_reference(source, {"x": normal(2, 3)}, {"x": normal(0, 9)}, {"x": normal(5, 100)})
    with pytest.raises(Bailout):
        assert_matches_reference(source, {"x": normal(2, 2)})
