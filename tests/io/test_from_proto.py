"""Records become graphs: generous where files are sloppy, strict where meaning is at stake."""

from __future__ import annotations

import numpy as np
import pytest

from models import function, model, only, read, record
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import InvalidModel
from sardonyx._src.io import to_proto
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.graph import Model
from sardonyx._src.ir.tensors import SparseTensor
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ir.verify import verify
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.binary import decode, encode

PLAIN = "g (float[2] x) => (float[2] y) { y = Abs(x) }"


def notes(found: Model) -> str:
    return "\n".join(map(str, found.notes))


def refused(one: m.ModelProto, match: str) -> None:
    with pytest.raises(InvalidModel, match=match):
        read(one)


# --- mended ----------------------------------------------------------------------------------


def test_a_tidy_model_has_no_notes() -> None:
    assert model(PLAIN).notes == []


def test_unsorted_nodes_are_sorted_and_noted() -> None:
    found = model("g (float[2] x) => (float[2] y) { y = Neg(a)  a = Abs(x) }")
    assert [n.op_type for n in found.graph.nodes] == ["Abs", "Neg"]
    assert "sorted" in notes(found)
    verify(found)


def test_a_subgraph_that_reads_a_later_value_moves_its_node() -> None:
    found = model("""
        g (bool c, float[2] x) => (float[2] y) {
          y = If(c) <then_branch = t () => (float[2] p) { p = Neg(a) }, else_branch = e () => (float[2] q) { q = Abs(x) }>
          a = Abs(x)
        }""")
    assert [n.op_type for n in found.graph.nodes] == ["Abs", "If"]
    assert len(only(found.graph, "Abs").outputs[0].uses) == 1  # nothing is left of the first attempt
    verify(found)


def test_nodes_that_could_stand_anywhere_keep_their_order() -> None:
    found = model("g (float[2] x) => (float[2] y) { b = Exp(x)  y = Neg(a)  c = Log(x)  a = Abs(x) }")
    assert [n.op_type for n in found.graph.nodes] == ["Exp", "Abs", "Neg", "Log"]


def test_a_branch_that_returns_an_outer_value_passes_it_through() -> None:
    one = record("""
        g (bool c, float[2] x) => (float[2] y) {
          y = If(c) <then_branch = t () => (float[2] x) { }, else_branch = e () => (float[2] q) { q = Abs(x) }>
        }""")
    found = read(one)
    branch = only(found.graph, "If").attributes["then_branch"].graphs[0]
    assert [n.op_type for n in branch.nodes] == ["Identity"]
    assert "passed through an Identity" in notes(found)


def test_of_two_imports_of_a_domain_the_higher_binds() -> None:
    found = model(PLAIN, more='"ai.onnx": 7')
    assert found.opset_imports == {"": 21}
    assert "the higher one binds" in notes(found)


def test_an_import_that_no_node_uses_is_noted() -> None:
    found = model(PLAIN, more='"com.microsoft": 1')
    assert found.opset_imports == {"": 21, "com.microsoft": 1}
    assert "'com.microsoft' is imported, and no node is of it" in notes(found)


def test_a_metadata_key_that_occurs_twice_takes_its_last_value() -> None:
    one = record(PLAIN)
    one.metadata_props = [m.StringStringEntryProto(key="k", value=v) for v in "ab"]
    found = read(one)
    assert found.metadata == {"k": "b"}
    assert "occurs twice" in notes(found)


def test_value_info_about_nothing_is_noted() -> None:
    one = record(PLAIN)
    assert one.graph is not None
    one.graph.value_info = [m.ValueInfoProto(name="ghost")]
    assert "'ghost'" in notes(read(one))


def test_a_later_ir_version_is_noted() -> None:
    assert "newer than" in notes(model(PLAIN, ir=99))


def test_the_first_ir_versions_import_nothing() -> None:
    one = record(PLAIN, ir=2)
    one.opset_import = []
    assert read(one).opset_imports == {"": 1}


def test_attributes_of_ir_version_1_have_the_type_of_their_field() -> None:
    one = record("g (float[2,2] x) => (float[2,2] y) { y = Transpose<perm = [1, 0]>(x) }", ir=1)
    assert one.graph is not None
    one.graph.node[0].attribute[0].clear("type")
    found = only(read(one).graph, "Transpose").attributes["perm"]
    assert found.type is AttributeType.INTS
    assert found.value == (1, 0)


def test_a_typed_attribute_without_value_is_the_zero_that_proto3_leaves_out() -> None:
    one = record("g (float[2] x) => (float[2] y) { y = Softmax<axis = 0>(x) }")
    assert one.graph is not None
    one.graph.node[0].attribute[0].clear("i")
    assert only(read(one).graph, "Softmax").attributes["axis"].value == 0


# --- refused ---------------------------------------------------------------------------------


def test_a_cycle_is_named() -> None:
    refused(
        record("g (float[2] x) => (float[2] y) { a = Add(x, b)  b = Abs(a)  y = Neg(b) }"),
        r"graph: the nodes depend on each other in a circle: node\[0\] 'Add' -> node\[1\] 'Abs' -> node\[0\]",
    )


def test_an_undefined_name_suggests_the_near_one() -> None:
    refused(
        record("g (float[2] images) => (float[2] y) { y = Abs(image) }"),
        r"graph\.node\[0\] \(Abs\): input 0 reads 'image', .*did you mean 'images'",
    )


def test_a_value_of_a_branch_is_not_visible_outside() -> None:
    refused(
        record("""
        g (bool c, float[2] x) => (float[2] y) {
          z = If(c) <then_branch = t () => (float[2] p) { p = Neg(x) }, else_branch = e () => (float[2] q) { q = Abs(x) }>
          y = Abs(p)
        }"""),
        "reads 'p'",
    )


def test_a_second_definition_is_refused() -> None:
    refused(
        record("g (float[2] x) => (float[2] y) { y = Abs(x)  y = Neg(x) }"), r"node\[1\] \(Neg\): writes 'y'"
    )
    refused(record("g (float[2] x) => (float[2] x) { x = Abs(x) }"), "writes 'x'")


def test_an_output_that_nobody_makes_is_refused() -> None:
    refused(record("g (float[2] x) => (float[2] z) { y = Abs(x) }"), r"output\[0\]: no node makes 'z'")


def test_inputs_of_one_name_are_refused() -> None:
    refused(record("g (float[2] x, float[2] x) => (float[2] y) { y = Abs(x) }"), r"two inputs are named 'x'")


def test_a_model_without_graph_is_refused() -> None:
    refused(m.ModelProto(ir_version=8), "no graph")


def test_a_reference_outside_of_a_function_is_refused() -> None:
    one = record("g (float[2] x) => (float[2] y) { y = Softmax<axis = 0>(x) }")
    assert one.graph is not None
    one.graph.node[0].attribute = [m.AttributeProto(name="axis", type=2, ref_attr_name="a")]
    refused(one, "outside of a function")


def test_an_attribute_that_holds_another_type_is_refused() -> None:
    one = record("g (float[2] x) => (float[2] y) { y = Softmax<axis = 0>(x) }")
    assert one.graph is not None
    one.graph.node[0].attribute = [m.AttributeProto(name="axis", type=2, f=1.0)]
    refused(one, "of type INT but holds f")


def test_an_attribute_given_twice_is_refused() -> None:
    one = record("g (float[2] x) => (float[2] y) { y = Softmax<axis = 0>(x) }")
    assert one.graph is not None
    one.graph.node[0].attribute.append(m.AttributeProto(name="axis", type=2, i=1))
    refused(one, "occurs twice")


def test_functions_that_call_each_other_are_refused() -> None:
    one = record(PLAIN, more='"l": 1')
    one.functions = [
        function('<domain: "l", opset_import: ["l": 1]> a (x) => (y) { y = l.b(x) }'),
        function('<domain: "l", opset_import: ["l": 1]> b (x) => (y) { y = l.a(x) }'),
    ]
    refused(one, "in a circle: a -> b -> a")


def test_two_functions_of_one_identity_are_refused() -> None:
    one = record(PLAIN)
    one.functions = [function('<domain: "l", opset_import: ["": 21]> f (x) => (y) { y = Abs(x) }')] * 2
    refused(one, "a second function l.f")


def test_a_function_does_not_see_the_graph_that_calls_it() -> None:
    one = record(PLAIN, more='"l": 1')
    one.functions = [function('<domain: "l", opset_import: ["": 21]> f (a) => (b) { b = Add(a, x) }')]
    refused(one, r"functions\[0\] 'f'\.node\[0\] \(Add\): input 1 reads 'x'")


# --- tensors ---------------------------------------------------------------------------------


def with_tensor(tensor: m.TensorProto) -> m.ModelProto:
    one = record(PLAIN)
    assert one.graph is not None
    tensor.name = "w"
    one.graph.initializer = [tensor]
    return one


@pytest.mark.parametrize(
    ("tensor", "match"),
    [
        (
            m.TensorProto(dims=[3], data_type=1, raw_data=bytes(8)),
            r"float\[3\] takes 12 bytes, raw_data has 8",
        ),
        (m.TensorProto(dims=[3], data_type=1, float_data=[1.0]), "takes 3 entries, float_data has 1"),
        (m.TensorProto(dims=[1], data_type=1, int32_data=[1]), "belong in float_data, not in int32_data"),
        (m.TensorProto(dims=[1], data_type=8, raw_data=b"a"), "strings cannot stand in raw_data"),
        (m.TensorProto(dims=[1], data_type=1, float_data=[1.0], raw_data=bytes(4)), "at once"),
        (m.TensorProto(dims=[1], data_type=99, raw_data=bytes(4)), "99 is not an element type"),
        (m.TensorProto(dims=[1], data_type=0, raw_data=bytes(4)), "undefined"),
        (m.TensorProto(dims=[-1], data_type=1), "negative"),
        (m.TensorProto(dims=[1 << 40, 1 << 40], data_type=1), "multiply past"),
        (m.TensorProto(dims=[2], data_type=1), "there are none"),
        (
            m.TensorProto(dims=[1], data_type=1, raw_data=bytes(4), data_location=7),
            "neither DEFAULT nor EXTERNAL",
        ),
    ],
)
def test_a_tensor_whose_data_do_not_fit_is_refused(tensor: m.TensorProto, match: str) -> None:
    refused(with_tensor(tensor), rf"graph\.initializer\[0\] 'w': .*{match}")


def test_a_size_of_zero_makes_any_other_size_harmless() -> None:
    found = read(with_tensor(m.TensorProto(dims=[1 << 40, 0, 1 << 40], data_type=1)))
    tensor = found.graph.initializers["w"].initializer
    assert tensor is not None
    assert tensor.shape == (1 << 40, 0, 1 << 40)


def test_bit_patterns_with_their_sign_extended_are_read_and_noted() -> None:
    found = read(with_tensor(m.TensorProto(dims=[2], data_type=int(DataType.INT4), int32_data=[-0x10])))
    tensor = found.graph.initializers["w"].initializer
    assert tensor is not None
    assert tensor.numpy().astype(int).tolist() == [0, -1]
    assert "sign extended" in notes(found)


def test_a_number_outside_of_its_type_is_named_when_it_is_read() -> None:
    tensor = (
        read(with_tensor(m.TensorProto(dims=[1], data_type=3, int32_data=[300])))
        .graph.initializers["w"]
        .initializer
    )
    assert tensor is not None
    with pytest.raises(InvalidModel, match=r"tensor 'w': int32_data\[0\] is 300"):
        tensor.numpy()


def test_sparse_parts_must_fit_each_other() -> None:
    one = record(PLAIN)
    assert one.graph is not None
    values = m.TensorProto(name="w", dims=[2], data_type=1, float_data=[1.0, 2.0])
    indices = m.TensorProto(dims=[3], data_type=7, int64_data=[0, 1, 2])
    one.graph.sparse_initializer = [m.SparseTensorProto(values=values, indices=indices, dims=[4])]
    refused(one, r"indices have dims \[3\], which should be \[2\] or \[2, 1\]")
    indices.dims, indices.int64_data = [2], [1, 3]
    found = read(one).graph.initializers["w"]
    assert isinstance(found.initializer, SparseTensor)
    assert found.initializer.numpy().tolist() == [0, 1, 0, 2]


# --- nothing is lost -------------------------------------------------------------------------


def test_an_input_with_an_initializer_is_one_value() -> None:
    found = model("g (float[2] x, float[2] w) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }", ir=3)
    x, w = found.graph.inputs
    assert x.initializer is None
    assert w.initializer is not None
    assert found.graph.initializers["w"] is w


def test_an_initializer_has_the_type_of_its_tensor() -> None:
    found = model("g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }")
    assert found.graph.initializers["w"].type == TensorType(DataType.FLOAT, (2,))


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


def test_what_a_record_says_stands_in_the_record_written_from_the_model() -> None:
    from sardonyx._src.proto.text import from_text

    one = from_text(FULL, m.ModelProto)
    one.configuration = [m.DeviceConfigurationProto(name="two", num_devices=2, device=["a", "b"])]
    assert one.graph is not None
    node = one.graph.node[0]
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
    one.graph.quantization_annotation = [
        m.TensorAnnotation(tensor_name="x", quant_parameter_tensor_names=[scale])
    ]
    one.training_info = [
        m.TrainingInfoProto(
            algorithm=m.GraphProto(
                name="t",
                node=[m.NodeProto(op_type="Neg", input=["w"], output=["w2"])],
                output=[m.ValueInfoProto(name="w2")],
            ),
            update_binding=[m.StringStringEntryProto(key="w", value="w2")],
        )
    ]
    one.keep(b"\xf8\x07\x05")  # field 127, a varint
    node.keep(b"\xf8\x07\x06")
    found = read(one)
    verify(found)
    assert to_proto.model(found) == decode(encode(one), m.ModelProto)


def test_a_binding_names_values_of_both_graphs() -> None:
    one = record("g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }")
    graph = m.GraphProto(
        name="t",
        node=[m.NodeProto(op_type="Sub", input=["w", "y"], output=["w2"])],
        output=[m.ValueInfoProto(name="w2")],
    )
    binding = m.StringStringEntryProto(key="w", value="w2")
    one.training_info = [m.TrainingInfoProto(algorithm=graph, update_binding=[binding])]
    found = read(one)
    ((key, value),) = found.training[0].update_binding
    assert key is found.graph.initializers["w"]
    assert value.producer is not None
    assert key.uses[-1][0] is value.producer
    binding.value = "nothing"
    refused(one, r"training_info\[0\]\.update_binding\[0\]: 'nothing'")


def test_subgraph_values_belong_to_their_graph() -> None:
    found = model("""
        g (bool c, float[2] x) => (float[2] y) {
          y = If(c) <then_branch = t () => (float[2] p) { p = Neg(x) }, else_branch = e () => (float[2] q) { q = Abs(x) }>
        }""")
    node = only(found.graph, "If")
    inner = node.attributes["then_branch"].graphs[0]
    assert inner.parent is node
    assert only(inner, "Neg").inputs == (found.graph.inputs[1],)
    assert np.all([v.owner is inner for v in inner.outputs])
