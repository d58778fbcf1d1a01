"""Types and symbolic shapes of every value of a model: one walk in the order of the nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sardonyx.dtypes import DataType
from sardonyx.errors import InferenceError, LimitError, UnsupportedOperator
from sardonyx.infer.elements import Elements
from sardonyx.infer.folding import known_outputs
from sardonyx.infer.merge import joined, merged
from sardonyx.infer.question import Answer, Plan, Question
from sardonyx.ir.dims import Expr, symbol
from sardonyx.ir.graph import Attribute, Function, Graph, Model, Node, Value
from sardonyx.ir.tensors import Tensor
from sardonyx.ir.types import SparseTensorType, TensorType, Type
from sardonyx.ir.walk import graphs, location, nodes, roots, values
from sardonyx.ops.bind import Bindings, bound_attributes, literal_of, plan_of, schema_of
from sardonyx.ops.inference import Known
from sardonyx.ops.registry import find

MOST_REPEATS = 1 << 18  # of nodes: how many are looked at again, in functions and subgraphs, in one inference

Outputs = tuple[Sequence[Type | None], Sequence[Known | Tensor | None]]  # types and elements
NOTHING: Outputs = ((), ())


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
        """The type of a tensor, the same object for all that are alike."""
        key = (tensor.dtype, tensor.shape)
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
        replaceable = frozenset(graph.inputs) if self.walk.model.ir_version >= 4 else frozenset()
        for value in graph.initializers.values():
            if value not in replaceable and isinstance(value.initializer, Tensor):
                self.walk.elements.put(value, value.initializer)
        for node in graph.nodes:
            self.node(node)
        return [v.type for v in graph.outputs]

    def subgraph(
        self, graph: Graph, types: Sequence[Type | None], known: Sequence[Known | None]
    ) -> list[Type | None] | None:
        """Walks a subgraph whose inputs have these types."""
        if not self.walk.may_enter(graph):
            return None
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

    def node(self, node: Node) -> None:
        walk = self.walk
        functions = walk.model.functions
        function = functions.get((node.domain, node.op_type, node.overload)) if functions else None
        try:
            types, known = self.operator(node) if function is None else self.call(node, function)
        except InferenceError as error:
            walk.fault(error if error.location else InferenceError(error.why, location=location(node)))
            types, known = NOTHING
        for i, value in enumerate(node.outputs):
            if value.name:
                self.put(value, types[i] if i < len(types) else None, node)
                walk.elements.put(value, known[i] if i < len(known) else None)

    def operator(self, node: Node) -> Outputs:
        """Types and known elements of the outputs of an operator."""
        plan = self.plan(node)
        if plan is None:
            return NOTHING
        literal = literal_of(node)
        if literal is not None:
            return (self.walk.type_of(literal),), (literal,)
        question = None
        key = plan.key(node)
        answer = plan.answers.get(key) if key is not None else None
        if answer is None:
            question = self.question(node, plan)
            answer = Answer.of(plan.infer(question))
            if key is not None and not question.is_special:
                plan.answers[key] = answer
        if not answer.may_be_small or (plan.kernel is None and plan.value is None):
            return answer.types, ()
        return answer.types, known_outputs(plan, question or self.question(node, plan), answer, node)

    def plan(self, node: Node) -> Plan | None:
        """How the node's operator is asked; None when nobody knows the operator."""
        key = (node.domain, node.op_type, self.imports.get(node.domain))
        plans = self.walk.plans
        if key in plans:
            return plans[key]
        try:
            schema = schema_of(node, self.imports)
        except UnsupportedOperator:
            schema = None
        op = find(node.domain, node.op_type)
        facet = op.infers.get(schema.since_version) if op is not None and schema is not None else None
        plan = None
        if op is not None and schema is not None and facet is not None:
            plan = Plan(op, schema, plan_of(schema), facet)
        plans[key] = plan
        return plan

    def question(self, node: Node, plan: Plan) -> Question:
        inputs = node.inputs
        return Question(
            node.op_type,
            plan.schema.since_version,
            [None if v is None else v.type for v in inputs],
            [v is not None for v in inputs],
            plan.attributes.bind(node, self.bindings),
            len(node.outputs),
            infer_graph=self.subgraph,
            fresh=self.walk.fresh,
            values=inputs,
            elements=self.walk.elements,
        )

    def call(self, node: Node, function: Function) -> Outputs:
        """Types and known elements of the outputs of a call of a model-local function."""
        walk = self.walk
        if not walk.may_enter(function.body):
            return NOTHING
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
        return types, [walk.elements.get(v) for v in function.body.outputs]
