"""fuse-softmax."""

from __future__ import annotations

import pytest

from rewrite.rewriting import assert_becomes, assert_unchanged

PASS = "fuse-softmax"
NEW = "m = ReduceMax(x, k) d = Sub(x, m) e = Exp(d) s = ReduceSum(e, k) y = Div(e, s)"
AXES = "int64[1] k = {1}, int64[1] j = {-1}, int64[2] two = {0, 1}"


def test_axes_are_inputs_since_18() -> None:
    assert_becomes(
        f"g (float[2,3] x) => (float[] y) <{AXES}> {{ {NEW} }}",
        "g (float[2,3] x) => (float[] y) { y = Softmax<axis = 1>(x) }",
        PASS,
    )


def test_one_axis_may_be_stated_in_two_ways() -> None:
    assert_becomes(
        f"g (float[2,3] x) => (float[] y) <{AXES}> {{ {NEW.replace('(e, k)', '<noop_with_empty_axes = 1>(e, j)')} }}",
        "g (float[2,3] x) => (float[] y) { y = Softmax<axis = 1>(x) }",
        PASS,
    )


def test_an_attribute_names_the_axis_of_the_maximum_before() -> None:
    assert_becomes(
        f"g (float[2,3] x) => (float[] y) <{AXES}> {{ {NEW.replace('(x, k)', '<axes = [1]>(x)')} }}",
        "g (float[2,3] x) => (float[] y) { y = Softmax<axis = 1>(x) }",
        PASS,
        opset=13,
    )


OLD = "m = ReduceMax<axes = [A]>(x) d = Sub(x, m) e = Exp(d) s = ReduceSum<axes = [A]>(e) y = Div(e, s)"


def test_before_13_the_last_axis_is_a_row() -> None:
    assert_becomes(
        f"g (float[2,3] x) => (float[] y) {{ {OLD.replace('A', '-1')} }}",
        "g (float[2,3] x) => (float[] y) { y = Softmax<axis = 1>(x) }",
        PASS,
        opset=11,
    )


def test_before_13_another_axis_is_kept() -> None:
    assert_unchanged(f"g (float[2,3] x) => (float[] y) {{ {OLD.replace('A', '0')} }}", PASS, opset=11)


@pytest.mark.parametrize(
    "nodes",
    [
        NEW.replace("(x, k)", "(x, two)").replace("(e, k)", "(e, two)"),
        NEW.replace("(x, k)", "(x, two)"),
        NEW.replace("Sub(x, m)", "Sub(m, x)"),
        NEW.replace("ReduceMax(", "ReduceMin("),
        "e = Exp(x) s = ReduceSum(e, k) y = Div(e, s)",
        NEW + " z = Neg(e)",
    ],
)
def test_other_sums_and_values_read_elsewhere_are_kept(nodes: str) -> None:
    outputs = "float[] y, float[] z" if "z =" in nodes else "float[] y"
    assert_unchanged(f"g (float[2,3] x) => ({outputs}) <{AXES}> {{ {nodes} }}", PASS)
