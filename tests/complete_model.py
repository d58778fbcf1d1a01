"""A valid model whose record has every message field of onnx.proto that a model can have."""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.proto import messages as m
from sardonyx._src.proto.record import Record

DATA_FILE = "m.onnx.data"  # holds the one external tensor
DATA = b"\x00\x00\x80\x3f"


def entries(**pairs: str) -> list[m.StringStringEntryProto]:
    return [m.StringStringEntryProto(key=key, value=value) for key, value in pairs.items()]


def float_type(*dims: int | str) -> m.TypeProto:
    shape = m.TensorShapeProto(
        dim=[
            m.TensorShapeProtoDimension(**{"dim_value" if isinstance(d, int) else "dim_param": d})
            for d in dims
        ]
    )
    return m.TypeProto(tensor_type=m.TypeProtoTensor(elem_type=1, shape=shape))


def info(name: str, type: m.TypeProto | None = None) -> m.ValueInfoProto:
    return m.ValueInfoProto(name=name, type=type or float_type("N", 2))


def tensor(name: str = "") -> m.TensorProto:
    record = m.TensorProto(dims=[1], data_type=1, float_data=[1.0])
    if name:
        record.name = name
    return record


def sparse(name: str = "") -> m.SparseTensorProto:
    indices = m.TensorProto(dims=[1], data_type=7, int64_data=[1])
    return m.SparseTensorProto(values=tensor(name), indices=indices, dims=[3])


def body() -> m.GraphProto:
    node = m.NodeProto(input=["x"], output=["inner"], op_type="Neg")
    return m.GraphProto(node=[node], name="body", output=[info("inner")])


def types() -> list[m.TypeProto]:
    """One type of each kind."""
    sparse_shape = m.TensorShapeProto(dim=[m.TensorShapeProtoDimension(dim_value=3, denotation="DATA_BATCH")])
    return [
        float_type("N"),
        m.TypeProto(sparse_tensor_type=m.TypeProtoSparseTensor(elem_type=1, shape=sparse_shape)),
        m.TypeProto(sequence_type=m.TypeProtoSequence(elem_type=float_type()), denotation="TENSOR"),
        m.TypeProto(optional_type=m.TypeProtoOptional(elem_type=float_type(2))),
        m.TypeProto(map_type=m.TypeProtoMap(key_type=7, value_type=float_type(2))),
        m.TypeProto(opaque_type=m.TypeProtoOpaque(domain="d", name="n")),
    ]


def attributes() -> list[m.AttributeProto]:
    return [
        m.AttributeProto(name="a_float", f=1.5, type=1),
        m.AttributeProto(name="a_zero", i=0, type=2),
        m.AttributeProto(name="a_string", s=b"s", type=3, doc_string="text"),
        m.AttributeProto(name="a_tensor", t=tensor("t"), type=4),
        m.AttributeProto(name="a_graph", g=body(), type=5),
        m.AttributeProto(name="a_list", ints=[1, 2], type=7),
        m.AttributeProto(name="tensors", tensors=[tensor(), tensor("u")], type=9),
        m.AttributeProto(name="graphs", graphs=[body(), body()], type=10),
        m.AttributeProto(name="sparse", sparse_tensor=sparse(), type=11),
        m.AttributeProto(name="sparses", sparse_tensors=[sparse("s")], type=12),
        m.AttributeProto(name="a_type", tp=types()[2], type=13),
        m.AttributeProto(name="types", type_protos=types(), type=14),
    ]


def device_configuration() -> m.NodeDeviceConfigurationProto:
    dims = [
        m.SimpleShardedDimProto(dim_value=4, num_shards=2),
        m.SimpleShardedDimProto(dim_param="N", num_shards=2),
    ]
    spec = m.ShardingSpecProto(
        tensor_name="y",
        device=[0, 1],
        index_to_device_group_map=[m.IntIntListEntryProto(key=0, value=[0, 1])],
        sharded_dim=[m.ShardedDimProto(axis=0, simple_sharding=dims)],
    )
    return m.NodeDeviceConfigurationProto(configuration_id="two", sharding_spec=[spec], pipeline_stage=1)


def main_graph() -> m.GraphProto:
    first = m.NodeProto(
        input=["x", "", "w"],
        output=["y", "", "z"],
        name="first",
        op_type="Op",
        attribute=attributes(),
        domain="com.example",
        overload="o",
        metadata_props=entries(k="v", l="w"),
        device_configurations=[device_configuration()],
    )
    second = m.NodeProto(input=["y", "e"], output=["out"], op_type="Add")
    raw = m.TensorProto(dims=[1], data_type=1, name="w", raw_data=b"\x00\x00\x80\x3f")
    raw.metadata_props = entries(k="v")
    raw.segment = m.TensorProtoSegment(begin=0, end=1)
    external = m.TensorProto(dims=[1], data_type=1, name="e", data_location=1)
    external.external_data = entries(location=DATA_FILE, offset="0", length="4")
    described = info("x")
    described.doc_string, described.metadata_props = "text", entries(k="v")
    restated = m.ValueInfoProto(name="out", doc_string="again", metadata_props=entries(k="v"))
    return m.GraphProto(
        node=[first, second],
        name="main",
        initializer=[raw, external],
        input=[described, *(info(f"in_{i}", type) for i, type in enumerate(types()))],
        output=[info("out"), info("x")],
        value_info=[info("z"), restated, info("y"), info("w", float_type(1)), info("x")],
        quantization_annotation=[
            m.TensorAnnotation(tensor_name="y", quant_parameter_tensor_names=entries(SCALE_TENSOR="w"))
        ],
        sparse_initializer=[sparse("sw")],
        metadata_props=entries(k="v"),
    )


def complete_function() -> m.FunctionProto:
    reference = m.AttributeProto(name="alpha", ref_attr_name="alpha", type=1)
    return m.FunctionProto(
        name="Op",
        input=["a", "b", "c"],
        output=["d", "e", "f"],
        attribute=["beta"],
        node=[
            m.NodeProto(input=["a"], output=["d"], op_type="Elu", attribute=[reference]),
            m.NodeProto(input=["d"], output=["e"], op_type="Neg"),
            m.NodeProto(input=["e"], output=["g"], op_type="Neg"),
            m.NodeProto(input=["g"], output=["f"], op_type="Neg"),
        ],
        opset_import=[m.OperatorSetIdProto(domain="", version=21)],
        domain="com.example",
        attribute_proto=[m.AttributeProto(name="alpha", f=1.0, type=1)],
        value_info=[info("g"), info("e"), info("a")],
        overload="o",
        metadata_props=entries(k="v"),
    )


def training() -> m.TrainingInfoProto:
    step = m.NodeProto(input=["w"], output=["w_next"], op_type="Neg")
    start = m.GraphProto(
        node=[m.NodeProto(output=["w_0"], op_type="Start")], name="start", output=[info("w_0")]
    )
    return m.TrainingInfoProto(
        initialization=start,
        algorithm=m.GraphProto(node=[step], name="step", output=[info("w_next")]),
        initialization_binding=entries(w="w_0"),
        update_binding=entries(w="w_next"),
    )


def complete_model() -> m.ModelProto:
    return m.ModelProto(
        ir_version=14,
        producer_name="producer",
        graph=main_graph(),
        opset_import=[
            m.OperatorSetIdProto(domain="", version=21),
            m.OperatorSetIdProto(domain="com.example", version=1),
        ],
        metadata_props=entries(k="v", a="b"),
        training_info=[training()],
        functions=[complete_function()],
        configuration=[m.DeviceConfigurationProto(name="two", num_devices=2, device=["a", "b"])],
    )


def records(record: Record, path: str = "model") -> Iterator[tuple[str, Record]]:
    """Every record in a record, itself included, with its path."""
    yield path, record
    for field, value in list(record.present()):
        if field.message:
            for i, part in enumerate(value if isinstance(value, list) else [value]):
                assert isinstance(part, Record)
                yield from records(
                    part, f"{path}.{field.name}[{i}]" if field.repeated else f"{path}.{field.name}"
                )


def message_fields(message: type[Record]) -> set[tuple[str, str]]:
    """The message fields of all messages that can occur in a message."""
    result: set[tuple[str, str]] = set()
    waiting, known = [message], {message}
    while waiting:
        current = waiting.pop()
        for field in current.FIELDS:
            if field.message:
                result.add((current.__name__, field.name))
                if field.message not in known:
                    known.add(field.message)
                    waiting.append(field.message)
    return result
