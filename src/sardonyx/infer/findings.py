"""What an inference has found so far, and how far it may go."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from sardonyx.dtypes import DataType
from sardonyx.errors import InferenceError
from sardonyx.infer.elements import Elements
from sardonyx.infer.question import Answers, Key, Plan
from sardonyx.ir.dims import Expr, symbol
from sardonyx.ir.graph import Function, Graph, Model, Node, Value
from sardonyx.ir.tensors import Tensor
from sardonyx.ir.types import SparseTensorType, TensorType, Type
from sardonyx.ir.walk import graphs, nodes, roots, values

MOST_REPEATS = 1 << 18  # of nodes: how many are looked at again, in functions and subgraphs, in one inference


@dataclass(slots=True)
class Findings:
    """The state of one inference; types stand on the values themselves."""

    model: Model
    errors: list[InferenceError] | None
    elements: Elements = field(default_factory=Elements)
    declared: dict[Value, Type | None] = field(default_factory=dict)  # the types that values had before
    in_functions: dict[Value, Type | None] = field(
        default_factory=dict
    )  # what all calls so far have in common
    plans: dict[tuple[str, str, int | None], Plan] = field(default_factory=dict)
    unknown: set[tuple[str, str, int | None]] = field(
        default_factory=set
    )  # operators without signature or facet
    answers: dict[Key, Answers] = field(
        default_factory=dict
    )  # of operators that share a facet and its defaults
    tensor_types: dict[tuple[DataType, tuple[int, ...]], TensorType] = field(default_factory=dict)
    taken: frozenset[str] | None = None  # names of symbols, once somebody has wanted a new one
    symbols: int = 0
    seen: set[Graph] = field(default_factory=set)
    repeats: int = 0
    given_up: set[Graph] = field(default_factory=set)

    def type_of(self, tensor: Tensor) -> TensorType:
        """The type of a tensor, one object for all that are alike."""
        key = (tensor.dtype, tensor.shape)
        found = self.tensor_types.get(key)
        if found is None:
            found = self.tensor_types[key] = TensorType(*key)
        return found

    def function_of(self, node: Node) -> Function | None:
        """The model-local function that the node calls."""
        functions = self.model.functions
        return functions.get((node.domain, node.op_type, node.overload)) if functions else None

    def fault(self, error: InferenceError) -> None:
        if self.errors is None:
            raise error
        self.errors.append(error)

    def fresh(self) -> Expr:
        """A symbol that the model does not use."""
        if self.taken is None:
            self.taken = self.names()
        while True:
            name = f"unk_{self.symbols}"
            self.symbols += 1
            if name not in self.taken:
                return symbol(name)

    def names(self) -> frozenset[str]:
        """The dimension variables of all types, declared ones that have been replaced included."""
        types = {v.type for root in roots(self.model) for graph in graphs(root) for v in values(graph)}
        return frozenset(name for type in types.union(self.declared.values()) for name in names_in(type))

    def may_enter(self, graph: Graph) -> bool:
        """Whether a subgraph or function body may be walked (again); bounds what loops in loops and calls cost."""
        if graph in self.seen:
            self.repeats += 1 + len(graph.nodes)
            self.elements.forget(values(graph))
        self.seen.add(graph)
        if self.repeats > MOST_REPEATS:
            self.give_up(graph)
        return self.repeats <= MOST_REPEATS

    def give_up(self, graph: Graph) -> None:
        """Notes a graph that has not been walked with all types it is used with, and the functions that it calls."""
        pending = [graph]
        while pending:
            found = pending.pop()
            if found not in self.given_up:
                self.given_up.add(found)
                called = map(self.function_of, nodes(found))
                pending.extend(function.body for function in called if function is not None)

    def settle(self) -> None:
        """Gives values of functions the types that hold in all calls, and those of graphs given up the declared ones."""
        for value, type in self.in_functions.items():
            value.type = type
        for graph in self.given_up:
            for inner in graphs(graph):
                self.restore(values(inner))

    def restore(self, values: Iterable[Value] | None = None) -> None:
        """Gives values, all of them unless told which, the types back that the model declares."""
        for value in self.declared if values is None else values:
            value.type = self.declared.get(value, value.type)


def names_in(type: Type | None) -> frozenset[str]:
    """The dimension variables of a tensor type."""
    if not isinstance(type, TensorType | SparseTensorType) or type.shape is None:
        return frozenset()
    return frozenset(name for dim in type.shape if isinstance(dim, Expr) for name in dim.symbols())
