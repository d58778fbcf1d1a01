"""Data-dependent sizes: symbols for the dims that a node computes from elements, such as the number of nonzero ones.

Inference knows the rank of such a result, and leaves the dim open or makes a symbol for it.  Each such dim in the graph of a
model becomes a symbol, whose value a run reads from the shape of the result (`compile.program.program.BindSizes`).  So what follows is compiled,
with sizes that depend on that symbol.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from sardonyx._src.errors import InferenceError
from sardonyx._src.infer.incremental import RejectionRecorder
from sardonyx._src.infer.observer import ContextFactory
from sardonyx._src.infer.plan import InferencePlan
from sardonyx._src.ir.dims import Dim, Expr, symbol
from sardonyx._src.ir.graph import Graph, Node, Value
from sardonyx._src.ir.types import TensorType, Type


class DataDependentSizes(RejectionRecorder):
    """An observer of inference that binds every dim of a node's result that sizes of inputs do not determine to a symbol.

    axes: for each value that has such dims, their axes, each with its symbol; results of one node may have the same symbol.
    Only results in `graph` are concerned: nothing binds sizes in subgraphs.
    """

    def __init__(self, graph: Graph, names: Collection[str], ranks: Mapping[str, int]) -> None:
        """names: of the symbols that exist already.  ranks: those that are assumed of values whose rank is open, by name."""
        super().__init__()
        self.graph = graph
        self.names, self.ranks = set(names), ranks
        self.axes: dict[Value, dict[int, str]] = {}

    def on_node(
        self,
        contexts: ContextFactory,
        node: Node,
        plan: InferencePlan | None,
        types: Sequence[Type | None],
        error: InferenceError | None,
    ) -> Sequence[Type | None]:
        types = super().on_node(contexts, node, plan, types, error)
        if node.graph is not self.graph:
            return types
        known = frozenset(self.names)
        return [
            self.close(value, type_, known) if value.name else type_
            for value, type_ in zip(node.outputs, types, strict=False)
        ]

    def close(self, value: Value, type_: Type | None, known: frozenset[str]) -> Type | None:
        """The type with symbols for all dims that depend on others than the known ones, or are open."""
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
        """The symbol for the length of an axis: the one that inference has made for it, or a new one."""
        names = dim.symbols() if isinstance(dim, Expr) else frozenset()
        name = next(iter(names), "")
        if dim != symbol(name):
            name = f"{value.name}.{axis}"
            while name in self.names:
                name += "'"
        self.names.add(name)
        self.axes.setdefault(value, {})[axis] = name
        return symbol(name)
