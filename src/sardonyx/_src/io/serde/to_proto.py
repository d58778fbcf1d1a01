"""Models, graphs and functions from IR to records: values become names."""

from __future__ import annotations

from sardonyx._src.io.nesting import limit_nesting
from sardonyx._src.io.serde.attributes import attribute_to
from sardonyx._src.io.serde.devices import annotation_to, configuration_to, node_configuration_to
from sardonyx._src.io.serde.metadata import metadata_to, restore_unknown
from sardonyx._src.io.serde.tensors import ExternalEntries, Placement, sparse_to, tensor_to
from sardonyx._src.io.serde.types import type_to
from sardonyx._src.ir.graph import Graph, Node, Value
from sardonyx._src.ir.model import Function, Model, TrainingInfo
from sardonyx._src.ir.tensors import SparseTensor, Tensor
from sardonyx._src.ir.types import SparseTensorType, TensorType
from sardonyx._src.ir.walk import values
from sardonyx._src.proto import messages as m


def inline(tensor: Tensor) -> ExternalEntries | None:
    """The placement that stores every tensor inline."""
    return None


def model(model: Model, place: Placement = inline) -> m.ModelProto:
    """The record of a model; `place` is called once per dense tensor, in writing order, and decides where its data go.

    Raises LimitError for graphs nested deeper than the stack allows.
    """
    with limit_nesting():
        return record_of(model, place)


def record_of(model: Model, place: Placement) -> m.ModelProto:
    record = m.ModelProto(ir_version=model.ir_version)
    for name in ("producer_name", "producer_version", "domain"):
        if getattr(model, name):
            record.set(name, getattr(model, name))
    if model.model_version is not None:
        record.model_version = model.model_version
    if model.doc:
        record.doc_string = model.doc
    record.graph = graph(model.graph, place)
    record.opset_import = imports(model.opset_imports)
    record.metadata_props = metadata_to(model.metadata)
    record.training_info = [training(step, place) for step in model.training]
    record.functions = [function(f, place) for f in model.functions.values()]
    record.configuration = [configuration_to(c) for c in model.configurations]
    restore_unknown(record, model.unknown)
    return record


def imports(opset_imports: dict[str, int]) -> list[m.OperatorSetIdProto]:
    return [m.OperatorSetIdProto(domain=domain, version=version) for domain, version in opset_imports.items()]


def graph(graph: Graph, place: Placement = inline) -> m.GraphProto:
    """The record of a graph; values with a type, documentation or metadata have a value_info."""
    record = m.GraphProto(node=[node(n, place) for n in graph.nodes])
    if graph.name:
        record.name = graph.name
    tensors = [(v.name, v.initializer) for v in graph.initializers.values()]
    record.initializer = [tensor_to(t, place, name) for name, t in tensors if isinstance(t, Tensor)]
    record.sparse_initializer = [
        sparse_to(t, place, name) for name, t in tensors if isinstance(t, SparseTensor)
    ]
    if graph.doc:
        record.doc_string = graph.doc
    record.input = [value_info(v) for v in graph.inputs]
    record.output = [value_info(v) for v in graph.outputs]
    listed = {*graph.inputs, *graph.outputs}
    record.value_info = [value_info(v) for v in values(graph) if v not in listed and is_described(v)]
    record.quantization_annotation = [annotation_to(a) for a in graph.quantization_annotations]
    if graph.has_metadata:
        record.metadata_props = metadata_to(graph.metadata)
    restore_unknown(record, graph.unknown)
    return record


def is_described(value: Value) -> bool:
    """Whether a value needs a value_info: it has more than a name, and for an initializer more than its type."""
    if value.doc or value.has_metadata or value.unknown:
        return True
    tensor = value.initializer
    if tensor is None:
        return value.type is not None
    return value.type not in (
        TensorType(tensor.dtype, tensor.shape),
        SparseTensorType(tensor.dtype, tensor.shape),
    )


def value_info(value: Value) -> m.ValueInfoProto:
    record = m.ValueInfoProto(name=value.name)
    if value.type is not None:
        record.type = type_to(value.type)
    if value.doc:
        record.doc_string = value.doc
    if value.has_metadata:
        record.metadata_props = metadata_to(value.metadata)
    restore_unknown(record, value.unknown)
    return record


def node(node: Node, place: Placement = inline) -> m.NodeProto:
    """The record of a node."""
    record = m.NodeProto(
        input=["" if v is None else v.name for v in node.inputs],
        output=[v.name for v in node.outputs],
        op_type=node.op_type,
    )
    for name, text in (("name", node.name), ("domain", node.domain), ("overload", node.overload)):
        if text:
            record.set(name, text)
    record.attribute = [attribute_to(a, graph, place) for a in node.attributes.values()]
    if node.doc:
        record.doc_string = node.doc
    if node.has_metadata:
        record.metadata_props = metadata_to(node.metadata)
    record.device_configurations = [node_configuration_to(c) for c in node.device_configurations]
    restore_unknown(record, node.unknown)
    return record


def function(function: Function, place: Placement = inline) -> m.FunctionProto:
    """The record of a function."""
    body = graph(function.body, place)
    record = m.FunctionProto(name=function.name, domain=function.domain, node=body.node)
    record.input = [v.name for v in function.body.inputs]
    record.output = [v.name for v in function.body.outputs]
    record.attribute = [name for name, default in function.attributes.items() if default is None]
    defaults = [default for default in function.attributes.values() if default is not None]
    record.attribute_proto = [attribute_to(a, graph, place) for a in defaults]
    if function.doc:
        record.doc_string = function.doc
    if function.overload:
        record.overload = function.overload
    record.opset_import = imports(function.opset_imports)
    described = [v for v in (*function.body.inputs, *function.body.outputs) if is_described(v)]
    record.value_info = [value_info(v) for v in dict.fromkeys(described)] + list(body.value_info)
    record.metadata_props = metadata_to(function.metadata)
    restore_unknown(record, function.unknown)
    return record


def training(step: TrainingInfo, place: Placement) -> m.TrainingInfoProto:
    record = m.TrainingInfoProto()
    if step.initialization is not None:
        record.initialization = graph(step.initialization, place)
    if step.algorithm is not None:
        record.algorithm = graph(step.algorithm, place)
    record.initialization_binding = bindings(step.initialization_binding)
    record.update_binding = bindings(step.update_binding)
    restore_unknown(record, step.unknown)
    return record


def bindings(pairs: list[tuple[Value, Value]]) -> list[m.StringStringEntryProto]:
    return [m.StringStringEntryProto(key=key.name, value=value.name) for key, value in pairs]
