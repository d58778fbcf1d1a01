"""Models and functions from records, which are objects in the shape of protobuf messages, to IR.

A defect that leaves the meaning unambiguous (unsorted nodes, duplicate metadata keys, a branch that returns an outer
value, unused imports) is repaired and noted in `Model.notes`; any other raises InvalidModel.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from sardonyx._src.errors import InvalidModel
from sardonyx._src.io.serde.attributes import attribute_from
from sardonyx._src.io.serde.details import entry_differences, own_details
from sardonyx._src.io.serde.graphs import (
    LATEST_IR_VERSION,
    NO_RUNS,
    GraphReader,
    NameScope,
    default_domain,
    domain_of,
)
from sardonyx._src.io.serde.metadata import metadata_details, metadata_from
from sardonyx._src.io.serde.old_versions import mark_attribute_types
from sardonyx._src.io.serde.tensors import ExternalData
from sardonyx._src.ir import Attribute, Function, Graph, Model, Value
from sardonyx._src.ir.details import PartKey, SourceDetails
from sardonyx._src.ir.model import Note, TrainingInfo
from sardonyx._src.ir.walk import calls, nodes, roots
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.wire import UndecodedRun


def model(
    record: m.ModelProto, external: ExternalData, undecoded: Mapping[int, UndecodedRun] = NO_RUNS
) -> Model:
    """The model of a record; `external` resolves the data of external tensors.

    undecoded: the runs of repeated fields of the graph that the decoder has skipped, by tag; see `UndecodedRun`.

    Raises InvalidModel, with the location, for a record that is not a valid model; `check` reports all defects.
    """
    notes: list[Note] = []
    if record.graph is None:
        raise InvalidModel("a model must have a graph; got none", location="graph")
    fields = record.graph.__dict__.values()
    if not all(any(run.records is field for field in fields) for run in undecoded.values()):
        raise InvalidModel("only fields of the main graph may be left undecoded", location="graph")
    version = ir_version(record, notes)
    reader = GraphReader(external, notes, ir_version=version, undecoded=undecoded)
    graph = reader.read_root(record.graph, None, "graph")
    result = Model(graph, ir_version=version, opset_imports=imports_of(record, notes))
    result.stated_imports = stated_imports(record.opset_import, version)
    if version < 2:
        mark_attribute_types(graph)
    result.notes = notes
    for name in ("producer_name", "producer_version", "domain"):
        if record.has(name):
            setattr(result, name, getattr(record, name))
    result.model_version = record.model_version if record.has("model_version") else None
    result.doc = record.doc_string
    result.metadata = metadata_from(record.metadata_props, notes, "model")
    if record.configuration:
        from sardonyx._src.io.serde.devices import configuration_from  # few models need it

        result.configurations = [configuration_from(c) for c in record.configuration]
    add_functions(result, record.functions, external)
    for i, step in enumerate(record.training_info):
        result.training.append(training(step, reader, graph, f"training_info[{i}]"))
    note_unused_imports(result)
    note_missing_imports(result)
    parts = [*metadata_details(record), *import_details(record.opset_import)]
    result.details = own_details(record, ("ir_version",), parts)
    return result


def note_missing_imports(model: Model) -> None:
    """Notes the vendor domains that the main graph uses and the model does not import."""
    missing = {node.domain for node in model.graph.nodes} - model.opset_imports.keys()
    if not missing:
        return
    from sardonyx._src.schema import latest, vendor_domains  # lazy: few models lack imports

    for domain in sorted(missing.intersection(vendor_domains())):
        what = f"domain {domain!r} is used but not imported: its operators have version {latest(domain)}"
        model.notes.append(Note("opset_import", what))


def note_unused_imports(model: Model) -> None:
    """Notes the domains that the model imports but does not use; some exporters write them."""
    if model.opset_imports.keys() <= {""}:
        return
    used = {node.domain for graph in roots(model) for node in nodes(graph)} | {
        key[0] for key in model.functions
    }
    for domain in model.opset_imports.keys() - used - {""}:
        model.notes.append(Note("opset_import", f"domain {domain!r} is imported but not used"))


def ir_version(record: m.ModelProto, notes: list[Note]) -> int:
    if not record.ir_version:
        notes.append(Note("ir_version", f"missing: the model is read as IR version {LATEST_IR_VERSION}"))
        return int(LATEST_IR_VERSION)
    if record.ir_version > LATEST_IR_VERSION:
        known = f"newer than {LATEST_IR_VERSION}, the latest known version: unknown fields are preserved"
        notes.append(Note("ir_version", f"{record.ir_version} is {known}"))
    return record.ir_version


def imports_of(record: m.ModelProto, notes: list[Note]) -> dict[str, int]:
    """The imported operator sets; IR versions 1 and 2 have no imports and use version 1 of the default domain."""
    result = opset_imports(record.opset_import, notes, "opset_import")
    if result:
        return result
    if (record.ir_version or LATEST_IR_VERSION) >= 3:
        what = "a model must import an operator set; got none; add an import such as ai.onnx 21"
        raise InvalidModel(what, location="opset_import")
    return {"": 1}


def opset_imports(records: Sequence[m.OperatorSetIdProto], notes: list[Note], where: str) -> dict[str, int]:
    """Version by domain; of several imports of a domain the highest applies (onnx.proto, ModelProto)."""
    result: dict[str, int] = {}
    for record in records:
        domain = domain_of(record)
        if domain in result and result[domain] != record.version:
            what = f"{domain or 'ai.onnx'!r} is imported as {result[domain]} and {record.version}: the higher version applies"
            notes.append(Note(where, what))
        result[domain] = max(record.version, result.get(domain, record.version))
    return result


def stated_imports(records: Sequence[m.OperatorSetIdProto], ir_version: int) -> tuple[tuple[str, int], ...]:
    """The import entries as the file lists them, if `opset_imports` cannot reproduce them; else ().

    These are repeated domains, and any entries of a file of an IR version without imports.
    """
    pairs = tuple((domain_of(record), record.version) for record in records)
    return pairs if ir_version < 3 or len(dict(pairs)) < len(pairs) else ()


def import_details(records: Sequence[m.OperatorSetIdProto]) -> Iterator[tuple[PartKey, SourceDetails]]:
    written = [m.OperatorSetIdProto(domain=domain_of(r), version=r.version) for r in records]
    return entry_differences("opset_import", records, written)


def add_functions(model: Model, records: Iterable[m.FunctionProto], external: ExternalData) -> None:
    """Adds functions to the model; raises InvalidModel for duplicate functions and for recursion."""
    for i, record in enumerate(records):
        result = function(record, external, model.notes, f"functions[{i}] {record.name!r}")
        if result.key in model.functions:
            what = f"functions must be unique; got {result.domain}.{result.name} with overload {result.overload!r} twice"
            raise InvalidModel(what, location=f"functions[{i}]")
        model.functions[result.key] = result
    if model.functions:
        refuse_recursion(model)


def function(record: m.FunctionProto, external: ExternalData, notes: list[Note], where: str) -> Function:
    """The function of a record; its body is a graph with the function's inputs and outputs."""
    reader = GraphReader(external, notes, in_function=True)
    inputs = [m.ValueInfoProto(name=name) for name in record.input]
    outputs = [m.ValueInfoProto(name=name) for name in record.output]
    infos = {v.name: v for v in record.value_info}
    body = m.GraphProto(name=record.name, node=record.node, value_info=record.value_info)
    body.input = [infos.get(v.name, v) for v in inputs]
    body.output = [infos.get(v.name, v) for v in outputs]
    graph = reader.read_root(body, None, where)
    scope = NameScope()
    scope.names = {value.name: value for value in graph.inputs}
    result = Function(domain_of(record), record.name, graph, overload=record.overload)
    result.doc = record.doc_string
    result.metadata = metadata_from(record.metadata_props, notes, where)
    result.opset_imports = opset_imports(record.opset_import, notes, f"{where}.opset_import")
    result.attributes = parameters(record, reader, scope, notes, where)
    result.stated_imports = stated_imports(record.opset_import, LATEST_IR_VERSION)
    parts = [*metadata_details(record), *import_details(record.opset_import)]
    result.details = own_details(record, ("name", "domain"), parts, default_domain(record))
    return result


def parameters(
    record: m.FunctionProto, reader: GraphReader, scope: NameScope, notes: list[Note], where: str
) -> dict[str, Attribute | None]:
    """The attribute parameters, those without default first.

    scope: the inputs of the function, which graphs among the defaults may read.
    """
    result: dict[str, Attribute | None] = dict.fromkeys(record.attribute)
    if len(result) < len(record.attribute):
        notes.append(Note(where, "attribute parameters are listed several times: each applies once"))
    for default in record.attribute_proto:
        if default.name in result:
            raise InvalidModel(
                f"attribute parameters must be unique; got {default.name!r} twice", location=where
            )
        result[default.name] = attribute_from(
            default, reader, lambda g, w: reader.read_root(g, scope, w), where
        )
    return result


def refuse_recursion(model: Model) -> None:
    """Raises InvalidModel for recursive functions (onnx.proto, ModelProto.functions)."""
    done: set[Function] = set()
    for start in model.functions.values():
        path = {start: calls(start, model)}
        while path:
            current = next(reversed(path))
            callee = next(path[current], None)
            if callee is None:
                done.add(current)
                del path[current]
            elif callee in path:
                names = " -> ".join(f.name for f in path)
                what = f"functions must not be recursive; got {names} -> {callee.name}"
                raise InvalidModel(what, location="functions")
            elif callee not in done:
                path[callee] = calls(callee, model)


def training(record: m.TrainingInfoProto, reader: GraphReader, main: Graph, where: str) -> TrainingInfo:
    """A training step; its algorithm can use values of the main graph, its initialization cannot."""
    result = TrainingInfo()
    initialization_scope, main_scope = NameScope(), NameScope.of(main)
    algorithm_scope = main_scope
    if record.initialization is not None:
        result.initialization = reader.read_root(record.initialization, None, f"{where}.initialization")
        initialization_scope = NameScope.of(result.initialization)
    if record.algorithm is not None:
        result.algorithm = reader.read_root(record.algorithm, main_scope, f"{where}.algorithm")
        algorithm_scope = NameScope.of(result.algorithm)
        algorithm_scope.outer = main_scope
    for i, entry in enumerate(record.initialization_binding):
        location = f"{where}.initialization_binding[{i}]"
        result.initialization_binding.append(
            (
                resolve_binding(entry.key, algorithm_scope, location),
                resolve_binding(entry.value, initialization_scope, location),
            )
        )
    for i, entry in enumerate(record.update_binding):
        location = f"{where}.update_binding[{i}]"
        result.update_binding.append(
            (
                resolve_binding(entry.key, algorithm_scope, location),
                resolve_binding(entry.value, algorithm_scope, location),
            )
        )
    parts = [
        *binding_details("initialization_binding", record.initialization_binding),
        *binding_details("update_binding", record.update_binding),
    ]
    result.details = own_details(record, (), parts)
    return result


def binding_details(
    field: str, entries: Sequence[m.StringStringEntryProto]
) -> Iterator[tuple[PartKey, SourceDetails]]:
    written = [m.StringStringEntryProto(key=entry.key, value=entry.value) for entry in entries]
    return entry_differences(field, entries, written)


def resolve_binding(name: str, scope: NameScope, where: str) -> Value:
    value = scope.find(name)
    if value is None:
        raise InvalidModel(
            f"a binding must name a value in scope; got {name!r}{scope.suggestion(name)}", location=where
        )
    return value


__all__ = ["LATEST_IR_VERSION", "Graph", "add_functions", "function", "model", "opset_imports"]
