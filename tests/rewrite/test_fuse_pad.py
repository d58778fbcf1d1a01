"""fuse-pad."""

from __future__ import annotations

import pytest

from rewrite.rewriting import assert_becomes, assert_unchanged

PASS = "fuse-pad"
WEIGHT = "float[1,1,2] w = {1, 2}"


def padded_graph(
    pads: str,
    more: str = "",
    attributes: str = "",
    node: str = "Conv(a, w)",
    outputs: str = "float[] y",
    after: str = "",
) -> str:
    return f"""g (float[1,1,4] x) => ({outputs}) <int64[6] p = {{{pads}}}, {WEIGHT}, float one = {{1}}, float nought = {{0}}> {{
        a = Pad{attributes}(x, p{more}) y = {node} {after}
    }}"""


def done(node: str) -> str:
    return f"g (float[1,1,4] x) => (float[] y) <{WEIGHT}> {{ y = {node} }}"


def test_zeros_become_the_padding_of_a_convolution() -> None:
    assert_becomes(padded_graph("0, 0, 1, 0, 0, 2"), done("Conv<pads = [1, 2]>(x, w)"), PASS)
    assert_becomes(padded_graph("0, 0, 1, 0, 0, 2", ", nought"), done("Conv<pads = [1, 2]>(x, w)"), PASS)


def test_they_are_added_to_existing_padding() -> None:
    assert_becomes(
        padded_graph("0, 0, 1, 0, 0, 0", node="Conv<pads = [1, 2], strides = [2]>(a, w)"),
        done("Conv<pads = [2, 2], strides = [2]>(x, w)"),
        PASS,
    )


def test_before_version_11_they_are_an_attribute() -> None:
    assert_becomes(
        f"g (float[1,1,4] x) => (float[] y) <{WEIGHT}> {{ a = Pad<pads = [0, 0, 1, 0, 0, 2]>(x) y = Conv(a, w) }}",
        done("Conv<pads = [1, 2]>(x, w)"),
        PASS,
        opset=10,
    )


def test_from_version_18_on_axes_may_be_named() -> None:
    assert_becomes(
        f"""g (float[1,1,4] x) => (float[] y) <int64[2] p = {{1, 2}}, int64[1] k = {{-1}}, {WEIGHT}> {{
            a = Pad(x, p, , k) y = Conv(a, w)
        }}""",
        done("Conv<pads = [1, 2]>(x, w)"),
        PASS,
    )


def test_a_mean_counts_them() -> None:
    assert_becomes(
        padded_graph("0, 0, 1, 0, 0, 2", node="AveragePool<kernel_shape = [2]>(a)"),
        "g (float[1,1,4] x) => (float[] y) { y = AveragePool<kernel_shape = [2], pads = [1, 2], count_include_pad = 1>(x) }",
        PASS,
    )
    assert_unchanged(
        padded_graph("0, 0, 1, 0, 0, 2", node="AveragePool<kernel_shape = [2], pads = [1, 1]>(a)"), PASS
    )


@pytest.mark.parametrize(
    "text",
    [
        padded_graph("0, 0, 1, 0, 0, 2", ", one"),
        padded_graph("0, 0, 1, 0, 0, 2", attributes='<mode = "edge">'),
        padded_graph("0, 0, -1, 0, 0, 2"),
        padded_graph("1, 0, 1, 0, 0, 2"),
        padded_graph("0, 0, 1, 0, 0, 2", node='Conv<auto_pad = "SAME_UPPER">(a, w)'),
        padded_graph("0, 0, 1, 0, 0, 2", outputs="float[] y, float[] z", after="z = Neg(a)"),
        padded_graph("0, 0, 1, 0, 0, 2", node="MaxPool<kernel_shape = [2]>(a)"),
    ],
)
def test_other_padding_is_kept(text: str) -> None:
    assert_unchanged(text, PASS)
