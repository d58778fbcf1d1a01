"""fold-constants."""

from __future__ import annotations

import numpy as np
import pytest

from models import parse_model
from rewrite.rewriting import apply_passes, assert_becomes, assert_unchanged
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Tensor, TensorType
from sardonyx._src.ir.model import TrainingInfo
from sardonyx._src.rewrite.optimize import optimize

PASS = "fold-constants"


def test_what_is_made_of_constants_is_a_constant() -> None:
    assert_becomes(
        "g (float[2] x) => (float[] y) <float[2] w = {1, 2}> { a = Neg(w) b = Mul(a, w) y = Add(x, b) }",
        "g (float[2] x) => (float[] y) <float[2] b = {-1, -4}> { y = Add(x, b) }",
        PASS,
    )


def test_an_output_is_produced_by_a_constant_node() -> None:
    assert_becomes(
        "g () => (float[2] y) <float[2] w = {1, 2}> { y = Neg(w) }",
        "g () => (float[2] y) { y = Constant<value = float[2] {-1, -2}>() }",
        PASS,
    )


def test_every_output_of_a_node_is_folded() -> None:
    assert_becomes(
        "g (float[2] x) => (float[] y) <float[2] w = {3, 4}> { a, b = Split<num_outputs = 2>(w) c = Add(a, x) y = Mul(c, b) }",
        "g (float[2] x) => (float[] y) <float[1] a = {3}, float[1] b = {4}> { c = Add(a, x) y = Mul(c, b) }",
        PASS,
    )


def test_a_weight_of_an_old_file_is_an_input_and_constant_all_the_same() -> None:
    text = "g (float[2] x, float[2] w = {1, 2}) => (float[2] y) { a = Neg(w) y = Add(x, a) }"
    result = apply_passes(text, PASS, opset=8, ir=3)
    assert [v.name for v in result.graph.inputs] == ["x", "a_1"]
    assert [n.op_type for n in result.graph.nodes] == ["Add"]
    assert_unchanged(text, PASS, ir=4)


def test_draws_are_kept() -> None:
    assert_unchanged(
        "g (float[2] x) => (float[] y) <float[2] w = {1, 2}> { a = RandomNormalLike(w) y = Add(x, a) }", PASS
    )


def test_a_large_result_of_small_constants_is_kept() -> None:
    assert_unchanged(
        "g (float[1] x) => (float[] y) <int64[1] n = {100000}> { a = ConstantOfShape(n) y = Add(x, a) }", PASS
    )


def test_quantized_weights_stay_narrow() -> None:
    assert_unchanged(
        """g (float[2] x) => (float[] y) <int8[2] w = {1, 2}, float s = {0.5}> {
            a = DequantizeLinear(w, s) y = Add(x, a)
        }""",
        PASS,
    )


def test_a_node_that_fails_is_kept() -> None:
    assert_unchanged(
        """g (float[2] x) => (float[] y) <float[3] w = {1, 2, 3}, int64[1] i = {7}> {
            a = Gather(w, i) y = Add(x, a)
        }""",
        PASS,
        proof=False,
    )  # no inputs make it run


def test_a_state_that_training_changes_is_no_constant() -> None:
    original = parse_model("g (float[2] x) => (float[] y) <float[2] w = {1, 2}> { a = Neg(w) y = Add(x, a) }")
    step = parse_model("s () => (float[2] v) <float[2] k = {1, 1}> { v = Neg(k) }").graph
    weight = original.graph.initializers["w"]
    original.training = [TrainingInfo(None, step, [], [(weight, step.outputs[0])])]
    result = apply_passes(original, PASS)
    assert [n.op_type for n in result.graph.nodes] == ["Neg", "Add"]
    algorithm = result.training[0].algorithm
    assert algorithm is not None and [n.op_type for n in algorithm.nodes] == ["Constant"]


def test_in_a_function_the_result_is_a_constant_node() -> None:
    assert_becomes(
        """g (float[2] x) => (float[2] y) { y = my.f(x) }
        <domain: "my", opset_import: ["": 21]>
        f (a) => (b) { c = Constant<value_float = 2.0>() d = Neg(c) b = Add(a, d) }""",
        """g (float[2] x) => (float[2] y) { y = my.f(x) }
        <domain: "my", opset_import: ["": 21]> f (a) => (b) { d = Constant<value = float {-2}>() b = Add(a, d) }""",
        PASS,
        more='"my": 1',
    )


def test_an_attribute_of_the_function_is_not_known() -> None:
    assert_unchanged(
        """g (float[2] x) => (float[2] y) { y = my.f<k = 3.0>(x) }
        <domain: "my", opset_import: ["": 21]> f <k> (a) => (b) { c = Constant<value_float: float = @k>() d = Neg(c) b = Add(a, d) }""",
        PASS,
        more='"my": 1',
    )


def test_large_weights_are_folded_when_they_do_not_grow() -> None:
    original = parse_model(
        "g (float[2,1,1] x) => (float[] y) <float[1] w = {1}> { a = Transpose(w) y = Add(x, a) }"
    )
    weight = original.graph.initializers["w"]
    weight.initializer = Tensor.of(np.ones((400, 100, 2), np.float32))
    weight.type = TensorType(DataType.FLOAT, (400, 100, 2))
    assert [n.op_type for n in apply_passes(original, PASS).graph.nodes] == ["Add"]


def test_how_much_may_be_added_is_for_the_caller_to_say() -> None:
    original = parse_model(
        "g (float[1] x) => (float[] y) <int64[1] n = {100000}> { a = ConstantOfShape(n) y = Add(x, a) }"
    )
    assert [n.op_type for n in optimize(original, growth=1 << 26).graph.nodes] == ["Add"]
    assert [n.op_type for n in optimize(original).graph.nodes] == ["ConstantOfShape", "Add"]


def test_one_constant_may_add_what_the_caller_says() -> None:
    original = parse_model(
        "g (float[1] x) => (float[] y) <int64[1] n = {100000}> { a = ConstantOfShape(n) y = Add(x, a) }"
    )
    folded = optimize(original, growth=1 << 20, result_growth=1 << 20)
    assert [n.op_type for n in folded.graph.nodes] == ["Add"]
    limited = optimize(original, growth=1 << 20, result_growth=399_000)
    assert [n.op_type for n in limited.graph.nodes] == ["ConstantOfShape", "Add"]


@pytest.mark.parametrize(
    ("nodes", "left"),
    [
        ("b = Transpose(x) y = Add(b, a)", ["Expand", "Transpose", "Add"]),
        ("y = MatMul(x, a)", ["MatMul"]),
        ("b = Neg(a) y = MatMul(x, b)", ["MatMul"]),
    ],
)
def test_large_expands_are_left_to_elementwise_operators_to_broadcast(nodes: str, left: list[str]) -> None:
    original = parse_model(
        "g (float[2304,2048] x) => (float[] y) <float c = {3}, int64[2] n = {2048, 2304}> "
        f"{{ a = Expand(c, n) {nodes} }}"
    )
    folded = optimize(original, growth=1 << 30, result_growth=1 << 30)
    assert [n.op_type for n in folded.graph.nodes] == left
