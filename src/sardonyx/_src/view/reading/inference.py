"""Types that inference adds to those that a model declares."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from sardonyx._src.check.type_rules.node_paths import subgraphs_of
from sardonyx._src.errors import InputError, InvalidModel, SardonyxError
from sardonyx._src.infer.walk import infer_partially
from sardonyx._src.io.serde import from_proto
from sardonyx._src.io.serde.types import type_to
from sardonyx._src.ir import Graph, Model, Node, Type
from sardonyx._src.ir.walk import values
from sardonyx._src.proto import messages as m
from sardonyx._src.schema import canonical
from sardonyx._src.view.page_data import INFERRED, GraphData
from sardonyx._src.view.reading.documents import ReadDocument
from sardonyx._src.view.reading.types import is_open, type_text


def build_model(document: ReadDocument) -> Model:
    """The model of a document's record.

    Raises what loading raises, and InvalidModel for a document that is no model or does not decode completely.
    """
    if not isinstance(document.record, m.ModelProto) or document.data["kind"] == "broken":
        raise InvalidModel(
            "the document must be a model; got another kind of document, or one that does not decode"
        )
    return from_proto.model(document.record, document.tensors.files)


def infer_types(document: ReadDocument) -> SardonyxError | None:
    """Adds the types that inference finds; returns the error if the model cannot be built or is nested too deeply."""
    if not isinstance(document.record, m.ModelProto):
        return None
    try:
        inferred = infer_partially(from_proto.model(document.record, document.tensors.files))
    except SardonyxError as error:
        return error
    add_types(document, inferred.model)
    return None


def add_types(document: ReadDocument, model: Model) -> None:
    """Fills in types that the document leaves open.  model: the model of its record, with inferred types."""
    assert isinstance(document.record, m.ModelProto), "a typed model has the record of a model"
    for record, graph in pair_graphs(document.record, model):
        number = document.graphs.numbers.get(id(record))
        if number is not None:
            set_types(document, document.data["graphs"][number], document.graphs.names[number], graph)


def pair_graphs(record: m.ModelProto, model: Model) -> Iterator[tuple[m.GraphProto | m.FunctionProto, Graph]]:
    """The graphs of a model with their records: the main graph, bodies of functions, training graphs, and nested graphs."""
    stack: list[tuple[m.GraphProto | m.FunctionProto, Graph]] = []
    if record.graph is not None:
        stack.append((record.graph, model.graph))
    by_key = {(f.domain, f.name, f.overload): f for f in model.functions.values()}
    for function in record.functions:
        own = by_key.get((canonical(function.domain), function.name, function.overload))
        if own is not None:
            stack.append((function, own.body))
    for info, step in zip(record.training_info, model.training, strict=False):
        for part, own_part in ((info.initialization, step.initialization), (info.algorithm, step.algorithm)):
            if part is not None and own_part is not None:
                stack.append((part, own_part))
    while stack:
        body, graph = stack.pop()
        yield body, graph
        stack += nested_graphs(body, graph)


def graph_with_number(document: ReadDocument, model: Model, number: int) -> Graph:
    """The graph of a document's model that has a number in the data of the page.

    Raises InputError for one that the model lacks, such as the body of a function that is defined twice.
    """
    assert isinstance(document.record, m.ModelProto), "a document with a model has its record"
    for record, graph in pair_graphs(document.record, model):
        if document.graphs.numbers.get(id(record)) == number:
            return graph
    raise InputError(f"graph must be one of the model; got {number}, which loading leaves out", name="graph")


def nested_graphs(body: m.GraphProto | m.FunctionProto, graph: Graph) -> Iterator[tuple[m.GraphProto, Graph]]:
    """The subgraphs of the nodes of a graph with their records.

    Nodes and records are matched by their first output, since loading may sort nodes.
    """
    holders = [node for node in graph.nodes if node.subgraphs]
    if not holders:
        return
    records = {first_output(node.output): node for node in body.node}
    for node in holders:
        own = records.get(output_name(node))
        if own is not None:
            yield from ((inner, subgraph) for _, inner, subgraph in subgraphs_of(own, node))


def first_output(names: list[str]) -> str:
    return next(filter(None, names), "")


def output_name(node: Node) -> str:
    return next((value.name for value in node.outputs if value.name), "")


def set_types(document: ReadDocument, data: GraphData, names: Mapping[str, int], graph: Graph) -> None:
    """Sets the types of values that declare no type, or a type with unknown parts."""
    columns, strings = data["values"], document.strings
    types, sources = columns["type"], columns["source"]
    for value in values(graph):
        index = names.get(value.name)
        if index is None or value.type is None:
            continue
        if sources[index] and not is_open(strings.strings[types[index]]):
            continue
        text = inferred_text(value.type)
        if text != strings.strings[types[index]]:
            types[index], sources[index] = strings.add(text), INFERRED
    for index, captured in enumerate(columns["captured"]):
        owner = data["owner"]
        if captured >= 0 and owner is not None and not sources[index]:
            outer = document.data["graphs"][owner["graph"]]["values"]
            types[index], sources[index] = outer["type"][captured], outer["source"][captured]


@lru_cache(maxsize=4096)
def inferred_text(type: Type) -> str:
    return type_text(type_to(type))
