"""Forms: what there is to a record besides its names and data.

A graph of many nodes has few forms of nodes.  A rule that looks at no more than a record's form need not be asked
again about a form in which it has found nothing.  Every text that a form leaves out is of ASCII.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeAlias

from sardonyx._src.check.tensors import TYPED
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.record import Record

Form: TypeAlias = Hashable
LISTS = frozenset("floats ints strings tensors type_protos sparse_tensors".split())
LONGEST = 256  # number of integers, or bytes of strings, that a form holds
DATA = frozenset(("raw_data", *TYPED))


def node_form(node: m.NodeProto) -> Form | None:
    """The operator, which inputs and outputs are named, the forms of the attributes, and the fields that are set.

    Told apart are also nodes an attribute of which has the name of an input or output.  None for a node that holds
    a graph, or text with other signs than those of ASCII.
    """
    values = node.__dict__
    inputs, outputs = values.get("input") or (), values.get("output") or ()
    texts = "".join((values.get("name", ""), values.get("doc_string", ""), *inputs, *outputs))
    if not texts.isascii():
        return None
    attributes: Form = ()
    if "attribute" in values:
        forms = [attribute_form(one) for one in node.attribute]
        if None in forms:
            return None
        attributes = (*forms, any(one.name in inputs or one.name in outputs for one in node.attribute))
    return (
        tuple(values),
        values.get("op_type"),
        values.get("domain"),
        values.get("overload"),
        len(inputs) if "" not in inputs else tuple(map(bool, inputs)),
        len(outputs) if "" not in outputs else tuple(map(bool, outputs)),
        attributes,
    )


def attribute_form(one: m.AttributeProto) -> Form | None:
    """Name, type, reference, integers, strings, the fields that are set, and which of the lists are empty.

    None for an attribute that holds a graph, long strings or many integers.
    """
    values = one.__dict__
    if "doc_string" in values and not one.doc_string.isascii():
        return None
    if "g" in values or "graphs" in values:
        return None
    texts = [values["s"]] if "s" in values else []
    if "strings" in values:
        texts += one.strings
    ints = values.get("ints", ())
    if len(ints) > LONGEST or (texts and sum(map(len, texts)) > LONGEST):
        return None
    return (
        tuple(values),
        values.get("name"),
        values.get("type"),
        values.get("i"),
        values.get("ref_attr_name"),
        tuple(ints),
        tuple(map(bytes, texts)),
        LISTS.isdisjoint(values) or tuple(len(values[name]) > 0 for name in values if name in LISTS),
    )


def tensor_form(tensor: m.TensorProto) -> Form | None:
    """Element type, dimensions, how much data stand where, and the fields that are set."""
    values = tensor.__dict__
    if not (values.get("name", "") + values.get("doc_string", "")).isascii():
        return None
    return (
        tuple(values),
        values.get("data_type"),
        values.get("data_location"),
        tuple(values.get("dims") or ()),
        tuple(len(values[name]) for name in values if name in DATA),
    )


def value_form(value: m.ValueInfoProto) -> Form | None:
    """The fields that are set and the whole of the type; None where that is no type of tensors."""
    values = value.__dict__
    if not (values.get("name", "") + values.get("doc_string", "")).isascii():
        return None
    types = value.type.__dict__ if "type" in values and value.type is not None else {}
    holders = types["tensor_type"].__dict__ if len(types) == 1 and "tensor_type" in types else None
    if holders is None:
        return None
    shapes = holders["shape"].__dict__ if "shape" in holders else {}
    dims = [tuple(dim.__dict__.items()) for dim in shapes.get("dim") or ()]
    if "_unknown" in shapes or any("_unknown" in dim.__dict__ for dim in shapes.get("dim") or ()):
        return None
    return tuple(values), tuple(holders), holders.get("elem_type"), tuple(shapes), tuple(dims)


def type_form(type_: m.TypeProto) -> Form | None:
    """The fields that are set, and the denotation."""
    values = type_.__dict__
    return tuple(values), values.get("denotation")


def tensor_type_form(type_: m.TypeProtoTensor) -> Form | None:
    """The fields that are set, and the element type."""
    values = type_.__dict__
    return tuple(values), values.get("elem_type")


def shape_form(shape: m.TensorShapeProto) -> Form | None:
    """The fields that are set."""
    return tuple(shape.__dict__)


def dimension_form(dim: m.TensorShapeProtoDimension) -> Form | None:
    """All that there is, for a dimension without unknown fields."""
    values = dim.__dict__
    return None if "_unknown" in values else tuple(values.items())


CLOSED = frozenset([m.ValueInfoProto])  # whose form is also that of all inside
FORMS: dict[type[Record], Callable[[Any], Form | None]] = {  # each takes records of its own class
    m.NodeProto: node_form,
    m.AttributeProto: attribute_form,
    m.TensorProto: tensor_form,
    m.ValueInfoProto: value_form,
    m.TypeProto: type_form,
    m.TypeProtoTensor: tensor_type_form,
    m.TensorShapeProto: shape_form,
    m.TensorShapeProtoDimension: dimension_form,
}
