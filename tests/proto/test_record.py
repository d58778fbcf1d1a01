"""Records: what is set and what is absent, oneofs, equality, merging."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from sardonyx._src.proto import messages as m
from sardonyx._src.proto.record import Record, merge

DIM = m.TensorShapeProtoDimension


def test_an_absent_field_reads_as_its_default() -> None:
    attribute = m.AttributeProto()
    assert (attribute.name, attribute.f, attribute.i, attribute.s) == ("", 0.0, 0, b"")
    assert (attribute.t, attribute.ints) == (None, [])
    assert attribute == m.AttributeProto()


def test_a_field_set_to_its_default_is_not_absent() -> None:
    attribute = m.AttributeProto(i=0)
    assert attribute.has("i")
    assert not attribute.has("f")
    assert attribute != m.AttributeProto()


def test_the_list_of_an_absent_field_is_the_fields_once_it_is_read() -> None:
    node = m.NodeProto()
    assert not node.has("input")
    node.input.append("x")
    assert node.input == ["x"]
    assert m.NodeProto().input == []


def test_an_empty_list_counts_as_absent_in_all_but_has() -> None:
    node = m.NodeProto(input=[])
    assert node.has("input")
    assert list(node.present()) == []
    assert node == m.NodeProto()


def test_none_counts_as_absent() -> None:
    model = m.ModelProto(graph=m.GraphProto())
    model.graph = None
    assert not model.has("graph")
    assert model == m.ModelProto()


def test_what_is_present_comes_by_number() -> None:
    node = m.NodeProto(domain="d", op_type="Abs", input=["x"], name="n")
    assert [(f.number, value) for f, value in node.present()] == [(1, ["x"]), (3, "n"), (4, "Abs"), (7, "d")]


def test_a_field_can_be_cleared() -> None:
    node = m.NodeProto(name="n")
    node.clear("name")
    node.clear("name")
    assert not node.has("name")


def test_a_name_that_is_no_field_is_refused() -> None:
    with pytest.raises(TypeError, match="NodeProto has no field 'op_typ'"):
        m.NodeProto(op_typ="Abs")
    with pytest.raises(AttributeError):
        m.NodeProto().__getattribute__("op_typ")
    node = m.NodeProto()
    node.__dict__["op_typ"] = "Abs"
    with pytest.raises(AttributeError, match="NodeProto has no field 'op_typ'"):
        list(node.present())


# --- oneofs ---


def test_setting_a_member_of_a_oneof_clears_the_others() -> None:
    dim = DIM(dim_value=3, denotation="N")
    dim.set("dim_param", "n")
    assert (dim.has("dim_value"), dim.which("value")) == (False, "dim_param")
    assert dim == DIM(dim_param="n", denotation="N")
    assert DIM(dim_value=3, dim_param="n") == DIM(dim_param="n")


def test_no_member_of_a_oneof_need_be_set() -> None:
    assert DIM(denotation="N").which("value") is None


# --- equality ---

EQUAL: list[tuple[Record, Record]] = [
    (m.AttributeProto(f=float("nan")), m.AttributeProto(f=float("nan"))),
    (m.AttributeProto(floats=[float("nan")]), m.AttributeProto(floats=[float("nan")])),
    (m.TensorProto(raw_data=b"ab"), m.TensorProto(raw_data=memoryview(b"ab"))),
    (
        m.TensorProto(float_data=[0.5, float("nan")]),
        m.TensorProto(float_data=np.array([0.5, np.nan], np.float32)),
    ),
    (m.TensorProto(uint64_data=[1, 1 << 63]), m.TensorProto(uint64_data=np.array([1, 1 << 63], np.uint64))),
    (m.NodeProto(name="n", op_type="A"), m.NodeProto(op_type="A", name="n")),
]
DIFFERENT: list[tuple[Record, Record]] = [
    (m.AttributeProto(f=float("nan")), m.AttributeProto(f=1.0)),
    (m.AttributeProto(i=1), m.AttributeProto(i=2)),
    (m.AttributeProto(i=1), m.AttributeProto(f=1.0)),
    (m.AttributeProto(ints=[1]), m.AttributeProto(ints=[1, 1])),
    (m.TensorProto(float_data=[1.0]), m.TensorProto(float_data=np.array([2.0], np.float32))),
    (m.TensorProto(float_data=[1.0]), m.TensorProto(float_data=np.array([1.0, 1.0], np.float32))),
    (m.SequenceProto(name="x"), m.MapProto(name="x")),
    (
        m.GraphProto(node=[m.NodeProto(attribute=[m.AttributeProto(i=1)])]),
        m.GraphProto(node=[m.NodeProto(attribute=[m.AttributeProto(i=2)])]),
    ),
]


@pytest.mark.parametrize(("a", "b"), EQUAL)
def test_records_with_the_same_content_are_equal(a: Record, b: Record) -> None:
    assert a == b
    assert b == a


@pytest.mark.parametrize(("a", "b"), DIFFERENT)
def test_records_with_other_content_are_not(a: Record, b: Record) -> None:
    assert a != b
    assert b != a


def test_unknown_fields_count() -> None:
    a, b, c = m.NodeProto(), m.NodeProto(), m.NodeProto()
    a.add_unknown(b"\x78\x01")
    b.add_unknown(memoryview(b"\x78\x01"))
    c.add_unknown_fields([b"\x78\x01", b"\x78\x01"])
    assert a == b
    assert a != c
    assert a != m.NodeProto()


def test_a_record_equals_nothing_else_and_has_no_hash() -> None:
    assert m.NodeProto() != "NodeProto()"
    with pytest.raises(TypeError, match="unhashable"):
        hash(m.NodeProto())


def test_equality_of_deep_records_needs_no_stack() -> None:
    def deep(end: str) -> m.TypeProto:
        record = m.TypeProto(denotation=end)
        for _ in range(5000):
            record = m.TypeProto(sequence_type=m.TypeProtoSequence(elem_type=record))
        return record

    assert deep("a") == deep("a")
    assert deep("a") != deep("b")


def test_a_record_can_be_copied() -> None:
    graph = m.GraphProto(node=[m.NodeProto(op_type="Abs")])
    other = copy.deepcopy(graph)
    other.node[0].op_type = "Neg"
    assert graph.node[0].op_type == "Abs"


# --- merging ---


def test_merging_joins_lists_and_messages_and_replaces_scalars() -> None:
    old = m.GraphProto(name="a", doc_string="kept", node=[m.NodeProto()])
    new = m.GraphProto(name="b", node=[m.NodeProto(op_type="Abs")])
    new.add_unknown(b"\x78\x01")
    both = m.GraphProto(name="b", doc_string="kept", node=[m.NodeProto(), m.NodeProto(op_type="Abs")])
    both.add_unknown(b"\x78\x01")
    assert merge(old, new) == both


def test_merging_joins_arrays_with_lists() -> None:
    array = np.array([1, 2], np.int64)
    assert merge(m.TensorProto(int64_data=array), m.TensorProto(int64_data=[3])).int64_data == [1, 2, 3]
    assert merge(m.TensorProto(int64_data=[3]), m.TensorProto(int64_data=array)).int64_data == [3, 1, 2]
    assert merge(m.TensorProto(), m.TensorProto(int64_data=array)).int64_data is array


def test_merging_another_member_of_a_oneof_replaces_the_first() -> None:
    assert merge(DIM(dim_value=1), DIM(dim_param="n")) == DIM(dim_param="n")


# --- representation ---


def test_a_record_shows_what_is_set_in_short() -> None:
    tensor = m.TensorProto(dims=[2], raw_data=bytes(100), int64_data=list(range(9)), doc_string="x" * 100)
    assert repr(tensor) == (
        "TensorProto(dims=[2], int64_data=<9 entries>, raw_data=<100 bytes>, doc_string=<100 characters>)"
    )
