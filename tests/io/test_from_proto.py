"""Conversion of records to graphs: sloppy but unambiguous files are repaired, ambiguous ones rejected."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from models import load_record, only, parse_function, parse_model, parse_record
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import InvalidModel
from sardonyx._src.io.serde import to_proto
from sardonyx._src.ir import Model, SparseTensor, TensorType
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.verify import verify
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.binary import decode, encode

PLAIN = "g (float[2] x) => (float[2] y) { y = Abs(x) }"


def notes(model: Model) -> str:
    return "\n".join(map(str, model.notes))


def assert_rejected(record: m.ModelProto, match: str) -> None:
    with pytest.raises(InvalidModel, match=match):
        load_record(record)


# --- repaired --------------------------------------------------------------------------------


def test_a_tidy_model_has_no_notes() -> None:
    assert parse_model(PLAIN).notes == []


def test_unsorted_nodes_are_sorted_and_noted() -> None:
    model = parse_model("g (float[2] x) => (float[2] y) { y = Neg(a)  a = Abs(x) }")
    assert [n.op_type for n in model.graph.nodes] == ["Abs", "Neg"]
    assert "sorted" in notes(model)
    verify(model)


def test_a_subgraph_that_reads_a_later_value_moves_its_node() -> None:
    model = parse_model("""
        g (bool c, float[2] x) => (float[2] y) {
          y = If(c) <then_branch = t () => (float[2] p) { p = Neg(a) }, else_branch = e () => (float[2] q) { q = Abs(x) }>
          a = Abs(x)
        }""")
    assert [n.op_type for n in model.graph.nodes] == ["Abs", "If"]
    assert len(only(model.graph, "Abs").outputs[0].uses) == 1  # nothing is left of the first attempt
    verify(model)


def test_independent_nodes_keep_their_order() -> None:
    model = parse_model("g (float[2] x) => (float[2] y) { b = Exp(x)  y = Neg(a)  c = Log(x)  a = Abs(x) }")
    assert [n.op_type for n in model.graph.nodes] == ["Exp", "Abs", "Neg", "Log"]


def test_a_branch_that_returns_an_outer_value_passes_it_through() -> None:
    record = parse_record("""
        g (bool c, float[2] x) => (float[2] y) {
          y = If(c) <then_branch = t () => (float[2] x) { }, else_branch = e () => (float[2] q) { q = Abs(x) }>
        }""")
    model = load_record(record)
    branch = only(model.graph, "If").attributes["then_branch"].graphs[0]
    assert [n.op_type for n in branch.nodes] == ["Identity"]
    assert "an Identity was inserted" in notes(model)


def test_of_two_imports_of_a_domain_the_higher_binds() -> None:
    model = parse_model(PLAIN, more='"ai.onnx": 7')
    assert model.opset_imports == {"": 21}
    assert "the higher version applies" in notes(model)


def test_an_import_that_no_node_uses_is_noted() -> None:
    model = parse_model(PLAIN, more='"com.microsoft": 1')
    assert model.opset_imports == {"": 21, "com.microsoft": 1}
    assert "'com.microsoft' is imported but not used" in notes(model)


def test_a_metadata_key_that_occurs_twice_takes_its_last_value() -> None:
    record = parse_record(PLAIN)
    record.metadata_props = [m.StringStringEntryProto(key="k", value=v) for v in "ab"]
    model = load_record(record)
    assert model.metadata == {"k": "b"}
    assert "occurs twice" in notes(model)


def test_value_info_about_nothing_is_noted() -> None:
    record = parse_record(PLAIN)
    assert record.graph is not None
    record.graph.value_info = [m.ValueInfoProto(name="ghost")]
    assert "'ghost'" in notes(load_record(record))


def test_a_later_ir_version_is_noted() -> None:
    assert "newer than" in notes(parse_model(PLAIN, ir=99))


def test_the_first_ir_versions_import_nothing() -> None:
    record = parse_record(PLAIN, ir=2)
    record.opset_import = []
    assert load_record(record).opset_imports == {"": 1}


def test_attributes_of_ir_version_1_have_the_type_of_their_field() -> None:
    record = parse_record("g (float[2,2] x) => (float[2,2] y) { y = Transpose<perm = [1, 0]>(x) }", ir=1)
    assert record.graph is not None
    record.graph.node[0].attribute[0].clear("type")
    attribute = only(load_record(record).graph, "Transpose").attributes["perm"]
    assert attribute.type is AttributeType.INTS
    assert attribute.value == (1, 0)


def test_a_typed_attribute_without_value_is_the_zero_that_proto3_leaves_out() -> None:
    record = parse_record("g (float[2] x) => (float[2] y) { y = Softmax<axis = 0>(x) }")
    assert record.graph is not None
    record.graph.node[0].attribute[0].clear("i")
    assert only(load_record(record).graph, "Softmax").attributes["axis"].value == 0


# --- refused ---------------------------------------------------------------------------------


def test_a_cycle_is_named() -> None:
    assert_rejected(
        parse_record("g (float[2] x) => (float[2] y) { a = Add(x, b)  b = Abs(a)  y = Neg(b) }"),
        r"graph: a graph must be acyclic; got the cycle node\[0\] 'Add' -> node\[1\] 'Abs' -> node\[0\]",
    )


def test_an_undefined_name_suggests_the_near_one() -> None:
    assert_rejected(
        parse_record("g (float[2] images) => (float[2] y) { y = Abs(image) }"),
        r"graph\.node\[0\] \(Abs\): input 0 must be a value in scope; got 'image'.*did you mean 'images'",
    )


def test_a_value_of_a_branch_is_not_visible_outside() -> None:
    assert_rejected(
        parse_record("""
        g (bool c, float[2] x) => (float[2] y) {
          z = If(c) <then_branch = t () => (float[2] p) { p = Neg(x) }, else_branch = e () => (float[2] q) { q = Abs(x) }>
          y = Abs(p)
        }"""),
        "must be a value in scope; got 'p'",
    )


def test_a_second_definition_is_refused() -> None:
    assert_rejected(
        parse_record("g (float[2] x) => (float[2] y) { y = Abs(x)  y = Neg(x) }"),
        r"node\[1\] \(Neg\): names of values must be unique in a graph; got 'y' twice, here and from node\[0\] \(Abs\)",
    )
    assert_rejected(
        parse_record(
            """g (float[2] x) => (float[2] y) { y = Add(x, c)  [one] c = Constant <value_float = 1.0> ()
               [two] c = Constant <value_float = 2.0> () }"""
        ),
        r"node\[1\] 'one' \(Constant\): .* got 'c' twice, here and from node\[2\] 'two' \(Constant\)",
    )
    assert_rejected(
        parse_record("g (float[2] x) => (float[2] y) { y, y = Split <num_outputs = 2> (x) }"),
        r"node\[0\] \(Split\): names of values must be unique in a graph; got 'y' twice$",
    )
    assert_rejected(
        parse_record("g (float[2] x) => (float[2] x) { x = Abs(x) }"),
        "must be unique in a graph; got 'x' twice",
    )


def test_an_output_without_a_producer_is_rejected() -> None:
    assert_rejected(
        parse_record("g (float[2] x) => (float[2] z) { y = Abs(x) }"),
        r"output\[0\]: a graph output must be a value in scope; got 'z'",
    )


def test_inputs_of_one_name_are_refused() -> None:
    assert_rejected(
        parse_record("g (float[2] x, float[2] x) => (float[2] y) { y = Abs(x) }"),
        r"names of inputs must be unique; got 'x' twice",
    )


def test_a_model_without_graph_is_refused() -> None:
    assert_rejected(m.ModelProto(ir_version=8), "must have a graph")


def test_a_reference_outside_of_a_function_is_refused() -> None:
    record = parse_record("g (float[2] x) => (float[2] y) { y = Softmax<axis = 0>(x) }")
    assert record.graph is not None
    record.graph.node[0].attribute = [m.AttributeProto(name="axis", type=2, ref_attr_name="a")]
    assert_rejected(record, "must be in a function body")


def test_an_attribute_that_holds_another_type_is_refused() -> None:
    record = parse_record("g (float[2] x) => (float[2] y) { y = Softmax<axis = 0>(x) }")
    assert record.graph is not None
    record.graph.node[0].attribute = [m.AttributeProto(name="axis", type=2, f=1.0)]
    assert_rejected(record, "of type INT must have a value of that type; got f")


def test_an_attribute_given_twice_is_refused() -> None:
    record = parse_record("g (float[2] x) => (float[2] y) { y = Softmax<axis = 0>(x) }")
    assert record.graph is not None
    record.graph.node[0].attribute.append(m.AttributeProto(name="axis", type=2, i=1))
    assert_rejected(record, "attributes of a node must be unique; got 'axis' twice")


def test_functions_that_call_each_other_are_refused() -> None:
    record = parse_record(PLAIN, more='"l": 1')
    record.functions = [
        parse_function('<domain: "l", opset_import: ["l": 1]> a (x) => (y) { y = l.b(x) }'),
        parse_function('<domain: "l", opset_import: ["l": 1]> b (x) => (y) { y = l.a(x) }'),
    ]
    assert_rejected(record, "must not be recursive; got a -> b -> a")


def test_two_functions_of_one_identity_are_refused() -> None:
    record = parse_record(PLAIN)
    record.functions = [
        parse_function('<domain: "l", opset_import: ["": 21]> f (x) => (y) { y = Abs(x) }')
    ] * 2
    assert_rejected(record, "functions must be unique; got l.f")


def test_a_function_does_not_see_the_graph_that_calls_it() -> None:
    record = parse_record(PLAIN, more='"l": 1')
    record.functions = [
        parse_function('<domain: "l", opset_import: ["": 21]> f (a) => (b) { b = Add(a, x) }')
    ]
    assert_rejected(
        record, r"functions\[0\] 'f'\.node\[0\] \(Add\): input 1 must be a value in scope; got 'x'"
    )


# --- tensors ---------------------------------------------------------------------------------


def with_tensor(tensor: m.TensorProto) -> m.ModelProto:
    record = parse_record(PLAIN)
    assert record.graph is not None
    tensor.name = "w"
    record.graph.initializer = [tensor]
    return record


@pytest.mark.parametrize(
    ("tensor", "match"),
    [
        (
            m.TensorProto(dims=[3], data_type=1, raw_data=bytes(8)),
            r"raw_data of float\[3\] must have 12 bytes; got 8",
        ),
        (m.TensorProto(dims=[3], data_type=1, float_data=[1.0]), "must have 3 entries; got 1"),
        (m.TensorProto(dims=[1], data_type=1, int32_data=[1]), "must be in float_data; got int32_data"),
        (
            m.TensorProto(dims=[1], data_type=8, raw_data=b"a"),
            "string tensor must be in string_data; got raw_data",
        ),
        (m.TensorProto(dims=[1], data_type=1, float_data=[1.0], raw_data=bytes(4)), "must be in one field"),
        (m.TensorProto(dims=[1], data_type=99, raw_data=bytes(4)), "must be a defined one; got 99"),
        (m.TensorProto(dims=[1], data_type=0, raw_data=bytes(4)), "must be a defined one; got UNDEFINED"),
        (m.TensorProto(dims=[-1], data_type=1), "dims must be >= 0"),
        (m.TensorProto(dims=[1 << 40, 1 << 40], data_type=1), "product of at most"),
        (m.TensorProto(dims=[2], data_type=1), "elements; got none"),
        (
            m.TensorProto(dims=[1], data_type=1, raw_data=bytes(4), data_location=7),
            "must be DEFAULT or EXTERNAL",
        ),
    ],
)
def test_a_tensor_whose_data_do_not_fit_is_refused(tensor: m.TensorProto, match: str) -> None:
    assert_rejected(with_tensor(tensor), rf"graph\.initializer\[0\] 'w': .*{match}")


def test_a_size_of_zero_makes_any_other_size_harmless() -> None:
    model = load_record(with_tensor(m.TensorProto(dims=[1 << 40, 0, 1 << 40], data_type=1)))
    tensor = model.graph.initializers["w"].initializer
    assert tensor is not None
    assert tensor.shape == (1 << 40, 0, 1 << 40)


def test_bit_patterns_with_their_sign_extended_are_read_and_noted() -> None:
    model = load_record(
        with_tensor(m.TensorProto(dims=[2], data_type=int(DataType.INT4), int32_data=[-0x10]))
    )
    tensor = model.graph.initializers["w"].initializer
    assert tensor is not None
    assert tensor.numpy().astype(int).tolist() == [0, -1]
    assert "sign-extended" in notes(model)


def test_a_number_outside_of_its_type_is_named_when_it_is_read() -> None:
    tensor = (
        load_record(with_tensor(m.TensorProto(dims=[1], data_type=3, int32_data=[300])))
        .graph.initializers["w"]
        .initializer
    )
    assert tensor is not None
    with pytest.raises(
        InvalidModel, match=r"tensor 'w': int32_data\[0\] must be from -128 to 127 for INT8; got 300"
    ):
        tensor.numpy()


def test_sparse_parts_must_fit_each_other() -> None:
    record = parse_record(PLAIN)
    assert record.graph is not None
    values = m.TensorProto(name="w", dims=[2], data_type=1, float_data=[1.0, 2.0])
    indices = m.TensorProto(dims=[3], data_type=7, int64_data=[0, 1, 2])
    record.graph.sparse_initializer = [m.SparseTensorProto(values=values, indices=indices, dims=[4])]
    assert_rejected(record, r"indices must have dims \[2\] or \[2, 1\]; got \[3\]")
    indices.dims, indices.int64_data = [2], [1, 3]
    model = load_record(record).graph.initializers["w"]
    assert isinstance(model.initializer, SparseTensor)
    assert model.initializer.numpy().tolist() == [0, 1, 0, 2]


# --- nothing is lost -------------------------------------------------------------------------


def test_an_input_with_an_initializer_is_one_value() -> None:
    model = parse_model(
        "g (float[2] x, float[2] w) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }", ir=3
    )
    x, w = model.graph.inputs
    assert x.initializer is None
    assert w.initializer is not None
    assert model.graph.initializers["w"] is w


def test_an_initializer_has_the_type_of_its_tensor() -> None:
    model = parse_model("g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }")
    assert model.graph.initializers["w"].type == TensorType(DataType.FLOAT, (2,))


FULL = """
<ir_version: 14, opset_import: ["": 21, "l": 1], producer_name: "p", producer_version: "1", domain: "d", model_version: 3,
 doc_string: "text", metadata_props: ["author": "me"]>
g (float[N,2] x) => (float[N,2] y) <float[2] w = {1, 2}, float[N,2] a> {
  a = Add(x, w)
  y = l.scale <factor = 2.0> (a)
}
<domain: "l", overload: "o", opset_import: ["": 21]>
scale <factor> (v) => (r) { f = Constant <value_float: float = @factor> ()  r = Mul(v, f) }
"""


def test_a_record_survives_a_round_trip_through_the_model() -> None:
    from sardonyx._src.proto.text import from_text

    record = from_text(FULL, m.ModelProto)
    record.configuration = [m.DeviceConfigurationProto(name="two", num_devices=2, device=["a", "b"])]
    assert record.graph is not None
    node = record.graph.node[0]
    node.doc_string = "adds"
    node.metadata_props = [m.StringStringEntryProto(key="k", value="v")]
    dims = [m.ShardedDimProto(axis=0, simple_sharding=[m.SimpleShardedDimProto(dim_param="N", num_shards=2)])]
    groups = [m.IntIntListEntryProto(key=-1, value=[0, 1])]
    spec = m.ShardingSpecProto(
        tensor_name="x", device=[-1], index_to_device_group_map=groups, sharded_dim=dims
    )
    config = m.NodeDeviceConfigurationProto(configuration_id="two", sharding_spec=[spec], pipeline_stage=1)
    node.device_configurations = [config]
    scale = m.StringStringEntryProto(key="SCALE_TENSOR", value="w")
    record.graph.quantization_annotation = [
        m.TensorAnnotation(tensor_name="x", quant_parameter_tensor_names=[scale])
    ]
    record.training_info = [
        m.TrainingInfoProto(
            algorithm=m.GraphProto(
                name="t",
                node=[m.NodeProto(op_type="Neg", input=["w"], output=["w2"])],
                output=[m.ValueInfoProto(name="w2")],
            ),
            update_binding=[m.StringStringEntryProto(key="w", value="w2")],
        )
    ]
    record.add_unknown(b"\xf8\x07\x05")  # field 127, a varint
    node.add_unknown(b"\xf8\x07\x06")
    model = load_record(record)
    verify(model)
    assert to_proto.model(model) == decode(encode(record), m.ModelProto)


def test_a_binding_names_values_of_both_graphs() -> None:
    record = parse_record("g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }")
    graph = m.GraphProto(
        name="t",
        node=[m.NodeProto(op_type="Sub", input=["w", "y"], output=["w2"])],
        output=[m.ValueInfoProto(name="w2")],
    )
    binding = m.StringStringEntryProto(key="w", value="w2")
    record.training_info = [m.TrainingInfoProto(algorithm=graph, update_binding=[binding])]
    model = load_record(record)
    ((key, value),) = model.training[0].update_binding
    assert key is model.graph.initializers["w"]
    assert value.producer is not None
    assert key.uses[-1][0] is value.producer
    binding.value = "nothing"
    assert_rejected(
        record,
        r"training_info\[0\]\.update_binding\[0\]: a binding must name a value in scope; got 'nothing'",
    )


def test_subgraph_values_belong_to_their_graph() -> None:
    model = parse_model("""
        g (bool c, float[2] x) => (float[2] y) {
          y = If(c) <then_branch = t () => (float[2] p) { p = Neg(x) }, else_branch = e () => (float[2] q) { q = Abs(x) }>
        }""")
    node = only(model.graph, "If")
    inner = node.attributes["then_branch"].graphs[0]
    assert inner.parent is node
    assert only(inner, "Neg").inputs == (model.graph.inputs[1],)
    assert np.all([v.owner is inner for v in inner.outputs])


def test_a_segment_that_is_not_the_whole_tensor_is_noted() -> None:
    record = parse_record("g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }")
    assert record.graph is not None
    (tensor,) = record.graph.initializer
    for end, expected in ((2, []), (1, ["the segment 0 to 1 of a tensor of 2 elements"])):
        tensor.segment = m.TensorProtoSegment(begin=0, end=end)
        messages = [note.message for note in load_record(record).notes]
        assert [message.partition(":")[0] for message in messages] == expected


def test_a_value_info_of_nothing_is_kept() -> None:
    """Some tools write them for the values of functions."""
    record = parse_record("g (float[2] x) => (float[2] y) <float[2] a> { a = Abs(x)  y = Neg(a) }")
    assert record.graph is not None
    shape = m.TensorShapeProto(dim=[m.TensorShapeProtoDimension(dim_param="N")])
    type_ = m.TypeProto(tensor_type=m.TypeProtoTensor(elem_type=1, shape=shape))
    of_nothing = m.ValueInfoProto(name="l::f/t", type=type_, doc_string="inner")
    record.graph.value_info = [of_nothing, *record.graph.value_info]
    model = load_record(record)
    assert "value_info 'l::f/t' names no value of the graph: kept, without effect" in notes(model)
    for kept in (model, model.copy(), sx.convert(model, opset=22)):
        written = to_proto.model(kept).graph
        assert written is not None
        assert [info.name for info in written.value_info] == ["l::f/t", "a"]
        assert written.value_info[0] == of_nothing


def test_an_invalid_value_info_of_nothing_is_ignored() -> None:
    record = parse_record("g (float[2] x) => (float[2] y) { y = Abs(x) }")
    assert record.graph is not None
    type_ = m.TypeProto(tensor_type=m.TypeProtoTensor(elem_type=99))
    record.graph.value_info = [m.ValueInfoProto(name="t", type=type_)]
    model = load_record(record)
    assert "value_info 't' names no value of the graph: ignored, the element type must be" in notes(model)
    written = to_proto.model(model).graph
    assert written is not None and written.value_info == []


def test_a_value_that_takes_the_name_of_a_value_info_of_nothing_has_its_own_type() -> None:
    model = parse_model("g (float[2] x) => (float[2] y) <int64[7] t> { a = Abs(x)  y = Neg(a) }")
    model.graph.value("a").name = "t"
    written = to_proto.model(model).graph
    assert written is not None and written.value_info == []
