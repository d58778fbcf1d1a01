"""The messages of inference as classes of protobuf's own library."""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

# A part of the published protocol, as protobuf's own library reads it.
TYPES = {
    "string": 9,
    "bytes": 12,
    "bool": 8,
    "int64": 3,
    "uint64": 4,
    "double": 1,
    "float": 2,
    "int32": 5,
    "uint32": 13,
}
PROTOCOL = {
    "InferParameter": ["bool_param 1 bool", "int64_param 2 int64", "string_param 3 string", "double_param 4 double",
                       "uint64_param 5 uint64"],
    "Entry": ["key 1 string", "value 2 InferParameter"],
    "InferTensorContents": ["bool_contents 1 bool*", "int_contents 2 int32*", "int64_contents 3 int64*",
                            "uint_contents 4 uint32*", "uint64_contents 5 uint64*", "fp32_contents 6 float*",
                            "fp64_contents 7 double*", "bytes_contents 8 bytes*"],
    "InferInputTensor": ["name 1 string", "datatype 2 string", "shape 3 int64*", "parameters 4 Entry*",
                         "contents 5 InferTensorContents"],
    "InferRequestedOutputTensor": ["name 1 string", "parameters 2 Entry*"],
    "InferOutputTensor": ["name 1 string", "datatype 2 string", "shape 3 int64*", "parameters 4 Entry*"],
    "ModelInferRequest": ["model_name 1 string", "model_version 2 string", "id 3 string", "parameters 4 Entry*",
                          "inputs 5 InferInputTensor*", "outputs 6 InferRequestedOutputTensor*",
                          "raw_input_contents 7 bytes*"],
    "ModelInferResponse": ["model_name 1 string", "model_version 2 string", "id 3 string", "parameters 4 Entry*",
                           "outputs 5 InferOutputTensor*", "raw_output_contents 6 bytes*"],
}  # fmt: skip


def message_classes() -> dict[str, Any]:
    """The classes by name."""
    file = descriptor_pb2.FileDescriptorProto(name="protocol.proto", package="p", syntax="proto3")
    for name, lines in PROTOCOL.items():
        message = file.message_type.add(name=name)
        for line in lines:
            field, number, kind = line.split()
            added = message.field.add(name=field, number=int(number), label=3 if kind.endswith("*") else 1)
            kind = kind.rstrip("*")
            if kind in TYPES:
                added.type = TYPES[kind]
            else:
                added.type, added.type_name = 11, f".p.{kind}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"p.{name}")) for name in PROTOCOL
    }
