"""fuse-batch-norm and fuse-scale-and-shift."""

from __future__ import annotations

import pytest

from rewrite.rewriting import assert_becomes, assert_unchanged

NORM = "fuse-batch-norm"
SCALE = "fuse-scale-and-shift"
STATISTICS = "float[2] s = {3, 4}, float[2] b = {1, 2}, float[2] m = {0.5, 1}, float[2] v = {4, 1}"


def norm(
    layer: str, weights: str, x: str = "float[1,1,3]", after: str = "", outputs: str = "float[] y"
) -> str:
    return f"""g ({x} x) => ({outputs}) <{weights}, {STATISTICS}> {{
        a = {layer} y = BatchNormalization<epsilon = 0.0>(a, s, b, m, v) {after}
    }}"""


def test_statistics_go_into_a_convolution() -> None:
    assert_becomes(
        norm("Conv(x, w)", "float[2,1,1] w = {2, 10}"),
        "g (float[1,1,3] x) => (float[] y) <float[2,1,1] w = {3, 40}, float[2] b = {0.25, -2}> { y = Conv(x, w, b) }",
        NORM,
    )


def test_a_bias_that_is_there_is_scaled_with_the_weight() -> None:
    assert_becomes(
        norm("Conv(x, w, c)", "float[2,1,1] w = {2, 10}, float[2] c = {1, 1}"),
        "g (float[1,1,3] x) => (float[] y) <float[2,1,1] w = {3, 40}, float[2] b = {1.75, 2}> { y = Conv(x, w, b) }",
        NORM,
    )


def test_a_transposed_convolution_has_its_channels_on_the_second_axis() -> None:
    assert_becomes(
        norm("ConvTranspose(x, w)", "float[1,2,1] w = {2, 10}"),
        """g (float[1,1,3] x) => (float[] y) <float[1,2,1] w = {3, 40}, float[2] b = {0.25, -2}> {
            y = ConvTranspose(x, w, b)
        }""",
        NORM,
    )


def test_groups_of_a_transposed_convolution_have_channels_of_their_own() -> None:
    assert_becomes(
        norm("ConvTranspose<group = 2>(x, w)", "float[2,1,1] w = {2, 10}", x="float[1,2,3]"),
        """g (float[1,2,3] x) => (float[] y) <float[2,1,1] w = {3, 40}, float[2] b = {0.25, -2}> {
            y = ConvTranspose<group = 2>(x, w, b)
        }""",
        NORM,
    )


@pytest.mark.parametrize(("attributes", "shape"), [("", "1,2"), ("<transB = 1>", "2,1")])
def test_a_product_of_matrices_takes_them_too(attributes: str, shape: str) -> None:
    assert_becomes(
        norm(f"Gemm{attributes}(x, w)", f"float[{shape}] w = {{2, 10}}", x="float[3,1]"),
        f"""g (float[3,1] x) => (float[] y) <float[{shape}] w = {{3, 40}}, float[2] b = {{0.25, -2}}> {{
            y = Gemm{attributes}(x, w, b)
        }}""",
        NORM,
    )


def test_a_result_that_is_read_elsewhere_keeps_its_layer() -> None:
    assert_unchanged(
        norm("Conv(x, w)", "float[2,1,1] w = {2, 10}", after="z = Neg(a)", outputs="float[] y, float[] z"),
        NORM,
    )


def test_a_normalization_that_trains_is_kept() -> None:
    assert_unchanged(
        f"""g (float[1,1,3] x) => (float[] y) <float[2,1,1] w = {{2, 10}}, {STATISTICS}> {{
            a = Conv(x, w) y, r, q = BatchNormalization<epsilon = 0.0, training_mode = 1>(a, s, b, m, v)
        }}""",
        NORM,
    )


def test_weights_that_a_caller_can_replace_are_kept() -> None:
    assert_unchanged(
        f"""g (float[1,1,3] x, float[2,1,1] w = {{2, 10}}) => (float[] y) <{STATISTICS}> {{
            a = Conv(x, w) y = BatchNormalization<epsilon = 0.0>(a, s, b, m, v)
        }}""",
        NORM,
    )


@pytest.mark.parametrize(
    ("node", "weights"),
    [
        ("Add(a, c)", "float[2,1,1] w = {1, 2}, float[2] b = {3, 4}"),
        ("Add(c, a)", "float[2,1,1] w = {1, 2}, float[2] b = {3, 4}"),
        ("Sub(a, c)", "float[2,1,1] w = {1, 2}, float[2] b = {-3, -4}"),
        ("Sub(c, a)", "float[2,1,1] w = {-1, -2}, float[2] b = {3, 4}"),
    ],
)
def test_a_constant_by_channel_becomes_the_bias(node: str, weights: str) -> None:
    assert_becomes(
        f"g (float[1,1,2] x) => (float[] y) <float[2,1,1] w = {{1, 2}}, float[2,1] c = {{3, 4}}> {{ a = Conv(x, w) y = {node} }}",
        f"g (float[1,1,2] x) => (float[] y) <{weights}> {{ y = Conv(x, w, b) }}",
        SCALE,
    )


@pytest.mark.parametrize(
    ("node", "weight"),
    [("Mul(a, c)", "{4, 8}"), ("Div(a, c)", "{0.25, 0.5}")],
)
def test_a_factor_is_folded_into_the_weight(node: str, weight: str) -> None:
    assert_becomes(
        f"g (float[1,1,2] x) => (float[] y) <float[2,1,1] w = {{1, 2}}, float c = {{4}}> {{ a = Conv(x, w) y = {node} }}",
        f"g (float[1,1,2] x) => (float[] y) <float[2,1,1] w = {weight}> {{ y = Conv(x, w) }}",
        SCALE,
    )


@pytest.mark.parametrize(
    ("node", "constant"),
    [
        ("Add(a, c)", "float[2] c = {3, 4}"),
        ("Add(a, c)", "float[1,1,1,1] c = {3}"),
        ("Div(c, a)", "float c = {3}"),
        ("Div(a, c)", "float c = {0}"),
    ],
)
def test_what_differs_within_a_channel_or_widens_is_kept(node: str, constant: str) -> None:
    assert_unchanged(
        f"g (float[1,1,2] x) => (float[] y) <float[2,1,1] w = {{1, 2}}, {constant}> {{ a = Conv(x, w) y = {node} }}",
        SCALE,
    )


def test_a_bias_counts_even_if_the_factor_had_none() -> None:
    assert_becomes(
        "g (float[3,1] x) => (float[] y) <float[1,2] w = {1, 2}, float[2] c = {3, 4}> { a = Gemm<beta = 0.0>(x, w) y = Add(a, c) }",
        "g (float[3,1] x) => (float[] y) <float[1,2] w = {1, 2}, float[2] c = {3, 4}> { y = Gemm<beta = 1.0>(x, w, c) }",
        SCALE,
    )


def test_what_is_added_to_a_sum_is_folded_into_a_layer_among_the_summands() -> None:
    assert_becomes(
        """g (float[1,1,2] x, float[1,2,2] z) => (float[] y) <float[2,1,1] w = {1, 2}, float[2,1] c = {3, 4}> {
            a = Conv(x, w) b = Add(z, a) y = Add(b, c)
        }""",
        """g (float[1,1,2] x, float[1,2,2] z) => (float[] y) <float[2,1,1] w = {1, 2}, float[2] c = {3, 4}> {
            a = Conv(x, w, c) y = Add(z, a)
        }""",
        SCALE,
    )
    assert_becomes(
        """g (float[3,1] x) => (float[] y) <float[1,2] w = {1, 2}, float[1,2] v = {3, 4}, float[2] c = {5, 6}> {
            a = Gemm(x, w) b = Gemm(x, v, a) y = Add(b, c)
        }""",
        """g (float[3,1] x) => (float[] y) <float[1,2] w = {1, 2}, float[1,2] v = {3, 4}, float[2] c = {5, 6}> {
            a = Gemm(x, w, c) y = Gemm(x, v, a)
        }""",
        SCALE,
    )


def test_a_normalization_takes_a_factor_and_a_shift() -> None:
    assert_becomes(
        f"""g (float[1,2,3] x) => (float[] y) <{STATISTICS}, float[2,1] f = {{2, 3}}, float[2,1] c = {{1, 1}}> {{
            a = BatchNormalization(x, s, b, m, v) d = Mul(a, f) y = Add(d, c)
        }}""",
        """g (float[1,2,3] x) => (float[] y)
        <float[2] s = {6, 12}, float[2] b = {3, 7}, float[2] m = {0.5, 1}, float[2] v = {4, 1}> {
            y = BatchNormalization(x, s, b, m, v)
        }""",
        SCALE,
    )
