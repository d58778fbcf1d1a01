"""resolve-sequences, split-instead-of-sequence, unroll-sequence-maps and resolve-optionals: sequences without sequences."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from rewrite.rewriting import assert_becomes, assert_unchanged

PASS = "resolve-sequences"
ALL = (PASS, "split-instead-of-sequence", "unroll-sequence-maps")
X = "g (float[2] x, float[2] z) => (float[] y)"


def test_parts_are_concatenated() -> None:
    assert_becomes(
        f"{X} {{ s = SequenceConstruct(x, z, x) y = ConcatFromSequence<axis = -1>(s) }}",
        f"{X} {{ y = Concat<axis = -1>(x, z, x) }}",
        PASS,
    )


def test_parts_are_stacked() -> None:
    assert_becomes(
        f"{X} {{ s = SequenceConstruct(x, z) y = ConcatFromSequence<axis = 1, new_axis = 1>(s) }}",
        f"{X} <int64[1] k = {{1}}, int64[1] l = {{1}}> {{ a = Unsqueeze(x, k) b = Unsqueeze(z, l) y = Concat<axis = 1>(a, b) }}",
        PASS,
    )


def test_stacking_along_an_axis_from_the_end_is_kept() -> None:
    assert_unchanged(
        f"{X} {{ s = SequenceConstruct(x, z) y = ConcatFromSequence<axis = -1, new_axis = 1>(s) }}", PASS
    )


@pytest.mark.parametrize(("position", "element"), [(0, "x"), (1, "z"), (-1, "z"), (-2, "x")])
def test_an_element_is_read(position: int, element: str) -> None:
    assert_becomes(
        f"{X} <int64 i = {{{position}}}> {{ s = SequenceConstruct(x, z) a = SequenceAt(s, i) y = Neg(a) }}",
        f"{X} {{ y = Neg({element}) }}",
        PASS,
    )


def test_an_input_that_is_an_output_is_copied() -> None:
    assert_becomes(
        f"{X} <int64 i = {{1}}> {{ s = SequenceConstruct(x, z) y = SequenceAt(s, i) }}",
        f"{X} {{ y = Identity(z) }}",
        PASS,
    )


def test_a_position_outside_is_kept() -> None:
    for position in (2, -3):
        text = f"{X} <int64 i = {{{position}}}> {{ s = SequenceConstruct(x, z) a = SequenceAt(s, i) y = Neg(a) }}"
        assert_unchanged(text, PASS, proof=False)


def test_a_fed_position_is_kept() -> None:
    assert_unchanged(
        "g (float[2] x, float[2] z, int64 i) => (float[] y) { s = SequenceConstruct(x, z) y = SequenceAt(s, i) }",
        PASS,
    )


@pytest.mark.parametrize(
    ("position", "order"),
    [("", "x, z, a"), ("0", "a, x, z"), ("1", "x, a, z"), ("2", "x, z, a"), ("-1", "x, a, z")],
)
def test_insertion(position: str, order: str) -> None:
    constant, given = (f"<int64 i = {{{position}}}>", ", i") if position else ("", "")
    assert_becomes(
        f"{X} {constant} {{ a = Neg(x) s = SequenceConstruct(x, z) t = SequenceInsert(s, a{given}) y = ConcatFromSequence<axis = 0>(t) }}",
        f"{X} {{ a = Neg(x) y = Concat<axis = 0>({order}) }}",
        PASS,
    )


@pytest.mark.parametrize(("position", "order"), [("", "x, z"), ("0", "z, x"), ("-2", "x, x")])
def test_erasure(position: str, order: str) -> None:
    constant, given = (f"<int64 i = {{{position}}}>", ", i") if position else ("", "")
    assert_becomes(
        f"{X} {constant} {{ s = SequenceConstruct(x, z, x) t = SequenceErase(s{given}) y = ConcatFromSequence<axis = 0>(t) }}",
        f"{X} {{ y = Concat<axis = 0>({order}) }}",
        PASS,
    )


def test_the_length_is_a_constant() -> None:
    assert_becomes(
        "g (float[2] x) => (int64 y) { e = SequenceEmpty() s = SequenceInsert(e, x) y = SequenceLength(s) }",
        "g (float[2] x) => (int64 y) { y = Constant<value = int64 {1}>() }",
        PASS,
    )


def test_sequences_of_inputs_are_kept() -> None:
    assert_unchanged("g (seq(float[2]) s) => (float[] y) { y = ConcatFromSequence<axis = 0>(s) }", PASS)


@pytest.mark.parametrize("opset", [11, 13, 18])
def test_parts_of_known_number(opset: int) -> None:
    known = "Split<axis = 1, split = [2, 2, 1]>(x)" if opset == 11 else "Split<axis = 1>(x, k)"
    constant = "" if opset == 11 else "<int64[3] k = {2, 2, 1}>"
    assert_becomes(
        "g (float[3,5] x) => (float[] y) <int64 n = {2}, int64 i = {2}> { s = SplitToSequence<axis = 1>(x, n) y = SequenceAt(s, i) }",
        f"g (float[3,5] x) => (float[] y) {constant} {{ p, q, y = {known} }}",
        *ALL,
        opset=opset,
    )


def test_parts_without_their_axis() -> None:
    assert_becomes(
        "g (float[2,5] x) => (float[] y) { s = SplitToSequence<axis = -2, keepdims = 0>(x) y = ConcatFromSequence<axis = 0>(s) }",
        """g (float[2,5] x) => (float[] y) <int64[2] k = {1, 1}, int64[1] a = {-2}, int64[1] b = {-2}> {
            p, q = Split<axis = -2>(x, k) c = Squeeze(p, a) d = Squeeze(q, b) y = Concat<axis = 0>(c, d) }""",
        *ALL,
    )


@pytest.mark.parametrize(
    "text",
    [
        "g (float[N] x) => (float[] y) <int64 n = {2}> { s = SplitToSequence<axis = 0>(x, n) y = ConcatFromSequence<axis = 0>(s) }",
        "g (float[0,2] x) => (float[] y) <int64 n = {2}> { s = SplitToSequence<axis = 0>(x, n) y = ConcatFromSequence<axis = 0>(s) }",
        "g (float[90] x) => (float[] y) <int64 n = {1}> { s = SplitToSequence<axis = 0>(x, n) y = ConcatFromSequence<axis = 0>(s) }",
    ],
)
def test_parts_of_unknown_number_are_kept(text: str) -> None:
    assert_unchanged(text, *ALL, proof=False)


def test_a_map_is_applied_to_each_element() -> None:
    assert_becomes(
        """g (float[2] x, float[3] z) => (float[] y) { s = SequenceConstruct(x, z)
            t = SequenceMap<body = b (float[?] p, float[2] c) => (float[?] q) { d = ReduceSum(c) q = Add(p, d) }>(s, x)
            y = ConcatFromSequence<axis = 0>(t) }""",
        """g (float[2] x, float[3] z) => (float[] y) {
            d = ReduceSum(x) a = Add(x, d) e = ReduceSum(x) b = Add(z, e) y = Concat<axis = 0>(a, b) }""",
        *ALL,
    )


def test_a_map_over_sequences_of_two_lengths_is_kept() -> None:
    assert_unchanged(
        """g (float[2] x, float[3] z) => (seq(float[?]) t) { s = SequenceConstruct(x, z) r = SequenceConstruct(x)
            t = SequenceMap<body = b (float[?] p, float[?] c) => (float[?] q) { q = Add(p, c) }>(s, r) }""",
        *ALL,
        proof=False,
    )


def test_optionals() -> None:
    assert_becomes(
        "g (float[2] x) => (float[2] y, bool h) { o = Optional(x) h = OptionalHasElement(o) e = OptionalGetElement(o) y = Neg(e) }",
        "g (float[2] x) => (float[2] y, bool h) { h = Constant<value = bool {1}>() y = Neg(x) }",
        "resolve-optionals",
    )
    assert_unchanged(
        "g (optional(float[2]) o) => (float[2] y) { y = OptionalGetElement(o) }",
        "resolve-optionals",
        proof=False,
    )


def test_sessions_run_sequences_of_tensors_natively() -> None:
    text = """g (float[4] x, float[3] z) => (float[] y) <int64 one = {1}> {
        s = SequenceConstruct(x, z)
        t = SequenceMap<body = b (float[?] p) => (float[?] q) { q = Sin(p) }>(s)
        e = SequenceErase(t, one) u = SequenceInsert(e, z) w = SplitToSequence<axis = 0>(x)
        f = SequenceAt(w, one) v = SequenceInsert(u, f) y = ConcatFromSequence<axis = 0>(v) }"""
    session = sx.Session(parse_model(text), engine="native", threads=1)
    x, z = np.arange(4, dtype=np.float32), np.arange(3, dtype=np.float32) + 0.5
    expected = np.concatenate([np.sin(x), z, x[1:2]])
    for _ in range(4):
        np.testing.assert_allclose(session.run({"x": x, "z": z})["y"], expected, 1e-6)
    assert session.stats.fallback_nodes == 0
    assert session.stats.fast_path_runs > 0
