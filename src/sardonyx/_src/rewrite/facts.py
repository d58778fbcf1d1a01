"""Types and known elements of the values of a model that is being rewritten, kept up as nodes come and go."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sardonyx._src.infer.ongoing import Ongoing
from sardonyx._src.io.load import without_collection
from sardonyx._src.ir.graph import Function, Graph, Model, Node, Value
from sardonyx._src.ir.tensors import SparseTensor, Tensor
from sardonyx._src.ir.types import SparseTensorType, TensorType, Type
from sardonyx._src.ir.walk import graphs, nodes, roots
from sardonyx._src.ops.inference import Known
from sardonyx._src.ops.registry import find


class Facts:
    """What inference knows of a model's values.

    While the model is rewritten its values carry inferred types; `restore` gives them the declared ones back.  What
    a file declares of inner values is not believed where their operators are known, since files declare stale sizes.
    Inside a function nothing is assumed of its inputs and attributes, since every call may give others.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.declared = {value: value.type for value in all_values(model)}
        self.states = {
            target
            for step in model.training
            for target, _ in (*step.initialization_binding, *step.update_binding)
        }
        self.ongoing = Ongoing(model)
        self.find()

    def renew(self) -> None:
        """Infers anew: changes may have made more known than what followed from them one by one."""
        self.restore()
        self.ongoing = Ongoing(self.model)
        self.find()

    def find(self) -> None:
        with without_collection():
            self.forget_inner_types()
            self.walk()
            for function in self.model.functions.values():
                self.walk_body(function)

    def forget_inner_types(self) -> None:
        outputs = set(self.model.graph.outputs)
        for root in roots(self.model):
            for node in nodes(root):
                if self.is_known(node):
                    for value in node.outputs:
                        value.type = value.type if value in outputs else None

    def is_known(self, node: Node) -> bool:
        """Whether inference can tell the types of the node's outputs by itself."""
        if (node.domain, node.op_type, node.overload) in self.model.functions:
            return True
        op = find(node.domain, node.op_type)
        return op is not None and bool(op.infers)

    def walk(self) -> None:
        """Infers; the tensors of a training graph's states are hidden, since they change."""
        hidden: list[tuple[Value, Tensor | SparseTensor]] = []
        for value in self.states:
            if value.initializer is not None:
                hidden.append((value, value.initializer))
                value.type = value.type or type_of(value.initializer)
                value.initializer = None
        try:
            self.ongoing.walk()
        finally:
            for value, tensor in hidden:
                value.initializer = tensor

    def walk_body(self, function: Function) -> None:
        """Types a function's body as it is for every call."""
        for graph in graphs(function.body):
            for value in values(graph):
                self.ongoing.forget(value)
        for node in function.body.nodes:
            self.type_node(node, function.opset_imports)

    def type_node(self, node: Node, imports: Mapping[str, int]) -> None:
        """Types the outputs of a node whose inputs are typed, and of the nodes inside it."""
        if not (is_inside_function(node) and self.depends_on_call(node)):
            self.ongoing.node(node, imports)

    def depends_on_call(self, node: Node) -> bool:
        """Whether a node of a function's body refers to the function's attributes, or calls a function."""
        inner = (n for graph in node.subgraphs for n in nodes(graph))
        return any(has_references(n) or self.calls(n) for n in (node, *inner))

    def calls(self, node: Node) -> bool:
        functions = self.model.functions
        return bool(functions) and (node.domain, node.op_type, node.overload) in functions

    def elements(self, value: Value | None) -> Known | None:
        """What is known of a small tensor's elements: numbers, or an object array with expressions."""
        return self.ongoing.elements(value)

    def note(self, value: Value, tensor: Tensor) -> None:
        """Notes a new constant."""
        value.type = TensorType(tensor.dtype, tensor.shape)
        self.ongoing.put(value, tensor)

    def restore(self) -> None:
        """Gives all values the types that the file declares; new inner values have none."""
        for value in all_values(self.model):
            if value in self.declared:
                value.type = self.declared[value]
            elif value.producer is not None:
                value.type = None


def all_values(model: Model) -> Iterator[Value]:
    for root in roots(model):
        for graph in graphs(root):
            yield from values(graph)


def values(graph: Graph) -> Iterator[Value]:
    """Every value defined in the graph itself, those that nobody wanted included."""
    yield from dict.fromkeys((*graph.inputs, *graph.initializers.values()))
    for node in graph.nodes:
        yield from node.outputs


def type_of(tensor: Tensor | SparseTensor) -> Type:
    kind = TensorType if isinstance(tensor, Tensor) else SparseTensorType
    return kind(tensor.dtype, tensor.shape)


def has_references(node: Node) -> bool:
    """Whether the node's attributes refer to those of the function around it."""
    return any(attribute.ref for attribute in node.attributes.values())


def is_inside_function(node: Node) -> bool:
    return node.graph is not None and root_of(node.graph).function is not None


def root_of(graph: Graph) -> Graph:
    """The outermost graph around a graph: a main or training graph, or a function's body."""
    while graph.parent is not None and graph.parent.graph is not None:
        graph = graph.parent.graph
    return graph
