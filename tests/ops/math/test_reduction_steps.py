"""Conversion of reductions, TopK and cumulative operators between versions that differ in axes, k and types."""

from __future__ import annotations

import numpy as np
import pytest

from models import only, parse_model
from sardonyx._src.convert.conversion import convert
from sardonyx._src.errors import ConversionError
from versions import convert_closely, convert_exactly, op_types

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
AXES = "axes = Constant<value_ints = [-1, 0]>()"


def test_axes_become_an_input_and_come_back() -> None:
    text = "g (float[2,3,4] x) => (float[3] y) { y = ReduceMean<axes = [0, -1], keepdims = 0>(x) }"
    up = convert_exactly(text, 13, 18, x=X)
    assert len(only(up.graph, "ReduceMean").inputs) == 2
    text = f"g (float[2,3,4] x) => (float[1,3,1] y) {{ {AXES} y = ReduceMean(x, axes) }}"
    down = convert_exactly(text, 18, 13, x=X)
    assert only(down.graph, "ReduceMean").attributes["axes"].value == (-1, 0)
    assert only(convert_exactly(text, 18, 10, x=X).graph, "ReduceMean").attributes["axes"].value == (2, 0)


def test_all_axes_need_no_input() -> None:
    up = convert_exactly("g (float[2,3,4] x) => (float[1,1,1] y) { y = ReduceSum(x) }", 11, 13, x=X)
    assert len(only(up.graph, "ReduceSum").inputs) == 1


@pytest.mark.parametrize(("name", "expected"), [("ReduceMax", "Identity"), ("ReduceLogSumExp", "Identity")])
def test_no_axes_at_all_change_nothing(name: str, expected: str) -> None:
    text = f"g (float[2,3,4] x) => (float[2,3,4] y) {{ y = {name}<noop_with_empty_axes = 1>(x) }}"
    assert op_types(convert_closely(text, 18, 13, x=X)) == [expected]


def test_axes_that_only_a_run_knows_are_summed_by_the_body_where_it_has_them() -> None:
    text = "g (float[2,3,4] x, int64[1] axes) => (float[2,3,1] y) { y = ReduceL1(x, axes) }"
    assert op_types(convert_exactly(text, 18, 17, x=X - 9, axes=[2])) == ["Abs", "ReduceSum"]
    with pytest.raises(
        ConversionError,
        match=r"axes \('axes'\) must be constant, as it is an attribute in the target version",
    ):
        convert(parse_model(text.replace("L1", "Max"), opset=18), 17)


def test_logarithms_of_integers_go_through_double() -> None:
    text = "g (int32[2] x) => (int32[1] y) { y = ReduceLogSum(x) }"
    up = convert_exactly(text, 18, 28, x=np.array([10, 20], np.int32))
    assert op_types(up) == ["Cast", "ReduceLogSum", "Cast"]


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_the_extreme_of_no_bytes_stays_what_it_is(dtype: str) -> None:
    text = f"g ({dtype}[0] x) => ({dtype}[] y, {dtype}[] z) {{ y = ReduceMax<keepdims = 0>(x) z = ReduceMin<keepdims = 0>(x) }}"
    convert_exactly(text, 12, 11, x=np.zeros(0, dtype))


def test_truth_values_are_reduced_as_bytes() -> None:
    text = f"g (bool[2,3,4] x) => (bool[1,3,1] y) {{ {AXES} y = ReduceMin(x, axes) }}"
    assert op_types(convert_exactly(text, 20, 18, x=X > 3)) == ["Cast", "ReduceMin", "Cast"]


def test_k_becomes_an_input_and_comes_back() -> None:
    up = convert_exactly(
        "g (float[2,3,4] x) => (float[2,3,2] v, int64[2,3,2] i) { v, i = TopK<k = 2>(x) }", 9, 10, x=X
    )
    assert op_types(up) == ["TopK"]
    text = "g (float[2,3,4] x) => (float[2,3,2] v, int64[2,3,2] i) { k = Constant<value_ints = [2]>() v, i = TopK(x, k) }"
    assert only(convert_exactly(text, 12, 9, x=X).graph, "TopK").attributes["k"].value == 2


def test_the_least_come_in_their_order_with_nan_after_infinity() -> None:
    text = "g (float[6] x, int64[1] k) => (float[6] v, int64[6] i) { v, i = TopK<largest = 0>(x, k) }"
    convert_exactly(text, 11, 10, x=[np.nan, np.inf, 1.0, -np.inf, 1.0, 3.4028235e38], k=[6])


def test_a_running_sum_is_a_scan() -> None:
    text = (
        "g (float[2,3] x) => (float[2,3] y) { a = Constant<value_int = -1>() y = CumSum<ATTRIBUTES>(x, a) }"
    )
    for attributes in ("exclusive = 0", "exclusive = 1", "reverse = 1", "exclusive = 1, reverse = 1"):
        chosen = text.replace("ATTRIBUTES", attributes)
        down = convert_exactly(chosen, 12, 10, x=[[1.0, np.inf, 3.0], [4.0, 5.0, np.nan]])
        assert op_types(down)[-3:] == ["Scan", "Add", "Identity"]


def test_a_running_sum_of_nothing_is_nothing() -> None:
    text = "g (float[0] x) => (float[0] y) { a = Constant<value_int = 0>() y = CumSum(x, a) }"
    convert_exactly(text, 14, 8, x=np.zeros(0, np.float32))


def test_a_running_product_goes_down_with_the_steps_of_what_it_is_made_of() -> None:
    text = "g (float[2,3] x) => (float[2,3] y) { a = Constant<value_int = 0>() y = CumProd(x, a) }"
    convert_exactly(text, 26, 9, x=[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def test_the_last_of_equal_elements_is_found_from_the_other_end() -> None:
    text = "g (float[2,3] x) => (int64[2,1] y) { y = ArgMax<axis = -1, select_last_index = 1>(x) }"
    convert_exactly(text, 12, 11, x=[[1.0, 2.0, 2.0], [3.0, 3.0, 1.0]])


def test_axes_that_a_function_is_called_with_are_passed_on_untyped() -> None:
    text = """g (float[2,3] x) => (float[2,1] y) {{ y = local.f(x) }}
    <opset_import: ["": {opset}], domain: "local"> f <a: ints = [1]> (x) => (y) {{ {body} }}"""
    up = text.format(opset=13, body="y = ReduceMean<axes = @a>(x)")
    down = text.format(opset=18, body="c = Constant<value_ints = @a>() y = ReduceMean(x, c)")
    for opset, target, source in ((13, 18, up), (18, 13, down)):
        (function,) = convert(parse_model(source, opset=opset, more='"local": 1'), target).functions.values()
        refs = [a.ref for node in function.body.nodes for a in node.attributes.values()]
        assert refs == ["a"]
        assert function.opset_imports[""] == target
