"""Nodes from bytes to IR without records in between, in half the time: a large graph is mostly short nodes.

A node is plain if it has the fields that exporters write, in the order of their numbers, in ASCII and with lengths of
one byte, reads values that are defined before it, and has one output with a new name.  Any other node is decoded to a
record, which is then read like the nodes of other graphs.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol, TypeAlias

from sardonyx._src.errors import InvalidModel
from sardonyx._src.io.serde.attributes import plain_attribute_from
from sardonyx._src.ir import Attribute, AttributeValue, Graph, Value
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.large_graphs import append_node
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.decoders import decode_attribute_proto, decode_node_proto
from sardonyx._src.proto.runs import MAX_TEMPLATE_BYTES, MAX_TEMPLATES, read_run
from sardonyx._src.proto.wire import Buffer, UndecodedRun, WireError, chunk, varint

PlainAttribute: TypeAlias = tuple[str, AttributeType, AttributeValue]
# The fields after the names of a plain node: operator, domain, and each attribute, a record if it is not plain.
Call: TypeAlias = tuple[str, str, list[PlainAttribute | m.AttributeProto]]


class RecordReader(Protocol):
    """Reads nodes and attributes that are not plain, and declarations.  index: the position of the node in its graph."""

    def read_node(self, record: m.NodeProto, index: int) -> None: ...
    def read_attribute(self, record: m.AttributeProto, index: int, node: str) -> Attribute: ...
    def declare(self, value: Value, index: int) -> None: ...


class NodeRunReader:
    """Appends the nodes of a run, which are consecutive encoded fields, to a graph.

    names: the values that the graph defines, by name.
    declared: the names in its value_info.
    records: reads whatever is not plain.
    """

    def __init__(
        self,
        graph: Graph,
        run: UndecodedRun,
        names: dict[str, Value],
        declared: Collection[str],
        records: RecordReader,
    ) -> None:
        self.graph, self.run, self.names, self.declared, self.records = graph, run, names, declared, records
        self.plain_attributes: dict[bytes, PlainAttribute] = {}  # by their encoding
        self.calls: dict[bytes, Call] = {}  # by their encoding

    def read(self) -> None:
        """Reads all nodes.  Raises InvalidModel for nodes that do not decode, and for those that `records` rejects."""
        try:
            read_run(self.run, self)
        except (WireError, IndexError):
            raise InvalidModel("the nodes of a graph must decode", location="graph.node") from None

    def read_long(self, b: Buffer, p: int, e: int) -> None:
        """Reads the node b[p:e]."""
        node = chunk(decode_node_proto, b, p, e, self.run.context)
        self.records.read_node(node, len(self.graph.nodes))

    def read_block(self, b: bytes) -> int:
        """Reads the nodes at the beginning of a block, and returns the end of the last complete field.

        p: start of the field of a node; begin, end: range of its value, the node.
        k: start of a field of the node; n: length of a value; s: start of it.
        Tags of a node's fields: 10 input, 18 output, 26 name, 34 op_type, 42 attribute, 58 domain.
        """
        p, size = 0, len(b)
        text = b.decode("latin-1")
        is_ascii = text.isascii()
        graph, names, declared = self.graph, self.names, self.declared
        find, find_call = names.get, self.calls.get
        try:
            while p < size:
                n, k = b[p + 1], p + 2
                if n > 127:
                    n, k = varint(b, p + 1)
                begin, end = k, k + n
                if end > size:
                    break
                inputs: list[Value | None] = []
                output = name = ""
                while k < end and b[k] == 10:
                    s = k + 2
                    k = s + b[k + 1]
                    value = find(text[s:k])
                    if value is None and s != k:
                        k = end + 1  # not plain
                    inputs.append(value)
                if k < end and b[k] == 18:
                    s = k + 2
                    k = s + b[k + 1]
                    output = text[s:k]
                if k < end and b[k] == 26 and b[k + 1]:
                    s = k + 2
                    k = s + b[k + 1]
                    name = text[s:k]
                # Also refuses lengths of more than one byte: the first byte of such a length is not ASCII.
                is_plain = output and k < end and (is_ascii or text[begin:k].isascii())
                call = (find_call(b[k:end]) or self.read_call(b, k, end)) if is_plain else None
                if call is not None and output not in names:
                    op_type, domain, parts = call
                    attributes = self.attributes_of(parts, name or op_type) if parts else {}
                    node = append_node(graph, op_type, domain, name, inputs, output, attributes)
                    names[output] = value = node._outputs[0]
                    if output in declared:
                        self.records.declare(value, len(graph.nodes) - 1)
                else:
                    self.records.read_node(
                        decode_node_proto(b, begin, end, self.run.context), len(graph.nodes)
                    )
                p = end
        except IndexError:  # the block ends inside a field
            pass
        return p

    def read_call(self, b: bytes, p: int, end: int) -> Call | None:
        """The fields from p to the end of a node, which follow its names; None if the node is not plain."""
        k = p
        op_type = domain = ""
        if b[k] == 34:
            s = k + 2
            k = s + b[k + 1]
            op_type = b[s:k].decode("latin-1")
        parts: list[PlainAttribute | m.AttributeProto] = []
        is_plain = op_type and k <= end and b[p:k].isascii()
        while is_plain and k < end and b[k] == 42:
            n, s = b[k + 1], k + 2
            if n > 127:
                n, s = varint(b, k + 1)
            k = s + n
            if k <= end:
                parts.append(self.plain_attributes.get(b[s:k]) or self.decode_attribute(b, s, k))
        if is_plain and k < end and b[k] == 58 and b[k + 1]:
            s = k + 2
            k = s + b[k + 1]
            domain = b[s:k].decode("latin-1")
            is_plain = b[s - 1 : k].isascii() and domain != "ai.onnx"
        if not is_plain or k != end:
            return None
        call = op_type, domain, parts
        if (
            end - p < MAX_TEMPLATE_BYTES
            and len(self.calls) < MAX_TEMPLATES
            and all(isinstance(part, tuple) for part in parts)
        ):
            self.calls[b[p:end]] = call
        return call

    def decode_attribute(self, b: bytes, s: int, q: int) -> PlainAttribute | m.AttributeProto:
        record = decode_attribute_proto(b, s, q, self.run.context)
        attribute = plain_attribute_from(record)
        if attribute is None:
            return record
        fields = attribute.name, attribute.type, attribute.value
        if q - s < MAX_TEMPLATE_BYTES and len(self.plain_attributes) < MAX_TEMPLATES:
            self.plain_attributes[b[s:q]] = fields
        return fields

    def attributes_of(
        self, parts: Sequence[PlainAttribute | m.AttributeProto], node: str
    ) -> dict[str, Attribute]:
        """The attributes of the next node; raises InvalidModel if two have the same name.

        parts: each attribute, as its constructor's arguments or as a record.  node: its name, for messages.
        """
        result: dict[str, Attribute] = {}
        for part in parts:
            if isinstance(part, tuple):
                attribute = Attribute(*part)
            else:
                attribute = self.records.read_attribute(part, len(self.graph.nodes), node)
            result[attribute.name] = attribute
        if len(result) < len(parts):
            raise InvalidModel("attributes of a node must be unique", location="graph.node")
        return result
