"""Reads nodes, graphs, functions and models."""

from __future__ import annotations

from sardonyx._src.proto.messages import (
    AttributeProto,
    FunctionProto,
    GraphProto,
    ModelProto,
    NodeProto,
    ValueInfoProto,
)
from sardonyx._src.proto.text.lexer import Lexer
from sardonyx._src.proto.text.parse_attributes import read_attribute, read_attributes
from sardonyx._src.proto.text.parse_records import read, read_extras, read_fields, reads
from sardonyx._src.proto.text.parse_tensors import read_data, typed_tensor
from sardonyx._src.proto.text.parse_types import at_type, read_type, read_value_info

GRAPH_FIELDS = ("name", "input", "output", "value_info", "node")
FUNCTION_FIELDS = ("name", "input", "output", "attribute", "attribute_proto", "value_info", "node")


@reads(NodeProto)
def read_node(p: Lexer) -> NodeProto:
    """`[name] outputs = domain.op_type:overload<attributes>(inputs)`; the attributes may also come last."""
    found = NodeProto()
    if p.take("["):
        found.name = "" if p.at("]") else p.quotable("the node's name")
        p.expect("]", "after the node's name")
    if p.at(","):
        raise p.expected("a node")
    found.output = read_names(p, "=", "an output of the node")
    p.expect("=", "after the node's outputs")
    read_operator(p, found)
    before = p.at("<")
    read_attributes(p, found)
    p.expect("(", "before the node's inputs")
    found.input = read_names(p, ")", "an input of the node")
    p.expect(")", "after the node's inputs")
    if not before:
        read_attributes(p, found)
    read_extras(p, found)
    return found


def read_names(p: Lexer, close: str, what: str) -> list[str]:
    """Names up to `close`; nothing between two commas is the empty name."""
    names: list[str] = []
    while not p.at(close):
        names.append("" if p.at(",") else p.quotable(what))
        if not p.at(close):
            p.expect(",", f"or `{close}` after {what}")
    return names


def read_operator(p: Lexer, found: NodeProto) -> None:
    """The domain, which is everything before the last dot, the operator, and the overload."""
    if p.take("."):
        found.domain = ""
        found.op_type = p.quotable("an operator after the dot")
    else:
        parts = [p.quotable("an operator")]
        while p.take("."):
            parts.append(p.quotable("a name after the dot"))
        if len(parts) > 1:
            found.domain = ".".join(parts[:-1])
        found.op_type = parts[-1]
    if p.take(":"):
        found.overload = p.quotable("the overload after the operator")


@reads(GraphProto)
def read_graph(p: Lexer) -> GraphProto:
    """`name (inputs) => (outputs) <initializers and value infos> { nodes }`."""
    p.enter()
    found = GraphProto()
    if not p.at("(") and not p.at("@{"):
        found.name = p.quotable("a graph")
    read_extras(p, found, GRAPH_FIELDS)
    p.expect("(", "before the graph's inputs")
    for _ in p.items(")", "after an input of the graph"):
        read_input(p, found)
    p.expect("=>", "after the graph's inputs")
    p.expect("(", "before the graph's outputs")
    found.output = [read(p, ValueInfoProto) for _ in p.items(")", "after an output of the graph")]
    if p.take("<"):
        for _ in p.items(">", "after an initializer or value info"):
            read_initializer(p, found)
    found.node = read_nodes(p, "graph")
    p.leave()
    return found


def read_nodes(p: Lexer, of: str) -> list[NodeProto]:
    p.expect("{", f"before the nodes of the {of}")
    nodes: list[NodeProto] = []
    while not p.take("}"):
        if p.kind == "end":
            raise p.expected(f"a node, or `}}` after the nodes of the {of}")
        nodes.append(read(p, NodeProto) if p.at("{") else read_node(p))
    return nodes


def read_input(p: Lexer, found: GraphProto) -> None:
    """A value info, and with `= data` the initializer of the same name, too."""
    at = p.start
    info = read(p, ValueInfoProto)
    found.input.append(info)
    if p.take("="):
        if info.type is None:
            raise p.error("a value with data needs a type", at)
        tensor = typed_tensor(p, info.type, at)
        tensor.name = info.name
        read_data(p, tensor)
        found.initializer.append(tensor)


def read_initializer(p: Lexer, found: GraphProto) -> None:
    """`type name = data`, or a value info: the same without data."""
    if not at_type(p):
        found.value_info.append(read(p, ValueInfoProto))
        return
    at = p.start
    type_ = read_type(p)
    name = None if p.at("=") else p.quotable("a name after the type")
    if name is None or p.at("="):
        p.expect("=", "before the initializer's data")
        tensor = typed_tensor(p, type_, at)
        if name is not None:
            tensor.name = name
        read_data(p, tensor)
        found.initializer.append(tensor)
        return
    info = ValueInfoProto(type=type_, name=name)
    read_extras(p, info)
    if p.at("="):
        raise p.error("the data of an initializer comes before its `@{…}`")
    found.value_info.append(info)


@reads(FunctionProto)
def read_function(p: Lexer) -> FunctionProto:
    """`<fields> name <attributes> (inputs) => (outputs) <value infos> { nodes }`."""
    found = FunctionProto()
    if p.take("<"):
        read_fields(p, found, ">", FUNCTION_FIELDS)
    found.name = p.quotable("the function's name")
    if p.take("<"):
        for _ in p.items(">", "after an attribute of the function"):
            read_parameter(p, found)
    p.expect("(", "before the function's inputs")
    found.input = [read_formal(p, found) for _ in p.items(")", "after an input of the function")]
    p.expect("=>", "after the function's inputs")
    p.expect("(", "before the function's outputs")
    found.output = [read_formal(p, found) for _ in p.items(")", "after an output of the function")]
    if p.take("<"):
        for _ in p.items(">", "after a value info of the function"):
            found.value_info.append(read(p, ValueInfoProto))
    found.node = read_nodes(p, "function")
    return found


def read_parameter(p: Lexer, found: FunctionProto) -> None:
    """The name of an attribute, or an attribute with its type or default."""
    if p.at("{"):
        found.attribute_proto.append(read(p, AttributeProto))
        return
    attribute = read_attribute(p)
    if [field.name for field, _ in attribute.present()] == ["name"] and not attribute.unknown:
        found.attribute.append(attribute.name)
    else:
        found.attribute_proto.append(attribute)


def read_formal(p: Lexer, found: FunctionProto) -> str:
    """A name; with a type it is a value info, too."""
    if not at_type(p):
        return p.quotable("a name, with or without a type")
    info = read_value_info(p)
    found.value_info.append(info)
    return info.name


@reads(ModelProto)
def read_model(p: Lexer) -> ModelProto:
    """`<fields> graph functions`."""
    found = ModelProto()
    if p.take("<"):
        read_fields(p, found, ">", ("graph", "functions"))
    found.graph = read(p, GraphProto)
    functions: list[FunctionProto] = []
    while p.kind != "end":
        functions.append(read(p, FunctionProto))
    found.functions = functions
    return found
