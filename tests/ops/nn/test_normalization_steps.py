"""Conversion of Attention, ConvTranspose and normalizations between versions of different meaning."""

from __future__ import annotations

import numpy as np
import pytest

from models import parse_model
from sardonyx._src.convert.conversion import convert
from sardonyx._src.errors import ConversionError
from versions import convert_closely, convert_exactly, op_types

RANDOM = np.random.default_rng(13)


@pytest.mark.parametrize(("name", "dtype"), [("float16", "f2"), ("float", "f4"), ("double", "f8")])
def test_groups_become_channels_in_the_precision_of_the_groups(name: str, dtype: str) -> None:
    text = (
        f"g ({name}[2,4,N] x, {name}[2] s, {name}[2] b) => ({name}[2,4,N] y)"
        " { y = GroupNormalization<num_groups = 2>(x, s, b) }"
    )
    x = RANDOM.normal(size=(2, 4, 5)).astype(dtype)
    up = convert_closely(text, 18, 21, x=x, s=np.array([1, 2], dtype), b=np.array([0, 3], dtype))
    assert "GroupNormalization" in op_types(up)


def test_sizes_that_the_body_computes_are_known_where_those_of_the_data_are() -> None:
    text = (
        "g (float[2,4,3] x, float[4] s, float[4] b) => (float[2,4,3] y)"
        " { y = GroupNormalization<num_groups = 2>(x, s, b) }"
    )
    feeds = {"x": RANDOM.normal(size=(2, 4, 3)), "s": [1.0, 2.0, 3.0, 4.0], "b": [0.0, 1.0, 0.0, 1.0]}
    arrays = {name: np.asarray(values, np.float32) for name, values in feeds.items()}
    assert "Reshape" in op_types(convert_closely(text, 21, 8, **arrays))


def test_a_node_that_contradicts_itself_has_no_body() -> None:
    text = "g (float[1,2,4] q, float[1,2,4] k, float[1,2,4] v) => (float[1,2,4] y) { y = Attention(q, k, v) }"
    with pytest.raises(
        ConversionError,
        match=r"Attention-23 cannot be expressed in ai\.onnx 22: Attention: q_num_heads must .*; got None",
    ):
        convert(parse_model(text, opset=23), 22)


def test_nodes_inside_the_body_go_down_with_it() -> None:
    text = (
        "g (float[1,3,2] q, float[1,3,2] k, float[1,3,1] v) => (float[1,3,1] y)"
        ' { y, s = LinearAttention<q_num_heads = 1, kv_num_heads = 1, update_rule = "linear">(q, k, v) }'
    )
    feeds = {
        name: RANDOM.normal(size=(1, 3, n)).astype(np.float32) for name, n in (("q", 2), ("k", 2), ("v", 1))
    }
    assert "Scan" in op_types(convert_closely(text, 27, 12, **feeds))


def test_a_mask_of_one_column_is_broadcast_before_padding() -> None:
    text = (
        "g (float[1,1,2,4] q, float[1,1,N,4] k, float[1,1,N,4] v, bool[2,1] m) => (float[1,1,2,4] y)"
        " { y = Attention(q, k, v, m) }"
    )
    feeds = {
        name: RANDOM.normal(size=(1, 1, n, 4)).astype(np.float32)
        for name, n in (("q", 2), ("k", 3), ("v", 3))
    }
    up = convert_closely(text, 23, 24, m=np.array([[True], [False]]), **feeds)
    assert op_types(up) == ["Shape", "Expand", "Attention"]


@pytest.mark.parametrize("auto_pad", ["NOTSET", "SAME_UPPER", "SAME_LOWER"])
def test_the_larger_half_of_odd_padding_stays_on_its_side(auto_pad: str) -> None:
    text = (
        "g (float[1,1,3] x, float[1,1,4] w) => (float[1,1,5] y)"
        f' {{ y = ConvTranspose<auto_pad = "{auto_pad}", output_shape = [5]>(x, w) }}'
    )
    feeds = {"x": [[[1.0, 2.0, 3.0]]], "w": [[[1.0, 10.0, 100.0, 1000.0]]]}
    convert_closely(text, 1, 11, **feeds)
    convert_closely(text, 11, 1, **feeds)
    convert_closely(text.replace("[5]>", "[1, 1, 5]>"), 1, 11, **feeds)


@pytest.mark.parametrize("attributes", ["", "<across_channels = 1>", "<normalize_variance = 0>"])
def test_the_first_normalization_of_means_goes_over_to_axes(attributes: str) -> None:
    text = f"g (float[2,3,4] x) => (float[2,3,4] y) {{ y = MeanVarianceNormalization{attributes}(x) }}"
    convert_closely(text, 1, 9, x=RANDOM.normal(size=(2, 3, 4)).astype(np.float32))


@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax", "Hardmax"])
def test_an_axis_after_the_last_makes_each_element_a_row(op: str) -> None:
    text = f"g (float[2,3] x) => (float[2,3] y) {{ y = {op}<axis = 2>(x) }}"
    for target in (11, 13):
        convert_exactly(text, 1, target, x=[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
