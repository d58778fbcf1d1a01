"""External tensors in every part of a model share one resolver, and the onnx package reads the same data."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import onnx
import pytest
from onnx import helper
from onnx.external_data_helper import convert_model_to_external_data

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import ExternalDataError
from sardonyx._src.io.external import ExternalFiles, ExternalStorage
from sardonyx._src.io.serde import from_proto, to_proto
from sardonyx._src.ir import Model, Tensor
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.binary import decode


def external(location: str, *dims: int) -> m.TensorProto:
    record = m.TensorProto(dims=list(dims or (2,)), data_type=int(DataType.INT64), name="w", data_location=1)
    record.external_data = [m.StringStringEntryProto(key="location", value=location)]
    return record


def plain(*values: int) -> m.TensorProto:
    return m.TensorProto(dims=[len(values)], data_type=int(DataType.INT64), name="v", int64_data=list(values))


def attribute(**field: object) -> m.AttributeProto:
    kinds = {"t": 4, "tensors": 9, "sparse_tensor": 11, "sparse_tensors": 12, "g": 5}
    return m.AttributeProto(name="value", type=kinds[next(iter(field))], **field)


def node(attribute: m.AttributeProto) -> m.NodeProto:
    return m.NodeProto(op_type="Op", output=["y"], attribute=[attribute])


def graph(**fields: object) -> m.GraphProto:
    return m.GraphProto(name="g", **fields)


def model(main: m.GraphProto | None = None, **fields: object) -> m.ModelProto:
    imports = [m.OperatorSetIdProto(domain="", version=21)]
    return m.ModelProto(ir_version=10, opset_import=imports, graph=main or graph(), **fields)


def sparse_values(location: str) -> m.SparseTensorProto:
    return m.SparseTensorProto(values=external(location), indices=plain(0, 3), dims=[4])


def sparse_indices(location: str) -> m.SparseTensorProto:
    return m.SparseTensorProto(values=plain(7, 8), indices=external(location), dims=[4])


def function(**fields: object) -> m.FunctionProto:
    return m.FunctionProto(name="F", domain="d", opset_import=[m.OperatorSetIdProto(version=21)], **fields)


PLACES: dict[str, Callable[[str], m.ModelProto]] = {
    "initializer": lambda key: model(graph(initializer=[external(key)])),
    "sparse initializer's values": lambda key: model(graph(sparse_initializer=[sparse_values(key)])),
    "sparse initializer's indices": lambda key: model(graph(sparse_initializer=[sparse_indices(key)])),
    "attribute": lambda key: model(graph(node=[node(attribute(t=external(key)))])),
    "list attribute": lambda key: model(graph(node=[node(attribute(tensors=[plain(1), external(key)]))])),
    "sparse attribute": lambda key: model(graph(node=[node(attribute(sparse_tensor=sparse_values(key)))])),
    "sparse list attribute": lambda key: model(
        graph(node=[node(attribute(sparse_tensors=[sparse_indices(key)]))])
    ),
    "subgraph": lambda key: model(graph(node=[node(attribute(g=graph(initializer=[external(key)])))])),
    "function": lambda key: model(functions=[function(node=[node(attribute(t=external(key)))])]),
    "function's default": lambda key: model(
        functions=[function(attribute_proto=[attribute(t=external(key))])]
    ),
    "initialization": lambda key: model(
        training_info=[m.TrainingInfoProto(initialization=graph(initializer=[external(key)]))]
    ),
    "algorithm": lambda key: model(
        training_info=[m.TrainingInfoProto(algorithm=graph(initializer=[external(key)]))]
    ),
}


def external_tensors(model: Model) -> list[Tensor]:
    tensors: list[Tensor] = []

    def place(tensor: Tensor) -> list[tuple[str, str]] | None:
        if not isinstance(tensor.storage, ExternalStorage):
            return None
        tensors.append(tensor)
        return []

    to_proto.model(model, place)
    return tensors


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "secret").write_bytes(b"root" * 4)
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "w").write_bytes(bytes([1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0]))
    (tmp_path / "home" / "link").symlink_to("../secret")
    return tmp_path / "home"


@pytest.mark.parametrize("place", PLACES)
def test_data_are_found_wherever_the_tensor_sits(place: str, home: Path) -> None:
    loaded = from_proto.model(PLACES[place]("w"), ExternalFiles(home / "m.onnx"))
    assert [tensor.numpy().tolist() for tensor in external_tensors(loaded)] == [[1, 2]]


@pytest.mark.parametrize("place", PLACES)
def test_traversal_is_refused_wherever_the_tensor_sits(place: str, home: Path) -> None:
    with pytest.raises(
        ExternalDataError, match=r"a location must be .*; got '\.\./secret', which contains '\.\.'"
    ) as e:
        from_proto.model(PLACES[place]("../secret"), ExternalFiles(home / "m.onnx"))
    assert "'w'" in e.value.location


@pytest.mark.parametrize("place", PLACES)
def test_links_are_refused_wherever_the_tensor_sits(place: str, home: Path) -> None:
    loaded = from_proto.model(PLACES[place]("link"), ExternalFiles(home / "m.onnx"))
    (tensor,) = external_tensors(loaded)
    with pytest.raises(ExternalDataError, match="'link', a symbolic link"):
        tensor.numpy()


def test_what_the_onnx_package_writes_is_read(tmp_path: Path) -> None:
    weights = [
        helper.make_tensor("a", 1, [2], [1.5, -2.0]),
        helper.make_tensor("b", 10, [3], [0.5, 1.0, -1.0]),
    ]
    for weight in weights:
        weight.raw_data = onnx.numpy_helper.to_array(weight).tobytes()
        weight.ClearField("float_data")
        weight.ClearField("int32_data")
    proto = helper.make_model(helper.make_graph([], "g", [], [], weights))
    convert_model_to_external_data(proto, location="w.bin", size_threshold=0)
    onnx.save_model(proto, str(tmp_path / "m.onnx"))
    record = decode((tmp_path / "m.onnx").read_bytes(), m.ModelProto)
    loaded = from_proto.model(record, ExternalFiles(tmp_path / "m.onnx"))
    assert [t.numpy().tolist() for t in external_tensors(loaded)] == [[1.5, -2.0], [0.5, 1.0, -1.0]]
