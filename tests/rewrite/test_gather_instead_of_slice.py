"""gather-instead-of-slice."""

from __future__ import annotations

import pytest

from rewrite.rewriting import assert_becomes, assert_unchanged

PASS = "gather-instead-of-slice"
NUMBERS = """int64[1] o = {0}, int64[1] k = {1}, int64[1] e = {2}, int64[1] m = {-1}, int64[1] n = {-2},
    int64[1] far = {9223372036854775807}, int64[1] s = {2}, int64[2] both = {0, 1}, int64[2] ends = {1, 2}"""


@pytest.mark.parametrize(
    ("slice", "index"),
    [("Slice(x, k, e, k)", 1), ("Slice(x, n, m, k)", 1), ("Slice(x, m, far, m)", 2)],
)
@pytest.mark.parametrize("drop", ["Squeeze(a, k)", "Squeeze(a)", "Reshape(a, s)"])
def test_one_entry_is_gathered(slice: str, index: int, drop: str) -> None:
    assert_becomes(
        f"g (float[2,3] x) => (float[] y) <{NUMBERS}> {{ a = {slice} y = {drop} }}",
        f"g (float[2,3] x) => (float[] y) <int64 i = {{{index}}}> {{ y = Gather<axis = 1>(x, i) }}",
        PASS,
    )


@pytest.mark.parametrize(
    ("slice", "index"),
    [("Slice(x, o, k, o)", 0), ("Slice(x, m, far, o)", -1), ("Slice(x, n, m, o)", -2)],
)
def test_the_axis_may_be_of_any_length(slice: str, index: int) -> None:
    assert_becomes(
        f"g (float[N,3] x) => (float[] y) <{NUMBERS}> {{ a = {slice} y = Squeeze(a, o) }}",
        f"g (float[N,3] x) => (float[] y) <int64 i = {{{index}}}> {{ y = Gather<axis = 0>(x, i) }}",
        PASS,
    )


@pytest.mark.parametrize(
    "nodes",
    [
        "a = Slice(x, o, e, k) y = Squeeze(a, o)",
        "a = Slice(x, k, e, k) y = Squeeze(a, o)",
        "a = Slice(x, e, k, k, m) y = Squeeze(a, k)",
        "a = Slice(x, both, ends) y = Reshape(a, m)",
        "a = Slice(x, k, e, k) b = Squeeze(a, k) c = Neg(a) y = Sub(b, c)",
    ],
)
def test_more_indices_other_axes_and_uses_are_kept(nodes: str) -> None:
    assert_unchanged(f"g (float[1,3] x) => (float[] y) <{NUMBERS}> {{ {nodes} }}", PASS)


def test_negative_indices_are_none_before_opset_11() -> None:
    assert_unchanged(
        f"g (float[N,3] x) => (float[] y) <{NUMBERS}> {{ a = Slice(x, m, far, o) y = Squeeze<axes = [0]>(a) }}",
        PASS,
        opset=10,
    )
