"""The messages of ONNX IR 14 as records: one class a message, one attribute a field."""

# Written by tools/make_records.py from onnx.proto: change that text, then `make regen`.

from __future__ import annotations

import enum

from sardonyx._src.proto.record import Field, Numbers, Record, Repeated, seal


class Version(enum.IntEnum):
    _START_VERSION = 0
    IR_VERSION_2017_10_10 = 1
    IR_VERSION_2017_10_30 = 2
    IR_VERSION_2017_11_3 = 3
    IR_VERSION_2019_1_22 = 4
    IR_VERSION_2019_3_18 = 5
    IR_VERSION_2019_9_19 = 6
    IR_VERSION_2020_5_8 = 7
    IR_VERSION_2021_7_30 = 8
    IR_VERSION_2023_5_5 = 9
    IR_VERSION_2024_3_25 = 10
    IR_VERSION_2025_05_12 = 11
    IR_VERSION_2025_08_26 = 12
    IR_VERSION_2025_11_06 = 13
    IR_VERSION = 14


class OperatorStatus(enum.IntEnum):
    EXPERIMENTAL = 0
    STABLE = 1


class AttributeProtoAttributeType(enum.IntEnum):
    UNDEFINED = 0
    FLOAT = 1
    INT = 2
    STRING = 3
    TENSOR = 4
    GRAPH = 5
    FLOATS = 6
    INTS = 7
    STRINGS = 8
    TENSORS = 9
    GRAPHS = 10
    SPARSE_TENSOR = 11
    SPARSE_TENSORS = 12
    TYPE_PROTO = 13
    TYPE_PROTOS = 14


class TensorProtoDataType(enum.IntEnum):
    UNDEFINED = 0
    FLOAT = 1
    UINT8 = 2
    INT8 = 3
    UINT16 = 4
    INT16 = 5
    INT32 = 6
    INT64 = 7
    STRING = 8
    BOOL = 9
    FLOAT16 = 10
    DOUBLE = 11
    UINT32 = 12
    UINT64 = 13
    COMPLEX64 = 14
    COMPLEX128 = 15
    BFLOAT16 = 16
    FLOAT8E4M3FN = 17
    FLOAT8E4M3FNUZ = 18
    FLOAT8E5M2 = 19
    FLOAT8E5M2FNUZ = 20
    UINT4 = 21
    INT4 = 22
    FLOAT4E2M1 = 23
    FLOAT8E8M0 = 24
    UINT2 = 25
    INT2 = 26
    FLOAT6E2M3 = 27
    FLOAT6E3M2 = 28


class TensorProtoDataLocation(enum.IntEnum):
    DEFAULT = 0
    EXTERNAL = 1


class SequenceProtoDataType(enum.IntEnum):
    UNDEFINED = 0
    TENSOR = 1
    SPARSE_TENSOR = 2
    SEQUENCE = 3
    MAP = 4
    OPTIONAL = 5


class OptionalProtoDataType(enum.IntEnum):
    UNDEFINED = 0
    TENSOR = 1
    SPARSE_TENSOR = 2
    SEQUENCE = 3
    MAP = 4
    OPTIONAL = 5


class AttributeProto(Record):
    name: str = ""
    f: float = 0.0
    i: int = 0
    s: bytes | memoryview = b""
    t: TensorProto | None = None
    g: GraphProto | None = None
    floats: Repeated[list[float]] = Repeated()
    ints: Repeated[list[int]] = Repeated()
    strings: Repeated[list[bytes | memoryview]] = Repeated()
    tensors: Repeated[list[TensorProto]] = Repeated()
    graphs: Repeated[list[GraphProto]] = Repeated()
    doc_string: str = ""
    tp: TypeProto | None = None
    type_protos: Repeated[list[TypeProto]] = Repeated()
    type: int = 0
    ref_attr_name: str = ""
    sparse_tensor: SparseTensorProto | None = None
    sparse_tensors: Repeated[list[SparseTensorProto]] = Repeated()


class ValueInfoProto(Record):
    name: str = ""
    type: TypeProto | None = None
    doc_string: str = ""
    metadata_props: Repeated[list[StringStringEntryProto]] = Repeated()


class NodeProto(Record):
    input: Repeated[list[str]] = Repeated()
    output: Repeated[list[str]] = Repeated()
    name: str = ""
    op_type: str = ""
    attribute: Repeated[list[AttributeProto]] = Repeated()
    doc_string: str = ""
    domain: str = ""
    overload: str = ""
    metadata_props: Repeated[list[StringStringEntryProto]] = Repeated()
    device_configurations: Repeated[list[NodeDeviceConfigurationProto]] = Repeated()


class IntIntListEntryProto(Record):
    key: int = 0
    value: Repeated[list[int]] = Repeated()


class NodeDeviceConfigurationProto(Record):
    configuration_id: str = ""
    sharding_spec: Repeated[list[ShardingSpecProto]] = Repeated()
    pipeline_stage: int = 0


class ShardingSpecProto(Record):
    tensor_name: str = ""
    device: Repeated[list[int]] = Repeated()
    index_to_device_group_map: Repeated[list[IntIntListEntryProto]] = Repeated()
    sharded_dim: Repeated[list[ShardedDimProto]] = Repeated()


class ShardedDimProto(Record):
    axis: int = 0
    simple_sharding: Repeated[list[SimpleShardedDimProto]] = Repeated()


class SimpleShardedDimProto(Record):
    dim_value: int = 0
    dim_param: str = ""
    num_shards: int = 0


class TrainingInfoProto(Record):
    initialization: GraphProto | None = None
    algorithm: GraphProto | None = None
    initialization_binding: Repeated[list[StringStringEntryProto]] = Repeated()
    update_binding: Repeated[list[StringStringEntryProto]] = Repeated()


class ModelProto(Record):
    ir_version: int = 0
    producer_name: str = ""
    producer_version: str = ""
    domain: str = ""
    model_version: int = 0
    doc_string: str = ""
    graph: GraphProto | None = None
    opset_import: Repeated[list[OperatorSetIdProto]] = Repeated()
    metadata_props: Repeated[list[StringStringEntryProto]] = Repeated()
    training_info: Repeated[list[TrainingInfoProto]] = Repeated()
    functions: Repeated[list[FunctionProto]] = Repeated()
    configuration: Repeated[list[DeviceConfigurationProto]] = Repeated()


class DeviceConfigurationProto(Record):
    name: str = ""
    num_devices: int = 0
    device: Repeated[list[str]] = Repeated()


class StringStringEntryProto(Record):
    key: str = ""
    value: str = ""


class TensorAnnotation(Record):
    tensor_name: str = ""
    quant_parameter_tensor_names: Repeated[list[StringStringEntryProto]] = Repeated()


class GraphProto(Record):
    node: Repeated[list[NodeProto]] = Repeated()
    name: str = ""
    initializer: Repeated[list[TensorProto]] = Repeated()
    doc_string: str = ""
    input: Repeated[list[ValueInfoProto]] = Repeated()
    output: Repeated[list[ValueInfoProto]] = Repeated()
    value_info: Repeated[list[ValueInfoProto]] = Repeated()
    quantization_annotation: Repeated[list[TensorAnnotation]] = Repeated()
    sparse_initializer: Repeated[list[SparseTensorProto]] = Repeated()
    metadata_props: Repeated[list[StringStringEntryProto]] = Repeated()


class TensorProto(Record):
    dims: Repeated[list[int]] = Repeated()
    data_type: int = 0
    segment: TensorProtoSegment | None = None
    float_data: Repeated[Numbers[float]] = Repeated()
    int32_data: Repeated[Numbers[int]] = Repeated()
    string_data: Repeated[list[bytes | memoryview]] = Repeated()
    int64_data: Repeated[Numbers[int]] = Repeated()
    name: str = ""
    raw_data: bytes | memoryview = b""
    double_data: Repeated[Numbers[float]] = Repeated()
    uint64_data: Repeated[Numbers[int]] = Repeated()
    doc_string: str = ""
    external_data: Repeated[list[StringStringEntryProto]] = Repeated()
    data_location: int = 0
    metadata_props: Repeated[list[StringStringEntryProto]] = Repeated()


class TensorProtoSegment(Record):
    begin: int = 0
    end: int = 0


class SparseTensorProto(Record):
    values: TensorProto | None = None
    indices: TensorProto | None = None
    dims: Repeated[list[int]] = Repeated()


class TensorShapeProto(Record):
    dim: Repeated[list[TensorShapeProtoDimension]] = Repeated()


class TensorShapeProtoDimension(Record):
    dim_value: int = 0
    dim_param: str = ""
    denotation: str = ""


class TypeProto(Record):
    tensor_type: TypeProtoTensor | None = None
    sequence_type: TypeProtoSequence | None = None
    map_type: TypeProtoMap | None = None
    opaque_type: TypeProtoOpaque | None = None
    sparse_tensor_type: TypeProtoSparseTensor | None = None
    optional_type: TypeProtoOptional | None = None
    denotation: str = ""


class TypeProtoTensor(Record):
    elem_type: int = 0
    shape: TensorShapeProto | None = None


class TypeProtoSequence(Record):
    elem_type: TypeProto | None = None


class TypeProtoMap(Record):
    key_type: int = 0
    value_type: TypeProto | None = None


class TypeProtoOptional(Record):
    elem_type: TypeProto | None = None


class TypeProtoSparseTensor(Record):
    elem_type: int = 0
    shape: TensorShapeProto | None = None


class TypeProtoOpaque(Record):
    domain: str = ""
    name: str = ""


class OperatorSetIdProto(Record):
    domain: str = ""
    version: int = 0


class FunctionProto(Record):
    name: str = ""
    input: Repeated[list[str]] = Repeated()
    output: Repeated[list[str]] = Repeated()
    attribute: Repeated[list[str]] = Repeated()
    node: Repeated[list[NodeProto]] = Repeated()
    doc_string: str = ""
    opset_import: Repeated[list[OperatorSetIdProto]] = Repeated()
    domain: str = ""
    attribute_proto: Repeated[list[AttributeProto]] = Repeated()
    value_info: Repeated[list[ValueInfoProto]] = Repeated()
    overload: str = ""
    metadata_props: Repeated[list[StringStringEntryProto]] = Repeated()


class OperatorProto(Record):
    op_type: str = ""
    since_version: int = 0
    status: int = 0
    doc_string: str = ""


class OperatorSetProto(Record):
    magic: str = ""
    ir_version: int = 0
    ir_version_prerelease: str = ""
    domain: str = ""
    opset_version: int = 0
    doc_string: str = ""
    ir_build_metadata: str = ""
    operator: Repeated[list[OperatorProto]] = Repeated()
    functions: Repeated[list[FunctionProto]] = Repeated()


class SequenceProto(Record):
    name: str = ""
    elem_type: int = 0
    tensor_values: Repeated[list[TensorProto]] = Repeated()
    sparse_tensor_values: Repeated[list[SparseTensorProto]] = Repeated()
    sequence_values: Repeated[list[SequenceProto]] = Repeated()
    map_values: Repeated[list[MapProto]] = Repeated()
    optional_values: Repeated[list[OptionalProto]] = Repeated()


class MapProto(Record):
    name: str = ""
    key_type: int = 0
    keys: Repeated[list[int]] = Repeated()
    string_keys: Repeated[list[bytes | memoryview]] = Repeated()
    values: SequenceProto | None = None


class OptionalProto(Record):
    name: str = ""
    elem_type: int = 0
    tensor_value: TensorProto | None = None
    sparse_tensor_value: SparseTensorProto | None = None
    sequence_value: SequenceProto | None = None
    map_value: MapProto | None = None
    optional_value: OptionalProto | None = None


seal(AttributeProto, (
    Field("name", 1, "string", False, False, "", None),
    Field("f", 2, "float", False, False, "", None),
    Field("i", 3, "int64", False, False, "", None),
    Field("s", 4, "bytes", False, False, "", None),
    Field("t", 5, "message", False, False, "", TensorProto),
    Field("g", 6, "message", False, False, "", GraphProto),
    Field("floats", 7, "float", True, False, "", None),
    Field("ints", 8, "int64", True, False, "", None),
    Field("strings", 9, "bytes", True, False, "", None),
    Field("tensors", 10, "message", True, False, "", TensorProto),
    Field("graphs", 11, "message", True, False, "", GraphProto),
    Field("doc_string", 13, "string", False, False, "", None),
    Field("tp", 14, "message", False, False, "", TypeProto),
    Field("type_protos", 15, "message", True, False, "", TypeProto),
    Field("type", 20, "enum", False, False, "", None, AttributeProtoAttributeType),
    Field("ref_attr_name", 21, "string", False, False, "", None),
    Field("sparse_tensor", 22, "message", False, False, "", SparseTensorProto),
    Field("sparse_tensors", 23, "message", True, False, "", SparseTensorProto),
))

seal(ValueInfoProto, (
    Field("name", 1, "string", False, False, "", None),
    Field("type", 2, "message", False, False, "", TypeProto),
    Field("doc_string", 3, "string", False, False, "", None),
    Field("metadata_props", 4, "message", True, False, "", StringStringEntryProto),
))

seal(NodeProto, (
    Field("input", 1, "string", True, False, "", None),
    Field("output", 2, "string", True, False, "", None),
    Field("name", 3, "string", False, False, "", None),
    Field("op_type", 4, "string", False, False, "", None),
    Field("attribute", 5, "message", True, False, "", AttributeProto),
    Field("doc_string", 6, "string", False, False, "", None),
    Field("domain", 7, "string", False, False, "", None),
    Field("overload", 8, "string", False, False, "", None),
    Field("metadata_props", 9, "message", True, False, "", StringStringEntryProto),
    Field("device_configurations", 10, "message", True, False, "", NodeDeviceConfigurationProto),
))

seal(IntIntListEntryProto, (
    Field("key", 1, "int64", False, False, "", None),
    Field("value", 2, "int64", True, False, "", None),
))

seal(NodeDeviceConfigurationProto, (
    Field("configuration_id", 1, "string", False, False, "", None),
    Field("sharding_spec", 2, "message", True, False, "", ShardingSpecProto),
    Field("pipeline_stage", 3, "int32", False, False, "", None),
))

seal(ShardingSpecProto, (
    Field("tensor_name", 1, "string", False, False, "", None),
    Field("device", 2, "int64", True, False, "", None),
    Field("index_to_device_group_map", 3, "message", True, False, "", IntIntListEntryProto),
    Field("sharded_dim", 4, "message", True, False, "", ShardedDimProto),
))

seal(ShardedDimProto, (
    Field("axis", 1, "int64", False, False, "", None),
    Field("simple_sharding", 2, "message", True, False, "", SimpleShardedDimProto),
))

seal(SimpleShardedDimProto, (
    Field("dim_value", 1, "int64", False, False, "dim", None),
    Field("dim_param", 2, "string", False, False, "dim", None),
    Field("num_shards", 3, "int64", False, False, "", None),
))

seal(TrainingInfoProto, (
    Field("initialization", 1, "message", False, False, "", GraphProto),
    Field("algorithm", 2, "message", False, False, "", GraphProto),
    Field("initialization_binding", 3, "message", True, False, "", StringStringEntryProto),
    Field("update_binding", 4, "message", True, False, "", StringStringEntryProto),
))

seal(ModelProto, (
    Field("ir_version", 1, "int64", False, False, "", None),
    Field("producer_name", 2, "string", False, False, "", None),
    Field("producer_version", 3, "string", False, False, "", None),
    Field("domain", 4, "string", False, False, "", None),
    Field("model_version", 5, "int64", False, False, "", None),
    Field("doc_string", 6, "string", False, False, "", None),
    Field("graph", 7, "message", False, False, "", GraphProto),
    Field("opset_import", 8, "message", True, False, "", OperatorSetIdProto),
    Field("metadata_props", 14, "message", True, False, "", StringStringEntryProto),
    Field("training_info", 20, "message", True, False, "", TrainingInfoProto),
    Field("functions", 25, "message", True, False, "", FunctionProto),
    Field("configuration", 26, "message", True, False, "", DeviceConfigurationProto),
))

seal(DeviceConfigurationProto, (
    Field("name", 1, "string", False, False, "", None),
    Field("num_devices", 2, "int32", False, False, "", None),
    Field("device", 3, "string", True, False, "", None),
))

seal(StringStringEntryProto, (
    Field("key", 1, "string", False, False, "", None),
    Field("value", 2, "string", False, False, "", None),
))

seal(TensorAnnotation, (
    Field("tensor_name", 1, "string", False, False, "", None),
    Field("quant_parameter_tensor_names", 2, "message", True, False, "", StringStringEntryProto),
))

seal(GraphProto, (
    Field("node", 1, "message", True, False, "", NodeProto),
    Field("name", 2, "string", False, False, "", None),
    Field("initializer", 5, "message", True, False, "", TensorProto),
    Field("doc_string", 10, "string", False, False, "", None),
    Field("input", 11, "message", True, False, "", ValueInfoProto),
    Field("output", 12, "message", True, False, "", ValueInfoProto),
    Field("value_info", 13, "message", True, False, "", ValueInfoProto),
    Field("quantization_annotation", 14, "message", True, False, "", TensorAnnotation),
    Field("sparse_initializer", 15, "message", True, False, "", SparseTensorProto),
    Field("metadata_props", 16, "message", True, False, "", StringStringEntryProto),
), nests=True)

seal(TensorProto, (
    Field("dims", 1, "int64", True, False, "", None),
    Field("data_type", 2, "int32", False, False, "", None),
    Field("segment", 3, "message", False, False, "", TensorProtoSegment),
    Field("float_data", 4, "float", True, True, "", None),
    Field("int32_data", 5, "int32", True, True, "", None),
    Field("string_data", 6, "bytes", True, False, "", None),
    Field("int64_data", 7, "int64", True, True, "", None),
    Field("name", 8, "string", False, False, "", None),
    Field("raw_data", 9, "bytes", False, False, "", None),
    Field("double_data", 10, "double", True, True, "", None),
    Field("uint64_data", 11, "uint64", True, True, "", None),
    Field("doc_string", 12, "string", False, False, "", None),
    Field("external_data", 13, "message", True, False, "", StringStringEntryProto),
    Field("data_location", 14, "enum", False, False, "", None, TensorProtoDataLocation),
    Field("metadata_props", 16, "message", True, False, "", StringStringEntryProto),
))

seal(TensorProtoSegment, (
    Field("begin", 1, "int64", False, False, "", None),
    Field("end", 2, "int64", False, False, "", None),
))

seal(SparseTensorProto, (
    Field("values", 1, "message", False, False, "", TensorProto),
    Field("indices", 2, "message", False, False, "", TensorProto),
    Field("dims", 3, "int64", True, False, "", None),
))

seal(TensorShapeProto, (
    Field("dim", 1, "message", True, False, "", TensorShapeProtoDimension),
))

seal(TensorShapeProtoDimension, (
    Field("dim_value", 1, "int64", False, False, "value", None),
    Field("dim_param", 2, "string", False, False, "value", None),
    Field("denotation", 3, "string", False, False, "", None),
))

seal(TypeProto, (
    Field("tensor_type", 1, "message", False, False, "value", TypeProtoTensor),
    Field("sequence_type", 4, "message", False, False, "value", TypeProtoSequence),
    Field("map_type", 5, "message", False, False, "value", TypeProtoMap),
    Field("denotation", 6, "string", False, False, "", None),
    Field("opaque_type", 7, "message", False, False, "value", TypeProtoOpaque),
    Field("sparse_tensor_type", 8, "message", False, False, "value", TypeProtoSparseTensor),
    Field("optional_type", 9, "message", False, False, "value", TypeProtoOptional),
), nests=True)

seal(TypeProtoTensor, (
    Field("elem_type", 1, "int32", False, False, "", None),
    Field("shape", 2, "message", False, False, "", TensorShapeProto),
))

seal(TypeProtoSequence, (
    Field("elem_type", 1, "message", False, False, "", TypeProto),
))

seal(TypeProtoMap, (
    Field("key_type", 1, "int32", False, False, "", None),
    Field("value_type", 2, "message", False, False, "", TypeProto),
))

seal(TypeProtoOptional, (
    Field("elem_type", 1, "message", False, False, "", TypeProto),
))

seal(TypeProtoSparseTensor, (
    Field("elem_type", 1, "int32", False, False, "", None),
    Field("shape", 2, "message", False, False, "", TensorShapeProto),
))

seal(TypeProtoOpaque, (
    Field("domain", 1, "string", False, False, "", None),
    Field("name", 2, "string", False, False, "", None),
))

seal(OperatorSetIdProto, (
    Field("domain", 1, "string", False, False, "", None),
    Field("version", 2, "int64", False, False, "", None),
))

seal(FunctionProto, (
    Field("name", 1, "string", False, False, "", None),
    Field("input", 4, "string", True, False, "", None),
    Field("output", 5, "string", True, False, "", None),
    Field("attribute", 6, "string", True, False, "", None),
    Field("node", 7, "message", True, False, "", NodeProto),
    Field("doc_string", 8, "string", False, False, "", None),
    Field("opset_import", 9, "message", True, False, "", OperatorSetIdProto),
    Field("domain", 10, "string", False, False, "", None),
    Field("attribute_proto", 11, "message", True, False, "", AttributeProto),
    Field("value_info", 12, "message", True, False, "", ValueInfoProto),
    Field("overload", 13, "string", False, False, "", None),
    Field("metadata_props", 14, "message", True, False, "", StringStringEntryProto),
))

seal(OperatorProto, (
    Field("op_type", 1, "string", False, False, "", None),
    Field("since_version", 2, "int64", False, False, "", None),
    Field("status", 3, "enum", False, False, "", None, OperatorStatus),
    Field("doc_string", 10, "string", False, False, "", None),
))

seal(OperatorSetProto, (
    Field("magic", 1, "string", False, False, "", None),
    Field("ir_version", 2, "int64", False, False, "", None),
    Field("ir_version_prerelease", 3, "string", False, False, "", None),
    Field("domain", 4, "string", False, False, "", None),
    Field("opset_version", 5, "int64", False, False, "", None),
    Field("doc_string", 6, "string", False, False, "", None),
    Field("ir_build_metadata", 7, "string", False, False, "", None),
    Field("operator", 8, "message", True, False, "", OperatorProto),
    Field("functions", 9, "message", True, False, "", FunctionProto),
))

seal(SequenceProto, (
    Field("name", 1, "string", False, False, "", None),
    Field("elem_type", 2, "int32", False, False, "", None),
    Field("tensor_values", 3, "message", True, False, "", TensorProto),
    Field("sparse_tensor_values", 4, "message", True, False, "", SparseTensorProto),
    Field("sequence_values", 5, "message", True, False, "", SequenceProto),
    Field("map_values", 6, "message", True, False, "", MapProto),
    Field("optional_values", 7, "message", True, False, "", OptionalProto),
), nests=True)

seal(MapProto, (
    Field("name", 1, "string", False, False, "", None),
    Field("key_type", 2, "int32", False, False, "", None),
    Field("keys", 3, "int64", True, False, "", None),
    Field("string_keys", 4, "bytes", True, False, "", None),
    Field("values", 5, "message", False, False, "", SequenceProto),
), nests=True)

seal(OptionalProto, (
    Field("name", 1, "string", False, False, "", None),
    Field("elem_type", 2, "int32", False, False, "", None),
    Field("tensor_value", 3, "message", False, False, "", TensorProto),
    Field("sparse_tensor_value", 4, "message", False, False, "", SparseTensorProto),
    Field("sequence_value", 5, "message", False, False, "", SequenceProto),
    Field("map_value", 6, "message", False, False, "", MapProto),
    Field("optional_value", 7, "message", False, False, "", OptionalProto),
), nests=True)

MESSAGES: tuple[type[Record], ...] = (AttributeProto, ValueInfoProto, NodeProto, IntIntListEntryProto, NodeDeviceConfigurationProto, ShardingSpecProto, ShardedDimProto, SimpleShardedDimProto, TrainingInfoProto, ModelProto, DeviceConfigurationProto, StringStringEntryProto, TensorAnnotation, GraphProto, TensorProto, TensorProtoSegment, SparseTensorProto, TensorShapeProto, TensorShapeProtoDimension, TypeProto, TypeProtoTensor, TypeProtoSequence, TypeProtoMap, TypeProtoOptional, TypeProtoSparseTensor, TypeProtoOpaque, OperatorSetIdProto, FunctionProto, OperatorProto, OperatorSetProto, SequenceProto, MapProto, OptionalProto)
