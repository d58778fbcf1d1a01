"""What an inference has found so far, and how far it may go."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain

from sardonyx._src.errors import InferenceError
from sardonyx._src.infer.elements import Elements
from sardonyx._src.infer.plan import Plan
from sardonyx._src.infer.witness import Witness
from sardonyx._src.ir.dims import Expr, symbol
from sardonyx._src.ir.graph import Function, Graph, Model, Node, Value
from sardonyx._src.ir.types import SparseTensorType, TensorType, Type
from sardonyx._src.ir.walk import graphs, nodes, roots, values

MOST_REPEATS = 1 << 18  # of nodes: how many are looked at again, in functions and subgraphs, in one inference
MOST_ITERATED = 1 << 12  # of nodes: how many are looked at in single iterations, in one inference
MOST_TRIPS = 64  # of one loop


@dataclass(slots=True)
class Findings:
    """The state of one inference; types stand on the values themselves."""

    model: Model
    errors: list[InferenceError] | None
    witness: Witness | None = None
    elements: Elements = field(init=False)
    declared: dict[Value, Type] = field(default_factory=dict)  # the types that values had before
    typed: list[Value] = field(default_factory=list)  # those that had none
    in_functions: dict[Value, Type | None] = field(
        default_factory=dict
    )  # what all calls so far have in common
    plans: dict[tuple[str, int | None], dict[str, Plan | None]] = field(default_factory=dict)
    taken: frozenset[str] | None = None  # names of symbols, once somebody has wanted a new one
    symbols: int = 0
    seen: set[Graph] = field(default_factory=set)
    repeats: int = 0
    listed: set[str] = field(default_factory=set)  # the errors that stand in `errors`
    trials: int = 0  # how many are under way, one inside the other
    iterated: int = 0  # nodes looked at in single iterations
    given_up: set[Graph] = field(default_factory=set)

    def __post_init__(self) -> None:
        functions = self.model.functions
        has_literals = all(key[:2] != ("", "Constant") for key in functions)
        self.elements = Elements(has_literals=has_literals)

    def plans_of(self, domain: str, imports: Mapping[str, int]) -> dict[str, Plan | None]:
        """By name, how the operators of a domain are asked under these imports, as far as nodes have used them."""
        return self.plans.setdefault((domain, imports.get(domain)), {})

    def function_of(self, node: Node) -> Function | None:
        """The model-local function that the node calls."""
        functions = self.model.functions
        return functions.get((node.domain, node.op_type, node.overload)) if functions else None

    def fault(self, error: InferenceError) -> None:
        """Raises or lists an error; one that has been listed for an earlier walk of its graph is not listed again."""
        if self.errors is None:
            raise error
        if str(error) not in self.listed:
            self.listed.add(str(error))
            self.errors.append(error)

    @contextmanager
    def trial(self) -> Iterator[list[InferenceError]]:
        """Keeps faults to itself; they are in the list that this hands out, and nowhere else."""
        before = self.errors, self.listed, self.witness
        found: list[InferenceError] = []
        self.errors, self.listed, self.witness = found, set(), None
        self.trials += 1
        try:
            yield found
        except InferenceError as error:
            found.append(error)
        finally:
            self.errors, self.listed, self.witness = before
            self.trials -= 1

    def begin_iteration(self, graph: Graph) -> None:
        """Notes that a subgraph is looked at for the sake of one iteration."""
        self.begin_anew(graph)
        self.seen.add(graph)
        self.iterated += 1 + sum(1 for _ in nodes(graph))

    def iterations(self, graph: Graph) -> int:
        """How many iterations of a subgraph may be looked at one by one."""
        return min(MOST_TRIPS, (MOST_ITERATED - self.iterated) // (1 + sum(1 for _ in nodes(graph))))

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
            self.begin_anew(graph)
        self.seen.add(graph)
        if self.repeats > MOST_REPEATS:
            self.give_up(graph)
        return self.repeats <= MOST_REPEATS

    def begin_anew(self, graph: Graph) -> None:
        """Leaves nothing of an earlier walk on a graph's values but what the model declares."""
        for value in values(graph):
            self.elements.put(value, None)
        if graph in self.seen:
            made = chain.from_iterable(node.outputs for node in graph.nodes)
            for value in chain(graph.inputs, made):
                value.type = self.declared.get(value)

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
        if self.given_up:
            inside = {v for graph in self.given_up for inner in graphs(graph) for v in values(inner)}
            self.restore(inside)

    def restore(self, among: Collection[Value] | None = None) -> None:
        """Gives values, all of them unless told which, the types back that the model declares."""
        for value in self.typed:
            if among is None or value in among:
                value.type = None
        for value, type in self.declared.items():
            if among is None or value in among:
                value.type = type


def names_in(type: Type | None) -> frozenset[str]:
    """The dimension variables of a tensor type."""
    if not isinstance(type, TensorType | SparseTensorType) or type.shape is None:
        return frozenset()
    return frozenset(name for dim in type.shape if isinstance(dim, Expr) for name in dim.symbols())
