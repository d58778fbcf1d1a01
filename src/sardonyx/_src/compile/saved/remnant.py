"""What is left of a model whose other nodes are native steps: what the host runs, with the values that it needs."""

from __future__ import annotations

from sardonyx._src.compile.program import HostCall, Program
from sardonyx._src.io import to_proto
from sardonyx._src.io.tensors_proto import sparse_to, tensor_to
from sardonyx._src.ir.graph import Node, Value
from sardonyx._src.ir.tensors import SparseTensor, Tensor
from sardonyx._src.ir.walk import captured
from sardonyx._src.proto import messages as m


def remnant(program: Program) -> tuple[m.ModelProto, dict[Node, int]]:
    """The model of the nodes that the host runs, and the number of each in it.

    Its inputs are those of the program, then the values that native steps make and these nodes or callers get.
    Only initializers that the host reads are in it.
    """
    graph = program.model.graph
    called = {action.node for action in program.actions if isinstance(action, HostCall)}
    nodes = [node for node in graph.nodes if node in called]
    read = dict.fromkeys([*(v for node in nodes for v in read_by(node)), *graph.outputs])
    made = {v for node in nodes for v in node.outputs}
    given = [v for v in read if v.initializer is None and v not in made and v not in graph.inputs]
    record = m.ModelProto(ir_version=program.model.ir_version)
    record.opset_import = to_proto.imports(program.model.opset_imports)
    if nodes:
        record.functions = [to_proto.function(f, to_proto.inline) for f in program.model.functions.values()]
    record.graph = m.GraphProto(
        name=graph.name or "graph",
        node=[to_proto.node(node) for node in nodes],
        input=[m.ValueInfoProto(name=v.name) for v in (*graph.inputs, *given)],
        output=[m.ValueInfoProto(name=v.name) for v in graph.outputs],
    )
    add_initializers(record.graph, [v for v in read if v.initializer is not None])
    return record, {node: i for i, node in enumerate(nodes)}


def read_by(node: Node) -> list[Value]:
    """What a node reads, outer values of its subgraphs included."""
    found = [v for v in node.inputs if v is not None]
    return found + [v for graph in node.subgraphs for v in captured(graph)]


def add_initializers(record: m.GraphProto, values: list[Value]) -> None:
    tensors = [(v.name, v.initializer) for v in values]
    record.initializer = [tensor_to(t, to_proto.inline, name) for name, t in tensors if isinstance(t, Tensor)]
    record.sparse_initializer = [
        sparse_to(t, to_proto.inline, name) for name, t in tensors if isinstance(t, SparseTensor)
    ]
