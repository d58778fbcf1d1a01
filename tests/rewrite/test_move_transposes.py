"""move-transposes."""

from __future__ import annotations

import pytest

from rewrite.rewriting import assert_becomes, assert_unchanged

PASS = "move-transposes"
NUMBERS = """int64[1] o = {0}, int64[1] k = {1}, int64[1] e = {2}, int64 i = {1}, int64[2] row = {1, 0},
    int64[6] pads = {1, 2, 3, 4, 5, 6}, int64[6] back = {3, 1, 2, 6, 4, 5}, float[3,4,2] c = {1, 2, 3, 4, 5, 6, 7, 8, 9,
    10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24}, float[2,3,4] d = {1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21,
    23, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24}, float[2] r = {1, 2}, float[2,1,1] s = {1, 2}, float half = {0.5}"""
GO = "Transpose<perm = [1, 2, 0]>"
BACK = "Transpose<perm = [2, 0, 1]>"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("b = Neg(a)", "y = Neg(x)"),
        ("b = Add(a, c)", "y = Add(x, d)"),
        ("b = Mul(r, a)", "y = Mul(s, x)"),
        ("h = Exp(a) b = Mul(h, half)", "h = Exp(x) y = Mul(h, half)"),
        ("b = ReduceMean(a, k)", "y = ReduceMean(x, e)"),
        ("b = ReduceMax(a)", "y = ReduceMax(x)"),
        ("b = CastLike(a, r)", "y = CastLike(x, r)"),
        ("b = Softmax<axis = -1>(a)", "y = Softmax<axis = 0>(x)"),
        ("b = Concat<axis = 1>(a, c, a)", "y = Concat<axis = 2>(x, d, x)"),
        ("b = Gather<axis = 2>(a, row)", "y = Gather<axis = 0>(x, row)"),
        ("b = Slice(a, o, k)", "y = Slice(x, o, k, k)"),
        ("b = Slice(a, o, k, e)", "y = Slice(x, o, k, o)"),
        ("b = Pad(a, pads)", "y = Pad(x, back)"),
        ("b = Pad(a, row, , e)", "y = Pad(x, row, , o)"),
        ("p, q = Split<axis = 0, num_outputs = 3>(a) b = Concat<axis = 0>(q, p)", "p, q = Split<axis = 1, num_outputs = 3>(x) y = Concat<axis = 1>(q, p)"),
        ("h = QuantizeLinear(a, half) b = DequantizeLinear(h, half)", "h = QuantizeLinear(x, half) y = DequantizeLinear(h, half)"),
    ],
)  # fmt: skip
def test_nodes_between_two_transposes_is_done_without_them(before: str, after: str) -> None:
    before = before.replace("p, q = Split", "p, q, u = Split")
    after = after.replace("p, q = Split", "p, q, u = Split")
    assert_becomes(
        f"g (float[2,3,4] x) => (float[] y) <{NUMBERS}> {{ a = {GO}(x) {before} y = {BACK}(b) }}",
        f"g (float[2,3,4] x) => (float[] y) <{NUMBERS}> {{ {after} }}",
        PASS,
    )


@pytest.mark.parametrize(
    ("before", "after", "opset"),
    [
        ("b = ReduceMax<axes = [1]>(a)", "y = ReduceMax<axes = [2]>(x)", 11),
        ("b = Slice<starts = [0], ends = [1]>(a)", "y = Slice<starts = [0], ends = [1], axes = [1]>(x)", 9),
        ("b = Pad<pads = [1, 2, 3, 4, 5, 6]>(a)", "y = Pad<pads = [3, 1, 2, 6, 4, 5]>(x)", 9),
        ("b = Split<axis = 0, split = [3]>(a)", "y = Split<axis = 1, split = [3]>(x)", 11),
    ],
)
def test_axes_are_attributes_in_older_versions(before: str, after: str, opset: int) -> None:
    assert_becomes(
        f"g (float[2,3,4] x) => (float[] y) {{ a = {GO}(x) {before} y = {BACK}(b) }}",
        f"g (float[2,3,4] x) => (float[] y) {{ {after} }}",
        PASS,
        opset=opset,
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("b = ReduceSum<keepdims = 0>(a, e) y = Neg(b)", "b = ReduceSum<keepdims = 0>(x, o) y = Neg(b)"),
        ("b = Gather<axis = 2>(a, i) y = Neg(b)", "b = Gather<axis = 0>(x, i) y = Neg(b)"),
        ("b = ReduceMax(a, e) y = Squeeze(b, e)", "b = ReduceMax(x, o) y = Squeeze(b, o)"),
        (f"z = {GO}(w) y = Add(a, z)", f"b = Add(x, w) y = {GO}(b)"),
        (f"z = {GO}(w) y = Concat<axis = 0>(z, a)", f"b = Concat<axis = 1>(w, x) y = {GO}(b)"),
        (f"b = {GO}(a) y = Sub(b, w)", f"b = {BACK}(x) y = Sub(b, w)"),
    ],
)
def test_fewer_transposes_are_left(before: str, after: str) -> None:
    assert_becomes(
        f"g (float[3,3,3] x, float[3,3,3] w) => (float[] y) <{NUMBERS}> {{ a = {GO}(x) {before} }}",
        f"g (float[3,3,3] x, float[3,3,3] w) => (float[] y) <{NUMBERS}> {{ {after} }}",
        PASS,
    )


def test_a_transpose_after_it_is_shared_by_the_nodes_that_follow() -> None:
    assert_becomes(
        f"g (float[2,3,4] x) => (float[] y, float[] z) {{ a = {GO}(x) b = Neg(a) y = {BACK}(b) z = Exp(b) }}",
        f"g (float[2,3,4] x) => (float[] y, float[] z) {{ y = Neg(x) c = Exp(y) z = {GO}(c) }}",
        PASS,
    )


def test_branches_that_meet_again_are_one_region() -> None:
    assert_becomes(
        """g (float[2,3,4] x, float[4,4] w) => (float[] y) {
            a = Transpose<perm = [1, 0, 2]>(x) b = Relu(a) c = MatMul(b, w) d = Add(a, c) y = Transpose<perm = [1, 0, 2]>(d)
        }""",
        "g (float[2,3,4] x, float[4,4] w) => (float[] y) { b = Relu(x) c = MatMul(b, w) y = Add(x, c) }",
        PASS,
    )


@pytest.mark.parametrize(
    "nodes",
    [
        "y = Neg(a)",
        f"b = CumSum(a, i) y = {BACK}(b)",
        f"b = MatMul(a, m) y = {BACK}(b)",
        f"b = Add(a, n) y = {BACK}(b)",
        f"b = Transpose<perm = [2, 1, 0]>(w) d = Add(a, b) y = {BACK}(d)",
        f"b = ReduceSum<noop_with_empty_axes = 1>(a) y = {BACK}(b)",
        "p, q = Split<axis = 0, num_outputs = 2>(a) y = Add(p, q)",
    ],
)
def test_what_would_not_need_fewer_is_kept(nodes: str) -> None:
    assert_unchanged(
        f"""g (float[2,4,2] x, float[2,2,4] w, float[2,2] m, float[4,2,2] n) => (float[] y) <int64 i = {{0}}> {{
            a = {GO}(x) {nodes}
        }}""",
        PASS,
    )


def test_an_operand_that_gives_an_element_type_is_not_moved() -> None:
    """CastLike returns a scalar here, whatever the shape of the other operand is."""
    assert_becomes(
        f"g (float[2,3,4] x, int64 n) => (float[] y) {{ a = {GO}(x) t = CastLike(n, a) b = Mul(a, t) y = {BACK}(b) }}",
        f"g (float[2,3,4] x, int64 n) => (float[] y) {{ a = {GO}(x) t = CastLike(n, a) y = Mul(x, t) }}",
        PASS,
    )


def test_softmax_over_all_later_axes_is_kept() -> None:
    assert_unchanged(
        f"g (float[2,3,4] x) => (float[] y) {{ a = {GO}(x) b = Softmax<axis = 1>(a) y = {BACK}(b) }}",
        PASS,
        opset=12,
    )


def test_one_scale_for_each_channel_is_kept() -> None:
    assert_unchanged(
        f"""g (float[2,3,4] x) => (uint8[] y) <float[3] s = {{1, 2, 3}}, uint8[3] z = {{0, 1, 2}}> {{
            a = {GO}(x) b = QuantizeLinear<axis = 0>(a, s, z) y = {BACK}(b)
        }}""",
        PASS,
    )


def test_a_value_and_its_transposed_form_may_both_be_outputs() -> None:
    assert_becomes(
        f"g (float[2,3,4] x) => (float[] y, float[] z) {{ a = {GO}(x) y = Exp(a) z = {BACK}(y) }}",
        f"g (float[2,3,4] x) => (float[] y, float[] z) {{ z = Exp(x) y = {GO}(z) }}",
        PASS,
    )
