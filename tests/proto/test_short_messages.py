"""Files of a few megabytes with millions of messages that say nothing."""

import pytest

import sardonyx as sx
from sardonyx._src.errors import InvalidModel, LimitError
from sardonyx._src.proto.binary import decode
from sardonyx._src.proto.messages import TensorShapeProto

COUNT = 320_000
OPSET_IMPORT = b"\x42\x02\x10\x15"


def varint(number: int) -> bytes:
    head = b""
    while number > 127:
        head += bytes([number & 127 | 128])
        number >>= 7
    return head + bytes([number])


def field(number: int, data: bytes) -> bytes:
    """A field with a length, as on the wire."""
    return varint(number << 3 | 2) + varint(len(data)) + data


def model(graph: bytes, rest: bytes = b"") -> bytes:
    return b"\x08\x0a" + field(7, graph) + OPSET_IMPORT + rest


MANY_IN_GRAPH = {"node": 1, "initializer": 5, "input": 11, "value_info": 13, "quantization_annotation": 14}
MANY_IN_MODEL = {"opset_import": 8, "metadata_props": 14, "training_info": 20, "functions": 25}
FILES = {name: model(field(number, b"") * COUNT) for name, number in MANY_IN_GRAPH.items()} | {
    name: model(b"", field(number, b"") * COUNT) for name, number in MANY_IN_MODEL.items()
}
FILES["attribute"] = model(field(1, field(5, b"") * COUNT))
FILES["short metadata_props"] = model(b"", field(14, field(1, b"k")) * COUNT)


@pytest.mark.parametrize("name", FILES)
def test_many_short_messages_are_refused(name: str) -> None:
    with pytest.raises(LimitError, match=r"at most|at least"):
        sx.load(FILES[name])


@pytest.mark.parametrize("name", ["opset_import", "initializer"])
def test_check_reports_them(name: str) -> None:
    report = sx.check(FILES[name])
    assert not report.ok
    assert any("messages of fewer than" in diagnostic.message for diagnostic in report.diagnostics)


def test_many_dims_are_decoded() -> None:
    shape = decode(field(1, b"") * COUNT, TensorShapeProto)
    assert len(shape.dim) == COUNT


def test_a_tensor_of_many_dims_is_refused() -> None:
    dims = field(2, field(1, b"\x08\x01" + field(2, field(1, b"\x08\x01") * 100_000)))
    with pytest.raises(InvalidModel, match="at most 1024 dims"):
        sx.load(model(field(11, field(1, b"x") + dims)))
