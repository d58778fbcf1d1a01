"""Small models and records, parsed from text."""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.dtypes import DataType
from sardonyx._src.io.loading.load import load
from sardonyx._src.io.serde import from_proto
from sardonyx._src.ir import Graph, Model, Node
from sardonyx._src.ir.tensors import Storage
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.text import from_text

HEADER = '<ir_version: {ir}, opset_import: ["": {opset}{more}]>\n'


class NoFiles:
    """External data of models that have none."""

    def storage(
        self, entries: Sequence[tuple[str, str]], dtype: DataType, shape: tuple[int, ...], where: str
    ) -> Storage:
        raise AssertionError(f"{where} is external: {entries}")


def parse_record(text: str, *, opset: int = 21, ir: int = 10, more: str = "") -> m.ModelProto:
    """Parses the text of a graph (and functions) under a header with these versions."""
    return from_text(HEADER.format(ir=ir, opset=opset, more=f", {more}" if more else "") + text, m.ModelProto)


def parse_model(text: str, *, opset: int = 21, ir: int = 10, more: str = "") -> Model:
    return load(parse_record(text, opset=opset, ir=ir, more=more))


def parse_function(text: str) -> m.FunctionProto:
    return from_text(text, m.FunctionProto)


def load_record(record: m.ModelProto) -> Model:
    return from_proto.model(record, NoFiles())


def only(graph: Graph, op_type: str) -> Node:
    """The only node of that operator type."""
    (match,) = (node for node in graph.nodes if node.op_type == op_type)
    return match
