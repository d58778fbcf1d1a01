"""`rename`: new names and everything that refers to them."""

from __future__ import annotations

from collections.abc import Mapping

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
from models import parse_model, parse_record
from sardonyx._src.ir import Model
from sardonyx._src.ir.devices import NodeDeviceConfiguration, ShardedDim, ShardingSpec, SimpleShardedDim
from sardonyx._src.ir.verify import verify
from sardonyx._src.proto import messages as m
from sardonyx._src.tools.rename import Renaming, rename

TEXT = """g (bool c, float[N,2] x) => (float[N,2] y) <float[2] w = {1, 2}, float[2] v = {3, 4}> {
  a = Add(x, w)
  y = If(c) <then_branch = t () => (float[N,2] p) { p = Neg(a) }, else_branch = e () => (float[N,2] q) { q = Add(a, v) }>
}"""
FUNCTIONS = """g (float x) => (float y, float z) { y = my.f(x)  z = my.h(x) }
<opset_import: ["": 21, "my": 1], domain: "my"> f (p) => (q) { q = my.h(p) }
<opset_import: ["": 21], domain: "my"> h (p) => (q) { q = Neg(p) }"""


def text_of(result: Model) -> str:
    verify(result)
    return " ".join(sx.to_text(sx.from_text(sx.to_text(result))).split())


def test_values_are_renamed_with_their_readers_in_branches() -> None:
    before = parse_model(TEXT)
    result = rename(
        before, Renaming(inputs={"x": "image"}, outputs={"y": "z"}, values={"a": "sum", "w": "bias"})
    )
    text = text_of(result)
    assert "sum = Add(image, bias)" in text
    assert "p = Neg(sum)" in text
    assert list(result.graph.initializers) == ["bias", "v"]
    assert [v.name for v in before.graph.inputs] == ["c", "x"]
    feeds = {"c": np.array(False), "image": np.zeros((1, 2), np.float32)}
    assert only_result(result, feeds) == [[4, 6]]


def test_names_can_change_places() -> None:
    result = rename(parse_model(TEXT), Renaming(values={"w": "v", "v": "w"}))
    assert list(result.graph.initializers) == ["v", "w"]
    feeds = {"c": np.array(False), "x": np.zeros((1, 2), np.float32)}
    assert only_result(result, feeds) == [[4, 6]]


def test_a_dim_is_renamed_wherever_it_is_written() -> None:
    text = text_of(rename(parse_model(TEXT), Renaming(dims={"N": "batch"})))
    assert "N" not in text.replace("Neg", "")
    assert text.count("[batch, 2]") == 4


def test_a_dim_inside_an_expression_is_renamed_too() -> None:
    before = parse_model("g (float[N] x, float['2*N+1'] y) => (float[N] z) { z = Neg(x) }".replace("'", '"'))
    result = rename(before, Renaming(dims={"N": "B"}))
    assert [str(v.type) for v in result.graph.inputs] == ["float[B]", "float[2*B+1]"]


def test_regular_expressions_match_whole_names() -> None:
    before = parse_model("g (float x) => (float y) { b_a = Neg(x)  b_c = Neg(b_a)  y = Neg(b_c) }")
    result = rename(before, Renaming(values={"b_(.*)": r"block/\1"}, regex=True))
    assert [n.outputs[0].name for n in result.graph.nodes] == ["block/a", "block/c", "y"]


def test_nodes_and_the_graph_are_renamed() -> None:
    before = parse_model("g (float x) => (float y) { [first] a = Neg(x)  [second] y = Neg(a) }")
    result = rename(before, Renaming(nodes={"first": "stem"}, graph="net"))
    assert [n.name for n in result.graph.nodes] == ["stem", "second"]
    assert result.graph.name == "net"


def test_a_function_is_renamed_with_its_calls_and_imports() -> None:
    result = rename(parse_model(FUNCTIONS, more='"my": 1'), Renaming(functions={"my.h": "your.k"}))
    assert list(result.functions) == [("my", "f", ""), ("your", "k", "")]
    assert result.opset_imports == {"": 21, "my": 1, "your": 1}
    assert result.functions["my", "f", ""].opset_imports == {"": 21, "your": 1}
    assert [np.asarray(r).item() for r in results(result, {"x": np.float32(2)})] == [-2, -2]


def test_a_domain_is_renamed_everywhere() -> None:
    result = rename(parse_model(FUNCTIONS, more='"my": 1'), Renaming(domains={"my": "your"}))
    assert list(result.functions) == [("your", "f", ""), ("your", "h", "")]
    assert result.opset_imports == {"": 21, "your": 1}
    assert [np.asarray(r).item() for r in results(result, {"x": np.float32(2)})] == [-2, -2]


def test_bindings_and_annotations_follow() -> None:
    original = parse_record("g (float x) => (float y) <float w = {1}> { y = Mul(x, w) }")
    step = m.TrainingInfoProto()
    step.algorithm = parse_record("t () => (float v) { v = Add(w, w) }").graph
    step.update_binding = [m.StringStringEntryProto(key="w", value="v")]
    original.training_info = [step]
    entry = m.StringStringEntryProto(key="SCALE_TENSOR", value="w")
    assert original.graph is not None
    original.graph.quantization_annotation = [
        m.TensorAnnotation(tensor_name="y", quant_parameter_tensor_names=[entry])
    ]
    result = rename(sx.load(original), Renaming(values={"w": "k", "v": "u"}, outputs={"y": "z"}))
    text = sx.to_json(result)
    for new in ('"key": "k"', '"value": "u"', '"tensorName": "z"', '"value": "k"'):
        assert new in text, new


def test_sharding_follows() -> None:
    before = parse_model("g (float[N] x) => (float[N] y) { y = Abs(x) }", ir=11)
    (node,) = before.graph.nodes
    dim = ShardedDim(0, [SimpleShardedDim("N", 2)])
    spec = ShardingSpec(before.graph.inputs[0], [0, 1], sharded_dim=[dim])
    node.device_configurations = [NodeDeviceConfiguration("gpus", [spec])]
    result = rename(before, Renaming(inputs={"x": "z"}, dims={"N": "B"}))
    text = sx.to_json(result)
    assert '"tensorName": "z"' in text
    assert '"dimParam": "B", "numShards"' in " ".join(text.split())
    assert dim.simple_sharding[0].dim == "N"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"inputs": {"xx": "z"}}, "the model has no input 'xx'; did you mean 'x'?"),
        ({"values": {"a": "w"}}, "value 'a' cannot become 'w': 'w' has that name"),
        ({"values": {"a": "p"}}, "value 'a' cannot become 'p': 'p' has that name"),
        ({"values": {"a": "b", "w": "b"}}, "would have it too"),
        ({"dims": {"M": "K"}}, "the model has no dim 'M'"),
        ({"nodes": {"n": "k"}}, "the model has no node 'n'; there are no nodes"),
        ({"domains": {"": "my"}}, "the model has no domain of its own ''"),
    ],
)
def test_what_cannot_be_renamed_is_reported(changes: Mapping[str, dict[str, str]], message: str) -> None:
    with pytest.raises(sx.InputError) as caught:
        rename(parse_model(TEXT), Renaming(**changes))  # type: ignore[arg-type]  # the parameters are its keywords
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("new", "message"),
    [
        ("ai.onnx.Neg", "ai.onnx.Neg is an operator of ONNX"),
        ("my.f", "cannot become"),
        ("h", "must be DOMAIN.NAME"),
    ],
)
def test_a_function_takes_no_name_that_means_something_else(new: str, message: str) -> None:
    with pytest.raises(sx.InputError) as caught:
        rename(parse_model(FUNCTIONS, more='"my": 1'), Renaming(functions={"my.h": new}))
    assert message in str(caught.value)


def test_what_is_no_regular_expression_is_reported() -> None:
    with pytest.raises(sx.InputError, match="is not a regular expression"):
        rename(parse_model(TEXT), Renaming(values={"(": "a"}, regex=True))


@pytest.mark.parametrize("name", ["ort_nuphar_loop", "dtln_2"])
def test_a_real_model_under_other_names_computes_the_same(name: str) -> None:
    whole, feeds = load_shared_model(name), reference_feeds(name)
    result = rename(whole, Renaming(values={"(.*)": r"v/\1"}, nodes={"(.*)": r"n/\1"}, regex=True))
    for actual, expected in zip(
        results(result, {f"v/{key}": value for key, value in feeds.items()}),
        results(whole, feeds),
        strict=True,
    ):
        assert_same_results(actual, expected)
