"""Lowering of a prepared graph: one pass over its nodes that emits the steps of a program."""

from __future__ import annotations

from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.executor import status
from sardonyx._src.compile.kernels.data_movement.copy import copy_step
from sardonyx._src.compile.kernels.data_movement.write_sizes import write_sizes_step
from sardonyx._src.compile.layouts.value_layouts import ValueLayouts
from sardonyx._src.compile.lower.registry import facet_of
from sardonyx._src.compile.prepare.prepare import PreparedModel
from sardonyx._src.compile.program.program import FallbackOp, Program
from sardonyx._src.compile.program.tensor import Buffer, TensorView, dense_bytes, row_major_strides
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.graph import Graph, Node, Value
from sardonyx._src.ir.walk import captures


class Lowering(ValueLayouts):
    """A graph being lowered to a program for a target.

    inputs: the tensors of the graph's inputs.  status: the tensor of the status block (`executor.status`).
    """

    def __init__(self, prepared: PreparedModel, target: Target, graph: Graph | None = None) -> None:
        super().__init__(prepared, graph)
        self.target = target
        self.inputs: dict[Value, TensorView] = {}
        buffer = Buffer("status", status.STATUS_SLOTS * status.SLOT_BYTES, "status")
        self.status = TensorView(DataType.INT64, (1,), (1,), buffer)

    def lower_graph(self) -> Program:
        """Lowers every node, and binds the outputs to tensors that callers receive."""
        for value in self.graph.inputs:
            self.bind_input(value)
        for node in self.graph.nodes:
            if node not in self.lowered:
                self.lower_node(node)
        outputs = {value: self.output_tensor(value) for value in self.outputs}
        return Program(
            self.model,
            self.actions,
            self.sizes,
            self.inputs,
            outputs,
            status=self.status,
            guards=tuple(self.guards),
        )

    def bind_input(self, value: Value) -> None:
        """Binds an input of the graph, if it is a tensor that kernels can read."""
        shape = self.shape(value)
        if shape is not None:
            dtype = self.dtype(value)
            buffer = Buffer("input", dense_bytes(dtype, shape), value.name)
            self.inputs[value] = TensorView(dtype, shape, row_major_strides(shape), buffer)
            self.bind(value, self.inputs[value])

    def lower_node(self, node: Node) -> None:
        """Lowers a node by the facet of its operator, or else to a fallback operation.

        Emits nothing for a node whose outputs are computed from input sizes alone.
        """
        if all(self.size_elements(value) is not None for value in node.outputs):
            self.lowered.add(node)
            return
        bound = self.bind_node(node)
        facet = None if bound is None else facet_of(node.domain, node.op_type, bound.version)
        self.node_names = (node.name or node.outputs[0].name,)
        if bound is None or facet is None or not facet(bound, self):
            self.actions.append(self.fallback_op(node))
        self.lowered.add(node)

    def fallback_op(self, node: Node) -> FallbackOp:
        """The call of the node's reference kernel, with the tensors of those inputs that native steps computed."""
        read = [value for value in node.inputs if value is not None]
        inside = {value for graph in node.subgraphs for value in captures(graph)}
        read += sorted(inside, key=lambda value: value.name)
        for value in read:
            if not self.tensors.get(value) and (value in self.lazy or self.size_elements(value) is not None):
                self.any_layout(value)
        native = [v for v in dict.fromkeys(read) if v.initializer is None and self.tensors.get(v)]
        # Bodies may read a captured value many times: one dense copy is cheaper than many strided reads.
        return FallbackOp(node, {v: self.dense(v) if v in inside else self.tensors[v][0] for v in native})

    def output_tensor(self, value: Value) -> TensorView | None:
        """The tensor of an output that callers receive; None if a fallback operation computes it."""
        if value in self.lazy:
            self.any_layout(value)
        tensors = self.tensors.get(value, [])
        for tensor in tensors:
            if tensor.buffer.role == "output" and tensor.buffer.name == value.name:
                return tensor
        sizes = None if tensors else self.size_elements(value)
        if not tensors and sizes is None:
            return None
        output = self.allocate(value, "output")
        self.node_names = (value.name,)
        self.emit(copy_step(tensors[0], output) if sizes is None else write_sizes_step(output, sizes))
        return output
