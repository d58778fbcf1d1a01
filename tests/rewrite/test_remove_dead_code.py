"""remove-dead-code."""

from __future__ import annotations

from models import parse_model
from rewrite.rewriting import apply_passes, assert_becomes
from sardonyx._src.ir.graph import QuantizationAnnotation
from sardonyx._src.ir.model import TrainingInfo


def test_nodes_and_weights_without_uses_are_removed() -> None:
    assert_becomes(
        "g (float[2] x) => (float[] y) <float[2] w = {1, 2}> { a = Add(x, w) b = Exp(a) y = Neg(x) }",
        "g (float[2] x) => (float[] y) { y = Neg(x) }",
    )


def test_an_input_with_a_default_is_kept() -> None:
    result = apply_passes("g (float[2] x, float[2] w = {1, 2}) => (float[2] y) { y = Neg(x) }")
    assert [v.name for v in result.graph.inputs] == ["x", "w"] and "w" in result.graph.initializers


def test_up_to_ir_version_3_a_weight_is_removed_with_its_input() -> None:
    result = apply_passes("g (float[2] x, float[2] w = {1, 2}) => (float[2] y) { y = Neg(x) }", ir=3, opset=8)
    assert [v.name for v in result.graph.inputs] == ["x"] and not result.graph.initializers


def test_nodes_inside_a_dead_branch_drop_their_uses() -> None:
    assert_becomes(
        """g (bool c, float[2] x) => (float[2] y) {
            n = Exp(x)
            z = If<then_branch = t () => (float[2] a) { a = Neg(n) },
                   else_branch = e () => (float[2] b) { b = Abs(n) }>(c)
            y = Neg(x)
        }""",
        "g (bool c, float[2] x) => (float[2] y) { y = Neg(x) }",
    )


def test_functions_without_calls_are_removed() -> None:
    result = apply_passes(
        """g (float[2] x) => (float[2] y) { y = my.f(x) }
        <domain: "my", opset_import: ["": 21, "my": 1]> f (a) => (b) { b = my.g(a) }
        <domain: "my", opset_import: ["": 21]> g (a) => (b) { b = Neg(a) }
        <domain: "my", opset_import: ["": 21, "my": 1]> h (a) => (b) { b = my.g(a) }""",
        more='"my": 1',
    )
    assert [name for _, name, _ in result.functions] == ["f", "g"]


def test_what_training_and_annotations_refer_to_is_kept() -> None:
    original = parse_model(
        "g (float[2] x) => (float[] y) <float s = {0.5}, float w = {1}, float k = {2}> { y = Neg(x) a = Exp(x) }"
    )
    graph = original.graph
    graph.quantization_annotations = [
        QuantizationAnnotation(graph.outputs[0], {"SCALE_TENSOR": graph.initializers["s"]})
    ]
    step = parse_model("s () => (float v) { v = Constant<value_float = 1.0>() }").graph
    original.training = [TrainingInfo(None, step, [], [(graph.initializers["w"], step.outputs[0])])]
    result = apply_passes(original)
    assert list(result.graph.initializers) == ["s", "w"] and len(result.graph.nodes) == 1
