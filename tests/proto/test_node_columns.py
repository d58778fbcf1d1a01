"""Columns of nodes have what their records have."""

from __future__ import annotations

import random

import numpy as np
import pytest

from sardonyx._src.proto import messages as m
from sardonyx._src.proto.binary import encode
from sardonyx._src.proto.node_columns import MAX_INPUTS, read_columns

BYTES = m.AttributeProto(name="s", s=bytes(range(256)) * 2, type=3)
PLAIN = {
    "usual": m.NodeProto(input=["x", "y"], output=["z"], name="n", op_type="Add"),
    "without name": m.NodeProto(input=["x"], output=["z"], op_type="Relu"),
    "without input": m.NodeProto(output=["z"], name="n", op_type="Constant", attribute=[BYTES]),
    "input left out": m.NodeProto(input=["x", "", "y"], output=["z"], name="n", op_type="Clip"),
    "only inputs left out": m.NodeProto(input=["", ""], output=["z"], op_type="Op"),
    "longest name": m.NodeProto(input=["x" * 127], output=["y" * 127], name="n" * 127, op_type="Op"),
    "control characters": m.NodeProto(
        input=["\n\x12", "\x1a\x00"], output=['"\x01'], name="\n\n", op_type="Op"
    ),
    "many inputs": m.NodeProto(input=["i"] * MAX_INPUTS, output=["z"], op_type="Sum"),
    "short operator": m.NodeProto(output=["z"], op_type="O"),
    "empty operator": m.NodeProto(output=["z"], op_type=""),
}
OTHER = {
    "long input": m.NodeProto(input=["x" * 128], output=["z"], op_type="Op"),
    "long output": m.NodeProto(output=["z" * 128], op_type="Op"),
    "long name": m.NodeProto(output=["z"], name="n" * 128, op_type="Op"),
    "empty name": m.NodeProto(output=["z"], name="", op_type="Op"),
    "not ASCII": m.NodeProto(input=["größe"], output=["z"], name="n", op_type="Op"),
    "name not ASCII": m.NodeProto(input=["x"], output=["z"], name="größe", op_type="Op"),
    "no output": m.NodeProto(input=["x"], op_type="Op"),
    "output left out": m.NodeProto(output=[""], op_type="Op"),
    "two outputs": m.NodeProto(input=["x"], output=["y", "z"], op_type="Split"),
    "no operator": m.NodeProto(input=["x"], output=["z"], name="n"),
    "too many inputs": m.NodeProto(input=["i"] * (MAX_INPUTS + 1), output=["z"], op_type="Sum"),
    "nothing": m.NodeProto(),
}


def assert_columns(nodes: list[tuple[m.NodeProto, bool]]) -> None:
    """Asserts the columns of these nodes; the flags tell which of them are plain."""
    data, begins, ends = b"", [], []
    for node, _ in nodes:
        encoded = encode(node)
        size = len(encoded)
        data += b"\x0a" + (bytes([size]) if size < 128 else bytes([128 | size & 127, size >> 7]))
        begins.append(len(data))
        data += encoded
        ends.append(len(data))
    columns = read_columns(data, np.array(begins), np.array(ends))
    assert list(columns.plain) == [is_plain for _, is_plain in nodes]
    for i, (node, is_plain) in enumerate(nodes):
        names = columns.names[columns.first_names[i] : columns.first_names[i + 1]]
        if is_plain:
            assert columns.counts[i] == len(node.input)
            assert names == [*node.input, node.output[0], node.name]
            call = m.NodeProto(op_type=node.op_type, attribute=node.attribute)
            assert data[columns.calls[i] : columns.ends[i]] == encode(call)
        else:
            assert names == []


@pytest.mark.parametrize("name", PLAIN)
def test_plain_nodes(name: str) -> None:
    assert_columns([(PLAIN[name], True)])


@pytest.mark.parametrize("name", OTHER)
def test_other_nodes(name: str) -> None:
    assert_columns([(OTHER[name], False)])


def test_nodes_of_all_kinds_in_one_block() -> None:
    rng = random.Random(0)
    kinds = [(node, True) for node in PLAIN.values()] + [(node, False) for node in OTHER.values()]
    for _ in range(20):
        assert_columns(rng.choices(kinds, k=30))


def test_a_field_that_runs_past_its_node() -> None:
    node = encode(PLAIN["usual"])
    for i, byte in enumerate(node):
        if byte < 3:  # a length
            data = b"\x0a" + bytes([len(node)]) + node[:i] + b"\x7f" + node[i + 1 :]
            columns = read_columns(data, np.array([2]), np.array([len(data)]))
            assert list(columns.plain) == [False]
