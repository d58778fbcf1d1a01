"""Types and symbolic shapes of every value of a model: one walk in the order of the nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, repeat
from operator import attrgetter

from sardonyx.dtypes import DataType
from sardonyx.errors import InferenceError, LimitError, UnsupportedOperator
from sardonyx.infer.elements import Elements
from sardonyx.infer.folding import known_outputs
from sardonyx.infer.merge import joined, merged
from sardonyx.infer.question import Answer, Answers, Key, Plan, Question, key_of
from sardonyx.io.load import without_collection
from sardonyx.ir.dims import Expr, symbol
from sardonyx.ir.graph import Attribute, Function, Graph, Model, Node, Value
from sardonyx.ir.tensors import Tensor
from sardonyx.ir.types import SparseTensorType, TensorType, Type
from sardonyx.ir.walk import graphs, location, nodes, roots, values
from sardonyx.ops.bind import Bindings, bound_attributes, literal_of, plan_of, schema_of
from sardonyx.ops.inference import Known
from sardonyx.ops.registry import find

TENSOR = attrgetter("dtype", "shape")
MOST_REPEATS = 1 << 18  # of nodes: how many are looked at again, in functions and subgraphs, in one inference


def infer(model: Model, *, errors: list[InferenceError] | None = None) -> Model:
    """Puts a type on every value of the model, subgraphs and function bodies included, and hands it back.

    Sizes are numbers, or expressions over the dimension variables of the inputs.  What the model declares is kept
    where nothing better is known.  Raises InferenceError, naming the node, where declared or inferred types
    contradict each other or an operator; with `errors` it is added to that list, and the walk goes on with what the
    model declares.  Nodes of operators that nobody knows leave their outputs as declared.  Raises LimitError for
    functions or subgraphs nested deeper than Python's recursion limit.  A model that raises is left as it was.
    """
    walk = Walk(model, errors)
    done = False
    try:
        with without_collection():
            walk.run()
        done = True
    except RecursionError:
        what = "functions and subgraphs are nested deeper than Python's own recursion limit allows"
        raise LimitError(what, limit="sys.setrecursionlimit") from None
    finally:
        if not done:
            walk.restore()
    return model


@dataclass(slots=True)
class Walk:
    """The state of one inference."""

    model: Model
    errors: list[InferenceError] | None
    elements: Elements = field(default_factory=Elements)
    declared: dict[Value, Type | None] = field(default_factory=dict)
    in_functions: dict[Value, Type | None] = field(default_factory=dict)
    plans: dict[tuple[str, str, int | None], Plan | None] = field(default_factory=dict)
    answers: dict[Key, Answers] = field(
        default_factory=dict
    )  # of operators that share a facet and its defaults
    tensor_types: dict[tuple[DataType, tuple[int, ...]], TensorType] = field(default_factory=dict)
    taken: frozenset[str] | None = None
    symbols: int = 0
    seen: set[Graph] = field(default_factory=set)
    repeats: int = 0
    given_up: set[Graph] = field(default_factory=set)

    def run(self) -> None:
        scope = Scope(self, self.model.opset_imports, {})
        scope.graph(self.model.graph)
        for step in self.model.training:
            for graph in (step.initialization, step.algorithm):
                if graph is not None:
                    scope.graph(graph)
        for value, type in self.in_functions.items():
            value.type = type
        for graph in self.given_up:
            for inner in graphs(graph):
                self.restore(values(inner))

    def function_of(self, node: Node) -> Function | None:
        functions = self.model.functions
        return functions.get((node.domain, node.op_type, node.overload)) if functions else None

    def restore(self, values: Iterable[Value] | None = None) -> None:
        """Gives values, all of them unless told which, the types back that the model declares."""
        for value in self.declared if values is None else values:
            value.type = self.declared.get(value, value.type)

    def may_enter(self, graph: Graph) -> bool:
        """Whether a subgraph or function body may be walked (again); bounds what loops in loops and calls cost."""
        if graph in self.seen:
            self.repeats += 1 + len(graph.nodes)
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
                called = [self.model.functions.get((n.domain, n.op_type, n.overload)) for n in nodes(found)]
                pending.extend(function.body for function in called if function is not None)

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

    def fault(self, error: InferenceError) -> None:
        if self.errors is None:
            raise error
        self.errors.append(error)

    def type_of(self, tensor: Tensor) -> TensorType:
        key = TENSOR(tensor)
        found = self.tensor_types.get(key)
        if found is None:
            found = self.tensor_types[key] = TensorType(*key)
        return found


def names_in(type: Type | None) -> frozenset[str]:
    """The dimension variables of a tensor type."""
    if not isinstance(type, TensorType | SparseTensorType) or type.shape is None:
        return frozenset()
    return frozenset(name for dim in type.shape if isinstance(dim, Expr) for name in dim.symbols())


@dataclass(frozen=True, slots=True)
class Scope:
    """What the nodes of one body go by: its imports and, in a function, the attributes of the call."""

    walk: Walk
    imports: Mapping[str, int]
    bindings: Bindings

    def graph(self, graph: Graph) -> list[Type | None]:
        """Walks a graph whose inputs are typed; returns the types of its outputs.

        An initializer that is an input can be replaced by a feed; up to IR version 3, where every one is an input,
        that is not what such files mean.
        """
        walk = self.walk
        replaceable = frozenset(graph.inputs) if walk.model.ir_version >= 4 else frozenset()
        for value in graph.initializers.values():
            if value not in replaceable and isinstance(value.initializer, Tensor):
                walk.elements.put(value, value.initializer)
        for node in graph.nodes:
            literal = literal_of(node)
            if literal is None or walk.function_of(node):
                self.node(node)
            else:
                self.literal(node, literal)
        return [v.type for v in graph.outputs]

    def subgraph(
        self, graph: Graph, types: Sequence[Type | None], known: Sequence[Known | None]
    ) -> list[Type | None]:
        """Walks a subgraph whose inputs have these types; returns the types of its outputs."""
        if not self.walk.may_enter(graph):
            return [None] * len(graph.outputs)
        for i, value in enumerate(graph.inputs):
            self.put(value, types[i] if i < len(types) else None, None)
            self.walk.elements.put(value, known[i] if i < len(known) else None)
        return self.graph(graph)

    def put(self, value: Value, found: Type | None, producer: Node | None) -> None:
        """Types a value: what was found, together with what the model declares."""
        declared = self.walk.declared.setdefault(value, value.type)
        if declared is None:
            value.type = found
            return
        try:
            value.type = merged(declared, found)
        except InferenceError as error:
            where = "" if producer is None else f"{producer.name or producer.op_type!r} output {value.name!r}"
            self.walk.fault(InferenceError(error.why, location=where))
            value.type = found

    def literal(self, node: Node, tensor: Tensor) -> None:
        """Types the output of a node that hands out a tensor of its own; many models hold hundreds of those."""
        (value,) = node.outputs
        self.walk.elements.put(value, tensor)
        self.put(value, self.walk.type_of(tensor), node)

    def node(self, node: Node) -> None:
        walk = self.walk
        function = walk.function_of(node) if walk.model.functions else None
        if walk.repeats:
            walk.elements.forget(node.outputs)
        try:
            types = self.operator(node) if function is None else self.call(node, function)
        except InferenceError as error:
            walk.fault(error if error.location else InferenceError(error.why, location=location(node)))
            types = ()
        outputs = node.outputs
        if len(outputs) == 1 == len(types):
            self.put(outputs[0], types[0], node)
        else:
            for value, found in zip(outputs, chain(types, repeat(None)), strict=False):
                if value.name:
                    self.put(value, found, node)

    def operator(self, node: Node) -> Sequence[Type | None]:
        """The types of the outputs of an operator; what is known of their elements goes where it is found."""
        plan = self.walk.plans.get((node.domain, node.op_type, self.imports.get(node.domain)))
        if plan is None and (plan := self.plan(node)) is None:
            return ()
        key = key_of(node, is_called=bool(self.bindings))
        answer = plan.answers.get(key)
        if type(answer) is not Answer:
            answer = self.ask(node, plan, key)
        if answer.may_be_small and plan.finds_elements:
            self.elements_later(node, plan, key, answer)
        return answer.types

    def ask(self, node: Node, plan: Plan, key: Key | None) -> Answer:
        """The answer of a node's operator, which may be known if elements of inputs are looked at."""
        answer = plan.recall(key, node, self.walk.elements)
        if answer is None:
            question = self.question(node, plan, key)
            answer = Answer(plan.infer(question))
            plan.remember(key, question, answer, node)
        return answer

    def elements_later(self, node: Node, plan: Plan, key: Key | None, answer: Answer) -> None:
        def compute() -> Sequence[Known | None]:
            return known_outputs(plan, self.question(node, plan, key), answer, node)

        self.walk.elements.put_later(node.outputs, node.inputs, compute)

    def plan(self, node: Node) -> Plan | None:
        """How the node's operator is asked; None when nobody knows the operator."""
        key = (node.domain, node.op_type, self.imports.get(node.domain))
        plans = self.walk.plans
        if key in plans:
            return plans[key]
        plans[key] = None
        try:
            schema = schema_of(node, self.imports)
        except UnsupportedOperator:
            return None
        op = find(node.domain, node.op_type)
        infer = op.infers.get(schema.since_version) if op is not None else None
        if op is not None and infer is not None:
            attributes = plan_of(schema)
            alike = (infer, schema.since_version, *attributes.defaults.items())
            answers = self.walk.answers.setdefault(alike, {})
            plans[key] = Plan(op, schema.since_version, infer, attributes, answers)
        return plans[key]

    def question(self, node: Node, plan: Plan, key: Key | None) -> Question:
        inputs = node.inputs
        return Question(
            node.op_type,
            plan.version,
            [None if v is None else v.type for v in inputs],
            [v is not None for v in inputs],
            plan.bind(node, self.bindings, key),
            len(node.outputs),
            (),
            self.subgraph,
            "",
            self.walk.fresh,
            inputs,
            self.walk.elements,
        )

    def call(self, node: Node, function: Function) -> Sequence[Type | None]:
        """The types of the outputs of a call of a model-local function."""
        walk = self.walk
        if not walk.may_enter(function.body):
            return ()
        given: dict[str, Attribute | None] = {**function.attributes, **bound_attributes(node, self.bindings)}
        inner = Scope(walk, function.opset_imports, given)
        for i, formal in enumerate(function.body.inputs):
            actual = node.inputs[i] if i < len(node.inputs) else None
            inner.put(formal, actual.type if actual is not None else None, None)
            walk.elements.put(formal, walk.elements.get(actual))
        types = inner.graph(function.body)
        for graph in graphs(function.body):
            for value in values(graph):
                seen = value in walk.in_functions
                walk.in_functions[value] = (
                    joined(walk.in_functions[value], value.type) if seen else value.type
                )
        for value, result in zip(node.outputs, function.body.outputs, strict=False):
            walk.elements.put(value, walk.elements.get(result))
        return types
