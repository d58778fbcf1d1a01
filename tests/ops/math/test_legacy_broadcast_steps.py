"""Conversion of binary operators between legacy and NumPy broadcasting."""

from __future__ import annotations

import numpy as np
import pytest

from models import only, parse_model
from sardonyx._src.convert.conversion import convert
from sardonyx._src.errors import ConversionError
from versions import convert_closely, convert_exactly, op_types

A = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
ROW, COLUMN = [1.0, 2.0, 3.0, 4.0], [[10.0], [20.0], [30.0]]


def test_an_axis_becomes_axes_at_the_end() -> None:
    text = "g (float[2,3,4] a, float[3] b) => (float[2,3,4] y) { y = Sub<broadcast = 1, axis = 1>(a, b) }"
    up = convert_exactly(text, 6, 7, a=A, b=[1.0, 2.0, 3.0])
    assert op_types(up) == ["Unsqueeze", "Sub"]
    assert only(up.graph, "Unsqueeze").attributes["axes"].value == (1,)


@pytest.mark.parametrize("axis", [1, -2])
def test_an_axis_is_lined_up_at_run_time_where_no_rank_is_known(axis: int) -> None:
    text = f"g (float[] a, float[] b) => (float[] y) {{ y = Add<broadcast = 1, axis = {axis}>(a, b) }}"
    up = convert_exactly(text, 6, 7, a=A, b=[1.0, 2.0, 3.0])
    assert op_types(up)[-2:] == ["Reshape", "Add"]


def test_the_last_dims_need_no_axis() -> None:
    text = "g (float[2,3,4] a, float[4] b) => (float[2,3,4] y) { y = Add(a, b) }"
    down = convert_exactly(text, 7, 6, a=A, b=ROW)
    (add,) = down.graph.nodes
    assert {name: a.value for name, a in add.attributes.items()} == {"broadcast": 1}


def test_sizes_of_1_around_b_are_squeezed() -> None:
    text = "g (float[2,3,4] a, float[1,3,1] b) => (float[2,3,4] y) { y = Div(a, b) }"
    down = convert_exactly(text, 7, 6, a=A, b=[COLUMN])
    assert op_types(down) == ["Squeeze", "Div"]
    assert only(down.graph, "Div").attributes["axis"].value == 1


def test_sizes_of_1_inside_b_are_tiled() -> None:
    text = "g (float[2,3,4] a, float[2,1,4] b) => (float[2,3,4] y) { y = Add(a, b) }"
    assert op_types(convert_exactly(text, 7, 6, a=A, b=[[ROW], [ROW]])) == ["Tile", "Add"]


def test_the_smaller_operand_becomes_b() -> None:
    text = "g (float[4] a, float[2,3,4] b) => (float[2,3,4] y) { y = Mul(a, b) }"
    down = convert_exactly(text, 7, 6, a=ROW, b=A)
    assert [value.name for value in only(down.graph, "Mul").inputs if value] == ["b", "a"]


def test_a_comparison_is_turned_round_with_its_operands() -> None:
    text = "g (float[4] a, float[2,3,4] b) => (bool[2,3,4] y) { y = Greater(a, b) }"
    assert op_types(convert_exactly(text, 7, 6, a=ROW, b=A)) == ["Less"]


def test_a_difference_keeps_its_order() -> None:
    text = "g (float[4] a, float[2,3,4] b) => (float[2,3,4] y) { y = Sub(a, b) }"
    assert op_types(convert_exactly(text, 7, 6, a=ROW, b=A)) == ["Unsqueeze", "Tile", "Sub"]


def test_both_operands_are_broadcast() -> None:
    text = "g (float[3,1] a, float[1,4] b) => (float[3,4] y) { y = Pow(a, b) }"
    down = convert_closely(text, 7, 6, a=COLUMN, b=[ROW])
    assert op_types(down) == ["Tile", "Squeeze", "Pow"]


def test_sizes_that_only_a_run_knows_are_read_then() -> None:
    text = "g (float[N,4] a, float[1] b) => (float[N,4] y) { y = Max(a, b) }"
    down = convert_exactly(text, 8, 6, a=A[0], b=[5.0])
    sizes = ["Shape", "Gather", "Shape", "Gather", "Concat"]
    assert op_types(down) == ["Unsqueeze", *sizes, "Tile", "Max"]


def test_sizes_that_may_be_broadcast_or_not_are_refused() -> None:
    text = "g (float[N] a, float[M] b) => (float[K] y) { y = Add(a, b) }"
    with pytest.raises(
        ConversionError, match="it is not known which of the sizes N and M is broadcast; fix the shapes first"
    ):
        convert(parse_model(text, opset=7), 6)


def test_a_slope_for_each_channel_is_lined_up_and_comes_back() -> None:
    text = "g (float[2,3,4] x, float[3] s) => (float[2,3,4] y) { y = PRelu(x, s) }"
    up = convert_exactly(text, 6, 7, x=A - 12, s=[1.0, 2.0, 3.0])
    assert op_types(up) == ["Unsqueeze", "PRelu"]
    text = "g (float[2,3,4] x, float[3,1] s) => (float[2,3,4] y) { y = PRelu(x, s) }"
    assert op_types(convert_exactly(text, 7, 6, x=A - 12, s=COLUMN)) == ["Squeeze", "PRelu"]


@pytest.mark.parametrize("slope", [[1.0, 2.0, 3.0], [2.0], A[:, :, :4] / 7])
def test_a_slope_is_lined_up_at_run_time_where_no_rank_is_known(slope: object) -> None:
    text = "g (float[] x, float[] s) => (float[] y) { y = PRelu(x, s) }"
    assert op_types(convert_exactly(text, 6, 7, x=A - 12, s=slope))[-2:] == ["Reshape", "PRelu"]


def test_a_slope_along_another_axis_is_tiled() -> None:
    text = "g (float[2,3,4] x, float[4] s) => (float[2,3,4] y) { y = PRelu(x, s) }"
    assert op_types(convert_exactly(text, 7, 6, x=A - 12, s=ROW)) == ["Unsqueeze", "Tile", "PRelu"]
