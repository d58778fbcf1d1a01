"""Data-dependent sizes: symbols for dims that depend on elements, such as the number of nonzero elements.

Inference knows the rank of such a result, and leaves the dim open or makes a symbol for it.  This module gives every
such dim a symbol, so that the nodes that follow can be compiled.  A run reads the symbol's value from the shape of
the result (`compile.program.steps.program.BindSizes`).

Symbols of a subgraph have no meaning outside of it: a step binds them whenever the subgraph is executed
(`compile.program.encoding.local_sizes`).
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence

from sardonyx._src.compile.prepare.branch_continuations import branches_of
from sardonyx._src.errors import InferenceError
from sardonyx._src.infer.incremental import RejectionRecorder
from sardonyx._src.infer.observer import ContextFactory
from sardonyx._src.infer.plan import InferencePlan
from sardonyx._src.ir import Graph, Node, TensorType, Type, Value
from sardonyx._src.ir.dims import Dim, Expr, symbol
from sardonyx._src.ops.registry import find


class DataDependentSizes(RejectionRecorder):
    """An observer of inference that gives a symbol to each dim of a result that the sizes of the model's inputs do not determine.

    axes: for each value with such dims, the symbol of each axis.  Results of one node may share a symbol.
    bound: for each graph, the symbols that its nodes bind.
    first_results: the first of several results with equal dims in a subgraph, by what these dims depend on.
    """

    def __init__(self, graph: Graph, names: Collection[str], ranks: Mapping[str, int]) -> None:
        """names: the names of the symbols that exist already.
        ranks: the assumed ranks, by the names of values that inference cannot rank.
        """
        super().__init__()
        self.graph = graph
        self.names, self.ranks = set(names), ranks
        self.sizes = frozenset(names)
        self.axes: dict[Value, dict[int, str]] = {}
        self.bound: dict[Graph, set[str]] = {}
        self.first_results: dict[Hashable, Value] = {}

    def on_node(
        self,
        contexts: ContextFactory,
        node: Node,
        plan: InferencePlan | None,
        types: Sequence[Type | None],
        error: InferenceError | None,
    ) -> Sequence[Type | None]:
        types = super().on_node(contexts, node, plan, types, error)
        types = self.types_of_valid_branch(node) or types
        if node.graph is not self.graph and not self.is_local_source(node):
            return types
        known = self.visible(node.graph)
        return [
            self.close(value, type_, known) if value.name else type_
            for value, type_ in zip(node.outputs, types, strict=False)
        ]

    def types_of_valid_branch(self, node: Node) -> Sequence[Type | None]:
        """The types that one branch of an If returns, if no valid run takes the other one; () otherwise."""
        branches = branches_of(node)
        valid = [branch for branch in branches if self.errors.keys().isdisjoint(branch.nodes)]
        return [value.type for value in valid[0].outputs] if len(valid) < len(branches) and valid else ()

    def is_local_source(self, node: Node) -> bool:
        """Whether unknown sizes of a node's results in a subgraph are due to the node: all sizes of its inputs are known."""
        inputs = (value.type for value in node.inputs if value is not None)
        return self.graph in enclosing(node.graph) and all(
            isinstance(type_, TensorType) and type_.shape is not None and None not in type_.shape
            for type_ in inputs
        )

    def visible(self, graph: Graph | None) -> frozenset[str]:
        """The symbols that have been bound in a graph or in the graphs around it."""
        return self.sizes.union(*(self.bound.get(outer, ()) for outer in enclosing(graph)))

    def close(self, value: Value, type_: Type | None, known: frozenset[str]) -> Type | None:
        """The type with a symbol for each dim that is open, or depends on symbols other than the known ones."""
        if not isinstance(type_, TensorType):
            return type_
        shape = type_.shape
        if shape is None and value.name in self.ranks:
            shape = (None,) * self.ranks[value.name]
        if shape is None:
            return type_
        dims = tuple(
            dim
            if isinstance(dim, int) or (dim is not None and dim.symbols() <= known)
            else self.bind(value, axis, dim)
            for axis, dim in enumerate(shape)
        )
        return type_ if dims == type_.shape else TensorType(type_.dtype, dims)

    def bind(self, value: Value, axis: int, dim: Dim) -> Dim:
        """The symbol for the length of an axis: the one that inference has made for it, or a new one.

        A node in the body of a loop may be reported several times, and keeps its symbol.
        """
        axes = self.axes.setdefault(value, {})
        names = dim.symbols() if isinstance(dim, Expr) else frozenset()
        name = next(iter(names), "")
        equal = self.axes.get(self.first_result(value), {})
        if equal is not axes and axis in equal:
            name = equal[axis]
        elif dim != symbol(name) or self.is_local(name):
            name = axes.get(axis) or self.new_name(f"{value.name}.{axis}")
        self.names.add(name)
        axes[axis] = name
        graph = value.producer.graph if value.producer is not None else self.graph
        self.bound.setdefault(graph or self.graph, set()).add(name)
        return symbol(name)

    def first_result(self, value: Value) -> Value:
        """The first result in a subgraph that has the same dims as this one.

        Its node has the same operator and the same parameters, and reads data of the same dims.
        """
        node = value.producer
        operator = None if node is None else find(node.domain, node.op_type)
        if (
            node is None
            or node.graph is self.graph
            or node.attributes
            or not (operator and operator.parameters)
        ):
            return value
        key: list[Hashable] = [node.graph, node.domain, node.op_type, node.outputs.index(value)]
        for i, operand in enumerate(node.inputs):
            is_data = operand is not None and i not in operator.parameters
            type_ = operand.type if operand is not None else None
            key.append(type_.shape if is_data and isinstance(type_, TensorType) else operand)
        return self.first_results.setdefault(tuple(key), value)

    def new_name(self, name: str) -> str:
        while name in self.names:
            name += "'"
        return name

    def is_local(self, name: str) -> bool:
        """Whether a symbol is bound in a subgraph, and means nothing outside of it."""
        return any(name in names for graph, names in self.bound.items() if graph is not self.graph)


def enclosing(graph: Graph | None) -> Iterator[Graph]:
    """A graph, and the graphs around it, from the inside out."""
    while graph is not None:
        yield graph
        graph = None if graph.parent is None else graph.parent.graph
