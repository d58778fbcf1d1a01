"""Models, graphs and functions from IR to records, objects in the shape of protobuf messages: values become names."""

from __future__ import annotations

from sardonyx._src.io.nesting import limit_nesting
from sardonyx._src.io.serde.attributes import attribute_to
from sardonyx._src.io.serde.declarations import (
    function_value_infos,
    input_infos,
    output_infos,
    value_infos,
    values_with_lost_fields,
)
from sardonyx._src.io.serde.details import restore
from sardonyx._src.io.serde.devices import annotation_to, configuration_to, node_configuration_to
from sardonyx._src.io.serde.graphs import LATEST_IR_VERSION
from sardonyx._src.io.serde.metadata import metadata_to
from sardonyx._src.io.serde.old_versions import clear_attribute_types
from sardonyx._src.io.serde.tensors import ExternalEntries, Placement, sparse_to, tensor_to
from sardonyx._src.ir import Function, Graph, Model, Node, SparseTensor, Tensor, Value
from sardonyx._src.ir.model import Note, TrainingInfo
from sardonyx._src.ir.walk import graph_path, graphs, roots
from sardonyx._src.proto import messages as m

FIRST_IR_WITH_IMPORTS = 3


def inline(tensor: Tensor) -> ExternalEntries | None:
    """The placement that stores every tensor inline."""
    return None


def model(model: Model, placement: Placement = inline) -> m.ModelProto:
    """The record of a model.

    placement: called once for each dense tensor, in writing order; decides whether its data are inline or external.
    Raises LimitError for graphs nested deeper than the stack allows.
    """
    with limit_nesting():
        return record_of(model, placement)


def record_of(model: Model, placement: Placement) -> m.ModelProto:
    ir_version = written_ir_version(model)
    record = m.ModelProto(ir_version=ir_version)
    for name in ("producer_name", "producer_version", "domain"):
        if getattr(model, name):
            record.set(name, getattr(model, name))
    if model.model_version is not None:
        record.model_version = model.model_version
    if model.doc:
        record.doc_string = model.doc
    record.graph = graph(model.graph, placement)
    if ir_version >= FIRST_IR_WITH_IMPORTS or model.stated_imports:
        record.opset_import = imports(model.opset_imports, model.stated_imports)
    record.metadata_props = metadata_to(model.metadata)
    record.training_info = [training(step, placement) for step in model.training]
    record.functions = [function(f, placement, ir_version) for f in model.functions.values()]
    record.configuration = [configuration_to(c) for c in model.configurations]
    restore(record, model.details)
    if ir_version < 2:
        clear_attribute_types(model.graph, record.graph)
    note_lost_fields(model)
    return record


def written_ir_version(model: Model) -> int:
    """The IR version of the record: the model's, or 3 if the model has imports that an older version cannot express.

    A raised version is noted in `Model.notes`.
    """
    version = model.ir_version
    if version >= FIRST_IR_WITH_IMPORTS or model.opset_imports == (dict(model.stated_imports) or {"": 1}):
        return version
    what = f"IR version {version} has no imports of operator sets: the model is written as {FIRST_IR_WITH_IMPORTS}"
    add_note(model, Note("ir_version", what))
    return FIRST_IR_WITH_IMPORTS


def note_lost_fields(model: Model) -> None:
    """Notes the unknown fields of types and dims that cannot be written because the type was changed after reading."""
    for graph in (graph for root in roots(model) for graph in graphs(root)):
        for value in values_with_lost_fields(graph):
            what = f"unknown fields of the type of {value.name!r} are left out: its shape or kind has changed"
            add_note(model, Note(f"{graph_path(graph)}value_info", what))


def add_note(model: Model, note: Note) -> None:
    """Adds a note, unless an earlier save has added it."""
    if note not in model.notes:
        model.notes.append(note)


def imports(
    opset_imports: dict[str, int], stated: tuple[tuple[str, int], ...] = ()
) -> list[m.OperatorSetIdProto]:
    """The imports; as `stated` by a file that repeats them, unless they have changed."""
    highest: dict[str, int] = {}
    for domain, version in stated:
        highest[domain] = max(version, highest.get(domain, version))
    pairs = stated if highest == opset_imports else opset_imports.items()
    return [m.OperatorSetIdProto(domain=domain, version=version) for domain, version in pairs]


def graph(graph: Graph, placement: Placement = inline) -> m.GraphProto:
    """The record of a graph; values with a type, documentation, metadata or details have a value_info."""
    record = m.GraphProto(node=[node(n, placement) for n in graph.nodes])
    if graph.name:
        record.name = graph.name
    tensors = [(v.name, v.initializer) for v in graph.initializers.values()]
    record.initializer = [tensor_to(t, placement, name) for name, t in tensors if isinstance(t, Tensor)]
    record.sparse_initializer = [
        sparse_to(t, placement, name) for name, t in tensors if isinstance(t, SparseTensor)
    ]
    if graph.doc:
        record.doc_string = graph.doc
    record.input, record.output = input_infos(graph), output_infos(graph)
    record.value_info = value_infos(graph)
    record.quantization_annotation = [annotation_to(a) for a in graph.quantization_annotations]
    if graph.has_metadata:
        record.metadata_props = metadata_to(graph.metadata)
    restore(record, graph.details)
    return record


def node(node: Node, placement: Placement = inline) -> m.NodeProto:
    """The record of a node."""
    record = m.NodeProto(
        input=["" if v is None else v.name for v in node.inputs],
        output=[v.name for v in node.outputs],
        op_type=node.op_type,
    )
    for name, text in (("name", node.name), ("domain", node.domain), ("overload", node.overload)):
        if text:
            record.set(name, text)
    record.attribute = [attribute_to(a, graph, placement) for a in node.attributes.values()]
    if node.doc:
        record.doc_string = node.doc
    if node.has_metadata:
        record.metadata_props = metadata_to(node.metadata)
    record.device_configurations = [node_configuration_to(c) for c in node.device_configurations]
    restore(record, node.details)
    return record


def function(
    function: Function, placement: Placement = inline, ir_version: int = LATEST_IR_VERSION
) -> m.FunctionProto:
    """The record of a function of a model with an IR version."""
    record = m.FunctionProto(name=function.name, domain=function.domain)
    record.node = [node(n, placement) for n in function.body.nodes]
    record.input = [v.name for v in function.body.inputs]
    record.output = [v.name for v in function.body.outputs]
    record.attribute = [name for name, default in function.attributes.items() if default is None]
    defaults = [default for default in function.attributes.values() if default is not None]
    record.attribute_proto = [attribute_to(a, graph, placement) for a in defaults]
    if function.doc:
        record.doc_string = function.doc
    if function.overload:
        record.overload = function.overload
    record.opset_import = imports(function.opset_imports, function.stated_imports)
    record.value_info = function_value_infos(function.body, ir_version)
    record.metadata_props = metadata_to(function.metadata)
    restore(record, function.details)
    return record


def training(step: TrainingInfo, placement: Placement) -> m.TrainingInfoProto:
    record = m.TrainingInfoProto()
    if step.initialization is not None:
        record.initialization = graph(step.initialization, placement)
    if step.algorithm is not None:
        record.algorithm = graph(step.algorithm, placement)
    record.initialization_binding = bindings(step.initialization_binding)
    record.update_binding = bindings(step.update_binding)
    restore(record, step.details)
    return record


def bindings(pairs: list[tuple[Value, Value]]) -> list[m.StringStringEntryProto]:
    return [m.StringStringEntryProto(key=key.name, value=value.name) for key, value in pairs]
