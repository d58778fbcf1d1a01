"""GroupedMatMul natively: results, sizes known only at run time, bias, half precision, and what bails out."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import DTypeLike

import sardonyx as sx
from compile.native_agreement import assert_engines_agree
from compile.reference_comparison import assert_matches_reference, normal
from models import parse_model
from sardonyx._src.compile.program import Step
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array
from sardonyx._src.runtime.runs.native_program import compile_for_host

FED = "g (float[M,K] x, float[G,K,N] w, int64[M,S] i) => (float[M,S,N] y) { y = GroupedMatMul(x, w, i) }"


def indices(groups: int, *shape: int, dtype: str = "int64") -> Array:
    return np.random.default_rng(1).integers(0, max(groups, 1), shape).astype(dtype)


@pytest.mark.parametrize("k", [0, 1, 17, 1030])
@pytest.mark.parametrize("n", [0, 1, 15, 16, 17, 130])
def test_one_program_serves_all_sizes(k: int, n: int) -> None:
    feeds = [
        {"x": normal(m, k), "w": normal(g, k, n, seed=2), "i": indices(g, m, s)}
        for m, s, g in ((0, 2, 3), (1, 1, 1), (3, 0, 2), (7, 2, 64), (40, 3, 5), (3, 3, 3))
    ]
    assert_matches_reference(FED, *feeds, opset=29)


CONSTANT = """g (float[M,33] x, int32[M,2] i) => (float[M,2,70] y) {
  zero = Constant <value = float {0}> ()  one = Constant <value = float {1}> ()  count = Constant <value = float {13860}> ()
  numbers = Range(zero, count, one)  waves = Sin(numbers)  shape = Constant <value = int64[3] {6, 33, 70}> ()
  w = Reshape(waves, shape)  first = Constant <value = int64 {0}> ()  b = Gather <axis = 1> (w, first)
  p = GroupedMatMul(x, w, i, b)
  y = Relu(p)
}"""


def test_constant_weights_with_a_bias() -> None:
    feeds = [{"x": normal(m, 33), "i": indices(6, m, 2, dtype="int32")} for m in (1, 4, 100)]
    assert_engines_agree(CONSTANT, *feeds, opset=29)


def test_the_weights_may_be_expanded_or_transposed() -> None:
    expanded = FED.replace("G,K,N", "1,K,N").replace(
        "{ y", "{ groups = Constant <value = int64[3] {4, 1, 1}> () e = Expand(w, groups) y"
    )
    transposed = FED.replace("G,K,N", "G,N,K").replace("{ y", "{ t = Transpose <perm = [0, 2, 1]> (w) y")
    feed = {"x": normal(9, 5), "i": indices(4, 9, 2)}
    for text, shape, name in ((expanded, (1, 5, 20), "e"), (transposed, (4, 20, 5), "t")):
        called = text.replace("GroupedMatMul(x, w", f"GroupedMatMul(x, {name}")
        assert_engines_agree(called, feed | {"w": normal(*shape, seed=3)}, opset=29)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_half_precision_is_computed_in_float32(dtype: DTypeLike) -> None:
    kind = np.dtype(dtype).name
    text = FED.replace("float[", f"{kind}[")
    x, w = (np.rint(4 * normal(*shape)).astype(dtype) for shape in ((9, 40), (5, 40, 20)))
    assert_engines_agree(text, {"x": x, "w": w, "i": indices(5, 9, 2)}, opset=29)


def test_products_of_float64_are_those_of_the_reference_kernel() -> None:
    text = FED.replace("float[", "double[")
    feed = {"x": normal(9, 5).astype("f8"), "w": normal(4, 5, 6).astype("f8"), "i": indices(4, 9, 2)}
    assert_engines_agree(text, feed, opset=29, fallbacks=1)


@pytest.mark.parametrize("index", [-1, 3, 1 << 40])
def test_an_index_that_is_no_group_is_the_error_of_the_reference_engine(index: int) -> None:
    session = sx.Session(parse_model(FED, opset=29), engine="native")
    feeds = {"x": normal(2, 5), "w": normal(3, 5, 4), "i": np.array([[0], [index]])}
    with pytest.raises(EvaluationError, match=rf"group_indices must be in \[0, 3\); got {index}"):
        session.run(feeds)


def test_infinities_and_nan_stay_in_their_rows() -> None:
    x = normal(6, 20)
    x[1, 3], x[4, 5] = np.inf, np.nan
    feed = {"x": x, "w": np.abs(normal(3, 20, 18)), "i": indices(3, 6, 2)}
    (y,) = assert_matches_reference(FED, feed, opset=29)
    assert not np.isfinite(y[[1, 4]]).any() and np.isfinite(y[[0, 2, 3, 5]]).all()


def test_matrices_are_not_gathered() -> None:
    steps = [
        step
        for step in compile_for_host(parse_model(FED, opset=29)).program.actions
        if isinstance(step, Step)
    ]
    kinds = [step.kernel.key.split(":")[0].rstrip("_0123456789f") for step in steps]
    assert kinds == ["panels", "group_rows_i", "grouped_matmul"]
