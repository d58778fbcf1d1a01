"""The onnx wheel's protobuf messages as the reference for our records and their codecs."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import onnx
from onnx import onnx_data_pb2, onnx_ml_pb2, onnx_operators_ml_pb2

from sardonyx._src.proto import messages as m
from sardonyx._src.proto.record import Kind, Record

Message: TypeAlias = Any  # the wheel's messages carry no types here
TYPES: dict[int, Kind] = {1: "double", 2: "float", 3: "int64", 4: "uint64", 5: "int32", 9: "string", 11: "message", 12: "bytes", 14: "enum"}  # fmt: skip
OFFICIAL = Path(onnx.__file__).parent / "backend/test/data"
SHARED = Path(__file__).resolve().parents[3] / "shared/models"
DATA = {"tensor_type": m.TensorProto, "sequence_type": m.SequenceProto, "optional_type": m.OptionalProto}


@cache
def judges() -> dict[str, Message]:
    """The wheel's message classes by the names of ours; nested names are joined."""
    classes: dict[str, Message] = {}
    for module in (onnx_ml_pb2, onnx_data_pb2, onnx_operators_ml_pb2):
        for name in module.DESCRIPTOR.message_types_by_name:
            message = getattr(module, name)
            classes[name] = message
            classes |= {name + n.name: getattr(message, n.name) for n in message.DESCRIPTOR.nested_types}
    return classes


def judge_of(message: type[Record]) -> Message:
    return judges()[message.__name__]


def assert_same(record: Record, message: Message, path: str = "") -> None:
    """Asserts that record and message are equal, field by field; unknown fields are not compared."""
    ours = {f.name: v for f, v in record.present()}
    theirs = {f.name: (f, v) for f, v in message.ListFields()}
    assert list(ours) == sorted(ours, key=lambda n: record.BY_NAME[n].number), path
    assert set(ours) == set(theirs), path
    for name, (descriptor, value) in theirs.items():
        field_path = f"{path}.{name}"
        if not descriptor.is_repeated:
            assert_same_value(ours[name], value, descriptor, field_path)
            continue
        mine = ours[name]
        assert isinstance(mine, list | np.ndarray), field_path
        assert len(mine) == len(value), field_path
        for i, (a, b) in enumerate(zip(mine, value, strict=True)):
            assert_same_value(a, b, descriptor, f"{field_path}[{i}]")


def assert_same_value(a: object, b: Message, descriptor: Message, path: str) -> None:
    if descriptor.message_type is not None:
        assert isinstance(a, Record), path
        assert_same(a, b, path)
    elif descriptor.cpp_type in (descriptor.CPPTYPE_FLOAT, descriptor.CPPTYPE_DOUBLE):
        assert isinstance(a, float | np.floating), path
        assert struct.pack("<d", a) == struct.pack("<d", b), path
    else:
        assert isinstance(a, int | np.integer | str | bytes | memoryview), path
        assert isinstance(a, str) == isinstance(b, str), path
        assert a == b, path


def official_files() -> Iterator[tuple[Path, type[Record]]]:
    """Every file of the wheel's test data, with its message type."""
    for model in sorted(OFFICIAL.rglob("*.onnx")):
        yield from files_with(model)
    for data in sorted(OFFICIAL.glob("light/*.pb")):
        yield data, m.TensorProto


def shared_files() -> Iterator[tuple[Path, type[Record]]]:
    for model in sorted(SHARED.glob("*/model.onnx")):
        yield from files_with(model)


def files_with(model: Path) -> Iterator[tuple[Path, type[Record]]]:
    """The model and its inputs and outputs, whose messages follow from the model's types."""
    yield model, m.ModelProto
    graph = onnx_ml_pb2.ModelProto.FromString(model.read_bytes()).graph
    values = {"input": graph.input, "output": graph.output}
    for path in sorted(model.parent.glob("*/*.pb")):
        kind, index = path.stem.rsplit("_", 1)
        yield path, DATA[values[kind][int(index)].type.WhichOneof("value")]
