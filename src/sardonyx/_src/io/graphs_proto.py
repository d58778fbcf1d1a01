"""Graphs from records: names become edges."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from functools import partial
from itertools import islice

from sardonyx._src.errors import InvalidModel
from sardonyx._src.io.attributes_proto import attribute_from
from sardonyx._src.io.devices_proto import annotation_from, node_configuration_from
from sardonyx._src.io.metadata_proto import metadata_from
from sardonyx._src.io.nesting import nesting_limited
from sardonyx._src.io.order import sorted_order
from sardonyx._src.io.tensors_proto import External, sparse_from, tensor_from
from sardonyx._src.io.types_proto import type_from
from sardonyx._src.ir.graph import Attribute, Graph, Node, Note, Value
from sardonyx._src.ir.tensors import SparseTensor, Tensor
from sardonyx._src.ir.types import SparseTensorType, TensorType, Type
from sardonyx._src.ir.walk import values
from sardonyx._src.proto import messages as m

SEARCHED = 10_000  # names in sight that are compared with a misspelt one, and
COMPARED = 200  # characters of the longest: comparing takes the square of that


class Scope:
    """The values that a graph's nodes can name: its own so far, and those of the graphs around it."""

    __slots__ = ("names", "outer")

    def __init__(self, outer: Scope | None = None) -> None:
        self.names: dict[str, Value] = {}
        self.outer = outer

    @classmethod
    def of(cls, graph: Graph) -> Scope:
        """What can be named behind the last node of a finished graph."""
        scope = cls()
        scope.names = {value.name: value for value in values(graph)}
        return scope

    def find(self, name: str) -> Value | None:
        scope: Scope | None = self
        while scope is not None:
            if (value := scope.names.get(name)) is not None:
                return value
            scope = scope.outer
        return None

    def near(self, name: str) -> str:
        """A hint that names the nearest value in sight, or nothing."""
        names = [n for n in islice(self.names, SEARCHED) if len(n) <= COMPARED]
        close = difflib.get_close_matches(name, names, 1) if len(name) <= COMPARED else []
        return f"; did you mean {close[0]!r}?" if close else ""


RARE = frozenset(
    ("overload", "doc_string", "metadata_props", "device_configurations", "_unknown")
)  # on a node


class Unsorted(Exception):
    """A node reads a name that nothing before it defines: a later node of its graph, or of one around it, may."""

    def __init__(self, name: str, error: InvalidModel) -> None:
        super().__init__(name)
        self.name, self.error = name, error


class GraphReader:
    """Turns graph records into graphs; one for the main graph, one for each function."""

    def __init__(self, external: External, notes: list[Note], *, in_function: bool = False) -> None:
        self.external = external
        self.notes = notes
        self.in_function = in_function
        self.begun: list[Graph] = []
        self.orders: dict[str, list[int]] = {}  # of the nodes of graphs that were found unsorted, by place

    def read_root(self, record: m.GraphProto, outer: Scope | None, where: str) -> Graph:
        """The graph of a record that no node holds; raises InvalidModel naming the place."""
        try:
            with nesting_limited():
                return self.read(outer, record, where)
        except Unsorted as found:
            raise found.error from None

    def read(self, outer: Scope | None, record: m.GraphProto, where: str) -> Graph:
        """The graph of a record; six stack frames a level, so that the decoder's limit is reached before Python's."""
        scope = Scope(outer)
        graph = Graph(record.name)
        self.begun.append(graph)
        self.read_inputs(graph, record, scope, where)
        self.read_initializers(graph, record, scope, where)
        types = {v.name: v for v in record.value_info} if record.has("value_info") else {}
        if types:
            self.describe_initializers(graph, types, where)
        self.read_nodes(graph, record.node, scope, types, where)
        self.read_outputs(graph, record, scope, where)
        if record.has("quantization_annotation"):
            graph.quantization_annotations = [
                annotation_from(a, scope.find) for a in record.quantization_annotation
            ]
        graph.doc = record.doc_string
        if record.has("metadata_props"):
            graph.metadata.update(metadata_from(record.metadata_props, self.notes, where))
        for name in types.keys() - scope.names.keys():
            self.notes.append(Note(where, f"value_info {name!r} is about no value of the graph: left out"))
        if record.unknown:
            graph.unknown = record.unknown
        return graph

    def read_inputs(self, graph: Graph, record: m.GraphProto, scope: Scope, where: str) -> None:
        for i, info in enumerate(record.input):
            if info.name in scope.names or not info.name:
                why = f"two inputs are named {info.name!r}" if info.name else "the input has no name"
                raise InvalidModel(why, location=f"{where}.input[{i}]")
            value = graph.add_input(Value(info.name))
            self.describe(value, info, f"{where}.input[{i}]")
            scope.names[info.name] = value

    def read_initializers(self, graph: Graph, record: m.GraphProto, scope: Scope, where: str) -> None:
        for i, dense in enumerate(record.initializer):
            place = f"{where}.initializer[{i}]"
            self.add_initializer(graph, tensor_from(dense, self.external, self.notes, place), scope, place)
        if record.has("sparse_initializer"):
            for i, sparse in enumerate(record.sparse_initializer):
                place = f"{where}.sparse_initializer[{i}]"
                self.add_initializer(
                    graph, sparse_from(sparse, self.external, self.notes, place), scope, place
                )

    def add_initializer(self, graph: Graph, tensor: Tensor | SparseTensor, scope: Scope, where: str) -> None:
        name = tensor.name
        if not name or name in graph.initializers:
            why = f"two initializers are named {name!r}" if name else "the initializer has no name"
            raise InvalidModel(why, location=where)
        value = scope.names.get(name)
        if value is None:
            value = scope.names[name] = Value(name)
        if value.type is None:
            make = SparseTensorType if isinstance(tensor, SparseTensor) else TensorType
            value.type = make(tensor.dtype, tensor.shape)
        value.initializer = tensor
        graph.add_initializer(value)

    def describe_initializers(self, graph: Graph, types: dict[str, m.ValueInfoProto], where: str) -> None:
        """Puts what value_info says on initializers; of another type than the tensor's own, the tensor's counts."""
        inputs = set(graph.inputs)
        for name, value in graph.initializers.items():
            if (info := types.get(name)) is None or value in inputs:
                continue
            own = value.type
            self.describe(value, info, where)
            assert isinstance(own, TensorType | SparseTensorType), f"{value!r} has the type of its tensor"
            if value.type is own:
                continue
            if not isinstance(value.type, type(own)) or (value.type.dtype, value.type.shape) != (
                own.dtype,
                own.shape,
            ):
                what = (
                    f"value_info says {value.type} of initializer {name!r}, which is {own}: the tensor counts"
                )
                self.notes.append(Note(where, what))
                value.type = own

    def read_nodes(
        self,
        graph: Graph,
        records: Sequence[m.NodeProto],
        scope: Scope,
        types: dict[str, m.ValueInfoProto],
        where: str,
    ) -> None:
        before, noted, begun = dict(scope.names), len(self.notes), len(self.begun)
        while True:
            order = self.orders.get(where)  # of an earlier attempt, be it one of the graph around this one
            try:
                for index in range(len(records)) if order is None else order:
                    self.read_node(graph, records[index], scope, types, f"{where}.node", index)
            except Unsorted as found:
                for attempt in (graph, *self.begun[begun:]):
                    attempt.clear()
                scope.names = dict(before)
                del self.notes[noted:], self.begun[begun:]
                if order is not None or not any(found.name in record.output for record in records):
                    raise
                self.orders[where] = sorted_order(list(records), where)
            else:
                break
        if order is not None:
            self.notes.append(Note(where, "nodes stand before the producers of their inputs: sorted"))

    def read_node(
        self,
        graph: Graph,
        record: m.NodeProto,
        scope: Scope,
        types: dict[str, m.ValueInfoProto],
        where: str,
        index: int,
    ) -> None:
        names = scope.names
        fields = record.__dict__  # what is set; large graphs are read through here
        inputs: list[Value | None] = []
        for name in fields.get("input", ()):
            value = names.get(name)
            if value is None and name and (value := scope.find(name)) is None:
                raise Unsorted(name, self.undefined(record, name, scope, f"{where}[{index}]"))
            inputs.append(value)
        attributes = self.read_attributes(record, scope, where, index) if "attribute" in fields else None
        outputs = []
        for name in fields.get("output", ()):
            output = Value(name)
            if name:
                if name in names:
                    raise self.defined_twice(record, name, f"{where}[{index}]")
                names[name] = output
                if types and (info := types.get(name)) is not None:
                    self.describe(output, info, f"{where}[{index}]")
            outputs.append(output)
        node = Node(record.op_type, inputs, outputs, attributes, domain=domain_of(record), name=record.name)
        if not RARE.isdisjoint(fields):
            self.read_node_extras(node, record, scope, f"{where}[{index}]")
        graph.append(node)

    def read_attributes(
        self, record: m.NodeProto, scope: Scope, where: str, index: int
    ) -> dict[str, Attribute]:
        result: dict[str, Attribute] = {}
        place = f"{where}[{index}] {record.name or record.op_type!r}"
        for one in record.attribute:
            if one.name in result:
                raise InvalidModel(f"attribute {one.name!r} occurs twice", location=place)
            result[one.name] = attribute_from(one, self, partial(self.read, scope), place)
        return result

    def read_node_extras(self, node: Node, record: m.NodeProto, scope: Scope, where: str) -> None:
        if record.has("overload"):
            node.overload = record.overload
        if record.has("doc_string"):
            node.doc = record.doc_string
        if record.has("metadata_props"):
            node.metadata.update(metadata_from(record.metadata_props, self.notes, where))
        if record.has("device_configurations"):
            node.device_configurations = [
                node_configuration_from(c, scope.find) for c in record.device_configurations
            ]
        if record.has("_unknown"):
            node.unknown = record.unknown

    def read_outputs(self, graph: Graph, record: m.GraphProto, scope: Scope, where: str) -> None:
        for i, info in enumerate(record.output):
            place = f"{where}.output[{i}]"
            value = scope.names.get(info.name)
            if value is None:
                outer = scope.find(info.name)
                if outer is None:
                    raise InvalidModel(f"no node makes {info.name!r}{scope.near(info.name)}", location=place)
                value = self.pass_through(graph, outer, scope, place)
            if value.type is None or value.producer is not None:
                self.describe(value, info, place)
            graph.outputs.append(value)

    def pass_through(self, graph: Graph, outer: Value, scope: Scope, where: str) -> Value:
        """A subgraph may not have an outer value as output; an Identity makes it the subgraph's own."""
        self.notes.append(
            Note(where, f"{outer.name!r} belongs to an outer graph: passed through an Identity")
        )
        value = scope.names[outer.name] = Value(outer.name, outer.type)
        graph.append(Node("Identity", [outer], [value]))
        return value

    def describe(self, value: Value, info: m.ValueInfoProto, where: str) -> None:
        """Puts what a ValueInfoProto says on a value."""
        stated: Type | None = type_from(info.type, f"{where} {info.name!r}")
        if stated is not None:
            value.type = stated
        if info.has("doc_string"):
            value.doc = info.doc_string
        if info.has("metadata_props"):
            value.metadata.update(metadata_from(info.metadata_props, self.notes, where))
        if info.has("_unknown"):
            value.unknown = info.unknown

    def undefined(self, record: m.NodeProto, name: str, scope: Scope, where: str) -> InvalidModel:
        slot = list(record.input).index(name)
        what = f"input {slot} reads {name!r}, which nothing in sight defines{scope.near(name)}"
        return InvalidModel(
            what, location=f"{where}{' ' + repr(record.name) if record.name else ''} ({record.op_type})"
        )

    def defined_twice(self, record: m.NodeProto, name: str, where: str) -> InvalidModel:
        what = f"writes {name!r}, which is defined already in this graph"
        return InvalidModel(
            what, location=f"{where}{' ' + repr(record.name) if record.name else ''} ({record.op_type})"
        )


def domain_of(record: m.NodeProto | m.OperatorSetIdProto | m.FunctionProto | m.OperatorSetProto) -> str:
    """The domain, with the default one as the empty string."""
    return "" if record.domain == "ai.onnx" else record.domain
