"""The nodes of a saved program's fallback ops as a model: the only part of the original model that is still run as a graph."""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.compile.program.steps.program import (
    Action,
    BindSizes,
    CollectScanOutputs,
    CopyIn,
    FallbackOp,
    Program,
)
from sardonyx._src.io.serde import to_proto
from sardonyx._src.io.serde.tensors import sparse_to, tensor_to
from sardonyx._src.ir import Node, SparseTensor, Tensor, Value
from sardonyx._src.ir.walk import captures
from sardonyx._src.proto import messages as m


def extract_fallback_model(program: Program) -> tuple[m.ModelProto, dict[Node, int]]:
    """The model of the fallback ops' nodes, and the index of each node in that model.

    Its inputs are the inputs of the program, and after them the results of kernel steps to which actions or the outputs
    refer.  It has only the initializers that these nodes or the outputs read.
    """
    graph = program.model.graph
    called = {action.node for action in program.actions if isinstance(action, FallbackOp)}
    nodes = [node for node in graph.nodes if node in called]
    read = dict.fromkeys([*(v for node in nodes for v in values_read_by(node)), *graph.outputs])
    read.update(dict.fromkeys(v for action in program.actions for v in values_named_by(action)))
    computed = {v for node in nodes for v in node.outputs}
    native = [v for v in read if v.initializer is None and v not in computed and v not in graph.inputs]
    record = m.ModelProto(ir_version=program.model.ir_version)
    record.opset_import = to_proto.imports(program.model.opset_imports)
    if nodes:
        record.functions = [to_proto.function(f, to_proto.inline) for f in program.model.functions.values()]
    record.graph = m.GraphProto(
        name=graph.name or "graph",
        node=[to_proto.node(node) for node in nodes],
        input=[m.ValueInfoProto(name=v.name) for v in (*graph.inputs, *native)],
        output=[m.ValueInfoProto(name=v.name) for v in graph.outputs],
    )
    add_initializers(record.graph, [v for v in read if v.initializer is not None])
    return record, {node: i for i, node in enumerate(nodes)}


def values_named_by(action: Action) -> Iterator[Value]:
    """The values to which the encoded action of a program refers by name."""
    match action:
        case FallbackOp():
            yield from action.native_inputs
        case CopyIn() | BindSizes():
            yield action.value
        case CollectScanOutputs():
            yield from action.buffers


def values_read_by(node: Node) -> list[Value]:
    """The values that a node reads, captured values of its subgraphs included, in order."""
    inputs = [v for v in node.inputs if v is not None]
    return inputs + [v for graph in node.subgraphs for v in captures(graph)]


def add_initializers(record: m.GraphProto, values: list[Value]) -> None:
    tensors = [(v.name, v.initializer) for v in values]
    record.initializer = [tensor_to(t, to_proto.inline, name) for name, t in tensors if isinstance(t, Tensor)]
    record.sparse_initializer = [
        sparse_to(t, to_proto.inline, name) for name, t in tensors if isinstance(t, SparseTensor)
    ]
