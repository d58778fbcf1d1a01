"""Inferred types and known elements of a model's values, updated as nodes are inserted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sardonyx._src.infer.incremental import IncrementalInference
from sardonyx._src.infer.stated_types import all_values, clear_stated_types
from sardonyx._src.io.garbage_collection import pause_gc
from sardonyx._src.ir import (
    Function,
    Graph,
    Model,
    Node,
    SparseTensor,
    SparseTensorType,
    Tensor,
    TensorType,
    Type,
    Value,
)
from sardonyx._src.ir.walk import graphs, nodes
from sardonyx._src.ops.control.joins import drop_shape
from sardonyx._src.ops.inference import Known


class Facts:
    """The types and elements that inference knows of a model's values.

    While a model is rewritten, its values carry inferred types; `restore` sets the declared types again.  Declared types of
    inner values are ignored, since files may declare stale sizes; only the declared element types of the outputs of unknown
    operators are used.  Function bodies are typed without assumptions about inputs and attributes, which differ from call to
    call.
    """

    def __init__(self, model: Model, *, folds_rounded: bool = True) -> None:
        """folds_rounded: as of `InferenceState`."""
        self.model, self.folds_rounded = model, folds_rounded
        self.declared = {value: value.type for value in all_values(model)}
        self.training_states = {
            target
            for step in model.training
            for target, _ in (*step.initialization_binding, *step.update_binding)
        }
        self.inference = IncrementalInference(model, folds_rounded=folds_rounded)
        self.infer_model()

    def reinfer(self) -> None:
        """Infer the whole model again: several edits together may determine types that inference after each did not find."""
        self.restore()
        self.inference = IncrementalInference(self.model, folds_rounded=self.folds_rounded)
        self.infer_model()

    def infer_model(self) -> None:
        with pause_gc():
            clear_stated_types(self.model, drop_shape)
            self.infer_graphs()
            for function in self.model.functions.values():
                self.infer_body(function)

    def infer_graphs(self) -> None:
        """Infer all graphs, with the tensors of training states hidden, since training changes them."""
        hidden: list[tuple[Value, Tensor | SparseTensor]] = []
        for value in self.training_states:
            if value.initializer is not None:
                hidden.append((value, value.initializer))
                value.type = value.type or type_of(value.initializer)
                value.initializer = None
        try:
            self.inference.walk()
        finally:
            for value, tensor in hidden:
                value.initializer = tensor

    def infer_body(self, function: Function) -> None:
        """Infer those types in a function's body that are the same for every call."""
        for graph in graphs(function.body):
            for value in values(graph):
                self.inference.forget(value)
        for node in function.body.nodes:
            self.infer_node(node, function.opset_imports)

    def infer_node(self, node: Node, imports: Mapping[str, int]) -> None:
        """Infer the output types of a node and of the nodes in its subgraphs; its inputs have types already."""
        if not (is_inside_function(node) and self.depends_on_call(node)):
            self.inference.infer_node(node, imports)

    def depends_on_call(self, node: Node) -> bool:
        """Whether the types of a node in a function body may differ by call: it refers to attributes or calls functions."""
        inner = (n for graph in node.subgraphs for n in nodes(graph))
        return any(has_attribute_references(n) or self.is_call(n) for n in (node, *inner))

    def is_call(self, node: Node) -> bool:
        functions = self.model.functions
        return bool(functions) and (node.domain, node.op_type, node.overload) in functions

    def elements(self, value: Value | None) -> Known | None:
        """The known elements of a small tensor: numbers, or an object array with expressions."""
        return self.inference.elements(value)

    def record_constant(self, value: Value, tensor: Tensor) -> None:
        """Record the type and elements of a new constant."""
        value.type = TensorType(tensor.dtype, tensor.shape)
        self.inference.put(value, tensor)

    def restore(self) -> None:
        """Set the declared types again; new inner values get none."""
        for value in all_values(self.model):
            if value in self.declared:
                value.type = self.declared[value]
            elif value.producer is not None:
                value.type = None


def values(graph: Graph) -> Iterator[Value]:
    """Every value defined in the graph itself, unused outputs included."""
    yield from dict.fromkeys((*graph.inputs, *graph.initializers.values()))
    for node in graph.nodes:
        yield from node.outputs


def type_of(tensor: Tensor | SparseTensor) -> Type:
    kind = TensorType if isinstance(tensor, Tensor) else SparseTensorType
    return kind(tensor.dtype, tensor.shape)


def has_attribute_references(node: Node) -> bool:
    """Whether an attribute of the node refers to an attribute of the enclosing function."""
    return any(attribute.ref for attribute in node.attributes.values())


def is_inside_function(node: Node) -> bool:
    return node.graph is not None and outermost_graph(node.graph).function is not None


def outermost_graph(graph: Graph) -> Graph:
    """The outermost graph that encloses a graph: a main or training graph, or a function's body."""
    while graph.parent is not None and graph.parent.graph is not None:
        graph = graph.parent.graph
    return graph
