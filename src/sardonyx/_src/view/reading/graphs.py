"""Graphs of a document as columns: nodes, and the values that connect them by name."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import field

from sardonyx._src.dataclass import dataclass
from sardonyx._src.proto import messages as m
from sardonyx._src.schema import OpSchema, canonical, lookup
from sardonyx._src.view.page_data import (
    DECLARED,
    NONE,
    UNKNOWN,
    AttributeData,
    GraphData,
    GraphKind,
    Owner,
    ValueNotes,
    empty_graph,
)
from sardonyx._src.view.reading.attributes import (
    GRAPH_FIELDS,
    TENSOR_FIELDS,
    default_attributes,
    field_of,
    graphs_of,
    tensors_of,
    type_name,
    value_text,
)
from sardonyx._src.view.reading.notes import node_notes, pairs_of, value_notes
from sardonyx._src.view.reading.tensors import TensorReader
from sardonyx._src.view.reading.types import type_text
from sardonyx._src.view.strings import StringTable

Body = m.GraphProto | m.FunctionProto
FunctionKey = tuple[str, str, str]  # domain, name, overload
DEFAULTS_UP_TO = (
    20_000  # nodes of a graph up to which defaults of omitted attributes are listed: they enlarge the page
)
LITERAL_CHARACTERS = (
    40  # characters of a number or string up to which it is drawn inside the nodes that read it
)


@dataclass(slots=True)
class PendingGraph:
    """A graph that has a number, but is not read yet."""

    record: Body
    kind: GraphKind
    imports: Mapping[str, int]
    outer: int = NONE
    owner: Owner | None = None


@dataclass(slots=True)
class GraphColumnReader:
    """Reads the graphs of a document, nested ones after those that hold them.

    functions: the numbers of the graphs of function bodies.
    graphs, records: the data and the record of each graph, by number.
    names: for each graph, its values by name; of several definitions, the first one.
    outers: the number of the enclosing graph of each graph, -1 for none.
    numbers: the number of each graph, by the id of its record.
    pending: the graphs that have a number but are not read yet.
    schemas: the signatures so far, by domain, operator and imported version.
    """

    strings: StringTable
    tensors: TensorReader
    functions: Mapping[FunctionKey, int]
    graphs: list[GraphData] = field(default_factory=list)
    records: list[Body] = field(default_factory=list)
    names: list[dict[str, int]] = field(default_factory=list)
    outers: list[int] = field(default_factory=list)
    numbers: dict[int, int] = field(default_factory=dict)
    pending: deque[PendingGraph] = field(default_factory=deque)
    schemas: dict[tuple[str, str, int], OpSchema | None] = field(default_factory=dict)

    def reserve(self, record: Body, kind: GraphKind, imports: Mapping[str, int], outer: int = NONE) -> int:
        """Gives a graph a number, under which `read_all` reads it."""
        return self.add_pending(PendingGraph(record, kind, imports, outer))

    def add_pending(self, pending: PendingGraph) -> int:
        number = len(self.records)
        self.records.append(pending.record)
        self.names.append({})
        self.outers.append(pending.outer)
        self.numbers[id(pending.record)] = number
        self.pending.append(pending)
        return number

    def read_all(self) -> None:
        """Reads the graphs with a number, and those that their attributes hold."""
        while self.pending:
            self.read(self.pending.popleft())

    def read(self, pending: PendingGraph) -> None:
        record, number = pending.record, len(self.graphs)
        data = empty_graph(pending.kind, record.name, record.doc_string)
        data["metadata"] = pairs_of(record.metadata_props) if record.has("metadata_props") else []
        data["owner"] = pending.owner
        self.graphs.append(data)
        infos = {info.name: info for info in record.value_info}
        if isinstance(record, m.GraphProto):
            infos |= {info.name: info for info in record.output}
        if isinstance(record, m.GraphProto):
            self.read_ports(number, record, infos)
        else:
            data["inputs"] = [self.define(number, name, infos.get(name)) for name in record.input]
        self.define_outputs(number, record, infos)
        if isinstance(record, m.GraphProto):
            self.read_annotations(number, record)
        self.read_nodes(number, record, pending.imports)
        names = [port if isinstance(port, str) else port.name for port in record.output]
        data["outputs"] = [self.resolve(number, name) if name else NONE for name in names]

    def read_ports(self, number: int, record: m.GraphProto, infos: Mapping[str, m.ValueInfoProto]) -> None:
        """Defines inputs and initializers; an input with an initializer is one value."""
        data, names = self.graphs[number], self.names[number]
        data["inputs"] = [self.define(number, info.name, info) for info in record.input]
        stored: list[tuple[str, m.TensorProto | m.SparseTensorProto]] = [
            (t.name, t) for t in record.initializer
        ]
        stored += [(s.values.name if s.values is not None else "", s) for s in record.sparse_initializer]
        for name, tensor in stored:
            value = names.get(name) if name else None
            if value is None or data["values"]["tensor"][value] != NONE:
                value = self.define(number, name, infos.get(name))
            self.set_tensor(number, value, self.tensors.add(tensor))

    def read_annotations(self, number: int, record: m.GraphProto) -> None:
        """Adds notes on the quantization of values; all values must be defined before."""
        for annotation in record.quantization_annotation:
            entries = (f"{e.key} = {e.value}" for e in annotation.quant_parameter_tensor_names)
            value = self.resolve(number, annotation.tensor_name)
            self.notes_of(number, value)["quantization"] = ", ".join(entries)

    def set_tensor(self, number: int, value: int, tensor: int) -> None:
        """Records that a value holds a tensor; the value gets the type of the tensor unless it declares one."""
        values, data = self.graphs[number]["values"], self.tensors.tensors[tensor]
        values["tensor"][value] = tensor
        if literal := self.tensors.literal(tensor):
            values["literal"][value] = literal
        if values["source"][value] == UNKNOWN:
            text = f"{data['type']}[{', '.join(map(str, data['shape']))}]"
            values["type"][value] = self.strings.add(f"sparse_tensor({text})" if data["sparse"] else text)
            values["source"][value] = DECLARED

    def define(self, number: int, name: str, info: m.ValueInfoProto | None, producer: int = NONE) -> int:
        """A new value; if several values have one name, readers of the name read the first."""
        values = self.graphs[number]["values"]
        value = len(values["name"])
        text = type_text(info.type) if info is not None else ""
        values["name"].append(self.strings.add(name))
        values["type"].append(self.strings.add(text))
        values["source"].append(DECLARED if text else UNKNOWN)
        values["tensor"].append(NONE)
        values["captured"].append(NONE)
        values["producer"].append(producer)
        if name:
            self.names[number].setdefault(name, value)
        if info is not None and (notes := value_notes(info)):
            values["notes"][value] = notes
        return value

    def notes_of(self, number: int, value: int) -> ValueNotes:
        return self.graphs[number]["values"]["notes"].setdefault(value, {})

    def define_outputs(self, number: int, record: Body, infos: Mapping[str, m.ValueInfoProto]) -> None:
        """Defines the outputs of all nodes before inputs are resolved, since nodes may be out of order."""
        nodes = self.graphs[number]["nodes"]
        slots, ends = nodes["outputs"], nodes["outputEnds"]
        for index, node in enumerate(record.node):
            for name in node.output:
                slots.append(self.define(number, name, infos.get(name), index) if name else NONE)
            ends.append(len(slots))

    def resolve(self, number: int, name: str) -> int:
        """The value that a name means in a graph: of the graph, of an enclosing graph, or a new one that nothing defines."""
        chain = [number]
        while name not in self.names[chain[-1]] and self.outers[chain[-1]] != NONE:
            chain.append(self.outers[chain[-1]])
        outermost = self.names[chain[-1]].get(name)
        if outermost is None:
            return self.define(number, name, None)
        value = outermost
        for inner in reversed(chain[:-1]):
            outer, outer_values = value, self.graphs[self.outers[inner]]["values"]
            value = self.define(inner, name, None)
            values = self.graphs[inner]["values"]
            values["captured"][value] = outer
            values["type"][value], values["source"][value] = (
                outer_values["type"][outer],
                outer_values["source"][outer],
            )
        return value

    def read_nodes(self, number: int, record: Body, imports: Mapping[str, int]) -> None:
        columns, add, own = self.graphs[number]["nodes"], self.strings.add, self.names[number]
        inputs, input_ends = columns["inputs"], columns["inputEnds"]
        has_defaults = len(record.node) <= DEFAULTS_UP_TO
        for index, node in enumerate(record.node):
            columns["operator"].append(add(node.op_type))
            columns["domain"].append(add(node.domain))
            columns["overload"].append(add(node.overload))
            columns["name"].append(add(node.name))
            columns["scope"].append(0)
            columns["body"].append(
                self.functions.get((canonical(node.domain), node.op_type, node.overload), NONE)
            )
            for name in node.input:
                value = own.get(name)
                inputs.append(value if value is not None else self.resolve(number, name) if name else NONE)
            input_ends.append(len(inputs))
            schema = self.schema_of(node, imports) if columns["body"][-1] == NONE else None
            if schema is not None and (names := formal_names(schema, len(node.input))):
                columns["inputNames"][index] = names
            attributes = self.read_attributes(number, index, node, imports)
            if schema is not None and has_defaults:
                attributes += default_attributes(schema, (a["name"] for a in attributes))
            if attributes:
                columns["attributes"][index] = attributes
            if notes := node_notes(node):
                columns["notes"][index] = notes

    def schema_of(self, node: m.NodeProto, imports: Mapping[str, int]) -> OpSchema | None:
        domain = canonical(node.domain)
        key = (domain, node.op_type, imports.get(domain, 0))
        if key not in self.schemas:
            self.schemas[key] = lookup(*key)
        return self.schemas[key]

    def read_attributes(
        self, number: int, index: int, node: m.NodeProto, imports: Mapping[str, int]
    ) -> list[AttributeData]:
        result = []
        for record in node.attribute if node.has("attribute") else ():
            name = field_of(record)
            data: AttributeData = {
                "name": record.name,
                "type": type_name(record, name),
                "text": value_text(record, name),
            }
            if record.doc_string:
                data["documentation"] = record.doc_string
            if name in TENSOR_FIELDS:
                data["tensors"] = [self.tensors.add(t, record.name) for t in tensors_of(record, name)]
                self.set_constant(number, index, node, data["tensors"])
            elif name in GRAPH_FIELDS:
                owner: Owner = {"graph": number, "node": index, "attribute": record.name}
                data["graphs"] = [
                    self.add_pending(PendingGraph(graph, "nested", imports, number, owner))
                    for graph in graphs_of(record, name)
                ]
            result.append(data)
        self.set_short_constant(number, index, node, result)
        return result

    def set_constant(self, number: int, index: int, node: m.NodeProto, tensors: list[int]) -> None:
        """Gives the output of a Constant node the text of its tensor, if the tensor is small."""
        value = self.constant_output(number, index, node)
        if value != NONE and tensors and (literal := self.tensors.literal(tensors[0])):
            self.graphs[number]["values"]["literal"][value] = literal

    def set_short_constant(
        self, number: int, index: int, node: m.NodeProto, attributes: list[AttributeData]
    ) -> None:
        """Gives the output of a Constant node the text of its number or string, if the text is short."""
        value = self.constant_output(number, index, node)
        if value != NONE and len(attributes) == 1 and "tensors" not in attributes[0]:
            text = attributes[0]["text"]
            if len(text) <= LITERAL_CHARACTERS and attributes[0]["type"] != "reference":
                self.graphs[number]["values"]["literal"][value] = text

    def constant_output(self, number: int, index: int, node: m.NodeProto) -> int:
        """The output of a Constant node of ai.onnx; -1 for any other node."""
        if node.op_type != "Constant" or canonical(node.domain) or len(node.output) != 1:
            return NONE
        columns = self.graphs[number]["nodes"]
        return columns["outputs"][columns["outputEnds"][index] - 1]


def formal_names(schema: OpSchema, count: int) -> list[str]:
    """The names of the parameters that `count` inputs bind to."""
    parameters = (schema.input(position) for position in range(count))
    return [parameter.name if parameter is not None else "" for parameter in parameters]


def import_table(records: Iterable[m.OperatorSetIdProto]) -> dict[str, int]:
    return {canonical(record.domain): int(record.version) for record in records}
