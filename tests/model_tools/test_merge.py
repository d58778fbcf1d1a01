"""`merge`: two models joined into one."""

from __future__ import annotations

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
from sardonyx._src.ir.devices import DeviceConfiguration, NodeDeviceConfiguration
from sardonyx._src.ir.verify import verify
from sardonyx._src.proto import messages as m
from sardonyx._src.tools.extract import extract
from sardonyx._src.tools.merge import merge

DOUBLE = "g (float[N] x) => (float[N] y) <float t = {2}> { y = Mul(x, t) }"
ADD = "h (float[N] x) => (float[N] y) <float t = {3}> { y = Add(x, t) }"
VECTOR = np.array([1, 2], np.float32)


def names(result: Model) -> tuple[list[str], list[str]]:
    return [v.name for v in result.graph.inputs], [v.name for v in result.graph.outputs]


def test_the_only_output_feeds_the_only_input() -> None:
    original, two = parse_model(DOUBLE), parse_model(ADD)
    texts = sx.to_text(original), sx.to_text(two)
    result = merge(original, two)
    assert names(result) == (["x"], ["y"])
    assert only_result(result, {"x": VECTOR}) == [5, 7]
    assert list(result.graph.initializers) == ["t", "second_t"]
    assert (sx.to_text(original), sx.to_text(two)) == texts


def test_a_model_can_follow_itself() -> None:
    assert only_result(merge(parse_model(DOUBLE), parse_model(DOUBLE)), {"x": VECTOR}) == [4, 8]


def test_equal_names_are_connected_and_the_rest_is_kept() -> None:
    original = parse_model("g (float x) => (float a, float b) { a = Neg(x)  b = Abs(x) }")
    two = parse_model("h (float a, float k) => (float z) { z = Mul(a, k) }")
    result = merge(original, two)
    assert names(result) == (["x", "k"], ["b", "z"])
    feeds = {"x": np.float32(3), "k": np.float32(2)}
    assert [np.asarray(r).item() for r in results(result, feeds)] == [3, -6]


def test_an_output_can_feed_several_inputs_and_are_kept() -> None:
    two = parse_model("h (float[2] p, float[2] q) => (float[2] z) { z = Mul(p, q) }")
    result = merge(parse_model(DOUBLE), two, [("y", "p"), ("y", "q")], keep_connected=True)
    assert names(result) == (["x"], ["y", "z"])
    assert [np.asarray(r).tolist() for r in results(result, {"x": VECTOR})] == [[2, 4], [4, 16]]


def test_an_input_that_is_returned_keeps_the_outputs_name() -> None:
    two = parse_model("h (float[M] x) => (float[M] x, float[M] z) { z = Neg(x) }")
    result = merge(parse_model(DOUBLE.replace("x", "u")), two)
    assert names(result) == (["u"], ["x", "z"])
    assert [np.asarray(r).tolist() for r in results(result, {"u": VECTOR})] == [[2, 4], [-2, -4]]


def test_an_input_that_is_returned_under_its_own_name_is_the_output_itself() -> None:
    two = parse_model("h (float[M] y) => (float[M] y, float[M] z) { z = Neg(y) }")
    for keep in (False, True):
        result = merge(parse_model(DOUBLE), two, keep_connected=keep)
        assert names(result) == (["x"], ["y", "z"])
        assert [np.asarray(r).tolist() for r in results(result, {"x": VECTOR})] == [[2, 4], [-2, -4]]


def test_a_branch_reads_what_it_is_fed() -> None:
    two = parse_model(
        "h (bool c, float[2] v) => (float[2] z) { z = If(c) <"
        "then_branch = t () => (float[2] p) { p = Neg(v) }, else_branch = e () => (float[2] x) { x = Abs(v) }> }"
    )
    result = merge(parse_model(DOUBLE), two, [("y", "v")])
    assert only_result(result, {"x": VECTOR, "c": np.array(True)}) == [-2, -4]
    assert only_result(result, {"x": VECTOR, "c": np.array(False)}) == [2, 4]


def test_graphs_of_one_name_are_distinguished() -> None:
    text = (
        "g (bool c, float[2] x) => (float[2] y) { y = If(c) <"
        "then_branch = t () => (float[2] p) { p = Neg(x) }, else_branch = e () => (float[2] q) { q = Abs(x) }> }"
    )
    result = merge(parse_model(text), parse_model(text.replace("c", "d")), [("y", "x")])
    assert [g.name for node in result.graph.nodes for g in node.subgraphs] == [
        "t",
        "e",
        "second_t",
        "second_e",
    ]


def test_dims_that_meet_become_one_and_others_stay_apart() -> None:
    original = parse_model(
        "g (float[N,K] x, float[M] u) => (float[N,K] y, float[M] w) { y = Neg(x)  w = Neg(u) }"
    )
    two = parse_model("h (float[B,4] y, float[N] v) => (float[B,4] z, float[N] q) { z = Abs(y)  q = Abs(v) }")
    result = merge(original, two)
    types = [str(v.type) for v in (*result.graph.inputs, *result.graph.outputs)]
    assert types == ["float[N,4]", "float[M]", "float[N_1]", "float[M]", "float[N,4]", "float[N_1]"]


def test_equal_functions_are_kept_once_and_others_renamed() -> None:
    text = """g (float[2] x) => (float[2] y) {{ y = my.f(x) }}
    <opset_import: ["": 21, "my": 1], domain: "my"> f (p) => (q) {{ a = my.h(p)  q = my.k(a) }}
    <opset_import: ["": 21], domain: "my"> k (p) => (q) {{ q = Neg(p) }}
    <opset_import: ["": 21], domain: "my"> h (p) => (q) {{ q = {}(p) }}"""
    original, two = (parse_model(text.format(op), more='"my": 1') for op in ("Exp", "Abs"))
    result = merge(original, two)
    assert sorted(name for _, name, _ in result.functions) == ["f", "f_1", "h", "h_1", "k"]
    (actual,) = results(result, {"x": VECTOR})
    assert_same_results(actual, -np.abs(-np.exp(VECTOR)))


def test_metadata_come_together_and_conflicts_are_reported() -> None:
    original, two = parse_model(DOUBLE), parse_model(ADD, ir=11)
    original.metadata.update(a="1", b="2")
    two.metadata.update(b="3", c="4")
    two.doc = "text"
    result = merge(original, two)
    assert (result.metadata, result.doc, result.ir_version) == ({"a": "1", "b": "2", "c": "4"}, "text", 11)
    assert "metadata_props: 'b' is '3' in the second model: dropped" in map(str, result.notes)


def test_device_configurations_of_one_name_are_distinguished() -> None:
    original, two = parse_model(DOUBLE, ir=11), parse_model(ADD, ir=11)
    original.configurations = [DeviceConfiguration("gpus", 2)]
    two.configurations = [DeviceConfiguration("gpus", 4)]
    for each in (original, two):
        each.graph.nodes[0].device_configurations = [NodeDeviceConfiguration("gpus")]
    result = merge(original, two)
    assert [(c.name, c.num_devices) for c in result.configurations] == [("gpus", 2), ("gpus_1", 4)]
    used = [node.device_configurations[0].configuration_id for node in result.graph.nodes]
    assert used == ["gpus", "gpus_1"]


def training_model() -> Model:
    original = parse_record("h (float v) => (float z) <float w = {1}> { z = Mul(v, w) }")
    step = m.TrainingInfoProto()
    step.algorithm = parse_record("t () => (float n) { n = Add(w, v) }").graph
    step.update_binding = [m.StringStringEntryProto(key="w", value="n")]
    original.training_info = [step]
    return sx.load(original)


def test_the_training_step_of_one_model_is_kept() -> None:
    result = merge(parse_model("g (float x) => (float y) { y = Neg(x) }"), training_model())
    verify(result)
    (step,) = result.training
    assert step.algorithm is not None
    assert step.algorithm.nodes[0].inputs == (
        result.graph.initializers["w"],
        result.graph.nodes[0].outputs[0],
    )


def test_two_models_with_training_steps_are_refused() -> None:
    with pytest.raises(sx.InvalidModel, match="both models have training steps"):
        merge(training_model(), training_model())


@pytest.mark.parametrize(
    ("first_type", "two", "message"),
    [
        ("float[2]", "double[2]", "the element type must be double; got float; put a Cast"),
        ("float[2]", "float[3]", "lengths must be equal; got 2 and 3"),
        ("float[2]", "float[2,1]", "the rank must be 2 (float[2,1]); got 1 (float[2])"),
        ("float[2]", "seq(float[2])", "the type must be seq(float[2]); got float[2]"),
    ],
)
def test_types_must_fit(first_type: str, two: str, message: str) -> None:
    first = parse_model(f"g ({first_type} x) => ({first_type} y) {{ y = Identity(x) }}")
    second = parse_model(f"h ({two} v) => ({two} w) {{ w = Identity(v) }}")
    with pytest.raises(sx.InvalidModel) as caught:
        merge(first, second)
    assert str(caught.value).startswith(f"output 'y' into input 'v': {message}")


def test_one_variable_cannot_be_two_numbers() -> None:
    first = parse_model("g (float[2] x, float[3] u) => (float[2] y, float[3] w) { y = Neg(x)  w = Neg(u) }")
    second = parse_model("h (float[N] y, float[N] w) => (float[N] z) { z = Add(y, w) }")
    with pytest.raises(
        sx.InvalidModel, match="output 'w' into input 'w': lengths must be equal; got 3 and 2"
    ):
        merge(first, second)


def test_operator_sets_must_agree() -> None:
    with pytest.raises(sx.InvalidModel, match=r"ai\.onnx 21, the second 13; .*sardonyx convert --opset 21"):
        merge(parse_model(DOUBLE), parse_model(ADD, opset=13))


def test_public_names_are_prefixed_on_request_only() -> None:
    two = parse_model("h (float[M] v, float[M] x) => (float[M] z) { z = Add(v, x) }")
    with pytest.raises(sx.InputError, match="both models have an input or output 'x'"):
        merge(parse_model(DOUBLE), two, [("y", "v")])
    result = merge(parse_model(DOUBLE), two, [("y", "v")], prefix="b.", prefix_public=True)
    assert names(result) == (["x", "b.x"], ["z"])


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([("yy", "x")], "the first model has no output 'yy'; did you mean 'y'?"),
        ([("y", "xx")], "the second model has no input 'xx'; did you mean 'x'?"),
        ([("y", "x"), ("y", "x")], "input 'x' is named twice"),
    ],
)
def test_wrong_names_are_reported(pairs: list[tuple[str, str]], message: str) -> None:
    with pytest.raises(sx.InputError) as caught:
        merge(parse_model(DOUBLE), parse_model(ADD), pairs)
    assert message in str(caught.value)


def test_what_could_be_connected_in_several_ways_is_refused() -> None:
    two = parse_model("h (float a, float b) => (float z) { z = Mul(a, b) }")
    with pytest.raises(sx.InputError, match="state the connections"):
        merge(parse_model(DOUBLE), two)


@pytest.mark.parametrize(("name", "border"), [("dtln_2", 30), ("mnist_8", 5)])
def test_the_parts_of_a_real_model_come_together_again(name: str, border: int) -> None:
    whole, feeds = load_shared_model(name), reference_feeds(name)
    nodes = list(whole.graph.nodes)
    read_after = {v for node in nodes[border:] for v in node.inputs}
    middle = [v.name for node in nodes[:border] for v in node.outputs if v in read_after]
    first = extract(whole, outputs=middle)
    second = extract(whole, inputs=[*middle, *(v.name for v in whole.graph.inputs if v in read_after)])
    shared_inputs = {v.name for v in first.graph.inputs} & {v.name for v in second.graph.inputs}
    result = merge(first, second, [(n, n) for n in middle], prefix_public=True)
    again = {**feeds, **{f"second_{n}": feeds[n] for n in shared_inputs if n in feeds}}
    requested = {v.name for v in result.graph.inputs}
    actual = results(result, {n: v for n, v in again.items() if n in requested})
    for original, expected in zip(actual, results(whole, feeds), strict=True):
        assert_same_results(original, expected)
