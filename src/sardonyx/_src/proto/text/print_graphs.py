"""Writes graphs, functions and models."""

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
    extras,
    listed,
    listing,
    only,
    write,
    write_fields,
    writes,
    written_fields,
)
from sardonyx._src.proto.text.print_tensors import write_initializer
from sardonyx._src.proto.text.print_types import write_value_info
from sardonyx._src.proto.text.words import plain_name, quotable

GRAPH_SAID = ("name", "input", "output", "value_info", "node")
FUNCTION_SAID = ("name", "input", "output", "attribute", "attribute_proto", "value_info", "node")


@writes(GraphProto)
def write_graph(graph: GraphProto, style: Style) -> str:
    """`name (inputs) => (outputs) <initializers and value infos> { nodes }`."""
    tensors = written_initializers(graph, style.deeper())
    said = GRAPH_SAID if tensors is None else (*GRAPH_SAID, "initializer")
    name = (quotable(graph.name) if graph.has("name") else "") + extras(graph, said, style)
    inputs = written_infos(listed(graph, "input", ValueInfoProto), "(", ")", style)
    outputs = written_infos(listed(graph, "output", ValueInfoProto), "(", ")", style)
    infos = [write(info, style.deeper()) for info in listed(graph, "value_info", ValueInfoProto)]
    block = listing(" <", [*(tensors or []), *infos], ">", style) if tensors or infos else ""
    nodes = written_nodes(listed(graph, "node", NodeProto), style)
    return f"{name} {inputs} => {outputs}{block} {nodes}".lstrip(" ")


def written_initializers(graph: GraphProto, style: Style) -> list[str] | None:
    """None where one of them has no notation of its own; a `{…}` among the initializers would be a value info."""
    texts: list[str] = []
    for tensor in listed(graph, "initializer", TensorProto):
        text = write_initializer(tensor, style)
        if text is None:
            return None
        texts.append(text)
    return texts


def written_infos(infos: list[ValueInfoProto], opening: str, closing: str, style: Style) -> str:
    deeper = style.deeper()
    return listing(opening, [write(info, deeper) for info in infos], closing, style)


def written_nodes(nodes: list[NodeProto], style: Style) -> str:
    """The nodes in braces, one a line."""
    if not nodes:
        return "{}"
    deeper = style.deeper()
    lines: list[str] = []
    for node in nodes:
        # Called without a detour, to spare Python's stack in nested graphs.
        text = write_node(node, deeper)
        lines.append(deeper.margin + (write(node, deeper) if text is None else text))
    return "{\n" + "\n".join(lines) + "\n" + style.margin + "}"


@writes(FunctionProto)
def write_function(function: FunctionProto, style: Style) -> str | None:
    """`<fields> name <attributes> (inputs) => (outputs) <value infos> { nodes }`; None without a name."""
    if not function.has("name"):
        return None
    fields = written_fields(function, style.deeper(), FUNCTION_SAID)
    header = listing("<", fields, ">\n" + style.margin, style) if fields else ""
    parameters = written_parameters(function, style)
    infos = listed(function, "value_info", ValueInfoProto)
    inputs, infos = written_formals(listed(function, "input", str), infos, style)
    outputs, infos = written_formals(listed(function, "output", str), infos, style)
    block = written_infos(infos, " <", ">", style) if infos else ""
    nodes = written_nodes(listed(function, "node", NodeProto), style)
    return f"{header}{quotable(function.name)}{parameters} {inputs} => {outputs}{block} {nodes}"


def written_parameters(function: FunctionProto, style: Style) -> str:
    deeper = style.deeper()
    texts: list[str] = [plain_name(name) for name in listed(function, "attribute", str)]
    for attribute in listed(function, "attribute_proto", AttributeProto):
        # A name alone would be read as the name of an attribute without default.
        texts.append(write_fields(attribute, deeper) if only(attribute, "name") else write(attribute, deeper))
    return listing(" <", texts, ">", style) if texts else ""


def written_formals(
    names: list[str], infos: list[ValueInfoProto], style: Style
) -> tuple[str, list[ValueInfoProto]]:
    """Inputs or outputs, with type where the next value info is theirs; and the value infos that are left."""
    deeper = style.deeper()
    texts: list[str] = []
    for name in names:
        text = None
        if infos and infos[0].type is not None and infos[0].has("name") and infos[0].name == name:
            text = write_value_info(infos[0], deeper)
        texts.append(quotable(name) if text is None else text)
        infos = infos if text is None else infos[1:]
    return listing("(", texts, ")", style), infos


@writes(ModelProto)
def write_model(model: ModelProto, style: Style) -> str | None:
    """`<fields> graph functions`; None without a graph."""
    if model.graph is None:
        return None
    fields = written_fields(model, style.deeper(), ("graph", "functions"))
    parts = [listing("<", fields, ">", style)] if fields else []
    parts.append(write(model.graph, style))
    parts += [write(function, style) for function in listed(model, "functions", FunctionProto)]
    return ("\n" + style.margin).join(parts)
