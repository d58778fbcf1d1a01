"""unroll-scans."""

from __future__ import annotations

import pytest

from rewrite.rewriting import assert_becomes, assert_unchanged

PASS = "unroll-scans"
BODY = "body = b (float[2] p, float[2] v) => (float[2] q, float[2] w) { q = Add(p, v) w = Neg(q) }"


def scan(x: str, attributes: str = "") -> str:
    return f"g (float[2] s, float[{x}] x) => (float[] t, float[] y) {{ t, y = Scan<num_scan_inputs = 1{attributes}, {BODY}>(s, x) }}"


def test_slices_become_copies() -> None:
    assert_becomes(
        scan("2,2"),
        """g (float[2] s, float[2,2] x) => (float[] t, float[] y)
            <int64 i = {0}, int64 j = {1}, int64[1] k = {0}, int64[1] l = {0}> {
            v = Gather<axis = 0>(x, i) q = Add(s, v) w = Neg(q) a = Gather<axis = 0>(x, j) t = Add(q, a) c = Neg(t)
            d = Unsqueeze(w, k) e = Unsqueeze(c, l) y = Concat<axis = 0>(d, e)
        }""",
        PASS,
    )


def test_axes_and_directions_are_kept() -> None:
    assert_becomes(
        scan(
            "2,2",
            ", scan_input_axes = [1], scan_input_directions = [1], scan_output_axes = [-1], scan_output_directions = [1]",
        ),
        """g (float[2] s, float[2,2] x) => (float[] t, float[] y)
            <int64 i = {1}, int64 j = {0}, int64[1] k = {-1}, int64[1] l = {-1}> {
            v = Gather<axis = 1>(x, i) q = Add(s, v) w = Neg(q) a = Gather<axis = 1>(x, j) t = Add(q, a) c = Neg(t)
            d = Unsqueeze(c, k) e = Unsqueeze(w, l) y = Concat<axis = -1>(d, e)
        }""",
        PASS,
    )


def test_axes_are_attributes_before_13() -> None:
    assert_becomes(
        scan("1,2"),
        """g (float[2] s, float[1,2] x) => (float[] t, float[] y) <int64 i = {0}> {
            v = Gather<axis = 0>(x, i) t = Add(s, v) w = Neg(t) d = Unsqueeze<axes = [0]>(w) y = Concat<axis = 0>(d)
        }""",
        PASS,
        opset=11,
    )


@pytest.mark.parametrize("x", ["N,2", "17,2", "0,2"])
def test_open_long_and_empty_scans_are_kept(x: str) -> None:
    assert_unchanged(scan(x), PASS)


def test_a_state_that_may_change_its_shape_is_kept() -> None:
    body = "body = b (float[] p, float[] v) => (float[] q) { q = Add(p, v) }"
    assert_unchanged(
        f"g (float[1] s, float[1,?] x) => (float[] t) {{ t = Scan<num_scan_inputs = 1, {body}>(s, x) }}",
        PASS,
        proof=False,
    )
