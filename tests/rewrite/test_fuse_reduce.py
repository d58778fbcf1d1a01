"""fuse-reduce."""

from __future__ import annotations

import pytest

from rewrite.rewriting import assert_becomes, assert_unchanged

PASS = "fuse-reduce"
AXES = "int64[1] k = {1}, int64[2] two = {2, -1}, int64[2] flat = {0, -1}, int64[2] s = {4, 2}, int64[3] t = {2, 1, 3}"


@pytest.mark.parametrize("tail", ["Squeeze(a, k)", "Squeeze(a)", "Reshape(a, flat)"])
def test_dropped_axes_are_not_kept(tail: str) -> None:
    assert_becomes(
        f"g (float[2,3,4] x) => (float[] y) <{AXES}> {{ a = ReduceMax(x, k) y = {tail} }}",
        f"g (float[2,3,4] x) => (float[] y) <{AXES}> {{ y = ReduceMax<keepdims = 0>(x, k) }}",
        PASS,
    )


def test_restored_axes_are_kept() -> None:
    assert_becomes(
        f"g (float[2,N,4] x) => (float[] y) <{AXES}> {{ a = ReduceSum<keepdims = 0>(x, k) y = Unsqueeze(a, k) }}",
        f"g (float[2,N,4] x) => (float[] y) <{AXES}> {{ y = ReduceSum<keepdims = 1>(x, k) }}",
        PASS,
    )


def test_an_attribute_names_the_axes_in_older_versions() -> None:
    assert_becomes(
        "g (float[2,3] x) => (float[] y) { a = ReduceMean<axes = [-1]>(x) y = Squeeze<axes = [1]>(a) }",
        "g (float[2,3] x) => (float[] y) { y = ReduceMean<axes = [-1], keepdims = 0>(x) }",
        PASS,
        opset=11,
    )


def test_argmax_has_one_axis() -> None:
    assert_becomes(
        f"g (float[2,3,4] x) => (int64[] y) <{AXES}> {{ a = ArgMax<axis = 1>(x) y = Squeeze(a, k) }}",
        "g (float[2,3,4] x) => (int64[] y) { y = ArgMax<axis = 1, keepdims = 0>(x) }",
        PASS,
    )


@pytest.mark.parametrize(
    ("pool", "reduce"),
    [
        ("GlobalAveragePool(x)", "ReduceMean"),
        ("GlobalMaxPool(x)", "ReduceMax"),
        ("AveragePool<kernel_shape = [3, 4], strides = [2, 2]>(x)", "ReduceMean"),
        ("AveragePool<kernel_shape = [5, 5], pads = [1, 0, 1, 1]>(x)", "ReduceMean"),
    ],
)
def test_a_pool_of_the_whole_image_becomes_a_reduction(pool: str, reduce: str) -> None:
    assert_becomes(
        f"g (float[N,2,3,4] x) => (float[] y) {{ a = {pool} y = Flatten<axis = 1>(a) }}",
        f"g (float[N,2,3,4] x) => (float[] y) <int64[2] k = {{2, 3}}> {{ y = {reduce}<keepdims = 0>(x, k) }}",
        PASS,
    )


@pytest.mark.parametrize(
    "nodes",
    [
        "a = ReduceMax(x, k) b = ReduceMax(a, two) y = Squeeze(b, k)",  # drops another axis than the reduced ones
        "a = ReduceMax(x, k) z = Neg(a) y = Squeeze(a, k)",
        "a = ReduceSum<keepdims = 0>(x, two) y = Unsqueeze(a, k)",
        "a = ReduceSum<noop_with_empty_axes = 1>(x) y = Reshape(a, flat)",
        "a = ReduceMax<keepdims = 0>(x, k) y = Reshape(a, s)",
    ],
)
def test_other_axes_and_values_read_elsewhere_are_kept(nodes: str) -> None:
    outputs = "float[] y, float[] z" if "z =" in nodes else "float[] y"
    assert_unchanged(f"g (float[2,1,4,1] x) => ({outputs}) <{AXES}> {{ {nodes} }}", PASS)


@pytest.mark.parametrize(
    "pool",
    [
        "AveragePool<kernel_shape = [2, 4]>(x)",
        "AveragePool<kernel_shape = [3, 4], pads = [1, 0, 1, 0], strides = [9, 1]>(x)",
        "AveragePool<kernel_shape = [5, 5], pads = [1, 0, 1, 1], count_include_pad = 1>(x)",
        "AveragePool<kernel_shape = [2, 2], dilations = [2, 3]>(x)",
        "MaxPool<kernel_shape = [3, 4]>(x)",
    ],
)
def test_a_pool_with_smaller_windows_or_padding_is_kept(pool: str) -> None:
    assert_unchanged(f"g (float[N,2,3,4] x) => (float[] y) {{ a = {pool} y = Flatten<axis = 1>(a) }}", PASS)
