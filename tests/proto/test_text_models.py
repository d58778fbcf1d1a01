"""The textual syntax of graphs, functions, models and non-tensor values: pairs of text and record, parsed and printed."""

from __future__ import annotations

from proto.text_examples import Dim, Pair, assert_example, tensor, tensor_type
from sardonyx._src.proto.messages import (
    AttributeProto,
    DeviceConfigurationProto,
    FunctionProto,
    GraphProto,
    MapProto,
    ModelProto,
    NodeProto,
    OperatorProto,
    OperatorSetIdProto,
    OperatorSetProto,
    OptionalProto,
    SequenceProto,
    SparseTensorProto,
    TensorAnnotation,
    TrainingInfoProto,
    ValueInfoProto,
)
from sardonyx._src.proto.text import from_text


def test_a_graph_in_full() -> None:
    unknown = GraphProto(
        name="g",
        doc_string="two\nlines",
        input=[ValueInfoProto(name="x", type=tensor_type(1, Dim(dim_value=2)))],
        output=[ValueInfoProto(name="y")],
        initializer=[tensor(1, 2, name="w", float_data=[1.0, 2.0])],
        value_info=[ValueInfoProto(name="v", type=tensor_type())],
        node=[NodeProto(op_type="Abs", input=["x"], output=["y"])],
        sparse_initializer=[SparseTensorProto(values=tensor(1, 0, name="s"))],
        quantization_annotation=[
            TensorAnnotation(
                tensor_name="x", quant_parameter_tensor_names=[Pair(key="SCALE_TENSOR", value="w")]
            )
        ],
    )
    unknown.add_unknown(b"\x9a\x06\x01a")
    assert_example(
        """g @{
  doc_string: "two
lines",
  quantization_annotation: [{tensor_name: "x", quant_parameter_tensor_names: ["SCALE_TENSOR": "w"]}],
  sparse_initializer: [{values: float[0] s {}}],
  unknown: [hex "9a060161"]
} (float[2] x) => (y) <float[2] w = {1.0, 2.0}, float v> {
  y = Abs(x)
}""",
        unknown,
    )


def test_initializers_without_a_notation_of_their_own_go_with_the_rest() -> None:
    assert_example(
        'g @{initializer: [{data_type: 99, name: "w"}, float v {}]} () => () {}',
        GraphProto(name="g", initializer=[tensor(99, name="w"), tensor(1, name="v")]),
    )


def test_an_input_with_data_is_an_initializer_too() -> None:
    graph = from_text('g (float[1] x @{doc_string: "d"} = {2.0} @{doc_string: "e"}) => () {}', GraphProto)
    info = ValueInfoProto(name="x", type=tensor_type(1, Dim(dim_value=1)), doc_string="d")
    assert graph.input == [info]
    assert graph.initializer == [tensor(1, 1, name="x", float_data=[2.0], doc_string="e")]


def test_a_function_in_full() -> None:
    assert_example(
        """<doc_string: "d", opset_import: ["": 18], domain: "my", overload: "o", metadata_props: ["k": "v"]>
f <alpha, "b c", c = 3, {name: "d"}> (float x, y) => (float z) <float w> {
  z = Add(x, y)
}""",
        FunctionProto(
            name="f",
            domain="my",
            overload="o",
            doc_string="d",
            opset_import=[OperatorSetIdProto(domain="", version=18)],
            metadata_props=[Pair(key="k", value="v")],
            attribute=["alpha", "b c"],
            attribute_proto=[AttributeProto(name="c", type=2, i=3), AttributeProto(name="d")],
            input=["x", "y"],
            output=["z"],
            value_info=[ValueInfoProto(name=name, type=tensor_type()) for name in "xzw"],
            node=[NodeProto(op_type="Add", input=["x", "y"], output=["z"])],
        ),
    )


def test_a_model_in_full() -> None:
    assert_example(
        """<
  ir_version: 10,
  model_version: 0,
  opset_import: ["": 18, 3, {domain: "d"}],
  training_info: [
    {
      initialization: i () => () {},
      algorithm: a () => () {},
      initialization_binding: ["w": "w0"],
      update_binding: ["w": "w1"]
    }
  ],
  configuration: [{name: "c", num_devices: 2, device: ["gpu:0", "gpu:1"]}]
>
g () => () {}
f () => () {}
{domain: "no name"}""",
        ModelProto(
            ir_version=10,
            model_version=0,
            graph=GraphProto(name="g"),
            opset_import=[
                OperatorSetIdProto(domain="", version=18),
                OperatorSetIdProto(version=3),
                OperatorSetIdProto(domain="d"),
            ],
            training_info=[
                TrainingInfoProto(
                    initialization=GraphProto(name="i"),
                    algorithm=GraphProto(name="a"),
                    initialization_binding=[Pair(key="w", value="w0")],
                    update_binding=[Pair(key="w", value="w1")],
                )
            ],
            configuration=[DeviceConfigurationProto(name="c", num_devices=2, device=["gpu:0", "gpu:1"])],
            functions=[FunctionProto(name="f"), FunctionProto(domain="no name")],
        ),
    )
    assert_example("{ir_version: 3}", ModelProto(ir_version=3))


def test_values_that_are_no_tensors() -> None:
    map_ = MapProto(
        name="m",
        key_type=8,
        string_keys=[b"a"],
        values=SequenceProto(elem_type=1, tensor_values=[tensor(1, float_data=[1.0])]),
    )
    assert_example(
        '{\n  name: "m",\n  key_type: STRING,\n  string_keys: ["a"],\n'
        "  values: {elem_type: TENSOR, tensor_values: [float {1.0}]}\n}",
        map_,
    )
    assert_example(
        "{elem_type: MAP, map_value: {keys: [-1]}}", OptionalProto(elem_type=4, map_value=MapProto(keys=[-1]))
    )
    assert_example(
        "{elem_type: 9, sequence_values: [{}, {}]}",
        SequenceProto(elem_type=9, sequence_values=[SequenceProto(), SequenceProto()]),
    )


def test_an_operator_set() -> None:
    assert_example(
        """{
  magic: "ONNXOPSET",
  opset_version: 3,
  operator: [{op_type: "F", since_version: 2, status: STABLE}],
  functions: [
    f () => () {
      y = F(x)
    }
  ]
}""",
        OperatorSetProto(
            magic="ONNXOPSET",
            opset_version=3,
            operator=[OperatorProto(op_type="F", since_version=2, status=1)],
            functions=[FunctionProto(name="f", node=[NodeProto(op_type="F", input=["x"], output=["y"])])],
        ),
    )
