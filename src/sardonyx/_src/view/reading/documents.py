"""The data of a document: a model, an operator-set document, or stored tensors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from sardonyx._src.dataclass import dataclass
from sardonyx._src.io.external import ExternalFiles, Policy
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.record import Record
from sardonyx._src.schema import canonical
from sardonyx._src.view.page_data import (
    NONE,
    DocumentData,
    DocumentForm,
    FunctionRecord,
    GraphKind,
    Pair,
    empty_graph,
)
from sardonyx._src.view.reading.attributes import field_of, value_text
from sardonyx._src.view.reading.graphs import GraphColumnReader, import_table
from sardonyx._src.view.reading.notes import configuration_text, pairs_of
from sardonyx._src.view.reading.tensors import TensorReader
from sardonyx._src.view.strings import StringTable


@dataclass(slots=True)
class ReadDocument:
    """The data of a document, and the readers that hold the numbers of its graphs, tensors and strings.

    record: the record of the document; None if it does not decode at all.
    """

    data: DocumentData
    graphs: GraphColumnReader
    tensors: TensorReader
    strings: StringTable
    record: Record | None


def read_document(
    record: Record | None,
    source: str = "",
    path: Path | None = None,
    *,
    policy: Policy | str = Policy.HUB,
    weights: bool = False,
    verify_checksums: bool = True,
) -> ReadDocument:
    """The data of a record, without inferred types, scopes and findings.

    record: None for a file that does not decode.  The other arguments are as for `load`; weights: whether the data contain
    all elements of weights.
    """
    strings = StringTable()
    files = ExternalFiles(path, policy, verify_checksums=verify_checksums)
    tensors = TensorReader(files, weights=weights)
    functions = functions_of(record)
    offset = 1
    table = {
        (canonical(f.domain), f.name, f.overload): offset + i for i, f in reversed([*enumerate(functions)])
    }
    graphs = GraphColumnReader(strings, tensors, table)
    data = empty_document(source)
    document = ReadDocument(data, graphs, tensors, strings, record)
    data["strings"], data["tensors"], data["graphs"] = strings.strings, tensors.tensors, graphs.graphs
    match record:
        case m.ModelProto():
            read_model(document, record)
        case m.OperatorSetProto():
            read_operator_set(document, record)
        case None:
            data["kind"] = "broken"
        case _:
            data["kind"] = "tensor"
            for tensor in stored_tensors(record):
                tensors.add(tensor)
    if not graphs.graphs:
        graphs.graphs.append(empty_graph("main"))
    return document


def functions_of(record: Record | None) -> list[m.FunctionProto]:
    return record.functions if isinstance(record, m.ModelProto | m.OperatorSetProto) else []


def read_model(document: ReadDocument, record: m.ModelProto) -> None:
    """Reads a model; graphs are numbered in this order: the main graph, functions, training graphs, nested graphs."""
    data, graphs = document.data, document.graphs
    imports = import_table(record.opset_import)
    graphs.reserve(record.graph or m.GraphProto(), "main", imports)
    read_functions(document, record.functions)
    for info in record.training_info:
        numbers = [
            NONE if graph is None else graphs.reserve(graph, kind, imports, 0)
            for graph, kind in training_graphs(info)
        ]
        data["training"].append(
            {
                "initialization": numbers[0],
                "algorithm": numbers[1],
                "initializationBindings": pairs_of(info.initialization_binding),
                "updateBindings": pairs_of(info.update_binding),
            }
        )
    graphs.read_all()
    data["imports"] = [[o.domain, str(o.version)] for o in record.opset_import]
    data["metadata"] = pairs_of(record.metadata_props)
    data["documentation"] = record.doc_string
    data["configurations"] = [[c.name, configuration_text(c)] for c in record.configuration]
    data["properties"] = model_properties(document, record)


def training_graphs(info: m.TrainingInfoProto) -> tuple[tuple[m.GraphProto | None, GraphKind], ...]:
    return (info.initialization, "initialization"), (info.algorithm, "algorithm")


def read_functions(document: ReadDocument, records: Iterable[m.FunctionProto]) -> None:
    for record in records:
        imports = import_table(record.opset_import)
        attributes: list[Pair] = [[name, ""] for name in record.attribute]
        attributes += [[a.name, value_text(a, field_of(a))] for a in record.attribute_proto]
        function: FunctionRecord = {
            "graph": document.graphs.reserve(record, "function", imports),
            "domain": record.domain,
            "name": record.name,
            "overload": record.overload,
            "attributes": attributes,
            "documentation": record.doc_string,
            "imports": [[o.domain, str(o.version)] for o in record.opset_import],
        }
        document.data["functions"].append(function)


def read_operator_set(document: ReadDocument, record: m.OperatorSetProto) -> None:
    data, graphs = document.data, document.graphs
    data["kind"] = "operator set"
    graphs.reserve(m.GraphProto(), "main", {})
    read_functions(document, record.functions)
    graphs.read_all()
    numbers = {function["name"]: i for i, function in reversed([*enumerate(data["functions"])])}
    for operator in record.operator:
        data["operatorSchemas"].append(
            {
                "domain": record.domain,
                "name": operator.op_type,
                "sinceVersion": int(operator.since_version),
                "status": "stable" if operator.status == m.OperatorStatus.STABLE else "experimental",
                "documentation": operator.doc_string,
                "function": numbers.get(operator.op_type, NONE),
            }
        )
    data["documentation"] = record.doc_string
    data["properties"] = stated(
        ("IR version", str(record.ir_version)),
        ("IR prerelease", record.ir_version_prerelease),
        ("IR build metadata", record.ir_build_metadata),
        ("domain", record.domain),
        ("operator set version", str(record.opset_version)),
    )


def model_properties(document: ReadDocument, record: m.ModelProto) -> list[Pair]:
    """The properties that a model states about itself, and its sizes."""
    parameters = sum(document_size(t) for t in record.graph.initializer) if record.graph is not None else 0
    return stated(
        ("IR version", str(record.ir_version) if record.has("ir_version") else ""),
        ("producer", " ".join(filter(None, (record.producer_name, record.producer_version)))),
        ("domain", record.domain),
        ("model version", str(record.model_version) if record.has("model_version") else ""),
        ("graph", record.graph.name if record.graph is not None else ""),
        ("nodes", f"{sum(len(g['nodes']['operator']) for g in document.data['graphs']):,}"),
        ("parameters", f"{parameters:,}"),
        ("bytes of tensors", f"{sum(tensor['bytes'] for tensor in document.tensors.tensors):,}"),
    )


def document_size(record: m.TensorProto) -> int:
    """The number of elements of a tensor, by its dims."""
    size = 1
    for dim in record.dims:
        size *= int(dim)
    return size


def stated(*pairs: tuple[str, str]) -> list[Pair]:
    """The properties that are not empty."""
    return [[label, value] for label, value in pairs if value]


def stored_tensors(record: Record) -> Iterator[m.TensorProto | m.SparseTensorProto]:
    """The tensors in stored data, in order, however deeply they are nested."""
    stack = [record]
    while stack:
        current = stack.pop()
        if isinstance(current, m.TensorProto | m.SparseTensorProto):
            yield current
            continue
        children: list[Record] = []
        for row, value in current.present():
            if row.message is not None:
                children += value if isinstance(value, list) else [value]  # type: ignore[list-item]
        stack += reversed(children)


def empty_document(source: str) -> DocumentData:
    kind: DocumentForm = "model"
    return {
        "source": source, "kind": kind, "strings": [], "properties": [], "imports": [], "metadata": [],
        "documentation": "", "graphs": [], "functions": [], "operatorSchemas": [], "tensors": [], "training": [],
        "configurations": [], "findings": [], "profile": None, "quantization": None,
    }  # fmt: skip
