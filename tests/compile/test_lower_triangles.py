"""Trilu, and scatters that combine, beside the reference engine."""

from __future__ import annotations

import numpy as np
import pytest

from compile import guarded
from compile.lane_widths import with_lanes
from compile.lowered import normal, runs
from sardonyx._src.compile.moves.triangle import triangle
from sardonyx._src.ir.tensors import Array
from sardonyx._src.runtime.limits import Unfit


@pytest.mark.parametrize("upper", [0, 1])
@pytest.mark.parametrize("k", [0, 2, -3, 100, -100, 1 << 62, -(1 << 63)])
@pytest.mark.parametrize("kind", ["float", "int64", "bool"])
def test_triangles_begin_at_any_diagonal(kind: str, k: int, upper: int) -> None:
    text = (
        f"""g ({kind}[b,n,m] x) => ({kind}[] y) <int64 k = {{{k}}}> {{ y = Trilu<upper = {upper}>(x, k) }}"""
    )
    dtype = {"float": np.float32, "int64": np.int64, "bool": np.bool_}[kind]
    runs(
        text,
        *({"x": (5 * normal(*dims)).astype(dtype)} for dims in [(2, 5, 7), (1, 9, 3), (3, 0, 4), (1, 1, 1)]),
    )


def test_a_causal_mask_is_made_of_sizes() -> None:
    text = """g (float[1,1,s,s] x) => (float[] y) <float low = {-1e9}> {
      n = Shape<start = 2>(x)  f = ConstantOfShape<value = float[1] {1}>(n)  k = Constant<value = int64 {1}>()
      t = Trilu<upper = 1>(f, k)  m = Mul(t, low)  y = Add(x, m) }"""
    runs(text, {"x": normal(1, 1, 40, 40)}, {"x": normal(1, 1, 1, 1)})


@pytest.mark.parametrize("lanes", [16, 4, 1])
@pytest.mark.parametrize("upper", [False, True])
def test_rows_are_written_within_their_bounds(upper: bool, lanes: int) -> None:
    x, y = normal(3, 70, 90), np.full((3, 70, 90), 7, np.float32)
    made = [guarded.tensor(array) for array in (x, y)]
    step = triangle(made[0][0], made[1][0], 5, upper=upper)
    guarded.run(with_lanes(step, lanes), {made[0][1]: x, made[1][1]: y})
    np.testing.assert_array_equal(y, np.triu(x, 5) if upper else np.tril(x, 5))


# --- scatters ----------------------------------------------------------------------------------

KINDS = {"float": np.float32, "double": np.float64, "int32": np.int32, "int64": np.int64}


def drawn(kind: str, *shape: int, seed: int) -> Array:
    found: Array = (4 * normal(*shape, seed=seed)).astype(KINDS[kind])
    if kind == "float" and found.size > 3:
        found.reshape(-1)[1::5] = np.nan
        found.reshape(-1)[2::7] = -np.inf
    return found


@pytest.mark.parametrize("reduction", ["add", "mul", "max", "min"])
@pytest.mark.parametrize("kind", list(KINDS))
def test_updates_are_combined_one_after_the_other(kind: str, reduction: str) -> None:
    text = f"""g ({kind}[n,c] x, int64[m,1] i, {kind}[m,c] u) => ({kind}[] y) {{
      y = ScatterND<reduction = "{reduction}">(x, i, u) }}"""
    generator = np.random.default_rng(1)
    feeds = []
    for n, m, c in [(5, 20, 37), (3, 9, 1), (4, 0, 5)]:
        where = generator.integers(-n, n, (m, 1))
        feeds.append({"x": drawn(kind, n, c, seed=2), "i": where, "u": drawn(kind, m, c, seed=3)})
    runs(text, *feeds)
    with pytest.raises(Unfit):
        runs(text, {**feeds[0], "i": feeds[0]["i"] + 5})


@pytest.mark.parametrize("reduction", ["add", "mul", "max", "min"])
@pytest.mark.parametrize("axis", [0, 1])
def test_elements_are_combined_along_an_axis(axis: int, reduction: str) -> None:
    text = f"""g (float[6,7] x, int32[4,5] i, float[4,5] u) => (float[] y) {{
      y = ScatterElements<axis = {axis}, reduction = "{reduction}">(x, i, u) }}"""
    where = np.random.default_rng(1).integers(-3, 3, (4, 5)).astype(np.int32)
    runs(text, {"x": drawn("float", 6, 7, seed=2), "i": where, "u": drawn("float", 4, 5, seed=3)})
