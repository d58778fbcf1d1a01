"""The state of one inference: known elements, declared types, errors and budgets."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from itertools import chain

from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import InferenceError
from sardonyx._src.infer.elements import Elements
from sardonyx._src.infer.observer import InferenceObserver
from sardonyx._src.infer.plan import InferencePlan
from sardonyx._src.ir import Function, Graph, Model, Node, Type, Value
from sardonyx._src.ir.dims import Expr, symbol
from sardonyx._src.ir.model import clone_function
from sardonyx._src.ir.types import symbols_of
from sardonyx._src.ir.walk import graphs, nodes, roots, values
from sardonyx._src.ops.inference import DimPair, Known

# Limits that bound the time of one inference.
MAX_REPEATED_NODES = 1 << 18  # nodes of functions and subgraphs that are visited again
MAX_ITERATED_NODES = 1 << 12  # nodes that are visited in walks of single iterations
MAX_ITERATIONS = 64  # iterations of one loop that are walked one by one


@dataclass(frozen=True, slots=True)
class CallResult:
    """The types and known elements of a function's outputs in a call."""

    types: Sequence[Type | None]
    elements: Sequence[Known | None]


@dataclass(slots=True)
class InferenceState:
    """What one inference knows beyond the types, which are set on the values themselves.

    errors: the errors so far; None: errors are raised.
    trusts_formals: whether the sizes that inputs of subgraphs and functions declare are used.
    folds_rounded: whether floats are known elements which reference kernels round otherwise on other processors.
    equal_dims: the pairs of input sizes that a node's operator requires to be equal.
    declared: the types that values had before the inference.
    untyped: the values that had no type before the inference.
    in_functions: for each value of a function, the join of its types in all calls so far.
    plans: the plans by operator name, by domain and imported version.
    used_symbols: the names of all symbols of the model; None before the first new symbol.
    symbol_count: the number of the next new symbol.
    walked: the graphs that were walked at least once.
    repeated_nodes: the nodes of graphs that were walked again.
    reported: the messages of the errors in `errors`.
    uncertain_errors: the number of errors of nodes that a run may not execute.
    trial_depth: the number of trials in progress, which are walks with errors that are not reported.
    iterated_nodes: the nodes that were visited in walks of single iterations.
    given_up: the graphs that were not walked with all their input types, since a limit was reached.
    body_copies: this inference's copies of operator bodies, which other inferences share.
    calls: the results of calls of functions, see `InferenceScope.call`.
    """

    model: Model
    errors: list[InferenceError] | None
    observer: InferenceObserver | None = None
    trusts_formals: bool = True
    folds_rounded: bool = True
    elements: Elements = field(init=False)
    equal_dims: dict[Node, Sequence[DimPair]] = field(default_factory=dict)
    declared: dict[Value, Type] = field(default_factory=dict)
    untyped: list[Value] = field(default_factory=list)
    in_functions: dict[Value, Type | None] = field(default_factory=dict)
    plans: dict[tuple[str, int | None], dict[str, InferencePlan | None]] = field(default_factory=dict)
    used_symbols: frozenset[str] | None = None
    symbol_count: int = 0
    walked: set[Graph] = field(default_factory=set)
    repeated_nodes: int = 0
    reported: set[str] = field(default_factory=set)
    uncertain_errors: int = 0
    trial_depth: int = 0
    iterated_nodes: int = 0
    given_up: set[Graph] = field(default_factory=set)
    body_copies: dict[Function, Function] = field(default_factory=dict)
    calls: dict[Hashable, CallResult] = field(default_factory=dict)

    def __post_init__(self) -> None:
        functions = self.model.functions
        has_literals = all(key[:2] != ("", "Constant") for key in functions)
        self.elements = Elements(has_literals=has_literals)

    def plans_of(self, domain: str, imports: Mapping[str, int]) -> dict[str, InferencePlan | None]:
        """The plans, by operator name, of the operators of a domain that nodes have used so far."""
        return self.plans.setdefault((domain, imports.get(domain)), {})

    def function_of(self, node: Node) -> Function | None:
        """The model-local function that the node calls."""
        functions = self.model.functions
        return functions.get((node.domain, node.op_type, node.overload)) if functions else None

    def own_copy(self, function: Function) -> Function:
        """The copy of an operator's body that this inference may write types into."""
        if function not in self.body_copies:
            self.body_copies[function] = clone_function(function)
        return self.body_copies[function]

    def report(self, error: InferenceError) -> None:
        """Raises an error, or adds it to the list unless an earlier walk of its graph has reported it."""
        if self.errors is None:
            raise error
        if str(error) not in self.reported:
            self.reported.add(str(error))
            self.errors.append(error)

    @contextmanager
    def trial(self) -> Iterator[list[InferenceError]]:
        """Collects the errors of the block in the list that it yields, instead of reporting them; no observer is called."""
        before = self.errors, self.reported, self.observer
        errors: list[InferenceError] = []
        self.errors, self.reported, self.observer = errors, set(), None
        self.trial_depth += 1
        try:
            yield errors
        except InferenceError as error:
            errors.append(error)
        finally:
            self.errors, self.reported, self.observer = before
            self.trial_depth -= 1

    def begin_iteration(self, graph: Graph) -> None:
        """Prepares a subgraph for the walk of a single iteration."""
        self.reset(graph)
        self.walked.add(graph)
        self.iterated_nodes += 1 + sum(1 for _ in nodes(graph))

    def iteration_budget(self, graph: Graph) -> int:
        """The number of iterations of a subgraph that may be walked one by one."""
        budget = MAX_ITERATED_NODES - self.iterated_nodes
        return min(MAX_ITERATIONS, budget // (1 + sum(1 for _ in nodes(graph))))

    def new_symbol(self) -> Expr:
        """A symbol that the model does not use."""
        if self.used_symbols is None:
            self.used_symbols = self.symbols_of_model()
        while True:
            name = f"unk_{self.symbol_count}"
            self.symbol_count += 1
            if name not in self.used_symbols:
                return symbol(name)

    def symbols_of_model(self) -> frozenset[str]:
        """The symbols in all types, including declared types that inferred ones have replaced."""
        types = {v.type for root in roots(self.model) for graph in graphs(root) for v in values(graph)}
        return frozenset(name for type in types.union(self.declared.values()) for name in symbols_of(type))

    def try_enter(self, graph: Graph) -> bool:
        """Prepares the walk of a subgraph or function body, and returns whether it may be walked.

        A repeated walk is counted, and refused above a limit, which bounds the cost of nested loops and calls.
        """
        if graph in self.walked:
            self.repeated_nodes += 1 + len(graph.nodes)
            self.reset(graph)
        self.walked.add(graph)
        if self.repeated_nodes > MAX_REPEATED_NODES:
            self.give_up(graph)
        return self.repeated_nodes <= MAX_REPEATED_NODES

    def reset(self, graph: Graph) -> None:
        """Restores the declared types of a graph's values and forgets their elements."""
        for value in values(graph):
            self.elements.put(value, None)
        if graph in self.walked:
            outputs = chain.from_iterable(node.outputs for node in graph.nodes)
            for value in chain(graph.inputs, outputs):
                value.type = self.declared.get(value)

    def give_up(self, graph: Graph) -> None:
        """Marks a graph that was not walked with all its input types, and the functions that it calls."""
        pending = [graph]
        while pending:
            graph = pending.pop()
            if graph not in self.given_up:
                self.given_up.add(graph)
                callees = map(self.function_of, nodes(graph))
                pending.extend(function.body for function in callees if function is not None)

    def finalize(self) -> None:
        """Gives values of functions the join of their types in all calls, and values of `given_up` their declared types."""
        for value, type in self.in_functions.items():
            value.type = type
        if self.given_up:
            given_up_values = {v for graph in self.given_up for inner in graphs(graph) for v in values(inner)}
            self.restore(given_up_values)

    def restore(self, among: Collection[Value] | None = None) -> None:
        """Restores the declared types of the values `among`, or of all values."""
        for value in self.untyped:
            if among is None or value in among:
                value.type = None
        for value, type in self.declared.items():
            if among is None or value in among:
                value.type = type
