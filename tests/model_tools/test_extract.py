"""`extract`: contents and results of subgraphs, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from model_tools.agreement import assert_same_results, load_shared_model, reference_feeds, results
from models import parse_model, parse_record
from sardonyx._src.ir import Model, Node
from sardonyx._src.ir.devices import DeviceConfiguration, NodeDeviceConfiguration, ShardingSpec
from sardonyx._src.ir.verify import verify
from sardonyx._src.proto import messages as m
from sardonyx._src.tools.extract import extract

CHAIN = """g (float[N,2] x, float[2] w) => (float[N,2] y) <float[2] k = {1, 2}> {
  a = Add(x, w)  b = Mul(a, k)  c = Neg(b)  y = Abs(c)
}"""
BRANCHES = """g (bool c, float[2] x) => (float[2] y) {
  a = Abs(x)  b = Exp(x)
  y = If(c) <then_branch = t () => (float[2] p) { p = Neg(a) }, else_branch = e () => (float[2] q) { q = Neg(b) }>
}"""
CALLS = """g (float[2] x) => (float[2] y, float[2] z) { y = my.f(x)  z = my.h(x) }
<opset_import: ["": 21, "my": 1], domain: "my"> f (p) => (q) { q = my.i(p) }
<opset_import: ["": 21], domain: "my"> i (p) => (q) { q = Neg(p) }
<opset_import: ["": 21], domain: "my"> h (p) => (q) { q = Abs(p) }"""


def ops(result: Model) -> list[str]:
    return [node.op_type for node in result.graph.nodes]


def test_a_part_runs_between_inner_values_and_knows_their_types() -> None:
    whole = parse_model(CHAIN)
    before = sx.to_text(whole)
    part = extract(whole, inputs=["a"], outputs=["c"])
    assert ops(part) == ["Mul", "Neg"]
    assert [str(v.type) for v in (*part.graph.inputs, *part.graph.outputs)] == ["float[N,2]", "float[N,2]"]
    (result,) = results(part, {"a": np.array([[1, 2], [3, 4]], np.float32)})
    assert np.asarray(result).tolist() == [[-1, -4], [-3, -8]]
    assert sx.to_text(whole) == before


def test_without_inputs_the_part_has_those_of_the_models_that_it_needs() -> None:
    part = extract(
        parse_model("g (float x, float z) => (float y, float u) { y = Neg(x) u = Abs(z) }"), outputs=["y"]
    )
    assert [v.name for v in part.graph.inputs] == ["x"]
    assert ops(part) == ["Neg"]


def test_what_a_branch_reads_from_outside_is_computed_too() -> None:
    part = extract(parse_model(BRANCHES), inputs=["c", "x", "a"], outputs=["y"])
    assert ops(part) == ["Exp", "If"]
    for c, expected in ((True, [-5, -6]), (False, [-1, -1])):
        feeds = {"c": np.array(c), "x": np.zeros(2, np.float32), "a": np.array([5, 6], np.float32)}
        (result,) = results(part, feeds)
        assert np.asarray(result).tolist() == expected


def test_a_branch_hides_no_input() -> None:
    text = """g (bool c, float[2] x) => (float[2] y) {
      y = If(c) <then_branch = t () => (float[2] p) { p = Neg(x) }, else_branch = e () => (float[2] q) { p = Abs(x)  q = Exp(p) }>
      z = Abs(y)
    }"""
    whole = parse_model(
        text.replace("z = Abs(y)", "p = Abs(y)  r = Neg(p)").replace(
            "=> (float[2] y)", "=> (float[2] y, float[2] r)"
        )
    )
    part = extract(whole, inputs=["c", "x", "p"])
    branches = [
        v.name for node in part.graph.nodes for g in node.subgraphs for n in g.nodes for v in n.outputs
    ]
    assert branches == ["p_1", "p_2", "q"]


def test_only_functions_that_are_called_are_kept() -> None:
    part = extract(parse_model(CALLS, more='"my": 1'), outputs=["y"])
    assert sorted(name for _, name, _ in part.functions) == ["f", "i"]
    assert [str(note) for note in part.notes] == ["functions: my.h is no longer called: removed"]
    (result,) = results(part, {"x": np.array([1, 2], np.float32)})
    assert np.asarray(result).tolist() == [-1, -2]


def test_one_output_of_a_node_may_be_given_while_another_is_computed() -> None:
    whole = parse_model("g (float[4] x) => (float[2] y) { a, b = Split<num_outputs = 2>(x)  y = Sub(a, b) }")
    part = extract(whole, inputs=["x", "a"])
    (result,) = results(part, {"x": np.arange(4, dtype=np.float32), "a": np.array([10, 20], np.float32)})
    assert np.asarray(result).tolist() == [8, 17]


@pytest.mark.parametrize(
    ("text", "inputs"),
    [
        (
            "g (float[4] x) => (float[2] z) <int64[1] k = {2}> { v, i = TopK(x, k) c = Cast<to = 1>(i) z = Add(v, c) }",
            "x v",
        ),
        (
            "g (float[6] x) => (float[2] z) { v, b, c = Split<axis = 0, num_outputs = 3>(x) d = Add(v, b) z = Add(d, c) }",
            "x v",
        ),
    ],
)
def test_outputs_that_are_given_instead_keep_a_name_on_their_node(text: str, inputs: str) -> None:
    part = extract(parse_model(text), inputs=inputs.split(), outputs=["z"])
    node = part.graph.nodes[0]
    assert all(output.name for output in node.outputs) and "v" not in [output.name for output in node.outputs]
    assert str(node.outputs[0].type) == "float[2]"
    assert sx.check(part).ok


def test_an_initializer_that_is_named_becomes_an_input() -> None:
    part = extract(parse_model(CHAIN), inputs=["b", "k"], outputs=["y"])
    assert [v.name for v in part.graph.inputs] == ["b", "k"]
    assert not part.graph.initializers
    assert [str(note) for note in part.notes] == ["graph.input: 'k' reaches none of the outputs"]


def test_a_default_that_is_needed_stays_a_default() -> None:
    whole = parse_model("g (float[1] x, float[1] w) => (float[1] y) <float[1] w = {3}> { y = Mul(x, w) }")
    part = extract(whole, inputs=["x"], outputs=["y"])
    assert [v.name for v in part.graph.inputs] == ["x", "w"]
    (result,) = results(part, {"x": np.array([2], np.float32)})
    assert np.asarray(result).tolist() == [6]


def test_texts_metadata_and_imports_are_kept() -> None:
    whole = parse_model(CHAIN, more='"my": 3')
    whole.doc, whole.metadata["a"], whole.graph.metadata["b"], whole.graph.doc = "d", "1", "2", "e"
    part = extract(whole, outputs=["b"])
    assert (part.doc, part.metadata, part.graph.metadata, part.graph.doc) == (
        "d",
        {"a": "1"},
        {"b": "2"},
        "e",
    )
    assert part.opset_imports == {"": 21, "my": 3}


def annotated_model() -> Model:
    original = parse_record(
        "g (float[2] x) => (float[2] y) <float s = {1}, float r = {2}> { a = Neg(x)  b = Abs(a)  y = Exp(b) }"
    )
    assert original.graph is not None
    for value, scale in (("a", "s"), ("b", "r"), ("y", "a")):
        entry = m.StringStringEntryProto(key="SCALE_TENSOR", value=scale)
        original.graph.quantization_annotation = [
            *original.graph.quantization_annotation,
            m.TensorAnnotation(tensor_name=value, quant_parameter_tensor_names=[entry]),
        ]
    return sx.load(original)


def test_annotations_stay_with_their_values_and_keep_their_scales() -> None:
    part = extract(annotated_model(), inputs=["b"])
    (remaining,) = part.graph.quantization_annotations
    assert remaining.tensor is part.graph.inputs[0]
    assert list(part.graph.initializers) == ["r"]
    assert [note.location for note in part.notes] == ["quantization_annotation"]


def test_a_sharded_value_stays_sharded_as_an_input() -> None:
    whole = parse_model("g (float[4] x) => (float[4] y) { a = Neg(x)  y = Abs(a) }", ir=11)
    last = whole.graph.nodes[-1]
    last.device_configurations = [
        NodeDeviceConfiguration("gpus", [ShardingSpec(last.inputs[0] or "", [0, 1])])
    ]
    whole.configurations = [DeviceConfiguration("gpus", 2)]
    part = extract(whole, inputs=["a"])
    ((spec,),) = [c.sharding_spec for c in part.graph.nodes[0].device_configurations]
    assert spec.tensor is part.graph.inputs[0]
    assert [c.name for c in part.configurations] == ["gpus"]


def training_model() -> Model:
    original = parse_record("g (float x) => (float y) <float w = {1}> { a = Mul(x, w)  y = Neg(a) }")
    step = m.TrainingInfoProto()
    step.algorithm = parse_record("t () => (float v) { v = Add(w, a) }").graph
    step.update_binding = [m.StringStringEntryProto(key="w", value="v")]
    original.training_info = [step]
    return sx.load(original)


def test_a_training_step_stays_where_all_that_it_needs_is_kept() -> None:
    part = extract(training_model(), outputs=["a"])
    verify(part)
    (step,) = part.training
    assert step.update_binding[0][0] is part.graph.initializers["w"]


def test_a_training_step_is_removed_with_what_it_needs() -> None:
    part = extract(sx.load(trained_apart()), outputs=["z"])
    verify(part)
    assert not part.training
    assert [str(n) for n in part.notes] == ["training_info[0]: needs 'a', which is removed: removed too"]


def trained_apart() -> Model:
    original = training_model()
    x = original.graph.inputs[0]
    node = original.graph.append(Node("Abs", [x], [sx.Builder(21).input("z", sx.DataType.FLOAT, [])]))
    original.graph.outputs.append(node.outputs[0])
    return original


@pytest.mark.parametrize(
    ("text", "inputs", "outputs", "message"),
    [
        (CHAIN, None, ["aa"], "the graph has no value 'aa'; did you mean 'a'?"),
        (CHAIN, ["x"], ["y"], "need inputs that are not given: 'w' (through y <- c <- b <- a <- w)"),
        (BRANCHES, ["p"], ["y"], "'p' is a value of the subgraph node[2] (If).then_branch"),
        (CHAIN, ["a", "a"], ["y"], "input 'a' is named twice"),
        (CHAIN, ["x", "w"], [], "must name at least one value"),
    ],
)
def test_what_cannot_be_cut_out_is_reported(
    text: str, inputs: list[str] | None, outputs: list[str], message: str
) -> None:
    with pytest.raises(sx.InputError) as caught:
        extract(parse_model(text), inputs=inputs, outputs=outputs)
    assert message in str(caught.value)


def test_an_input_of_unknown_type_is_refused() -> None:
    whole = parse_model("g (float x) => (float y) { a = my.Op(x)  y = Neg(a) }", more='"my": 1')
    with pytest.raises(sx.InputError, match="the type of 'a' is unknown; declare it"):
        extract(whole, inputs=["a"])


@pytest.mark.parametrize(("name", "middle"), [("dtln_2", 30), ("silero_vad_v3", 40), ("mnist_8", 5)])
def test_two_parts_of_a_real_model_compute_what_it_computes(name: str, middle: int) -> None:
    whole = load_shared_model(name)
    feeds = reference_feeds(name)
    expected = sx.Session(whole, engine="reference").run(feeds)
    border = borders(whole, middle)
    first = extract(whole, outputs=border)
    result = sx.Session(first, engine="reference").run(
        {v.name: feeds[v.name] for v in first.graph.inputs if v.initializer is None}
    )
    second = extract(whole, inputs=[*border, *(n for n in feeds if n not in border)])
    verify(second)
    rest = sx.Session(second, engine="reference").run({**feeds, **result})
    for output, value in expected.items():
        assert_same_results(rest[output], value)


def borders(whole: Model, middle: int) -> list[str]:
    """The values produced before the middle node and read after it."""
    nodes = list(whole.graph.nodes)
    before, after = set(nodes[:middle]), nodes[middle:]
    read = [v for node in after for v in node.inputs if v is not None and v.producer in before]
    return list(dict.fromkeys(v.name for v in read))
