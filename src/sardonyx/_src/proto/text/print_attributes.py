"""Writes attributes and nodes."""

from __future__ import annotations

from typing import cast

from sardonyx._src.proto.messages import AttributeProto, AttributeProtoAttributeType, GraphProto, NodeProto
from sardonyx._src.proto.text.print_records import (
    WRITERS,
    Style,
    extras,
    listed,
    listing,
    write,
    writes,
    written_value,
)
from sardonyx._src.proto.text.words import (
    ATTRIBUTE_FIELDS,
    NAMES_OF_ATTRIBUTE_TYPES,
    dotted,
    plain_name,
    quotable,
)

Type = AttributeProtoAttributeType
EVIDENT = (Type.FLOAT, Type.INT, Type.STRING, Type.TENSOR, Type.GRAPH, Type.FLOATS, Type.INTS, Type.STRINGS)
NODE_SAID = ("name", "output", "domain", "op_type", "overload", "attribute", "input")


@writes(AttributeProto)
def write_attribute(attribute: AttributeProto, style: Style) -> str | None:
    """`name: type = value`, without the type where the value tells it; None without a name."""
    if not attribute.has("name"):
        return None
    field = value_field(attribute)
    value = written_attribute_value(attribute, field, style) if field else ""
    said = ["name", field]
    kind = NAMES_OF_ATTRIBUTE_TYPES.get(attribute.type, "") if attribute.has("type") else ""
    if kind:
        said.append("type")
    if attribute.type in EVIDENT and field not in ("", "ref_attr_name") and value != "[]" and value[0] != "{":
        kind = ""
    text = plain_name(attribute.name) + (f": {kind}" if kind else "") + extras(attribute, said, style)
    return f"{text} = {value}" if field else text


def value_field(attribute: AttributeProto) -> str:
    """The field to write after the `=`: the one of the attribute's type, or the reference."""
    field = ATTRIBUTE_FIELDS.get(attribute.type, "") if attribute.has("type") else ""
    repeated = bool(field) and AttributeProto.BY_NAME[field].repeated
    if field and attribute.has(field) and not (repeated and not getattr(attribute, field)):
        return field
    if attribute.has("ref_attr_name") and (
        not attribute.has("type") or attribute.type in NAMES_OF_ATTRIBUTE_TYPES
    ):
        return "ref_attr_name"
    return field if repeated else ""


def written_attribute_value(attribute: AttributeProto, field: str, style: Style) -> str:
    if field == "ref_attr_name":
        return "@" + plain_name(attribute.ref_attr_name)
    value = getattr(attribute, field)
    # Called without a detour, to spare Python's stack in nested graphs.
    if isinstance(value, GraphProto):
        return cast(str, WRITERS[GraphProto](value, style))
    return written_value(AttributeProto.BY_NAME[field], value, AttributeProto, style)


@writes(NodeProto)
def write_node(node: NodeProto, style: Style) -> str | None:
    """`[name] outputs = domain.op_type:overload<attributes>(inputs)`; long attributes come last."""
    if not node.has("op_type"):
        return None
    label = f"[{quotable(node.name)}]" if node.has("name") else ""
    outputs = ", ".join(map(quotable, listed(node, "output", str)))
    inputs = f"({', '.join(map(quotable, listed(node, 'input', str)))})"
    attributes = written_attributes(node, style)
    after = inputs + " " + attributes if "\n" in attributes else attributes + inputs
    left = " ".join(filter(None, (label, outputs, "=")))
    return f"{left} {operator(node)}{after}{extras(node, NODE_SAID, style)}"


def written_attributes(node: NodeProto, style: Style) -> str:
    deeper = style.deeper()
    texts: list[str] = []
    for attribute in listed(node, "attribute", AttributeProto):
        text = write_attribute(attribute, deeper)
        texts.append(write(attribute, deeper) if text is None else text)
    return listing("<", texts, ">", style) if texts else ""


def operator(node: NodeProto) -> str:
    domain = (f"{dotted(node.domain)}." if node.domain else ".") if node.has("domain") else ""
    overload = f":{plain_name(node.overload)}" if node.has("overload") else ""
    return f"{domain}{plain_name(node.op_type)}{overload}"
