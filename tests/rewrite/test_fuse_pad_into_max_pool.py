"""fuse-pad-into-max-pool."""

from __future__ import annotations

import pytest

from rewrite.rewriting import assert_becomes, assert_unchanged

PASS = "fuse-pad-into-max-pool"
NUMBERS = """int64[6] p = {0, 0, 1, 0, 0, 2}, int64[6] c = {0, 1, 0, 0, 0, 0}, int64[2] q = {1, 2}, int64[1] k = {2},
    float low = {-inf}, float one = {1}, float m = {-1}"""
HEAD = f"g (float[1,2,5] x) => (float[] y) <{NUMBERS}>"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("r = Relu(x) a = Pad(r, p)", "r = Relu(x)"),
        ("r = Sigmoid(x) a = Pad(r, q, , k)", "r = Sigmoid(x)"),
        ("r = Neg(x) a = Pad(r, p, low)", "r = Neg(x)"),
        ("r = Relu(x) a = Pad(r, p, m)", "r = Relu(x)"),
        ("s = Relu(x) t = Sigmoid(x) r = Concat<axis = 1>(s, t) a = Pad(r, p)", "s = Relu(x) t = Sigmoid(x) r = Concat<axis = 1>(s, t)"),
    ],
)  # fmt: skip
def test_a_border_that_is_never_the_maximum_is_padding(before: str, after: str) -> None:
    assert_becomes(
        f"{HEAD} {{ {before} y = MaxPool<kernel_shape = [4], pads = [1, 1], strides = [2]>(a) }}",
        f"{HEAD} {{ {after} y = MaxPool<kernel_shape = [4], pads = [2, 3], strides = [2]>(r) }}",
        PASS,
    )


@pytest.mark.parametrize(
    "nodes",
    [
        "r = Neg(x) a = Pad(r, p) y = MaxPool<kernel_shape = [4]>(a)",
        "r = Relu(x) a = Pad(r, p, one) y = MaxPool<kernel_shape = [4]>(a)",
        "r = Relu(x) a = Pad(r, c) y = MaxPool<kernel_shape = [4]>(a)",
        "r = Relu(x) a = Pad(r, p) y = MaxPool<kernel_shape = [2]>(a)",
        "r = Relu(x) a = Pad<mode = \"edge\">(r, p) y = MaxPool<kernel_shape = [4]>(a)",
        "r = Relu(x) a = Pad(r, p) y = MaxPool<kernel_shape = [4], auto_pad = \"SAME_UPPER\">(a)",
        "r = Relu(x) a = Pad(r, p) y = MaxPool<kernel_shape = [4], ceil_mode = 1, strides = [3]>(a)",
        "r = Relu(x) a = Pad(r, p) y = MaxPool<kernel_shape = [4], dilations = [2]>(a)",
        "r = Relu(x) a = Pad(r, p) y, i = MaxPool<kernel_shape = [4]>(a) z = Neg(i)",
        "r = Relu(x) a = Pad(r, p) b = MaxPool<kernel_shape = [4]>(a) d = ReduceMax<keepdims = 0>(a) y = Add(b, d)",
    ],
)  # fmt: skip
def test_what_could_be_a_maximum_or_cannot_be_padding_is_kept(nodes: str) -> None:
    head = HEAD.replace("float[] y", "float[] y, int64[] z") if "z =" in nodes else HEAD
    assert_unchanged(f"{head} {{ {nodes} }}", PASS)


def test_pads_are_attributes_in_version_2() -> None:
    assert_becomes(
        "g (float[1,2,5] x) => (float[] y) { r = Relu(x) a = Pad<pads = [0, 0, 1, 0, 0, 0]>(r) y = MaxPool<kernel_shape = [2]>(a) }",
        "g (float[1,2,5] x) => (float[] y) { r = Relu(x) y = MaxPool<kernel_shape = [2], pads = [1, 0]>(r) }",
        PASS,
        opset=9,
    )


def test_valid_windows_have_no_padding_of_their_own() -> None:
    assert_becomes(
        f'{HEAD} {{ r = Relu(x) a = Pad(r, p) y = MaxPool<kernel_shape = [4], auto_pad = "VALID">(a) }}',
        f"{HEAD} {{ r = Relu(x) y = MaxPool<kernel_shape = [4], pads = [1, 2]>(r) }}",
        PASS,
    )
