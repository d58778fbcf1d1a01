"""Printers of attributes and nodes; a printer returns None for a record that its notation cannot represent."""

from __future__ import annotations

from typing import cast

from sardonyx._src.proto.messages import AttributeProto, AttributeProtoAttributeType, GraphProto, NodeProto
from sardonyx._src.proto.text.print_records import (
    RECORD_WRITERS,
    Style,
    format_extras,
    format_list,
    format_value,
    register_writer,
    repeated_values,
    write,
)
from sardonyx._src.proto.text.words import (
    ATTRIBUTE_FIELDS,
    NAMES_OF_ATTRIBUTE_TYPES,
    quote_dotted_name,
    quote_name,
    quote_word,
)

Type = AttributeProtoAttributeType
# The types that the parser recognizes by the value, so that they need not be printed.
EVIDENT = (Type.FLOAT, Type.INT, Type.STRING, Type.TENSOR, Type.GRAPH, Type.FLOATS, Type.INTS, Type.STRINGS)
NODE_FIELDS = ("name", "output", "domain", "op_type", "overload", "attribute", "input")


@register_writer(AttributeProto)
def write_attribute(attribute: AttributeProto, style: Style) -> str | None:
    """`name: type = value`, without the type if the value implies it; None without a name."""
    if not attribute.has("name"):
        return None
    field = value_field(attribute)
    value = format_attribute_value(attribute, field, style) if field else ""
    printed_fields = ["name", field]
    kind = NAMES_OF_ATTRIBUTE_TYPES.get(attribute.type, "") if attribute.has("type") else ""
    if kind:
        printed_fields.append("type")
    if attribute.type in EVIDENT and field not in ("", "ref_attr_name") and value != "[]" and value[0] != "{":
        kind = ""
    text = (
        quote_name(attribute.name)
        + (f": {kind}" if kind else "")
        + format_extras(attribute, printed_fields, style)
    )
    return f"{text} = {value}" if field else text


def value_field(attribute: AttributeProto) -> str:
    """The field printed after the `=`: the value field of the attribute's type, the reference, or "" for none."""
    field = ATTRIBUTE_FIELDS.get(attribute.type, "") if attribute.has("type") else ""
    repeated = bool(field) and AttributeProto.BY_NAME[field].repeated
    if field and attribute.has(field) and not (repeated and not getattr(attribute, field)):
        return field
    if attribute.has("ref_attr_name") and (
        not attribute.has("type") or attribute.type in NAMES_OF_ATTRIBUTE_TYPES
    ):
        return "ref_attr_name"
    return field if repeated else ""


def format_attribute_value(attribute: AttributeProto, field: str, style: Style) -> str:
    if field == "ref_attr_name":
        return "@" + quote_name(attribute.ref_attr_name)
    value = getattr(attribute, field)
    # A direct call, to save stack frames in nested graphs.
    if isinstance(value, GraphProto):
        return cast(str, RECORD_WRITERS[GraphProto](value, style))
    return format_value(AttributeProto.BY_NAME[field], value, AttributeProto, style)


@register_writer(NodeProto)
def write_node(node: NodeProto, style: Style) -> str | None:
    """`[name] outputs = domain.op_type:overload<attributes>(inputs)`; multi-line attributes are printed last."""
    if not node.has("op_type"):
        return None
    label = f"[{quote_word(node.name)}]" if node.has("name") else ""
    outputs = ", ".join(map(quote_word, repeated_values(node, "output", str)))
    inputs = f"({', '.join(map(quote_word, repeated_values(node, 'input', str)))})"
    attributes = format_attributes(node, style)
    operands = inputs + " " + attributes if "\n" in attributes else attributes + inputs
    results = " ".join(filter(None, (label, outputs, "=")))
    return f"{results} {operator(node)}{operands}{format_extras(node, NODE_FIELDS, style)}"


def format_attributes(node: NodeProto, style: Style) -> str:
    deeper = style.deeper()
    items: list[str] = []
    for attribute in repeated_values(node, "attribute", AttributeProto):
        text = write_attribute(attribute, deeper)
        items.append(write(attribute, deeper) if text is None else text)
    return format_list("<", items, ">", style) if items else ""


def operator(node: NodeProto) -> str:
    domain = (f"{quote_dotted_name(node.domain)}." if node.domain else ".") if node.has("domain") else ""
    overload = f":{quote_name(node.overload)}" if node.has("overload") else ""
    return f"{domain}{quote_name(node.op_type)}{overload}"
