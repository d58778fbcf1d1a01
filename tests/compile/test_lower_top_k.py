"""TopK on the native engine, beside the reference engine."""

from __future__ import annotations

import numpy as np
import pytest

from compile import guarded
from compile.lane_widths import with_lanes
from compile.lowered import normal, runs
from models import model
from sardonyx._src.compile.rows.top_k import top_k
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir.tensors import Array
from sardonyx._src.runtime.limits import Unfit

KINDS = {"float32": "float", "float64": "double", "int32": "int32", "int64": "int64"}


def text(kind: str, k: int, *, axis: int = -1, largest: int = 1, dims: str = "a,b,c") -> str:
    return f"""g ({kind}[{dims}] x) => ({kind}[] v, int64[] i) <int64[1] k = {{{k}}}> {{
      v, i = TopK<axis = {axis}, largest = {largest}>(x, k) }}"""


def both(x: Array, k: int, *, axis: int = -1, largest: int = 1) -> None:
    """Elements and places are those of the reference engine, bit for bit."""
    kind = KINDS[x.dtype.name]
    dims = ",".join("abcd"[: x.ndim])
    source = text(kind, k, axis=axis, largest=largest, dims=dims)
    wanted = Interpreter(model(source, opset=28)).run({"x": x})
    runs(source, {"x": x})
    places = source.replace(f"({kind}[] v, int64[] i)", "(int64[] i)")
    [found] = runs(places, {"x": x})
    np.testing.assert_array_equal(found, wanted["i"])


@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize("k", [0, 1, 2, 5, 40, 41])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_the_best_come_first(k: int, axis: int, largest: int) -> None:
    shape = [3, 4, 2]
    shape[axis] = 41
    both(normal(*shape), k, axis=axis, largest=largest)
    both(normal(*shape) * np.float64(1 + 1e-12), k, axis=axis, largest=largest)


@pytest.mark.parametrize("largest", [0, 1])
def test_wide_elements_differ_in_their_last_bit(largest: int) -> None:
    rng = np.random.default_rng(3)
    x = rng.integers(-4, 4, (3, 300))
    for k in (1, 20, 300):
        both(x + 2**62, k, largest=largest)
        both(1 + x * 2.0**-52, k, largest=largest)


@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize("k", [1, 7, 300, 1000])
def test_of_equal_elements_the_first_comes_first(k: int, largest: int) -> None:
    x = np.random.default_rng(1).integers(-3, 4, (2, 1000))
    both(x.astype(np.int32), k, largest=largest)
    floats = x.astype(np.float32)
    floats[floats == 2] = -0.0
    both(floats, k, largest=largest)
    both(x, k, largest=largest)
    both(floats.astype(np.float64), k, largest=largest)


@pytest.mark.parametrize("largest", [0, 1])
def test_nan_is_above_all_numbers(largest: int) -> None:
    x = normal(3, 200)
    x[0, ::3] = np.nan
    x[1, ::2] = np.inf
    x[1, 1::2] = -np.nan
    x[2, 50:60] = -np.inf
    for k in (3, 70, 150, 200):
        both(x, k, largest=largest)
        both(x.astype(np.float64), k, largest=largest)


def test_integers_at_the_ends_of_their_type_are_numbers_like_others() -> None:
    for dtype in (np.int32, np.int64):
        ends = np.iinfo(dtype)
        x = np.array([[5, ends.min, ends.max, 0, ends.min]], dtype)
        for k in (1, 3, 5):
            both(x, k)
            both(x, k, largest=0)


def test_more_than_there_are_is_refused_when_sizes_are_known() -> None:
    source = text("float", 3, dims="a,b")
    runs(source, {"x": normal(2, 3)}, {"x": normal(0, 9)}, {"x": normal(5, 100)})
    with pytest.raises(Unfit):
        runs(source, {"x": normal(2, 2)})


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("lanes", [16, 8, 4, 1])
def test_rows_are_read_within_their_bounds(lanes: int, dtype: type[np.generic]) -> None:
    x = normal(5, 77).astype(dtype)
    values, indices = np.zeros((5, 9), dtype), np.zeros((5, 9), np.int64)
    arrays: tuple[Array, ...] = (x, values, indices)
    made = [guarded.tensor(array) for array in arrays]
    source, best, places = (tensor for tensor, _ in made)
    step = top_k(source, best, places, -1, largest=True)
    guarded.run(with_lanes(step, lanes), {s: a for (_, s), a in zip(made, arrays, strict=True)})
    np.testing.assert_array_equal(values, -np.sort(-x, axis=1)[:, :9])
    np.testing.assert_array_equal(np.take_along_axis(x, indices, 1), values)
