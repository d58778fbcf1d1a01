"""`inline`: all calls, by name, nested, and what is refused."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import sardonyx as sx
from model_tools.agreement import (
    assert_same_results,
    load_shared_model,
    only_result,
    reference_feeds,
    results,
)
from models import parse_model
from sardonyx._src.ir import Model
from sardonyx._src.tools.inline import inline, is_unregistered

NESTED = """g (float[2] x) => (float[2] y, float[2] z) {{ y = my.outer(x)  z = my.inner(y) }}
<opset_import: ["": {0}, "my": 1], domain: "my"> outer (p) => (q) {{ a = my.inner(p)  q = Abs(a) }}
<opset_import: ["": {0}], domain: "my"> inner (p) => (q) {{ q = {1}(p) }}
<opset_import: ["": {0}], domain: "my"> idle (p) => (q) {{ q = Abs(p) }}"""


def nested_model(opset: int = 21, op: str = "Neg") -> Model:
    return parse_model(NESTED.format(opset, op), more='"my": 1')


def ops(result: Model) -> list[str]:
    return [node.op_type for node in result.graph.nodes]


def test_all_calls_go_and_the_functions_with_them() -> None:
    before = nested_model()
    flat = inline(before)
    assert ops(flat) == ["Neg", "Abs", "Neg"]
    assert not flat.functions
    assert ops(before) == ["outer", "inner"]
    feeds = {"x": np.array([1, -2], np.float32)}
    assert [np.asarray(r).tolist() for r in results(flat, feeds)] == [[1, 2], [-1, -2]]


def test_a_function_that_is_named_is_inlined_in_other_functions_too() -> None:
    flat = inline(nested_model(), ["my.inner"])
    assert ops(flat) == ["outer", "Neg"]
    (remaining,) = flat.functions.values()
    assert [node.op_type for node in remaining.body.nodes] == ["Neg", "Abs"]


def test_a_function_that_is_not_named_stays_in_the_bodies() -> None:
    flat = inline(nested_model(), ["my.outer"])
    assert ops(flat) == ["inner", "Abs", "inner"]
    assert [name for _, name, _ in flat.functions] == ["inner"]


def test_a_call_in_a_branch_is_inlined_there() -> None:
    result = parse_model(
        """g (bool c, float[2] x) => (float[2] y) {
          y = If(c) <then_branch = t () => (float[2] a) { a = my.f(x) }, else_branch = e () => (float[2] b) { b = my.f(x) }>
        }
        <opset_import: ["": 21], domain: "my"> f (p) => (q) { h = Neg(p)  q = Abs(h) }""",
        more='"my": 1',
    )
    flat = inline(result)
    assert not flat.functions
    feeds = {"c": np.array(True), "x": np.array([1, -2], np.float32)}
    assert only_result(flat, feeds) == [1, 2]


def test_one_overload_can_be_named() -> None:
    text = """g (float x) => (float y, float z) { y = my.f:one(x)  z = my.f:two(x) }
    <opset_import: ["": 21], domain: "my", overload: "one"> f (p) => (q) { q = Neg(p) }
    <opset_import: ["": 21], domain: "my", overload: "two"> f (p) => (q) { q = Abs(p) }"""
    assert ops(inline(parse_model(text, more='"my": 1'), ["my.f:two"])) == ["f", "Abs"]
    assert ops(inline(parse_model(text, more='"my": 1'), ["my.f"])) == ["Neg", "Abs"]


def test_another_version_of_the_same_operator_is_no_obstacle() -> None:
    flat = inline(nested_model(20, "Sin"))  # Sin changed last in version 7
    assert ops(flat) == ["Sin", "Abs", "Sin"]
    assert flat.opset_imports[""] == 21


def test_an_operator_of_another_version_is_refused() -> None:
    with pytest.raises(
        sx.InvalidModel, match=r"imports ai\.onnx 12, its caller 21, where Softmax is another"
    ):
        inline(nested_model(12, "Softmax"), ["my.inner"])


def test_imports_of_a_function_become_the_callers() -> None:
    text = """g (float[2] x) => (float[2] y) { y = my.f(x) }
    <opset_import: ["ai.onnx.ml": 3], domain: "my"> f (p) => (q) { q = ai.onnx.ml.Scaler<offset = [1.0], scale = [2.0]>(p) }"""
    flat = inline(parse_model(text, more='"my": 1'))
    assert flat.opset_imports["ai.onnx.ml"] == 3
    assert only_result(flat, {"x": np.array([1, 3], np.float32)}) == [0, 4]


def test_the_domain_of_a_call_that_stays_is_imported() -> None:
    text = """g (float[2] x) => (float[2] y) { y = my.f(x) }
    <opset_import: ["other": 1], domain: "my"> f (p) => (q) { q = other.g(p) }
    <opset_import: ["": 21], domain: "other"> g (p) => (q) { q = Neg(p) }"""
    flat = inline(parse_model(text, more='"my": 1'), ["my.f"])
    assert flat.opset_imports["other"] == 1


def test_functions_that_multiply_are_refused_before_anything_is_made() -> None:
    calls = "".join(
        f'<opset_import: ["my": 1], domain: "my"> f{i} (p) => (q) {{ {body(i)} }}\n' for i in range(1, 12)
    )
    last = '<opset_import: ["": 21], domain: "my"> f0 (p) => (q) { q = Neg(p) }'
    laughs = parse_model(f"g (float x) => (float y) {{ y = my.f11(x) }}\n{calls}{last}", more='"my": 1')
    with pytest.raises(sx.LimitError) as caught:
        inline(laughs)
    assert caught.value.limit == "limit"


def test_functions_that_nest_too_deep_are_refused() -> None:
    steps = "".join(
        f"""<opset_import: ["": 21, "my": 1], domain: "my"> f{i} (c, p) => (q) {{
          q = If(c) <then_branch = t () => (t{i}) {{ t{i} = my.f{i - 1}(c, p) }}, else_branch = e () => (e{i}) {{ e{i} = Neg(p) }}>
        }}"""
        for i in range(1, 400)
    )
    last = '<opset_import: ["": 21], domain: "my"> f0 (c, p) => (q) { q = Neg(p) }'
    deep = parse_model(
        f"g (bool c, float x) => (float y) {{ y = my.f399(c, x) }}\n{steps}{last}", more='"my": 1'
    )
    with pytest.raises(sx.LimitError, match="would nest 399 graphs"):
        inline(deep)


def body(level: int) -> str:
    """A chain of ten calls of the function below."""
    steps = ["p", *(f"a{i}" for i in range(9)), "q"]
    return "  ".join(f"{b} = my.f{level - 1}({a})" for a, b in pairwise(steps))


def test_a_call_that_leaves_out_what_is_returned_is_refused() -> None:
    text = """g (float x) => (float y) { y = my.f("", x) }
    <opset_import: ["": 21], domain: "my"> f (p, r) => (p) { q = Neg(r) }"""
    with pytest.raises(sx.InvalidModel, match="output 'y' of the graph must be given; it is absent"):
        inline(parse_model(text, more='"my": 1'))


def test_an_unknown_function_is_reported_with_the_nearest() -> None:
    with pytest.raises(sx.InputError, match=r"no function 'my\.iner'; did you mean 'my\.inner'\?"):
        inline(nested_model(), ["my.iner"])


def test_a_real_model_without_its_functions_computes_the_same() -> None:
    whole = load_shared_model("ort_gh18338_functions")
    flat = inline(whole)
    assert whole.functions
    assert not flat.functions
    feeds = reference_feeds("ort_gh18338_functions")
    for actual, expected in zip(results(flat, feeds), results(whole, feeds), strict=True):
        assert_same_results(actual, expected)


def test_only_what_an_engine_lacks_is_inlined() -> None:
    before = nested_model()
    remaining = inline(before, lacking=lambda domain, name: name == "outer")
    assert ops(remaining) == ["inner", "Abs", "inner"]
    assert [f.name for f in remaining.functions.values()] == ["inner"]
    assert ops(inline(before, lacking=is_unregistered)) == ["Neg", "Abs", "Neg"]


def test_a_function_with_the_name_of_an_operator_can_stay_a_call() -> None:
    text = """g (float[2] x) => (float[2] y) { y = my.f(x) z = ai.onnx.preview.training.Adam(x) }
    <opset_import: ["": 21], domain: "my"> f (p) => (q) { q = Neg(p) }
    <opset_import: ["": 21], domain: "ai.onnx.preview.training"> Adam (p) => (q) { q = Abs(p) }"""
    before = parse_model(text, more='"my": 1, "ai.onnx.preview.training": 1')
    assert ops(inline(before, lacking=is_unregistered)) == ["Neg", "Adam"]
