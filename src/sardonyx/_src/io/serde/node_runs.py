"""Nodes from bytes to IR without records in between, in half the time: a large graph is mostly short nodes.

A node is plain if it is so in its columns (`proto/node_columns.py`), and its call is short and has just an operator,
attributes without graphs and a domain.  Any other node is decoded to a record, which is then read like the nodes of other
graphs.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from sardonyx._src.errors import InvalidModel
from sardonyx._src.io.serde.attributes import plain_attribute_from
from sardonyx._src.ir import Attribute, Graph, Value
from sardonyx._src.ir.large_graphs import AttributeFields, Call, append_nodes, defer_uses
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.decoders import decode_attribute_proto, decode_node_proto
from sardonyx._src.proto.node_columns import EncodedColumns, read_columns
from sardonyx._src.proto.runs import MAX_TEMPLATE_BYTES, MAX_TEMPLATES, FieldBlock, read_blocks
from sardonyx._src.proto.wire import VIEW_FROM, UndecodedRun, WireError, chunk, varint

BLOCK = 1 << 18  # bytes that are read at once: enough for columns to pay off where nodes hold tensors
# Nodes of a block from which columns are worth their fixed time, 0.3 ms on the development machine: a record takes 4 us
# more than a node from columns.
MIN_NODES = 64


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
        self.plain_attributes: dict[bytes, AttributeFields] = {}  # by their encoding
        self.calls: dict[bytes, Call] = {}  # by their encoding

    def read(self) -> None:
        """Reads all nodes; the uses of values are deferred.

        Raises InvalidModel for nodes that do not decode, read values that are not defined before them, define a name
        again, or that `records` rejects.
        """
        defer_uses(self.graph, dict.fromkeys(self.names.values()))
        try:
            for block in read_blocks(self.run, BLOCK):
                if len(block.begins) < MIN_NODES:
                    for i in range(len(block.begins)):
                        self.read_record(block, i)
                else:
                    self.read_block(block)
        except (WireError, IndexError):
            raise InvalidModel("the nodes of a graph must decode", location="graph.node") from None

    def read_block(self, block: FieldBlock) -> None:
        """Appends plain nodes together up to the next node that is not plain, which is read from its record, and so on."""
        b = bytes(block.data)
        columns = read_columns(b, block.begins, block.ends)
        i = 0
        while i < len(columns.plain):
            calls = self.read_calls(b, columns, i)
            if calls:
                self.append_plain(columns, i, calls)
            else:
                self.read_record(block, i)
            i += len(calls) or 1

    def read_record(self, block: FieldBlock, i: int) -> None:
        b, p, e, context = block.data, int(block.begins[i]), int(block.ends[i]), self.run.context
        if block.is_long:
            record = chunk(decode_node_proto, b, p, e, context)
        else:
            record = decode_node_proto(b, p, e, context)
        self.records.read_node(record, len(self.graph.nodes))

    def read_calls(self, b: bytes, columns: EncodedColumns, start: int) -> list[Call]:
        """The calls of the plain nodes from an index on, up to the next node that is not plain."""
        result: list[Call] = []
        find, plain, index = self.calls.get, columns.plain, len(self.graph.nodes)
        for p, e in zip(columns.calls[start:], columns.ends[start:], strict=True):
            i = start + len(result)
            if not plain[i]:
                break
            call = find(b[p:e])
            if call is None:
                name = columns.names[columns.first_names[i + 1] - 1]
                call = self.read_call(b[p:e], name, index + len(result))
                if call is None:
                    break
            result.append(call)
        return result

    def append_plain(self, columns: EncodedColumns, start: int, calls: Sequence[Call]) -> None:
        """Appends the nodes from an index on; calls: what `read_calls` returned for them."""
        graph, values, stop = self.graph, self.names, start + len(calls)
        before, index = len(values), len(graph.nodes)
        names = columns.names[columns.first_names[start] : columns.first_names[stop]]
        try:
            append_nodes(graph, values, columns.counts[start:stop], names, calls)
        except KeyError:
            raise InvalidModel("an input must be defined before its use", location="graph.node") from None
        if len(values) < before + len(calls):
            raise InvalidModel("names of values must be unique", location="graph.node")
        if self.declared:
            outputs = [columns.names[i - 2] for i in columns.first_names[start + 1 : stop + 1]]
            for i, output in enumerate(outputs, index):
                if output in self.declared:
                    self.records.declare(values[output], i)

    def read_call(self, b: bytes, node: str, index: int) -> Call | None:
        """The fields of a node after its names; None if the node is not plain.

        node, index: its name and position, for messages.  Raises InvalidModel if two attributes have the same name.
        """
        s, k, end = 2, 2 + b[1], len(b)
        op_type, domain = b[s:k].decode("latin-1"), ""
        parts: list[AttributeFields | m.AttributeProto] = []
        if not op_type or not b[:k].isascii() or not k <= end < VIEW_FROM:
            return None
        while k < end and b[k] == 42:
            n, s = b[k + 1], k + 2
            if n > 127:
                n, s = varint(b, k + 1)
            k = s + n
            if k <= end:
                parts.append(self.plain_attributes.get(b[s:k]) or self.decode_attribute(b[s:k]))
        if k < end and b[k] == 58 and b[k + 1]:
            s = k + 2
            k = s + b[k + 1]
            domain = b[s:k].decode("latin-1")
            if not b[s - 1 : k].isascii() or domain == "ai.onnx":
                return None
        plain = [part for part in parts if isinstance(part, tuple)]
        records = [part for part in parts if not isinstance(part, tuple)]
        if k != end or any(record.has("g") or record.has("graphs") for record in records):
            return None
        if len({*(part[0] for part in plain), *(record.name for record in records)}) < len(parts):
            raise InvalidModel("attributes of a node must be unique", location="graph.node")
        if records:
            read = self.records.read_attribute
            return (
                op_type,
                domain,
                [p if isinstance(p, tuple) else read(p, index, node or op_type) for p in parts],
            )
        if len(b) < MAX_TEMPLATE_BYTES and len(self.calls) < MAX_TEMPLATES:
            self.calls[b] = op_type, domain, plain
        return op_type, domain, plain

    def decode_attribute(self, b: bytes) -> AttributeFields | m.AttributeProto:
        record = decode_attribute_proto(b, 0, len(b), self.run.context)
        attribute = plain_attribute_from(record)
        if attribute is None:
            return record
        fields = attribute.name, attribute.type, attribute.value
        if len(b) < MAX_TEMPLATE_BYTES and len(self.plain_attributes) < MAX_TEMPLATES:
            self.plain_attributes[b] = fields
        return fields
