"""Printers of graphs, functions and models; a printer returns None for a record that its notation cannot represent."""

from __future__ import annotations

from sardonyx._src.proto.messages import (
    AttributeProto,
    FunctionProto,
    GraphProto,
    ModelProto,
    NodeProto,
    TensorProto,
    ValueInfoProto,
)
from sardonyx._src.proto.text.print_attributes import write_node
from sardonyx._src.proto.text.print_records import (
    Style,
    format_extras,
    format_fields,
    format_list,
    has_only,
    register_writer,
    repeated_values,
    write,
    write_fields,
)
from sardonyx._src.proto.text.print_tensors import write_initializer
from sardonyx._src.proto.text.print_types import write_value_info
from sardonyx._src.proto.text.words import FUNCTION_FIELDS, GRAPH_FIELDS, quote_name, quote_word


@register_writer(GraphProto)
def write_graph(graph: GraphProto, style: Style) -> str:
    """`name (inputs) => (outputs) <initializers and value infos> { nodes }`."""
    tensors = format_initializers(graph, style.deeper())
    printed_fields = GRAPH_FIELDS if tensors is None else (*GRAPH_FIELDS, "initializer")
    name = (quote_word(graph.name) if graph.has("name") else "") + format_extras(graph, printed_fields, style)
    inputs = format_value_infos(repeated_values(graph, "input", ValueInfoProto), "(", ")", style)
    outputs = format_value_infos(repeated_values(graph, "output", ValueInfoProto), "(", ")", style)
    infos = [write(info, style.deeper()) for info in repeated_values(graph, "value_info", ValueInfoProto)]
    block = format_list(" <", [*(tensors or []), *infos], ">", style) if tensors or infos else ""
    nodes = format_nodes(repeated_values(graph, "node", NodeProto), style)
    return f"{name} {inputs} => {outputs}{block} {nodes}".lstrip(" ")


def format_initializers(graph: GraphProto, style: Style) -> list[str] | None:
    """The initializers; None if one must be printed as `{…}`, which the parser reads as a value info in this list."""
    items: list[str] = []
    for tensor in repeated_values(graph, "initializer", TensorProto):
        text = write_initializer(tensor, style)
        if text is None:
            return None
        items.append(text)
    return items


def format_value_infos(infos: list[ValueInfoProto], opening: str, closing: str, style: Style) -> str:
    deeper = style.deeper()
    return format_list(opening, [write(info, deeper) for info in infos], closing, style)


def format_nodes(nodes: list[NodeProto], style: Style) -> str:
    """The nodes in braces, one per line."""
    if not nodes:
        return "{}"
    deeper = style.deeper()
    lines: list[str] = []
    for node in nodes:
        # A direct call, to save stack frames in nested graphs.
        text = write_node(node, deeper)
        lines.append(deeper.margin + (write(node, deeper) if text is None else text))
    return "{\n" + "\n".join(lines) + "\n" + style.margin + "}"


@register_writer(FunctionProto)
def write_function(function: FunctionProto, style: Style) -> str | None:
    """`<fields> name <attributes> (inputs) => (outputs) <value infos> { nodes }`; None without a name."""
    if not function.has("name"):
        return None
    fields = format_fields(function, style.deeper(), FUNCTION_FIELDS)
    header = format_list("<", fields, ">\n" + style.margin, style) if fields else ""
    parameters = format_parameters(function, style)
    infos = repeated_values(function, "value_info", ValueInfoProto)
    inputs, infos = format_formals(repeated_values(function, "input", str), infos, style)
    outputs, infos = format_formals(repeated_values(function, "output", str), infos, style)
    block = format_value_infos(infos, " <", ">", style) if infos else ""
    nodes = format_nodes(repeated_values(function, "node", NodeProto), style)
    return f"{header}{quote_word(function.name)}{parameters} {inputs} => {outputs}{block} {nodes}"


def format_parameters(function: FunctionProto, style: Style) -> str:
    deeper = style.deeper()
    items: list[str] = [quote_name(name) for name in repeated_values(function, "attribute", str)]
    for attribute in repeated_values(function, "attribute_proto", AttributeProto):
        # If only the name were printed, it would be parsed as an attribute parameter without default.
        items.append(
            write_fields(attribute, deeper) if has_only(attribute, "name") else write(attribute, deeper)
        )
    return format_list(" <", items, ">", style) if items else ""


def format_formals(
    names: list[str], infos: list[ValueInfoProto], style: Style
) -> tuple[str, list[ValueInfoProto]]:
    """Inputs or outputs, each with its type if the next value info has its name, and the remaining value infos."""
    deeper = style.deeper()
    items: list[str] = []
    for name in names:
        text = None
        if infos and infos[0].type is not None and infos[0].has("name") and infos[0].name == name:
            text = write_value_info(infos[0], deeper)
        items.append(quote_word(name) if text is None else text)
        infos = infos if text is None else infos[1:]
    return format_list("(", items, ")", style), infos


@register_writer(ModelProto)
def write_model(model: ModelProto, style: Style) -> str | None:
    """`<fields> graph functions`; None without a graph."""
    if model.graph is None:
        return None
    fields = format_fields(model, style.deeper(), ("graph", "functions"))
    parts = [format_list("<", fields, ">", style)] if fields else []
    parts.append(write(model.graph, style))
    parts += [write(function, style) for function in repeated_values(model, "functions", FunctionProto)]
    return ("\n" + style.margin).join(parts)
