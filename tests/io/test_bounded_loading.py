"""Declarations of absurd numbers of dims and of entries: refused, or noted once."""

from __future__ import annotations

import pytest

import sardonyx as sx
from models import parse_record
from sardonyx._src.errors import InvalidModel
from sardonyx._src.proto import messages as m


def with_input_of_rank(rank: int) -> m.ModelProto:
    record = parse_record("g (float[2] x, float[2] z) => (y) { y = Neg(z) }")
    assert record.graph is not None
    dims = [m.TensorShapeProtoDimension(dim_value=1)] * rank
    tensor = m.TypeProtoTensor(elem_type=1, shape=m.TensorShapeProto(dim=dims))
    record.graph.input[0].type = m.TypeProto(tensor_type=tensor)
    return record


def with_initializer_of_rank(rank: int, size: int) -> m.ModelProto:
    record = parse_record("g (float[2] z) => (y) { y = Add(z, w) }")
    assert record.graph is not None
    record.graph.initializer = [m.TensorProto(name="w", data_type=1, dims=[size] * rank + [0])]
    return record


def test_a_rank_of_a_thousand_is_read() -> None:
    x = sx.load(with_input_of_rank(1024)).graph.inputs[0]
    assert str(x.type).count(",") == 1023


@pytest.mark.parametrize(
    "record",
    [with_input_of_rank(1025), with_initializer_of_rank(1024, 1), with_initializer_of_rank(100_000, 1 << 62)],
    ids=["input", "initializer", "huge dims"],
)
def test_ranks_beyond_any_array_are_refused(record: m.ModelProto) -> None:
    with pytest.raises(InvalidModel, match="a tensor must have at most 1024 dims; got"):
        sx.load(record)


@pytest.mark.parametrize(("count", "times"), [(2, "twice"), (1000, "1000 times")])
def test_a_repeated_metadata_key_is_noted_once(count: int, times: str) -> None:
    record = parse_record("g (float[2] z) => (y) { y = Neg(z) }")
    record.metadata_props = [m.StringStringEntryProto(key="k", value=str(i)) for i in range(count)]
    model = sx.load(record)
    assert model.metadata == {"k": str(count - 1)}
    (note,) = model.notes
    assert f"metadata key 'k' occurs {times}: the last value applies" in str(note)


def test_repeated_entries_of_value_info_are_counted_in_one_pass() -> None:
    record = parse_record("g (float[2] z) => (y) { y = Neg(z) }")
    assert record.graph is not None
    comparisons = 0

    class Name(str):
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            nonlocal comparisons
            comparisons += 1
            return str.__eq__(self, other)

    record.graph.value_info = [m.ValueInfoProto(name=Name(f"v{i % 500}")) for i in range(1000)]
    notes = [str(note) for note in sx.load(record).notes]
    assert sum("several times" in note for note in notes) == 500
    assert comparisons < 20_000
