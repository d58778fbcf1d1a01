"""Products with low-rank updates: one kernel, equal to the reference engine on one and two threads."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from compile.native_agreement import assert_engines_agree
from compile.stages import regions_of
from sardonyx._src.ir import Array

ADAPTER = """agraph (float[{rows},{inner}] x, float[{inner},{rank}] a, float[{rank},{columns}] b, float[{columns}] bias,
                     float[{inner},{columns}] w) => (float[{rows},{columns}] y) {{
  c = Constant <value = float {{1.5}}> ()
  {body}
}}"""
PRODUCT_FIRST = """p = MatMul (x, w) q = Add (bias, p) t = MatMul (x, a) u = MatMul (t, b) s = Mul (u, c)
  z = Add (q, s) y = Tanh (z)"""
UPDATE_FIRST = "t = MatMul (x, a) u = MatMul (t, b) p = MatMul (x, w) y = Add (u, p)"
SHARED_UPDATE = "t = MatMul (x, a) u = MatMul (t, b) p = MatMul (x, w) z = Add (u, p) y = Mul (z, u)"
BIASED_UPDATE = "t = MatMul (x, a) m = MatMul (t, b) u = Add (m, bias) p = MatMul (x, w) y = Add (u, p)"
SIZES = [
    ("1,5", 64, 8, 64),
    ("3,7", 600, 5, 150),
    ("2,3,4", 1100, 64, 33),
    ("1,1", 16, 1, 16),
    ("0,3", 64, 8, 64),
]


def adapter(body: str, rows: str, inner: int, rank: int, columns: int) -> str:
    return ADAPTER.format(rows=rows, inner=inner, rank=rank, columns=columns, body=body)


def feeds(rows: str, inner: int, rank: int, columns: int) -> Mapping[str, Array]:
    draw, leading = np.random.default_rng(3), tuple(map(int, rows.split(",")))
    shapes = {"x": (*leading, inner), "a": (inner, rank), "b": (rank, columns), "bias": (columns,)}
    shapes["w"] = (inner, columns)
    return {name: (draw.normal(size=shape) / inner**0.5).astype(np.float32) for name, shape in shapes.items()}


def kinds(text: str) -> list[str]:
    return [region.kind for region in regions_of(text)]


@pytest.mark.parametrize("body", [PRODUCT_FIRST, UPDATE_FIRST])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_both_orders_are_one_product(size: tuple[str, int, int, int], body: str) -> None:
    text = adapter(body, *size)
    assert kinds(text) == ["MatMul", "LowRankUpdate"]
    assert_engines_agree(text, feeds(*size))


@pytest.mark.parametrize("body", [SHARED_UPDATE, BIASED_UPDATE])
def test_other_sums_are_two_products(body: str) -> None:
    text = adapter(body, *SIZES[0])
    assert "LowRankUpdate" not in kinds(text)
    assert_engines_agree(text, feeds(*SIZES[0]))


def test_an_update_of_many_terms_is_a_product() -> None:
    size = ("1,5", 128, 20, 64)
    assert "LowRankUpdate" not in kinds(adapter(UPDATE_FIRST, *size))


def test_weights_may_be_constant() -> None:
    numbers = ", ".join(f"{i % 17 / 17:.4f}" for i in range(72 * 70))
    text = f"""agraph (float[2,2,72] x, float[72,3] a, float[3,70] b) => (float[2,2,70] y)
      <float[72,70] w = {{{numbers}}}> {{
      p = MatMul (x, w) t = MatMul (x, a) u = MatMul (t, b) y = Add (p, u)
    }}"""
    assert kinds(text) == ["MatMul", "LowRankUpdate"]
    values = feeds("2,2", 72, 3, 70)
    assert_engines_agree(text, {name: values[name] for name in "xab"})


def test_operands_may_be_views() -> None:
    """The factors of gradients are transposed, and their rows are those of a transposed tensor."""
    text = """agraph (float[64,2,3] x, float[2,3,4] g, float[96,64] w, float[96,4] b) => (float[2,3,96] y) {
      v = Transpose <perm = [1, 0]> (w) f = Transpose <perm = [1, 0]> (b) r = Transpose <perm = [1, 2, 0]> (x)
      p = MatMul (r, v) u = MatMul (g, f) y = Add (u, p)
    }"""
    assert "LowRankUpdate" in kinds(text)
    draw = np.random.default_rng(5)
    shapes = {"x": (64, 2, 3), "g": (2, 3, 4), "w": (96, 64), "b": (96, 4)}
    assert_engines_agree(text, {k: draw.normal(size=s).astype(np.float32) for k, s in shapes.items()})


def test_sizes_may_be_symbolic() -> None:
    text = """agraph (float[N,T,64] x, float[64,4] a, float[4,40] b, float[64,40] w) => (float[N,T,40] y) {
      p = MatMul (x, w) t = MatMul (x, a) u = MatMul (t, b) y = Add (p, u)
    }"""
    assert kinds(text) == ["MatMul", "LowRankUpdate"]
    values = [feeds(rows, 64, 4, 40) for rows in ("2,3", "1,50", "0,2")]
    assert_engines_agree(text, *({name: feed[name] for name in "xabw"} for feed in values))
