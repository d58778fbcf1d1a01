"""Attributes whose integer value is an element type, and the types that an operator allows for them."""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.dtypes import DataType
from sardonyx._src.ops.attribute_domains import ELEMENT_TYPE_ATTRIBUTES, PRECISION_ATTRIBUTES
from sardonyx._src.ops.registry import find
from sardonyx._src.proto.messages import AttributeProto, NodeProto
from sardonyx._src.schema import OpSchema

PRECISION_TYPES = frozenset(("float16", "float", "double", "bfloat16"))


def element_type_attributes(
    node: NodeProto, schema: OpSchema
) -> Iterator[tuple[int, AttributeProto, DataType | None]]:
    """The index, the attribute and the element type of each attribute that holds one; None for an unknown type.

    Omits references, and a zero that means "not specified".
    """
    if ELEMENT_TYPE_ATTRIBUTES.isdisjoint(schema.attributes):
        return
    for i, attribute in enumerate(node.attribute):
        formal = schema.attributes.get(attribute.name)
        if formal is None or attribute.ref_attr_name or attribute.name not in ELEMENT_TYPE_ATTRIBUTES:
            continue
        if formal.type == "STRING":  # Cast-1
            yield i, attribute, element_type_named(bytes(attribute.s).decode("utf-8", "replace"))
        elif formal.type == "INT" and (attribute.i or formal.default != 0):
            yield (
                i,
                attribute,
                DataType.from_number(attribute.i) if 0 < attribute.i <= max(DataType) else None,
            )


def element_type_named(name: str) -> DataType | None:
    dtype = DataType.__members__.get(name)
    return None if dtype is DataType.UNDEFINED else dtype


def allowed_types(schema: OpSchema, attribute: str) -> frozenset[str]:
    """The element types that the operator allows for an attribute, in the notation of schemas."""
    if attribute in PRECISION_ATTRIBUTES:
        op = find(schema.domain, schema.name)
        constraint = op.stash_type_constraint if op is not None else None
        if constraint is None:
            return PRECISION_TYPES
        return frozenset(map(element_type_in, schema.type_constraints[constraint]))
    return frozenset(map(element_type_in, schema.allowed_types(schema.outputs[0])))


def element_type_in(text: str) -> str:
    """The element type in `tensor(float)` or `seq(tensor(float))`."""
    return text.rstrip(")").rpartition("(")[2]
