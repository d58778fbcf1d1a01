"""The textual syntax of attributes and nodes: pairs of text and record, parsed and printed."""

from __future__ import annotations

import pytest

from proto.text_examples import Pair, assert_example, tensor, tensor_type
from sardonyx._src.proto.messages import (
    AttributeProto,
    GraphProto,
    IntIntListEntryProto,
    NodeDeviceConfigurationProto,
    NodeProto,
    ShardedDimProto,
    ShardingSpecProto,
    SimpleShardedDimProto,
    SparseTensorProto,
    TensorProto,
    TypeProto,
    TypeProtoSequence,
)
from sardonyx._src.proto.text import from_text

DEVICES = """= F() @{
  device_configurations: [
    {
      configuration_id: "c",
      sharding_spec: [
        {
          tensor_name: "x",
          device: [0, -1],
          index_to_device_group_map: [{key: -1, value: [0, 1]}],
          sharded_dim: [{axis: 0, simple_sharding: [{dim_param: "N", num_shards: 2}]}]
        }
      ],
      pipeline_stage: 1
    }
  ]
}"""


@pytest.mark.parametrize(
    ("text", "attribute"),
    [
        ("a = 1", AttributeProto(name="a", type=2, i=1)),
        ("a = -9223372036854775808", AttributeProto(name="a", type=2, i=-(1 << 63))),
        ("a = 1.0", AttributeProto(name="a", type=1, f=1.0)),
        ("a = -0.0", AttributeProto(name="a", type=1, f=-0.0)),
        ("a = nan", AttributeProto(name="a", type=1, f=float("nan"))),
        ('a = "s"', AttributeProto(name="a", type=3, s=b"s")),
        ("a = [1, -2]", AttributeProto(name="a", type=7, ints=[1, -2])),
        ("a = [1.0, inf]", AttributeProto(name="a", type=6, floats=[1.0, float("inf")])),
        ('a = ["x", ""]', AttributeProto(name="a", type=8, strings=[b"x", b""])),
        ("a: ints = []", AttributeProto(name="a", type=7)),
        ("a: graphs = []", AttributeProto(name="a", type=10)),
        ("a: int", AttributeProto(name="a", type=2)),
        ("a = float[1] {2.0}", AttributeProto(name="a", type=4, t=tensor(1, 1, float_data=[2.0]))),
        ("a: tensor = {data_type: 99}", AttributeProto(name="a", type=4, t=tensor(99))),
        ("a: tensors = [float {}, {}]", AttributeProto(name="a", type=9, tensors=[tensor(1), TensorProto()])),
        ("a = g () => () {}", AttributeProto(name="a", type=5, g=GraphProto(name="g"))),
        ("a = () => () {}", AttributeProto(name="a", type=5, g=GraphProto())),
        (
            'a = @{doc_string: "d"} () => () {}',
            AttributeProto(name="a", type=5, g=GraphProto(doc_string="d")),
        ),
        ('a = "g g" () => () {}', AttributeProto(name="a", type=5, g=GraphProto(name="g g"))),
        ("a: graphs = [() => () {}]", AttributeProto(name="a", type=10, graphs=[GraphProto()])),
        ("a: type_proto = float", AttributeProto(name="a", type=13, tp=tensor_type())),
        (
            "a: type_protos = [float, seq(float)]",
            AttributeProto(
                name="a",
                type=14,
                type_protos=[
                    tensor_type(),
                    TypeProto(sequence_type=TypeProtoSequence(elem_type=tensor_type())),
                ],
            ),
        ),
        (
            "a: sparse_tensor = {values: float[1] v {5.0}, indices: int64[1] {3}, dims: [9]}",
            AttributeProto(
                name="a",
                type=11,
                sparse_tensor=SparseTensorProto(
                    values=tensor(1, 1, name="v", float_data=[5.0]),
                    indices=tensor(7, 1, int64_data=[3]),
                    dims=[9],
                ),
            ),
        ),
        ("a: sparse_tensors = [{}]", AttributeProto(name="a", type=12, sparse_tensors=[SparseTensorProto()])),
        ("a: float = @b", AttributeProto(name="a", type=1, ref_attr_name="b")),
        ('a = @"b c"', AttributeProto(name="a", ref_attr_name="b c")),
        ("a", AttributeProto(name="a")),
        ("a @{i: 4}", AttributeProto(name="a", i=4)),
        ("a: undefined @{i: 4}", AttributeProto(name="a", type=0, i=4)),
        ("a @{i: 4, type: 77}", AttributeProto(name="a", type=77, i=4)),
        ('a: int @{doc_string: "d"}', AttributeProto(name="a", type=2, doc_string="d")),
        ('a @{doc_string: "d"} = 1', AttributeProto(name="a", type=2, i=1, doc_string="d")),
        ("a @{i: 3} = 1.0", AttributeProto(name="a", type=1, f=1.0, i=3)),
        ('a @{ref_attr_name: "b"} = 1', AttributeProto(name="a", type=2, i=1, ref_attr_name="b")),
        ('"a b" = 1', AttributeProto(name="a b", type=2, i=1)),
        ("{type: INT}", AttributeProto(type=2)),
    ],
)
def test_attributes(text: str, attribute: AttributeProto) -> None:
    assert_example(text, attribute)


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("y = Abs(x)", NodeProto(output=["y"], op_type="Abs", input=["x"])),
        ("y = .Abs(x)", NodeProto(output=["y"], op_type="Abs", input=["x"], domain="")),
        ("y = a.b.Abs(x)", NodeProto(output=["y"], op_type="Abs", input=["x"], domain="a.b")),
        ('y = "a-b"."A b"(x)', NodeProto(output=["y"], op_type="A b", input=["x"], domain="a-b")),
        ('y = "a.b"(x)', NodeProto(output=["y"], op_type="a.b", input=["x"])),
        ("= F()", NodeProto(op_type="F")),
        ("= F:one()", NodeProto(op_type="F", overload="one")),
        ('= F:""()', NodeProto(op_type="F", overload="")),
        ('[""] = F()', NodeProto(op_type="F", name="")),
        ('["n/1"] y, "" = F("", x)', NodeProto(op_type="F", name="n/1", output=["y", ""], input=["", "x"])),
        ('["nan"] = F("raw_data")', NodeProto(op_type="F", name="nan", input=["raw_data"])),
        ("= F<axis = 1>()", NodeProto(op_type="F", attribute=[AttributeProto(name="axis", type=2, i=1)])),
        (
            "= F() <\n  body = g () => () {\n    y = G(x)\n  }\n>",
            NodeProto(
                op_type="F",
                attribute=[
                    AttributeProto(
                        name="body",
                        type=5,
                        g=GraphProto(name="g", node=[NodeProto(output=["y"], op_type="G", input=["x"])]),
                    )
                ],
            ),
        ),
        (
            '= F() @{doc_string: "d", metadata_props: ["k": "v", {key: "k"}]}',
            NodeProto(op_type="F", doc_string="d", metadata_props=[Pair(key="k", value="v"), Pair(key="k")]),
        ),
        (
            DEVICES,
            NodeProto(
                op_type="F",
                device_configurations=[
                    NodeDeviceConfigurationProto(
                        configuration_id="c",
                        sharding_spec=[
                            ShardingSpecProto(
                                tensor_name="x",
                                device=[0, -1],
                                index_to_device_group_map=[IntIntListEntryProto(key=-1, value=[0, 1])],
                                sharded_dim=[
                                    ShardedDimProto(
                                        axis=0,
                                        simple_sharding=[SimpleShardedDimProto(dim_param="N", num_shards=2)],
                                    )
                                ],
                            )
                        ],
                        pipeline_stage=1,
                    )
                ],
            ),
        ),
        ('{input: ["x"]}', NodeProto(input=["x"])),
    ],
)
def test_nodes(text: str, node: NodeProto) -> None:
    assert_example(text, node)


def test_the_type_of_an_attribute_follows_from_its_value_or_widens_it() -> None:
    assert from_text("a: float = 1", AttributeProto) == AttributeProto(name="a", type=1, f=1.0)
    assert from_text("a = [1.5, 2]", AttributeProto) == AttributeProto(name="a", type=6, floats=[1.5, 2.0])
    assert from_text("a = float", AttributeProto) == AttributeProto(name="a", type=13, tp=tensor_type())
    assert from_text("a = [float]", AttributeProto) == AttributeProto(
        name="a", type=14, type_protos=[tensor_type()]
    )
