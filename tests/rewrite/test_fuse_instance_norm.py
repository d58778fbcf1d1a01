"""fuse-instance-norm."""

from __future__ import annotations

import pytest

from rewrite.rewriting import assert_becomes, assert_unchanged

PASS = "fuse-instance-norm"
NUMBERS = """int64[2] k = {2, 3}, int64[3] all = {1, 2, 3}, float two = {2}, float eps = {0.25},
    float[2,1,1] w = {1, 2}, float[1,2,1,1] b = {3, 4}, float[2] cols = {1, 2}"""
REST = "v = ReduceMean(p, k) e = Add(v, eps) s = Sqrt(e) n = Div(d, s) a = Mul(n, w) y = Add(b, a)"
WHOLE = f"m = ReduceMean(x, k) d = Sub(x, m) p = Pow(d, two) {REST}"
AFTER = "float[2] w = {1, 2}, float[2] b = {3, 4}"


@pytest.mark.parametrize("square", ["Pow(d, two)", "Mul(d, d)"])
def test_one_mean_for_each_channel_is_instance_normalization(square: str) -> None:
    assert_becomes(
        f"g (float[N,2,3,2] x) => (float[] y) <{NUMBERS}> {{ m = ReduceMean(x, k) d = Sub(x, m) p = {square} {REST} }}",
        f"g (float[N,2,3,2] x) => (float[] y) <{AFTER}> {{ y = InstanceNormalization<epsilon = 0.25>(x, w, b) }}",
        PASS,
    )


def test_axes_are_an_attribute_before_18() -> None:
    old = WHOLE.replace("ReduceMean(x, k)", "ReduceMean<axes = [-2, -1]>(x)")
    old = old.replace("ReduceMean(p, k)", "ReduceMean<axes = [-2, -1]>(p)")
    assert_becomes(
        f"g (float[N,2,3,2] x) => (float[] y) <{NUMBERS}> {{ {old} }}",
        f"g (float[N,2,3,2] x) => (float[] y) <{AFTER}> {{ y = InstanceNormalization<epsilon = 0.25>(x, w, b) }}",
        PASS,
        opset=11,
    )


@pytest.mark.parametrize(
    "nodes",
    [
        WHOLE.replace(", k)", ", all)"),
        WHOLE.replace("Mul(n, w)", "Mul(n, cols)"),
        WHOLE.replace("Add(b, a)", "Add(c, a)"),
        WHOLE.replace("Pow(d, two)", "Pow(d, eps)"),
        WHOLE.replace("y = Add(b, a)", "u = Add(b, a) y = Add(u, d)"),
    ],
)
def test_other_axes_scales_and_readers_are_kept(nodes: str) -> None:
    assert_unchanged(f"g (float[N,2,3,2] x, float[2,1,1] c) => (float[] y) <{NUMBERS}> {{ {nodes} }}", PASS)


def test_doubles_are_kept() -> None:
    text = f"g (double[N,2,3,2] x) => (double[] y) <{NUMBERS.replace('float', 'double')}> {{ {WHOLE} }}"
    assert_unchanged(text, PASS)
