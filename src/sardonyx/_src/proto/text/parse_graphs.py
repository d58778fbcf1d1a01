"""Parsers of nodes, graphs, functions and models."""

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
from sardonyx._src.proto.text.parse_records import read, read_extras, read_fields, register_reader
from sardonyx._src.proto.text.parse_tensors import read_data, typed_tensor
from sardonyx._src.proto.text.parse_types import is_at_type, read_type, read_value_info
from sardonyx._src.proto.text.words import FUNCTION_FIELDS, GRAPH_FIELDS


@register_reader(NodeProto)
def read_node(lexer: Lexer) -> NodeProto:
    """`[name] outputs = domain.op_type:overload<attributes>(inputs)`; the attributes may also come last."""
    node = NodeProto()
    if lexer.take("["):
        node.name = "" if lexer.is_at("]") else lexer.read_quotable_name("the node's name")
        lexer.expect("]", "after the node's name")
    if lexer.is_at(","):
        raise lexer.expected_error("a node")
    node.output = read_names(lexer, "=", "an output of the node")
    lexer.expect("=", "after the node's outputs")
    read_operator(lexer, node)
    has_leading_attributes = lexer.is_at("<")
    read_attributes(lexer, node)
    lexer.expect("(", "before the node's inputs")
    node.input = read_names(lexer, ")", "an input of the node")
    lexer.expect(")", "after the node's inputs")
    if not has_leading_attributes:
        read_attributes(lexer, node)
    read_extras(lexer, node)
    return node


def read_names(lexer: Lexer, close: str, what: str) -> list[str]:
    """Names up to `close`; an empty item is the empty name."""
    names: list[str] = []
    while not lexer.is_at(close):
        names.append("" if lexer.is_at(",") else lexer.read_quotable_name(what))
        if not lexer.is_at(close):
            lexer.expect(",", f"or `{close}` after {what}")
    return names


def read_operator(lexer: Lexer, node: NodeProto) -> None:
    """`domain.op_type:overload`; the domain is everything before the last dot."""
    if lexer.take("."):
        node.domain = ""
        node.op_type = lexer.read_quotable_name("an operator after the dot")
    else:
        parts = [lexer.read_quotable_name("an operator")]
        while lexer.take("."):
            parts.append(lexer.read_quotable_name("a name after the dot"))
        if len(parts) > 1:
            node.domain = ".".join(parts[:-1])
        node.op_type = parts[-1]
    if lexer.take(":"):
        node.overload = lexer.read_quotable_name("the overload after the operator")


@register_reader(GraphProto)
def read_graph(lexer: Lexer) -> GraphProto:
    """`name (inputs) => (outputs) <initializers and value infos> { nodes }`."""
    lexer.enter()
    graph = GraphProto()
    if not lexer.is_at("(") and not lexer.is_at("@{"):
        graph.name = lexer.read_quotable_name("a graph")
    read_extras(lexer, graph, GRAPH_FIELDS)
    lexer.expect("(", "before the graph's inputs")
    for _ in lexer.iterate_items(")", "after an input of the graph"):
        read_input(lexer, graph)
    lexer.expect("=>", "after the graph's inputs")
    lexer.expect("(", "before the graph's outputs")
    graph.output = [
        read(lexer, ValueInfoProto) for _ in lexer.iterate_items(")", "after an output of the graph")
    ]
    if lexer.take("<"):
        for _ in lexer.iterate_items(">", "after an initializer or value info"):
            read_initializer(lexer, graph)
    graph.node = read_nodes(lexer, "graph")
    lexer.leave()
    return graph


def read_nodes(lexer: Lexer, parent: str) -> list[NodeProto]:
    """`{ nodes }`.  parent: "graph" or "function", for messages."""
    lexer.expect("{", f"before the nodes of the {parent}")
    nodes: list[NodeProto] = []
    while not lexer.take("}"):
        if lexer.kind == "end":
            raise lexer.expected_error(f"a node, or `}}` after the nodes of the {parent}")
        nodes.append(read(lexer, NodeProto) if lexer.is_at("{") else read_node(lexer))
    return nodes


def read_input(lexer: Lexer, graph: GraphProto) -> None:
    """An input as a value info; with `= data`, an initializer of the same name is added, too."""
    start = lexer.start
    info = read(lexer, ValueInfoProto)
    graph.input.append(info)
    if lexer.take("="):
        if info.type is None:
            raise lexer.error("a value with data must have a type; got only a name", start)
        tensor = typed_tensor(lexer, info.type, start)
        tensor.name = info.name
        read_data(lexer, tensor)
        graph.initializer.append(tensor)


def read_initializer(lexer: Lexer, graph: GraphProto) -> None:
    """An initializer, `type name = data`, or a value info, `type name`."""
    if not is_at_type(lexer):
        graph.value_info.append(read(lexer, ValueInfoProto))
        return
    start = lexer.start
    type_ = read_type(lexer)
    name = None if lexer.is_at("=") else lexer.read_quotable_name("a name after the type")
    if name is None or lexer.is_at("="):
        lexer.expect("=", "before the initializer's data")
        tensor = typed_tensor(lexer, type_, start)
        if name is not None:
            tensor.name = name
        read_data(lexer, tensor)
        graph.initializer.append(tensor)
        return
    info = ValueInfoProto(type=type_, name=name)
    read_extras(lexer, info)
    if lexer.is_at("="):
        raise lexer.error("the `@{…}` of an initializer must follow its data; got it before the data")
    graph.value_info.append(info)


@register_reader(FunctionProto)
def read_function(lexer: Lexer) -> FunctionProto:
    """`<fields> name <attributes> (inputs) => (outputs) <value infos> { nodes }`."""
    function = FunctionProto()
    if lexer.take("<"):
        read_fields(lexer, function, ">", FUNCTION_FIELDS)
    function.name = lexer.read_quotable_name("the function's name")
    if lexer.take("<"):
        for _ in lexer.iterate_items(">", "after an attribute of the function"):
            read_attribute_parameter(lexer, function)
    lexer.expect("(", "before the function's inputs")
    function.input = [
        read_function_port(lexer, function)
        for _ in lexer.iterate_items(")", "after an input of the function")
    ]
    lexer.expect("=>", "after the function's inputs")
    lexer.expect("(", "before the function's outputs")
    function.output = [
        read_function_port(lexer, function)
        for _ in lexer.iterate_items(")", "after an output of the function")
    ]
    if lexer.take("<"):
        for _ in lexer.iterate_items(">", "after a value info of the function"):
            function.value_info.append(read(lexer, ValueInfoProto))
    function.node = read_nodes(lexer, "function")
    return function


def read_attribute_parameter(lexer: Lexer, function: FunctionProto) -> None:
    """An attribute parameter: a name, or an attribute with its type or default."""
    if lexer.is_at("{"):
        function.attribute_proto.append(read(lexer, AttributeProto))
        return
    attribute = read_attribute(lexer)
    if [field.name for field, _ in attribute.present()] == ["name"] and not attribute.unknown:
        function.attribute.append(attribute.name)
    else:
        function.attribute_proto.append(attribute)


def read_function_port(lexer: Lexer, function: FunctionProto) -> str:
    """The name of an input or output; if it has a type, a value info is added to the function."""
    if not is_at_type(lexer):
        return lexer.read_quotable_name("a name, with or without a type")
    info = read_value_info(lexer)
    function.value_info.append(info)
    return info.name


@register_reader(ModelProto)
def read_model(lexer: Lexer) -> ModelProto:
    """`<fields> graph functions`."""
    model = ModelProto()
    if lexer.take("<"):
        read_fields(lexer, model, ">", ("graph", "functions"))
    model.graph = read(lexer, GraphProto)
    functions: list[FunctionProto] = []
    while lexer.kind != "end":
        functions.append(read(lexer, FunctionProto))
    model.functions = functions
    return model
