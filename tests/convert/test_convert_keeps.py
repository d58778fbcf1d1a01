"""What a conversion preserves: initializers of old IR versions, devices, constants, texts."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from models import only, parse_model, parse_record
from sardonyx._src.convert.conversion import convert
from sardonyx._src.errors import InputError, LimitError
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir import Attribute, Graph, Model, Node, Value
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.details import SourceDetails, unknown_fields
from sardonyx._src.proto import messages as m

SQUEEZE = "g (float[1,2] x) => (float[2] y) { y = Squeeze<axes = [0]>(x) }"


def faults(original: Model) -> list[str]:
    return [str(d) for d in sx.check(original).of("error")]


def test_what_is_added_under_ir_3_is_an_input_too() -> None:
    text = "g (float[2,3] x) => (float[6] y) { y = Reshape<shape = [-1]>(x) }"
    converted = convert(parse_model(text, opset=1, ir=3), 5)
    assert converted.ir_version == 3
    assert [v.name for v in converted.graph.inputs] == ["x", "y_constant"]
    assert faults(converted) == []


def test_initializers_of_subgraphs_go_to_the_graph_around_under_ir_3() -> None:
    text = """g (float[2] x, int64 n, bool c) => (float[2] y) <float[2] w = {5, 6}> {
      h = Add(x, w)
      y = Loop (n, c, h) <body = b (int64 i, bool k, float[2] a) => (bool k2, float[2] r) <float[2] v = {1, 2}> {
        k2 = Identity(k)  r = Add(a, v)
      }>
    }"""
    converted = convert(parse_model(text, opset=8, ir=4), ir_version=3)
    assert [v.name for v in converted.graph.inputs] == ["x", "n", "c", "w", "v"]
    assert faults(converted) == []
    feeds = {"x": np.zeros(2, np.float32), "n": np.array(3), "c": np.array(True)}
    assert np.asarray(Interpreter(converted).run(feeds)["y"]).tolist() == [8, 12]


def test_constants_that_became_attributes_are_removed() -> None:
    up = convert(parse_model(SQUEEZE, opset=11), 28)
    assert [n.op_type for n in convert(up, 11).graph.nodes] == ["Squeeze"]


def test_constants_that_something_else_mentions_are_kept() -> None:
    text = """g (float[1,2] x) => (float[2] y, int64[1] a) {
      a = Constant<value = int64[1] {0}>()  y = Squeeze(x, a)
    }"""
    assert [n.op_type for n in convert(parse_model(text, opset=13), 11).graph.nodes] == [
        "Constant",
        "Squeeze",
    ]


def test_shards_are_named_where_their_tensors_are() -> None:
    original = parse_record(
        "g (float[2,3,4] x) => (float[2,3,4] y) { y = Softmax<axis = 1>(x) }", opset=11, ir=11
    )
    original.configuration = [m.DeviceConfigurationProto(name="two", num_devices=2, device=["a", "b"])]
    specs = [m.ShardingSpecProto(tensor_name=name, device=[0]) for name in ("x", "y")]
    assert original.graph is not None
    original.graph.node[0].device_configurations = [
        m.NodeDeviceConfigurationProto(configuration_id="two", sharding_spec=specs)
    ]
    converted = convert(sx.load(original), 13)
    assert faults(converted) == []
    result = {
        node.op_type: [s.tensor for d in node.device_configurations for s in d.sharding_spec]
        for node in converted.graph.nodes
        if node.device_configurations
    }
    x, y = converted.graph.inputs[0], converted.graph.outputs[0]
    assert result == {"Flatten": [x], "Softmax": [], "Shape": [x], "Reshape": [y]}


def test_a_set_that_is_needed_is_imported() -> None:
    trees = """nodes_treeids = [0, 0, 0], nodes_nodeids = [0, 1, 2], nodes_featureids = [0, 0, 0],
      nodes_values = [0.5, 0.0, 0.0], nodes_modes = ["BRANCH_LEQ", "LEAF", "LEAF"], nodes_truenodeids = [1, 0, 0],
      nodes_falsenodeids = [2, 0, 0], target_treeids = [0, 0], target_nodeids = [1, 2], target_ids = [0, 0],
      target_weights = [1.5, -2.0], n_targets = 1"""
    original = parse_model(
        f"g (double[N,1] x) => (float[N,1] y) {{ y = ai.onnx.ml.TreeEnsembleRegressor<{trees}>(x) }}",
        more='"ai.onnx.ml": 3',
    )
    del original.opset_imports[""]
    assert convert(original, 17, sets={"ai.onnx.ml": 5}).opset_imports == {"ai.onnx.ml": 5, "": 17}
    converted = convert(original, sets={"ai.onnx.ml": 5})
    x = np.array([[0.5], [1]])
    assert np.asarray(Interpreter(converted).run({"x": x})["y"]).tolist() == [[1.5], [-2]]


def test_fields_of_later_formats_stay_with_the_node() -> None:
    original = parse_model("g (float[2,3] x) => (float[2,3] y) { y = Softmax<axis = 0>(x) }", opset=11)
    only(original.graph, "Softmax").details = SourceDetails(unknown=(b"\x98\x06\x07",))
    assert unknown_fields(only(convert(original, 13).graph, "Softmax").details) == (b"\x98\x06\x07",)


def test_two_versions_of_one_set_are_refused() -> None:
    with pytest.raises(InputError, match="must be requested; got 13 and 14"):
        convert(parse_model(SQUEEZE), 13, sets={"": 14})


def test_graphs_nested_beyond_the_stack_are_refused() -> None:
    x, c = Value("x"), Value("c")
    node = Node("Relu", [x], [Value("y")])
    for i in range(2000):
        branch = Graph(f"t{i}")
        branch.append(node)
        branch.outputs = [node.outputs[0]]
        attribute = Attribute("then_branch", AttributeType.GRAPH, branch)
        node = Node("If", [c], [Value(f"y{i}")], {"then_branch": attribute})
    graph = Graph("g", [x, c])
    graph.append(node)
    with pytest.raises(LimitError, match="nested deeper"):
        convert(Model(graph, ir_version=8, opset_imports={"": 13}), 11)


def test_regression_trees_go_up_and_come_back() -> None:
    trees = """nodes_treeids = [0, 0, 0], nodes_nodeids = [0, 1, 2], nodes_featureids = [0, 0, 0],
      nodes_values = [0.5, 0.0, 0.0], nodes_modes = ["BRANCH_LEQ", "LEAF", "LEAF"], nodes_truenodeids = [1, 0, 0],
      nodes_falsenodeids = [2, 0, 0], target_treeids = [0, 0], target_nodeids = [1, 2], target_ids = [0, 0],
      target_weights = [1.5, -2.0], n_targets = 1"""
    original = parse_model(
        f"g (float[N,1] x) => (float[N,1] y) {{ y = ai.onnx.ml.TreeEnsembleRegressor<{trees}>(x) }}",
        more='"ai.onnx.ml": 3',
    )
    up = convert(original, sets={"ai.onnx.ml": 5})
    assert [n.op_type for n in up.graph.nodes] == ["TreeEnsemble"]
    back = convert(up, sets={"ai.onnx.ml": 3})
    assert [n.op_type for n in back.graph.nodes] == ["TreeEnsembleRegressor"]
    x = np.array([[0.5], [1]], np.float32)
    for result in (up, back):
        assert np.asarray(Interpreter(result).run({"x": x})["y"]).tolist() == [[1.5], [-2]]
