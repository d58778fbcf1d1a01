"""Runs of nodes: decoded in one loop, they give the records and the errors of the general decoder."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from sardonyx._src.errors import SardonyxError
from sardonyx._src.io.loading.load import map_or_read
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.binary import decode, encode
from sardonyx._src.proto.record import Record
from sardonyx._src.proto.runs import BLOCK
from sardonyx._src.proto.wire import Buffer, Limits

NAMES = ["", "x", "y", "value", "größe", "n" * 130, "n" * 127, "\udcff"]


def attribute(rng: random.Random) -> m.AttributeProto:
    values: list[dict[str, object]] = [
        {"i": -1, "type": 2},
        {"ints": [1, rng.randrange(3)], "type": 7},
        {"f": 0.5, "type": 1},
        {"s": b"SAME", "type": 3},
        {"strings": [b"a", b"b"], "type": 8},
        {"floats": [], "type": 6},
        {"s": bytes(2000), "type": 3},
        {"t": m.TensorProto(data_type=1, dims=[1], raw_data=bytes(4)), "type": 4},
        {"g": graph(rng, 2), "type": 5} if rng.random() < 0.2 else {"i": 3},
    ]
    return m.AttributeProto(name=rng.choice(NAMES), **rng.choice(values))


def node(rng: random.Random) -> m.NodeProto:
    result = m.NodeProto()
    for field in ("input", "output"):
        if rng.random() < 0.9:
            result.set(field, [rng.choice(NAMES) for _ in range(rng.randrange(1, 4))])
    for name in ("name", "op_type", "doc_string", "domain", "overload"):
        if rng.random() < 0.5:
            result.set(name, rng.choice(NAMES))
    if rng.random() < 0.5:
        result.attribute = [attribute(rng) for _ in range(rng.randrange(1, 4))]
    if rng.random() < 0.1:
        result.add_unknown(b"\xf8\x3f\x01")
    return result


def graph(rng: random.Random, count: int) -> m.GraphProto:
    return m.GraphProto(name="g", node=[node(rng) for _ in range(count)])


def outcome(data: Buffer, message: type[Record], limits: Limits | None = None) -> Record | str:
    try:
        return decode(data, message, limits)
    except SardonyxError as error:
        return f"{type(error).__name__}: {error}"


def assert_same(data: Buffer, message: type[Record] = m.GraphProto) -> None:
    """A limit on the number of records that data of this size could exceed selects the general decoder."""
    expected = outcome(data, message, Limits(records=len(data) // 2))
    actual = outcome(data, message)
    assert actual == expected
    if isinstance(actual, Record) and isinstance(expected, Record):
        assert repr(actual) == repr(expected)
        assert encode(actual) == encode(expected)


@pytest.mark.parametrize("seed", range(20))
def test_random_graphs(seed: int) -> None:
    rng = random.Random(seed)
    assert_same(encode(graph(rng, 40)))


@pytest.mark.parametrize("seed", range(20))
def test_damaged_graphs(seed: int) -> None:
    rng = random.Random(seed)
    data = encode(graph(rng, 6))
    for _ in range(150):
        damaged = bytearray(data)
        for _ in range(rng.randrange(1, 3)):
            damaged[rng.randrange(len(damaged))] = rng.choice([0, 1, 2, 10, 18, 26, 34, 42, 127, 128, 255])
        assert_same(bytes(damaged[: rng.randrange(1, len(damaged) + 1)]))
        assert_same(bytes(damaged))


def test_nodes_across_blocks(tmp_path: Path) -> None:
    rng = random.Random(1)
    large = m.NodeProto(
        op_type="Constant", attribute=[m.AttributeProto(name="s", s=bytes(2 * BLOCK), type=3)]
    )
    nodes = [large, *(node(rng) for _ in range(1500)), large, large, node(rng)]
    data = encode(m.GraphProto(name="g", node=nodes))
    assert len(data) > 3 * BLOCK
    assert_same(data)
    assert_same(data[:-1])
    path = tmp_path / "graph.pb"
    path.write_bytes(data)
    mapped = map_or_read(path, 0)
    assert not isinstance(mapped, bytes)
    assert_same(mapped)


def test_nodes_of_functions() -> None:
    rng = random.Random(2)
    function = m.FunctionProto(name="f", node=[node(rng) for _ in range(40)])
    assert_same(encode(function), m.FunctionProto)


def test_attributes_with_equal_bytes_are_separate_records() -> None:
    ints = m.AttributeProto(name="axes", ints=[1, 2], type=7)
    nodes = [m.NodeProto(op_type="ReduceSum", attribute=[ints]) for _ in range(3)]
    first, second, third = decode(encode(m.GraphProto(node=nodes)), m.GraphProto).node
    second.attribute[0].ints.append(3)
    third.attribute[0].name = "axis"
    assert [a.ints for a in first.attribute] == [[1, 2]]
    assert [a.ints for a in third.attribute] == [[1, 2]]
    assert first.attribute[0].name == second.attribute[0].name == "axes"


def test_empty_nodes_take_linear_time() -> None:
    """Nodes whose fields look like inputs of the node before them."""
    data = b"\x0a\x00" * BLOCK + b"\x0a\x02\x0a\x00" * BLOCK
    record = decode(data, m.GraphProto)
    assert len(record.node) == 2 * BLOCK
    assert_same(b"\x0a\x00" * 50 + b"\x0a\x02\x0a\x00" * 50)
