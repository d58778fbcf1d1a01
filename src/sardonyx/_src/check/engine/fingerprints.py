"""Structural fingerprints: everything in a record except its names and data.

A graph of many nodes has few distinct fingerprints.  A rule that depends only on the fingerprint need not run again
for a fingerprint that it has passed.  Rules about text that is not ASCII need no exception: a record with such text in a part
that the fingerprint leaves out has no fingerprint.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any, TypeAlias

from sardonyx._src.check.analysis.declared_types import element_of
from sardonyx._src.check.records.tensors import TYPED_DATA_FIELDS
from sardonyx._src.io.serde.types import MAX_RANK
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.record import Record

RecordFingerprint: TypeAlias = Hashable
LIST_FIELDS = frozenset("floats ints strings tensors type_protos sparse_tensors".split())
USUAL_FIELDS = frozenset(
    ("input", "output", "name", "op_type")
)  # the fields that most nodes without attributes set
MAX_FINGERPRINT_VALUES = (
    256  # integers, or bytes of strings, of a record; a record with more has no fingerprint
)
DATA_FIELDS = frozenset(("raw_data", *TYPED_DATA_FIELDS))


def node_fingerprint(node: m.NodeProto) -> RecordFingerprint | None:
    """The operator, which inputs and outputs are named, the attributes' fingerprints, and the fields that are set.

    The fingerprint includes whether an attribute has the name of an input or output.  None for a node that holds a graph or
    text that is not ASCII.
    """
    fingerprints = node_fingerprints((node,))
    return next(iter(fingerprints)) if fingerprints is not None else None


def node_fingerprints(nodes: Iterable[m.NodeProto]) -> set[RecordFingerprint] | None:
    """The fingerprints of several nodes; None if one of them has none.

    Computing them together needs half the time of computing them one by one.
    """
    result: set[RecordFingerprint] = set()
    texts: list[str] = []
    for node in nodes:
        values = node.__dict__
        inputs, outputs = values.get("input") or (), values.get("output") or ()
        texts += inputs
        texts += outputs
        if "name" in values:
            texts.append(values["name"])
        if values.keys() == USUAL_FIELDS and "" not in inputs and "" not in outputs:
            result.add((tuple(values), values.get("op_type"), len(inputs), len(outputs)))
            continue
        if "doc_string" in values:
            texts.append(values["doc_string"])
        attributes: RecordFingerprint = ()
        if "attribute" in values:
            fingerprints = [*map(attribute_fingerprint, values["attribute"])]
            if None in fingerprints:
                return None
            named = any(a.name in inputs or a.name in outputs for a in values["attribute"])
            attributes = (*fingerprints, named)
        result.add(
            (
                tuple(values),
                values.get("op_type"),
                values.get("domain"),
                values.get("overload"),
                len(inputs) if "" not in inputs else tuple(map(bool, inputs)),
                len(outputs) if "" not in outputs else tuple(map(bool, outputs)),
                attributes,
            )
        )
    return result if "".join(texts).isascii() else None


def attribute_fingerprint(attribute: m.AttributeProto) -> RecordFingerprint | None:
    """Name, type, reference, integers, strings, the element type of a tensor, the fields that are set, and which of
    the lists are empty.

    None for an attribute that holds a graph, long strings or many integers.
    """
    values = attribute.__dict__
    if "doc_string" in values and not attribute.doc_string.isascii():
        return None
    if "g" in values or "graphs" in values:
        return None
    texts = [values["s"]] if "s" in values else []
    if "strings" in values:
        texts += attribute.strings
    ints = values.get("ints", ())
    if len(ints) > MAX_FINGERPRINT_VALUES or (texts and sum(map(len, texts)) > MAX_FINGERPRINT_VALUES):
        return None
    return (
        tuple(values),
        values.get("name"),
        values.get("type"),
        values.get("i"),
        values.get("ref_attr_name"),
        element_type_of(attribute) if "t" in values or "sparse_tensor" in values else None,
        tuple(ints),
        tuple(map(bytes, texts)),
        LIST_FIELDS.isdisjoint(values)
        or tuple(len(values[name]) > 0 for name in values if name in LIST_FIELDS),
    )


def element_type_of(attribute: m.AttributeProto) -> int | None:
    """The element type of the dense tensor, or else of the sparse one, that an attribute holds."""
    value = attribute.t or attribute.sparse_tensor
    return element_of(value) if value is not None else None


def tensor_fingerprint(tensor: m.TensorProto) -> RecordFingerprint | None:
    """Element type, dimensions, the amount of data in each field, and the fields that are set."""
    values = tensor.__dict__
    if not (values.get("name", "") + values.get("doc_string", "")).isascii():
        return None
    return (
        tuple(values),
        values.get("data_type"),
        values.get("data_location"),
        tuple(values.get("dims") or ()),
        tuple(len(values[name]) for name in values if name in DATA_FIELDS),
    )


def value_fingerprint(value: m.ValueInfoProto) -> RecordFingerprint | None:
    """The fields that are set and the whole type; None if it is not a tensor type, or one of too many dims."""
    values = value.__dict__
    if not (values.get("name", "") + values.get("doc_string", "")).isascii():
        return None
    types = value.type.__dict__ if "type" in values and value.type is not None else {}
    holders = types["tensor_type"].__dict__ if len(types) == 1 and "tensor_type" in types else None
    if holders is None:
        return None
    shapes = holders["shape"].__dict__ if "shape" in holders else {}
    if len(shapes.get("dim") or ()) > MAX_RANK:
        return None
    dims = [tuple(dim.__dict__.items()) for dim in shapes.get("dim") or ()]
    if "_unknown" in shapes or any("_unknown" in dim.__dict__ for dim in shapes.get("dim") or ()):
        return None
    return tuple(values), tuple(holders), holders.get("elem_type"), tuple(shapes), tuple(dims)


def type_fingerprint(type_: m.TypeProto) -> RecordFingerprint | None:
    """The fields that are set, and the denotation."""
    values = type_.__dict__
    return tuple(values), values.get("denotation")


def tensor_type_fingerprint(type_: m.TypeProtoTensor) -> RecordFingerprint | None:
    """The fields that are set, and the element type."""
    values = type_.__dict__
    return tuple(values), values.get("elem_type")


def shape_fingerprint(shape: m.TensorShapeProto) -> RecordFingerprint | None:
    """The fields that are set; None for too many dims."""
    return tuple(shape.__dict__) if len(shape.__dict__.get("dim") or ()) <= MAX_RANK else None


def dimension_fingerprint(dim: m.TensorShapeProtoDimension) -> RecordFingerprint | None:
    """The whole dimension; None if it has unknown fields."""
    values = dim.__dict__
    return None if "_unknown" in values else tuple(values.items())


COVERED_NODE_FIELDS = frozenset(f.name for f in m.NodeProto.FIELDS if f.message is None) | {"attribute"}
WITHOUT_RECORDS = frozenset(f.name for f in m.AttributeProto.FIELDS if f.message is None)


def covers_subtree(record: Record) -> bool:
    """Whether the fingerprint of a record covers the fingerprints of everything inside.

    The fingerprint of a node covers its attributes, but no tensors and types in them.
    """
    if isinstance(record, m.NodeProto):
        if not COVERED_NODE_FIELDS.issuperset(record.__dict__):
            return False
        return all(WITHOUT_RECORDS.issuperset(a.__dict__) for a in record.__dict__.get("attribute") or ())
    return isinstance(record, m.ValueInfoProto)


FINGERPRINTS: dict[
    type[Record], Callable[[Any], RecordFingerprint | None]
] = {  # each function accepts only records of its class
    m.NodeProto: node_fingerprint,
    m.AttributeProto: attribute_fingerprint,
    m.TensorProto: tensor_fingerprint,
    m.ValueInfoProto: value_fingerprint,
    m.TypeProto: type_fingerprint,
    m.TypeProtoTensor: tensor_type_fingerprint,
    m.TensorShapeProto: shape_fingerprint,
    m.TensorShapeProtoDimension: dimension_fingerprint,
}
