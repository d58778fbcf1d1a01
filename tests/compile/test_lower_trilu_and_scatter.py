"""Lowering of Trilu and of scatters with a reduction: results match the reference engine."""

from __future__ import annotations

import numpy as np
import pytest

from compile.reference_comparison import assert_matches_reference, normal
from sardonyx._src.ir import Array
from sardonyx._src.runtime.limits.run_limits import Bailout


@pytest.mark.parametrize("upper", [0, 1])
@pytest.mark.parametrize("k", [0, 2, -3, 100, -100, 1 << 62, -(1 << 63)])
@pytest.mark.parametrize("element_type", ["float", "int64", "bool"])
def test_trilu_at_any_diagonal(element_type: str, k: int, upper: int) -> None:
    text = f"""g ({element_type}[b,n,m] x) => ({element_type}[] y) <int64 k = {{{k}}}> {{ y = Trilu<upper = {upper}>(x, k) }}"""
    dtype = {"float": np.float32, "int64": np.int64, "bool": np.bool_}[element_type]
    assert_matches_reference(
        text,
        *({"x": (5 * normal(*dims)).astype(dtype)} for dims in [(2, 5, 7), (1, 9, 3), (3, 0, 4), (1, 1, 1)]),
    )


def test_causal_mask_computed_from_sizes() -> None:
    text = """g (float[1,1,s,s] x) => (float[] y) <float low = {-1e9}> {
      n = Shape<start = 2>(x)  f = ConstantOfShape<value = float[1] {1}>(n)  k = Constant<value = int64 {1}>()
      t = Trilu<upper = 1>(f, k)  m = Mul(t, low)  y = Add(x, m) }"""
    assert_matches_reference(text, {"x": normal(1, 1, 40, 40)}, {"x": normal(1, 1, 1, 1)})


# --- scatters ----------------------------------------------------------------------------------

DTYPES = {"float": np.float32, "double": np.float64, "int32": np.int32, "int64": np.int64}


def random_array(element_type: str, *shape: int, seed: int) -> Array:
    result: Array = (4 * normal(*shape, seed=seed)).astype(DTYPES[element_type])
    if element_type == "float" and result.size > 3:
        result.reshape(-1)[1::5] = np.nan
        result.reshape(-1)[2::7] = -np.inf
    return result


@pytest.mark.parametrize("reduction", ["add", "mul", "max", "min"])
@pytest.mark.parametrize("element_type", list(DTYPES))
def test_scatter_nd_with_reduction(element_type: str, reduction: str) -> None:
    text = f"""g ({element_type}[n,c] x, int64[m,1] i, {element_type}[m,c] u) => ({element_type}[] y) {{
      y = ScatterND<reduction = "{reduction}">(x, i, u) }}"""
    generator = np.random.default_rng(1)
    feeds = []
    for n, m, c in [(5, 20, 37), (3, 9, 1), (4, 0, 5)]:
        indices = generator.integers(-n, n, (m, 1))
        feeds.append(
            {
                "x": random_array(element_type, n, c, seed=2),
                "i": indices,
                "u": random_array(element_type, m, c, seed=3),
            }
        )
    assert_matches_reference(text, *feeds)
    with pytest.raises(Bailout):
        assert_matches_reference(text, {**feeds[0], "i": feeds[0]["i"] + 5})


@pytest.mark.parametrize("reduction", ["add", "mul", "max", "min"])
@pytest.mark.parametrize("axis", [0, 1])
def test_scatter_elements_with_reduction(axis: int, reduction: str) -> None:
    text = f"""g (float[6,7] x, int32[4,5] i, float[4,5] u) => (float[] y) {{
      y = ScatterElements<axis = {axis}, reduction = "{reduction}">(x, i, u) }}"""
    indices = np.random.default_rng(1).integers(-3, 3, (4, 5)).astype(np.int32)
    assert_matches_reference(
        text,
        {"x": random_array("float", 6, 7, seed=2), "i": indices, "u": random_array("float", 4, 5, seed=3)},
    )
