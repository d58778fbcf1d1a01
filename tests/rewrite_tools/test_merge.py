"""Two models made into one."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from models import model, record
from rewrite_tools.agreement import only_result, reference_feeds, results, same, shared
from sardonyx._src.ir.graph import DeviceConfiguration, Model, NodeDeviceConfiguration
from sardonyx._src.ir.verify import verify
from sardonyx._src.proto import messages as m
from sardonyx._src.rewrite.tools.extract import extract
from sardonyx._src.rewrite.tools.merge import merge

DOUBLE = "g (float[N] x) => (float[N] y) <float t = {2}> { y = Mul(x, t) }"
ADD = "h (float[N] x) => (float[N] y) <float t = {3}> { y = Add(x, t) }"
VECTOR = np.array([1, 2], np.float32)


def names(found: Model) -> tuple[list[str], list[str]]:
    return [v.name for v in found.graph.inputs], [v.name for v in found.graph.outputs]


def test_the_only_output_feeds_the_only_input() -> None:
    one, two = model(DOUBLE), model(ADD)
    texts = sx.to_text(one), sx.to_text(two)
    found = merge(one, two)
    assert names(found) == (["x"], ["y"])
    assert only_result(found, {"x": VECTOR}) == [5, 7]
    assert list(found.graph.initializers) == ["t", "second_t"]
    assert (sx.to_text(one), sx.to_text(two)) == texts


def test_a_model_can_follow_itself() -> None:
    assert only_result(merge(model(DOUBLE), model(DOUBLE)), {"x": VECTOR}) == [4, 8]


def test_equal_names_are_connected_and_the_rest_stays() -> None:
    one = model("g (float x) => (float a, float b) { a = Neg(x)  b = Abs(x) }")
    two = model("h (float a, float k) => (float z) { z = Mul(a, k) }")
    found = merge(one, two)
    assert names(found) == (["x", "k"], ["b", "z"])
    feeds = {"x": np.float32(3), "k": np.float32(2)}
    assert [np.asarray(r).item() for r in results(found, feeds)] == [3, -6]


def test_an_output_can_feed_several_inputs_and_stay() -> None:
    two = model("h (float[2] p, float[2] q) => (float[2] z) { z = Mul(p, q) }")
    found = merge(model(DOUBLE), two, [("y", "p"), ("y", "q")], keep_connected=True)
    assert names(found) == (["x"], ["y", "z"])
    assert [np.asarray(r).tolist() for r in results(found, {"x": VECTOR})] == [[2, 4], [4, 16]]


def test_an_input_that_is_handed_on_keeps_the_outputs_name() -> None:
    two = model("h (float[M] x) => (float[M] x, float[M] z) { z = Neg(x) }")
    found = merge(model(DOUBLE.replace("x", "u")), two)
    assert names(found) == (["u"], ["x", "z"])
    assert [np.asarray(r).tolist() for r in results(found, {"u": VECTOR})] == [[2, 4], [-2, -4]]


def test_an_input_that_is_handed_on_under_its_own_name_is_the_output_itself() -> None:
    two = model("h (float[M] y) => (float[M] y, float[M] z) { z = Neg(y) }")
    for keep in (False, True):
        found = merge(model(DOUBLE), two, keep_connected=keep)
        assert names(found) == (["x"], ["y", "z"])
        assert [np.asarray(r).tolist() for r in results(found, {"x": VECTOR})] == [[2, 4], [-2, -4]]


def test_a_branch_reads_what_it_is_fed() -> None:
    two = model(
        "h (bool c, float[2] v) => (float[2] z) { z = If(c) <"
        "then_branch = t () => (float[2] p) { p = Neg(v) }, else_branch = e () => (float[2] x) { x = Abs(v) }> }"
    )
    found = merge(model(DOUBLE), two, [("y", "v")])
    assert only_result(found, {"x": VECTOR, "c": np.array(True)}) == [-2, -4]
    assert only_result(found, {"x": VECTOR, "c": np.array(False)}) == [2, 4]


def test_graphs_of_one_name_are_told_apart() -> None:
    text = (
        "g (bool c, float[2] x) => (float[2] y) { y = If(c) <"
        "then_branch = t () => (float[2] p) { p = Neg(x) }, else_branch = e () => (float[2] q) { q = Abs(x) }> }"
    )
    found = merge(model(text), model(text.replace("c", "d")), [("y", "x")])
    assert [g.name for node in found.graph.nodes for g in node.subgraphs] == [
        "t",
        "e",
        "second_t",
        "second_e",
    ]


def test_dims_that_meet_become_one_and_others_stay_apart() -> None:
    one = model("g (float[N,K] x, float[M] u) => (float[N,K] y, float[M] w) { y = Neg(x)  w = Neg(u) }")
    two = model("h (float[B,4] y, float[N] v) => (float[B,4] z, float[N] q) { z = Abs(y)  q = Abs(v) }")
    found = merge(one, two)
    types = [str(v.type) for v in (*found.graph.inputs, *found.graph.outputs)]
    assert types == ["float[N,4]", "float[M]", "float[N_1]", "float[M]", "float[N,4]", "float[N_1]"]


def test_equal_functions_are_kept_once_and_others_renamed() -> None:
    text = """g (float[2] x) => (float[2] y) {{ y = my.f(x) }}
    <opset_import: ["": 21, "my": 1], domain: "my"> f (p) => (q) {{ a = my.h(p)  q = my.k(a) }}
    <opset_import: ["": 21], domain: "my"> k (p) => (q) {{ q = Neg(p) }}
    <opset_import: ["": 21], domain: "my"> h (p) => (q) {{ q = {}(p) }}"""
    one, two = (model(text.format(op), more='"my": 1') for op in ("Exp", "Abs"))
    found = merge(one, two)
    assert sorted(name for _, name, _ in found.functions) == ["f", "f_1", "h", "h_1", "k"]
    (actual,) = results(found, {"x": VECTOR})
    same(actual, -np.abs(-np.exp(VECTOR)))


def test_metadata_come_together_and_conflicts_are_told() -> None:
    one, two = model(DOUBLE), model(ADD, ir=11)
    one.metadata.update(a="1", b="2")
    two.metadata.update(b="3", c="4")
    two.doc = "text"
    found = merge(one, two)
    assert (found.metadata, found.doc, found.ir_version) == ({"a": "1", "b": "2", "c": "4"}, "text", 11)
    assert "metadata_props: 'b' is '3' in the second model: left out" in map(str, found.notes)


def test_device_configurations_of_one_name_are_told_apart() -> None:
    one, two = model(DOUBLE, ir=11), model(ADD, ir=11)
    one.configurations = [DeviceConfiguration("gpus", 2)]
    two.configurations = [DeviceConfiguration("gpus", 4)]
    for each in (one, two):
        each.graph.nodes[0].device_configurations = [NodeDeviceConfiguration("gpus")]
    found = merge(one, two)
    assert [(c.name, c.num_devices) for c in found.configurations] == [("gpus", 2), ("gpus_1", 4)]
    used = [node.device_configurations[0].configuration_id for node in found.graph.nodes]
    assert used == ["gpus", "gpus_1"]


def trained() -> Model:
    one = record("h (float v) => (float z) <float w = {1}> { z = Mul(v, w) }")
    step = m.TrainingInfoProto()
    step.algorithm = record("t () => (float n) { n = Add(w, v) }").graph
    step.update_binding = [m.StringStringEntryProto(key="w", value="n")]
    one.training_info = [step]
    return sx.load(one)


def test_the_training_step_of_one_model_stays() -> None:
    found = merge(model("g (float x) => (float y) { y = Neg(x) }"), trained())
    verify(found)
    (step,) = found.training
    assert step.algorithm is not None
    assert step.algorithm.nodes[0].inputs == (found.graph.initializers["w"], found.graph.nodes[0].outputs[0])


def test_two_models_with_training_steps_are_refused() -> None:
    with pytest.raises(sx.InvalidModel, match="both models have training steps"):
        merge(trained(), trained())


@pytest.mark.parametrize(
    ("one", "two", "message"),
    [
        ("float[2]", "double[2]", "elements of float meet double; put a Cast"),
        ("float[2]", "float[3]", "length 2 meets length 3"),
        ("float[2]", "float[2,1]", "rank 1 (float[2]) meets rank 2 (float[2,1])"),
        ("float[2]", "seq(float[2])", "a value of type float[2] cannot be a seq(float[2])"),
    ],
)
def test_types_must_fit(one: str, two: str, message: str) -> None:
    first = model(f"g ({one} x) => ({one} y) {{ y = Identity(x) }}")
    second = model(f"h ({two} v) => ({two} w) {{ w = Identity(v) }}")
    with pytest.raises(sx.InvalidModel) as caught:
        merge(first, second)
    assert str(caught.value).startswith(f"output 'y' into input 'v': {message}")


def test_one_variable_cannot_be_two_numbers() -> None:
    first = model("g (float[2] x, float[3] u) => (float[2] y, float[3] w) { y = Neg(x)  w = Neg(u) }")
    second = model("h (float[N] y, float[N] w) => (float[N] z) { z = Add(y, w) }")
    with pytest.raises(sx.InvalidModel, match="output 'w' into input 'w': length 3 meets length 2"):
        merge(first, second)


def test_operator_sets_must_agree() -> None:
    with pytest.raises(sx.InvalidModel, match=r"ai\.onnx 21, the second 13; .*sardonyx convert --opset 21"):
        merge(model(DOUBLE), model(ADD, opset=13))


def test_public_names_are_prefixed_on_request_only() -> None:
    two = model("h (float[M] v, float[M] x) => (float[M] z) { z = Add(v, x) }")
    with pytest.raises(sx.InputError, match="both models have an input or output 'x'"):
        merge(model(DOUBLE), two, [("y", "v")])
    found = merge(model(DOUBLE), two, [("y", "v")], prefix="b.", prefix_public=True)
    assert names(found) == (["x", "b.x"], ["z"])


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([("yy", "x")], "the first model has no output 'yy'; did you mean 'y'?"),
        ([("y", "xx")], "the second model has no input 'xx'; did you mean 'x'?"),
        ([("y", "x"), ("y", "x")], "input 'x' is named twice"),
    ],
)
def test_wrong_names_are_told(pairs: list[tuple[str, str]], message: str) -> None:
    with pytest.raises(sx.InputError) as caught:
        merge(model(DOUBLE), model(ADD), pairs)
    assert message in str(caught.value)


def test_what_could_be_connected_in_several_ways_is_refused() -> None:
    two = model("h (float a, float b) => (float z) { z = Mul(a, b) }")
    with pytest.raises(sx.InputError, match="say which feed which"):
        merge(model(DOUBLE), two)


@pytest.mark.parametrize(("name", "border"), [("dtln_2", 30), ("mnist_8", 5)])
def test_the_parts_of_a_real_model_come_together_again(name: str, border: int) -> None:
    whole, feeds = shared(name), reference_feeds(name)
    nodes = list(whole.graph.nodes)
    behind = {v for node in nodes[border:] for v in node.inputs}
    middle = [v.name for node in nodes[:border] for v in node.outputs if v in behind]
    first = extract(whole, outputs=middle)
    second = extract(whole, inputs=[*middle, *(v.name for v in whole.graph.inputs if v in behind)])
    shared_inputs = {v.name for v in first.graph.inputs} & {v.name for v in second.graph.inputs}
    found = merge(first, second, [(n, n) for n in middle], prefix_public=True)
    again = {**feeds, **{f"second_{n}": feeds[n] for n in shared_inputs if n in feeds}}
    wanted = {v.name for v in found.graph.inputs}
    actual = results(found, {n: v for n, v in again.items() if n in wanted})
    for one, expected in zip(actual, results(whole, feeds), strict=True):
        same(one, expected)
