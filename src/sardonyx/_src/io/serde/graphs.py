"""Graphs from records, objects in the shape of protobuf messages, to IR: names are resolved to values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from sardonyx._src.errors import InvalidModel
from sardonyx._src.io.nesting import limit_nesting
from sardonyx._src.io.serde.attributes import attribute_from, plain_attribute_from
from sardonyx._src.io.serde.declarations import ValueInfo, describe, read_declarations
from sardonyx._src.io.serde.details import own_details
from sardonyx._src.io.serde.metadata import metadata_details, metadata_from
from sardonyx._src.io.serde.node_runs import NodeRunReader
from sardonyx._src.io.serde.tensors import ExternalData, sparse_from, tensor_from
from sardonyx._src.io.serde.topological_order import topological_order
from sardonyx._src.io.serde.value_info_runs import ValueInfoRunReader
from sardonyx._src.ir import Attribute, Graph, Node, SparseTensor, SparseTensorType, Tensor, TensorType, Value
from sardonyx._src.ir.details import Stated
from sardonyx._src.ir.large_graphs import append_call, append_node, defer_uses
from sardonyx._src.ir.model import Note
from sardonyx._src.ir.walk import values
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.runs import NODES_OF_GRAPH, VALUE_INFO_OF_GRAPH
from sardonyx._src.proto.wire import UndecodedRun
from sardonyx._src.suggestions import did_you_mean


class NameScope:
    """The values in scope of a node, by name: the values defined so far in its graph and in the enclosing graphs."""

    __slots__ = ("names", "outer")

    def __init__(self, outer: NameScope | None = None) -> None:
        self.names: dict[str, Value] = {}
        self.outer = outer

    @classmethod
    def of(cls, graph: Graph) -> NameScope:
        """The scope after the last node of a complete graph."""
        scope = cls()
        scope.names = {value.name: value for value in values(graph)}
        return scope

    def find(self, name: str) -> Value | None:
        scope: NameScope | None = self
        while scope is not None:
            if (value := scope.names.get(name)) is not None:
                return value
            scope = scope.outer
        return None

    def suggestion(self, name: str) -> str:
        """A hint with the most similar name in scope, or ""."""
        return did_you_mean(name, self.names)


NO_RUNS: Mapping[int, UndecodedRun] = {}
LATEST_IR_VERSION = max(m.Version)
COMMON_NODE_FIELDS = {"input", "output", "op_type", "name", "domain", "attribute"}


class UseBeforeDefinition(Exception):
    """A node uses a name that is not defined before it; a later node of its graph or of an enclosing one may define it."""

    def __init__(self, name: str, error: InvalidModel) -> None:
        super().__init__(name)
        self.name, self.error = name, error


class GraphReader:
    """Reads graph records; one instance for the main graph and one for each function."""

    def __init__(
        self,
        external: ExternalData,
        notes: list[Note],
        *,
        in_function: bool = False,
        ir_version: int = LATEST_IR_VERSION,
        undecoded: Mapping[int, UndecodedRun] = NO_RUNS,
    ) -> None:
        """ir_version: IR version of the model, which determines the meaning of the dim "*" and of attributes without a type.

        undecoded: by tag, the runs of repeated fields that are still bytes, which this reader decodes.
        """
        self.external = external
        self.notes = notes
        self.ir_version = ir_version
        self.in_function = in_function
        self.undecoded = undecoded
        self.started: list[Graph] = []  # graphs whose reading has begun, to be cleared if it must begin again
        # The topological order of the nodes of each unsorted graph, by location.
        self.orders: dict[str, list[int]] = {}

    def read_root(self, record: m.GraphProto, outer: NameScope | None, where: str) -> Graph:
        """The graph of a record that is not a node attribute; raises InvalidModel with the location."""
        try:
            with limit_nesting():
                return self.read(outer, record, where)
        except UseBeforeDefinition as error:
            raise error.error from None

    def read(self, outer: NameScope | None, record: m.GraphProto, where: str) -> Graph:
        """The graph of a record; six stack frames per level, so that the decoder's limit is reached before Python's."""
        scope = NameScope(outer)
        graph = Graph(record.name)
        self.started.append(graph)
        self.read_inputs(graph, record, scope, where)
        self.read_initializers(graph, record, scope, where)
        infos = self.read_value_info(record)
        types = {info.name: info for info in infos}
        if types:
            self.describe_initializers(graph, types, where)
        self.read_nodes(graph, record.node, scope, types, where)
        self.read_outputs(graph, record, scope, where)
        if record.has("quantization_annotation"):
            from sardonyx._src.io.serde.devices import annotation_from  # few models need it

            graph.quantization_annotations = [
                annotation_from(a, scope.find, self.notes, where) for a in record.quantization_annotation
            ]
        graph.doc = record.doc_string
        if record.has("metadata_props"):
            graph.metadata.update(metadata_from(record.metadata_props, self.notes, where))
        graph.details = own_details(record, (), metadata_details(record))
        read_declarations(graph, record, infos, scope.names, self.notes, where)
        return graph

    def read_inputs(self, graph: Graph, record: m.GraphProto, scope: NameScope, where: str) -> None:
        for i, info in enumerate(record.input):
            if info.name in scope.names or not info.name:
                why = (
                    f"names of inputs must be unique; got {info.name!r} twice"
                    if info.name
                    else "an input must have a name; got none"
                )
                raise InvalidModel(why, location=f"{where}.input[{i}]")
            value = graph.add_input(Value(info.name))
            describe(value, info, self.notes, f"{where}.input[{i}]", self.ir_version)
            scope.names[info.name] = value

    def read_initializers(self, graph: Graph, record: m.GraphProto, scope: NameScope, where: str) -> None:
        for i, dense in enumerate(record.initializer):
            location = f"{where}.initializer[{i}]"
            self.add_initializer(
                graph, tensor_from(dense, self.external, self.notes, location), scope, location
            )
        if record.has("sparse_initializer"):
            for i, sparse in enumerate(record.sparse_initializer):
                location = f"{where}.sparse_initializer[{i}]"
                self.add_initializer(
                    graph, sparse_from(sparse, self.external, self.notes, location), scope, location
                )

    def add_initializer(
        self, graph: Graph, tensor: Tensor | SparseTensor, scope: NameScope, where: str
    ) -> None:
        name = tensor.name
        if not name or name in graph.initializers:
            why = (
                f"names of initializers must be unique; got {name!r} twice"
                if name
                else "an initializer must have a name; got none"
            )
            raise InvalidModel(why, location=where)
        value = scope.names.get(name)
        if value is None:
            value = scope.names[name] = Value(name)
        if value.type is None:
            make = SparseTensorType if isinstance(tensor, SparseTensor) else TensorType
            value.type = make(tensor.dtype, tensor.shape)
        value.initializer = tensor
        graph.add_initializer(value)

    def read_value_info(self, record: m.GraphProto) -> Sequence[ValueInfo]:
        if not record.has("value_info"):
            return ()
        run = self.undecoded.get(VALUE_INFO_OF_GRAPH)
        if run is not None and run.records is record.value_info:
            return ValueInfoRunReader(run, self.ir_version).read()
        return record.value_info

    def describe_initializers(self, graph: Graph, types: dict[str, ValueInfo], where: str) -> None:
        """Applies value_info to initializers; if the declared type differs from the tensor's, the tensor's is kept."""
        inputs = set(graph.inputs)
        for name, value in graph.initializers.items():
            if (info := types.get(name)) is None or value in inputs:
                continue
            own = value.type
            describe(value, info, self.notes, where, self.ir_version)
            assert isinstance(own, TensorType | SparseTensorType), (
                f"{value!r} must have the type of its tensor"
            )
            if value.type is own:
                continue
            if not isinstance(value.type, type(own)) or (value.type.dtype, value.type.shape) != (
                own.dtype,
                own.shape,
            ):
                what = f"value_info declares {value.type} for initializer {name!r}, whose type is {own}: the tensor takes precedence"
                self.notes.append(Note(where, what))
                value.type = own

    def read_nodes(
        self,
        graph: Graph,
        records: Sequence[m.NodeProto],
        scope: NameScope,
        types: dict[str, ValueInfo],
        where: str,
    ) -> None:
        """Appends the nodes in the order of the file, or sorted if a node reads an output of a later one.

        That is noticed when the name is looked up: what was read so far is then discarded, and reading begins again.
        """
        location = f"{where}.node"
        run = self.undecoded.get(NODES_OF_GRAPH)
        if run is not None and run.records is records:
            NodeRunReader(
                graph, run, scope.names, types, NodeRecordReader(self, graph, scope, types, location)
            ).read()
            return
        before, noted, started = dict(scope.names), len(self.notes), len(self.started)
        while True:
            if scope.outer is None:
                defer_uses(graph, dict.fromkeys(before.values()))
            order = self.orders.get(where)  # from an earlier attempt, possibly one at an enclosing graph
            try:
                self.read_ordered_nodes(
                    graph, records, range(len(records)) if order is None else order, scope, types, location
                )
            except UseBeforeDefinition as error:
                for attempt in (graph, *self.started[started:]):
                    attempt.clear()
                scope.names = dict(before)
                del self.notes[noted:], self.started[started:]
                if order is not None or not any(error.name in record.output for record in records):
                    raise
                self.orders[where] = topological_order(list(records), where)
            else:
                break
        if order is not None:
            self.notes.append(Note(where, "nodes precede the producers of their inputs: sorted"))

    def read_ordered_nodes(
        self,
        graph: Graph,
        records: Sequence[m.NodeProto] | Mapping[int, m.NodeProto],
        order: Sequence[int],
        scope: NameScope,
        types: dict[str, ValueInfo],
        where: str,
    ) -> None:
        """Appends the nodes with these indices; in one loop, since a call costs as much as half a node."""
        names, find = scope.names, scope.names.get
        for index in order:
            record = records[index]
            fields = record.__dict__  # the fields that are set
            inputs: list[Value | None] = []
            for name in fields.get("input", ()):
                value = find(name)
                if value is None and name and (value := scope.find(name)) is None:
                    raise UseBeforeDefinition(
                        name, self.undefined_name_error(record, name, scope, f"{where}[{index}]")
                    )
                inputs.append(value)
            attributes = self.read_attributes(record, scope, where, index) if "attribute" in fields else {}
            outputs = fields.get("output", ())
            op_type, name = fields.get("op_type", ""), fields.get("name", "")
            domain = domain_of(record) if "domain" in fields else ""
            if len(outputs) == 1 and (output := outputs[0]) and output not in names and not types:
                node = append_node(graph, op_type, domain, name, inputs, output, attributes)
                names[output] = node._outputs[0]
            else:
                values = self.read_outputs_of_node(graph, record, scope, types, where, index)
                call = Node(op_type, (), values, attributes, domain=domain, name=name)
                node = append_call(graph, call, inputs)
            # Most nodes have just these fields, and none of them empty: then there are no extras.
            if len(fields) == 4 + ("attribute" in fields) and inputs and outputs and name and op_type:
                if not attributes and "attribute" in fields:
                    self.read_node_extras(node, record, scope, f"{where}[{index}]")
            elif (
                not all(fields.values())
                or not fields.keys() <= COMMON_NODE_FIELDS
                or "op_type" not in fields
                or fields.get("domain") == "ai.onnx"
            ):
                self.read_node_extras(node, record, scope, f"{where}[{index}]")

    def read_outputs_of_node(
        self,
        graph: Graph,
        record: m.NodeProto,
        scope: NameScope,
        types: dict[str, ValueInfo],
        where: str,
        index: int,
    ) -> list[Value]:
        names, outputs = scope.names, []
        for name in record.__dict__.get("output", ()):
            output = Value(name)
            if name:
                if name in names:
                    raise self.redefinition_error(record, names[name], graph, where, index)
                names[name] = output
                if types and (info := types.get(name)) is not None:
                    describe(output, info, self.notes, f"{where}[{index}]", self.ir_version)
            outputs.append(output)
        return outputs

    def read_attributes(
        self, record: m.NodeProto, scope: NameScope, where: str, index: int
    ) -> dict[str, Attribute]:
        result: dict[str, Attribute] = {}
        for attribute in record.attribute:
            name = attribute.name
            if name in result:
                raise InvalidModel(
                    f"attributes of a node must be unique; got {name!r} twice",
                    location=node_location(record, where, index),
                )
            plain = plain_attribute_from(attribute)
            result[name] = plain or attribute_from(
                attribute, self, partial(self.read, scope), node_location(record, where, index)
            )
        return result

    def read_node_extras(self, node: Node, record: m.NodeProto, scope: NameScope, where: str) -> None:
        if record.has("overload"):
            node.overload = record.overload
        if record.has("doc_string"):
            node.doc = record.doc_string
        if record.has("metadata_props"):
            node.metadata.update(metadata_from(record.metadata_props, self.notes, where))
        if record.has("device_configurations"):
            from sardonyx._src.io.serde.devices import node_configuration_from  # few models need it

            node.device_configurations = [
                node_configuration_from(c, scope.find, self.notes, where)
                for c in record.device_configurations
            ]
        node.details = own_details(record, ("op_type",), metadata_details(record), default_domain(record))

    def read_outputs(self, graph: Graph, record: m.GraphProto, scope: NameScope, where: str) -> None:
        for i, info in enumerate(record.output):
            location = f"{where}.output[{i}]"
            value = scope.names.get(info.name)
            if value is None:
                outer = scope.find(info.name)
                if outer is None:
                    raise InvalidModel(
                        f"a graph output must be a value in scope; got {info.name!r}{scope.suggestion(info.name)}",
                        location=location,
                    )
                value = self.pass_through(graph, outer, scope, location)
            if value.type is None or value.producer is not None:
                describe(value, info, self.notes, location, self.ir_version)
            graph.outputs.append(value)

    def pass_through(self, graph: Graph, outer: Value, scope: NameScope, where: str) -> Value:
        """An Identity of an outer value, which a subgraph cannot return directly."""
        self.notes.append(
            Note(where, f"output {outer.name!r} belongs to an outer graph: an Identity was inserted")
        )
        value = scope.names[outer.name] = Value(outer.name, outer.type)
        graph.append(Node("Identity", [outer], [value]))
        return value

    def undefined_name_error(
        self, record: m.NodeProto, name: str, scope: NameScope, where: str
    ) -> InvalidModel:
        slot = list(record.input).index(name)
        what = f"input {slot} must be a value in scope; got {name!r}{scope.suggestion(name)}"
        return InvalidModel(
            what, location=f"{where}{' ' + repr(record.name) if record.name else ''} ({record.op_type})"
        )

    def redefinition_error(
        self, record: m.NodeProto, first: Value, graph: Graph, where: str, index: int
    ) -> InvalidModel:
        """The error for a node that defines the name of another value again; it names both."""
        what = f"names of values must be unique in a graph; got {first.name!r} twice"
        if (producer := first.producer) is not None:
            order, position = self.orders.get(where.removesuffix(".node")), graph.position(producer)
            location = f"node[{position if order is None else order[position]}]"
            what += f", here and from {location}{quoted(producer.name)} ({producer.op_type})"
        return InvalidModel(what, location=f"{where}[{index}]{quoted(record.name)} ({record.op_type})")


class NodeRecordReader:
    """What `NodeRunReader` calls for the nodes, attributes and declarations that it does not read from bytes itself.

    types: the value_info of the graph, by name.
    """

    def __init__(
        self, reader: GraphReader, graph: Graph, scope: NameScope, types: dict[str, ValueInfo], where: str
    ) -> None:
        self.reader, self.graph, self.scope, self.types, self.where = reader, graph, scope, types, where

    def read_node(self, record: m.NodeProto, index: int) -> None:
        self.reader.read_ordered_nodes(
            self.graph, {index: record}, (index,), self.scope, self.types, self.where
        )

    def read_attribute(self, record: m.AttributeProto, index: int, node: str) -> Attribute:
        reader = self.reader
        return attribute_from(
            record, reader, partial(reader.read, self.scope), f"{self.where}[{index}] {node!r}"
        )

    def declare(self, value: Value, index: int) -> None:
        reader = self.reader
        describe(value, self.types[value.name], reader.notes, f"{self.where}[{index}]", reader.ir_version)


def quoted(name: str) -> str:
    """The name of a node as a part of its location."""
    return f" {name!r}" if name else ""


def node_location(record: m.NodeProto, where: str, index: int) -> str:
    return f"{where}[{index}] {record.name or record.op_type!r}"


def domain_of(record: m.NodeProto | m.OperatorSetIdProto | m.FunctionProto | m.OperatorSetProto) -> str:
    """The domain; the default domain is the empty string.

    `schema.canonical` does the same for a string, but loading should not have to import the schemas.
    """
    return "" if record.domain == "ai.onnx" else record.domain


def default_domain(record: m.NodeProto | m.OperatorSetIdProto | m.FunctionProto) -> list[tuple[str, Stated]]:
    """The field `domain` as the record has it if this is "ai.onnx", which the IR replaces by ""; else nothing."""
    return [("domain", record.domain)] if record.domain == "ai.onnx" else []
