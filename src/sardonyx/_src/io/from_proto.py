"""A model's record to IR.

Generous where files are sloppy and their meaning is plain (unsorted nodes, double metadata keys, a branch that
returns an outer value, unused imports: mended, and listed in `Model.notes`), strict where meaning is at stake.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sardonyx._src.errors import InvalidModel
from sardonyx._src.io.attributes_proto import attribute_from
from sardonyx._src.io.devices_proto import configuration_from
from sardonyx._src.io.graphs_proto import GraphReader, Scope, domain_of
from sardonyx._src.io.metadata_proto import metadata_from
from sardonyx._src.io.tensors_proto import External
from sardonyx._src.ir.graph import Attribute, Function, Graph, Model, Note, TrainingInfo, Value
from sardonyx._src.ir.walk import calls, nodes, roots
from sardonyx._src.proto import messages as m

NEWEST_IR = max(m.Version)


def model(record: m.ModelProto, external: External) -> Model:
    """The model of a record; `external` finds the data of external tensors.

    Raises InvalidModel, naming the place, for a record that cannot be a model; `check` lists all its faults.
    """
    notes: list[Note] = []
    if record.graph is None:
        raise InvalidModel("the model has no graph", location="graph")
    reader = GraphReader(external, notes)
    graph = reader.read_root(record.graph, None, "graph")
    result = Model(graph, ir_version=ir_version(record, notes), opset_imports=imports_of(record, notes))
    result.notes = notes
    for name in ("producer_name", "producer_version", "domain"):
        if record.has(name):
            setattr(result, name, getattr(record, name))
    result.model_version = record.model_version if record.has("model_version") else None
    result.doc = record.doc_string
    result.metadata = metadata_from(record.metadata_props, notes, "model")
    result.configurations = [configuration_from(c) for c in record.configuration]
    add_functions(result, record.functions, external)
    for i, step in enumerate(record.training_info):
        result.training.append(training(step, reader, graph, f"training_info[{i}]"))
    note_unused_imports(result)
    if record.unknown:
        result.unknown = record.unknown
    return result


def note_unused_imports(model: Model) -> None:
    """Notes the domains that the model imports and does not use, which exporters leave behind."""
    if model.opset_imports.keys() <= {""}:
        return
    used = {node.domain for graph in roots(model) for node in nodes(graph)} | {
        key[0] for key in model.functions
    }
    for domain in model.opset_imports.keys() - used - {""}:
        model.notes.append(Note("opset_import", f"domain {domain!r} is imported, and no node is of it"))


def ir_version(record: m.ModelProto, notes: list[Note]) -> int:
    if not record.ir_version:
        notes.append(Note("ir_version", f"missing: the model is read as IR version {NEWEST_IR}"))
        return int(NEWEST_IR)
    if record.ir_version > NEWEST_IR:
        known = f"newer than {NEWEST_IR}, the newest known: what it adds is carried along"
        notes.append(Note("ir_version", f"{record.ir_version} is {known}"))
    return record.ir_version


def imports_of(record: m.ModelProto, notes: list[Note]) -> dict[str, int]:
    """The operator sets; files of IR versions 1 and 2 import none and mean version 1 of the default one."""
    result = opset_imports(record.opset_import, notes, "opset_import")
    if result:
        return result
    if (record.ir_version or NEWEST_IR) >= 3:
        what = "the model imports no operator set, so that no operator has a meaning; name one, as ai.onnx 21"
        raise InvalidModel(what, location="opset_import")
    return {"": 1}


def opset_imports(records: Sequence[m.OperatorSetIdProto], notes: list[Note], where: str) -> dict[str, int]:
    """Version by domain; of several imports of a domain the highest binds (onnx.proto, ModelProto)."""
    result: dict[str, int] = {}
    for record in records:
        domain = domain_of(record)
        if domain in result and result[domain] != record.version:
            what = f"{domain or 'ai.onnx'!r} is imported as {result[domain]} and {record.version}: the higher one binds"
            notes.append(Note(where, what))
        result[domain] = max(record.version, result.get(domain, 0))
    return result


def add_functions(model: Model, records: Iterable[m.FunctionProto], external: External) -> None:
    """Adds functions to the model; raises InvalidModel for a second one of the same identity and for recursion."""
    for i, record in enumerate(records):
        result = function(record, external, model.notes, f"functions[{i}] {record.name!r}")
        if result.key in model.functions:
            what = f"a second function {result.domain}.{result.name} with overload {result.overload!r}"
            raise InvalidModel(what, location=f"functions[{i}]")
        model.functions[result.key] = result
    if model.functions:
        refuse_recursion(model)


def function(record: m.FunctionProto, external: External, notes: list[Note], where: str) -> Function:
    """The function of a record; its body is a graph whose inputs are the formal parameters."""
    reader = GraphReader(external, notes, in_function=True)
    inputs = [m.ValueInfoProto(name=name) for name in record.input]
    outputs = [m.ValueInfoProto(name=name) for name in record.output]
    infos = {v.name: v for v in record.value_info}
    body = m.GraphProto(name=record.name, node=record.node, value_info=list(infos.values()))
    body.input = [infos.pop(v.name, v) for v in inputs]
    body.output = [infos.pop(v.name, v) for v in outputs]
    body.value_info = list(infos.values())
    graph = reader.read_root(body, None, where)
    result = Function(domain_of(record), record.name, graph, overload=record.overload)
    result.doc = record.doc_string
    result.metadata = metadata_from(record.metadata_props, notes, where)
    result.opset_imports = opset_imports(record.opset_import, notes, f"{where}.opset_import")
    result.attributes = parameters(record, reader, where)
    if record.unknown:
        result.unknown = record.unknown
    return result


def parameters(record: m.FunctionProto, reader: GraphReader, where: str) -> dict[str, Attribute | None]:
    """The attribute parameters, those without default first."""
    result: dict[str, Attribute | None] = dict.fromkeys(record.attribute)
    for one in record.attribute_proto:
        if one.name in result:
            raise InvalidModel(f"attribute parameter {one.name!r} is declared twice", location=where)
        result[one.name] = attribute_from(one, reader, lambda g, w: reader.read_root(g, None, w), where)
    return result


def refuse_recursion(model: Model) -> None:
    """Raises InvalidModel where functions call each other in a circle (onnx.proto, ModelProto.functions)."""
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
                what = f"functions call each other in a circle: {names} -> {callee.name}"
                raise InvalidModel(what, location="functions")
            elif callee not in done:
                path[callee] = calls(callee, model)


def training(record: m.TrainingInfoProto, reader: GraphReader, main: Graph, where: str) -> TrainingInfo:
    """A training step; its algorithm sees the main graph's values, its initialization sees nothing."""
    result = TrainingInfo()
    before, around = Scope(), Scope.of(main)
    after = around
    if record.initialization is not None:
        result.initialization = reader.read_root(record.initialization, None, f"{where}.initialization")
        before = Scope.of(result.initialization)
    if record.algorithm is not None:
        result.algorithm = reader.read_root(record.algorithm, around, f"{where}.algorithm")
        after = Scope.of(result.algorithm)
        after.outer = around
    for i, entry in enumerate(record.initialization_binding):
        place = f"{where}.initialization_binding[{i}]"
        result.initialization_binding.append(
            (bound(entry.key, after, place), bound(entry.value, before, place))
        )
    for i, entry in enumerate(record.update_binding):
        place = f"{where}.update_binding[{i}]"
        result.update_binding.append((bound(entry.key, after, place), bound(entry.value, after, place)))
    if record.unknown:
        result.unknown = record.unknown
    return result


def bound(name: str, scope: Scope, where: str) -> Value:
    value = scope.find(name)
    if value is None:
        raise InvalidModel(
            f"{name!r} is no value that the binding could mean{scope.near(name)}", location=where
        )
    return value


__all__ = ["Graph", "add_functions", "function", "model", "opset_imports"]
