"""A model of one node, with the types of the values that the node is called with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import InputError
from sardonyx._src.io.loading.load import Serializable
from sardonyx._src.io.serde.types import type_to
from sardonyx._src.ir import MapType, SequenceType, SparseTensor, SparseTensorType, TensorType, Type
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.binary import decode
from sardonyx._src.runtime.backend.feeds import read_message
from sardonyx._src.schema import canonical, domains, latest

STRING_KINDS = "OSUT"  # kinds of NumPy's types of strings: objects, bytes, str and StringDType
OutputInfo = tuple[object, Sequence[int]]  # anything that np.dtype takes, and the shape


def read_node(node: object) -> m.NodeProto:
    """The record of a node; raises InputError for anything else."""
    if isinstance(node, m.NodeProto):
        return node
    if isinstance(node, bytes | bytearray | memoryview):
        return decode(node, m.NodeProto)
    if isinstance(node, Serializable) and type(node).__name__ == "NodeProto":
        return decode(node.SerializeToString(), m.NodeProto)
    raise InputError(f"node must be a NodeProto or its bytes; got a {type(node).__name__}", name="node")


def node_feeds(node: m.NodeProto, inputs: object) -> dict[str, object]:
    """The values of a node's inputs by name.

    A list has, in order, one value for each input that the node does not omit; or one for each input, with None for omitted
    ones.  A dict may also have the outer values that subgraphs read.  Raises InputError for a wrong number of values, and for
    values that contradict the node.
    """
    if isinstance(inputs, Mapping):
        if wrong := [name for name in inputs if not isinstance(name, str)]:
            raise InputError(f"the keys of inputs must be names; got {wrong[0]!r}", name="inputs")
        return {name: convert_value(value, name) for name, value in inputs.items()}
    values = list(inputs) if isinstance(inputs, list | tuple) else [inputs]
    names = [name for name in node.input if name] if len(values) != len(node.input) else list(node.input)
    if len(values) != len(names):
        raise InputError(
            f"inputs must be {len(names)} values, one for each of {names}; got {len(values)}", name="inputs"
        )
    feeds: dict[str, object] = {}
    for name, value in zip(names, values, strict=True):
        if not name and value is not None:
            raise InputError("an input that the node omits must be None; got a value", name="inputs")
        if name and feeds.setdefault(name, value) is not value:
            raise InputError(
                f"input {name!r}, which the node lists twice, must be one object; got two", name=name
            )
    return {name: convert_value(value, name) for name, value in feeds.items()}


def convert_value(value: object, name: str) -> object:
    """A run-time value: a list of arrays and an empty list are sequences, any other list or a Python number is a tensor."""
    value = read_message(value, name)
    if value is None or isinstance(value, np.ndarray | SparseTensor | Mapping):
        return value
    if isinstance(value, list | tuple) and any(
        isinstance(v, np.ndarray | SparseTensor | Mapping | list | tuple) for v in value
    ):
        return [convert_value(v, f"{name}[{i}]") for i, v in enumerate(value)]
    if isinstance(value, list) and not value:
        return value
    try:
        return np.asarray(value)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"input {name!r} must be an array; got a {type(value).__name__}: {error}", name=name
        ) from error


def node_model(
    node: m.NodeProto,
    feeds: Mapping[str, object],
    outputs_info: Sequence[OutputInfo] | None,
    opset_version: int | None,
) -> m.ModelProto:
    """The model of a node: its inputs have the types and shapes of the feeds, and its outputs those of `outputs_info`.

    opset_version: the version of the default domain; the newest if it is None, as for all other domains.
    """
    if opset_version is not None and (not isinstance(opset_version, int) or opset_version < 1):
        raise InputError(
            f"opset_version must be a number from 1 on; got {opset_version!r}", name="opset_version"
        )
    names = [name for name in node.output if name]
    graph = m.GraphProto(
        name=node.op_type or "node",
        node=[node],
        input=[value_info(name, feed_type(value, name)) for name, value in feeds.items()],
        output=list(map(value_info, names, declared_types(outputs_info, names))),
    )
    versions = {domain: latest(domain) for domain in domains()} | {"": opset_version or latest("")}
    versions.setdefault(canonical(node.domain), 1)
    imports = [m.OperatorSetIdProto(domain=domain, version=version) for domain, version in versions.items()]
    return m.ModelProto(ir_version=int(max(m.Version)), graph=graph, opset_import=imports)


def value_info(name: str, type: Type | None) -> m.ValueInfoProto:
    record = m.ValueInfoProto(name=name)
    if type is not None:
        record.type = type_to(type)
    return record


def declared_types(
    outputs_info: Sequence[OutputInfo] | None, names: Sequence[str]
) -> Sequence[TensorType | None]:
    """The types of outputs that `outputs_info` describes; None for each output without `outputs_info`."""
    if outputs_info is None:
        return [None] * len(names)
    try:
        types = [
            TensorType(DataType.of(np.dtype(cast(type, dtype))), tuple(map(int, shape)))
            for dtype, shape in outputs_info
        ]
    except (TypeError, ValueError) as error:
        raise InputError(
            f"outputs_info must have pairs of an element type and a shape; got {outputs_info}: {error}",
            name="outputs_info",
        ) from error
    if len(types) != len(names):
        raise InputError(
            f"outputs_info must have {len(names)} entries, one for each of {names}; got {len(types)}",
            name="outputs_info",
        )
    return types


def feed_type(value: object, name: str) -> Type | None:
    """The type of a fed value; raises InputError for one that ONNX has no type for."""
    try:
        return type_of(value)
    except TypeError as error:
        raise InputError(f"input {name!r}: {error}", name=name) from error


def type_of(value: object) -> Type | None:
    """The type of a fed value; None where the value leaves it open, as an empty list does."""
    match value:
        case np.ndarray():
            return TensorType(
                DataType.STRING if value.dtype.kind in STRING_KINDS else DataType.of(value.dtype), value.shape
            )
        case SparseTensor():
            return SparseTensorType(value.dtype, value.shape)
        case Mapping() if value:
            key, element = next(iter(value.items()))
            return MapType(
                DataType.STRING if isinstance(key, str) else DataType.INT64, without_shape(type_of(element))
            )
        case list() if value:
            return SequenceType(without_shape(type_of(value[0])))
    return None


def without_shape(type: Type | None) -> Type | None:
    """The type of all elements of a container, given the type of one element: elements may differ in shape."""
    match type:
        case TensorType():
            return TensorType(type.dtype)
        case SparseTensorType():
            return SparseTensorType(type.dtype)
    return type
