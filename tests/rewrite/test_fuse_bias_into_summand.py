"""fuse-bias-into-summand."""

from __future__ import annotations

import pytest

from rewrite.rewriting import assert_becomes, assert_unchanged

PASS = "fuse-bias-into-summand"


def graph(nodes: str, h: str = "N,2", b: str = "4") -> str:
    return f"""g (float[N,3] x, float[4,3] w, float[{h}] h, float[2,4] u, float[{b}] b) => (float[] y) {{ {nodes} }}"""


def test_the_inner_product_takes_the_bias() -> None:
    assert_becomes(
        graph("p = MatMul(h, u) q = Gemm<alpha = 0.5, transB = 1>(x, w, p) y = Add(b, q)"),
        graph("p = Gemm(h, u, b) y = Gemm<alpha = 0.5, transA = 0, transB = 1>(x, w, p)"),
        PASS,
    )


@pytest.mark.parametrize(
    ("nodes", "h", "b"),
    [
        ("p = MatMul(h, u) q = Gemm<beta = 0.5, transB = 1>(x, w, p) y = Add(b, q)", "N,2", "4"),
        ("p = MatMul(h, u) q = Gemm<transB = 1>(x, w, p) y = Add(b, q)", "N,2", "N,4"),
        ("p = MatMul(h, u) q = Gemm<transB = 1>(x, w, p) y = Add(b, q)", "1,2", "4"),
        ("p = MatMul(h, u) q = Gemm<transB = 1>(x, w, p) a = Add(b, q) y = Add(a, p)", "N,2", "4"),
    ],
)
def test_factors_broadcast_products_and_uses_are_kept(nodes: str, h: str, b: str) -> None:
    assert_unchanged(graph(nodes, h, b), PASS)
