"""Types and symbolic shapes of every value of a model: one walk in the order of the nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sardonyx.errors import InferenceError, UnsupportedOperator
from sardonyx.infer.folding import constant, known_outputs
from sardonyx.infer.merge import joined, merged
from sardonyx.ir.dims import Expr, symbol
from sardonyx.ir.graph import Attribute, Function, Graph, Model, Node, Value
from sardonyx.ir.types import SparseTensorType, TensorType, Type
from sardonyx.ir.walk import graphs, location, roots, values
from sardonyx.ops.bind import Bindings, attributes_of, bound_attributes, schema_of
from sardonyx.ops.inference import Inference, Known
from sardonyx.ops.registry import find

MOST_CALLS = 10_000  # of functions looked into; those beyond keep the types that the model declares


def infer(model: Model, *, errors: list[InferenceError] | None = None) -> Model:
    """Puts a type on every value of the model, subgraphs and function bodies included, and hands it back.

    Sizes are numbers, or expressions over the dimension variables of the inputs.  What the model declares is kept
    where nothing better is known.  Raises InferenceError, naming the node, where declared or inferred types
    contradict each other or an operator; with `errors` it is added to that list, and the walk goes on with what the
    model declares.  Nodes of operators that nobody knows leave their outputs as declared.
    """
    Walk(model, errors).run()
    return model


@dataclass(slots=True)
class Walk:
    """The state of one inference."""

    model: Model
    errors: list[InferenceError] | None
    known: dict[Value, Known] = field(default_factory=dict)
    declared: dict[Value, Type | None] = field(default_factory=dict)
    in_functions: dict[Value, Type | None] = field(default_factory=dict)
    taken: frozenset[str] = frozenset()
    symbols: int = 0
    calls: int = 0

    def run(self) -> None:
        self.taken = frozenset(
            name
            for root in roots(self.model)
            for graph in graphs(root)
            for value in values(graph)
            for name in names_in(value.type)
        )
        imports = self.model.opset_imports
        scope = Scope(self, imports, {})
        scope.graph(self.model.graph)
        for step in self.model.training:
            for graph in (step.initialization, step.algorithm):
                if graph is not None:
                    scope.graph(graph)
        for value, type in self.in_functions.items():
            value.type = type

    def fresh(self) -> Expr:
        """A symbol that the model does not use."""
        while True:
            name = f"unk_{self.symbols}"
            self.symbols += 1
            if name not in self.taken:
                return symbol(name)

    def fault(self, error: InferenceError) -> None:
        if self.errors is None:
            raise error
        self.errors.append(error)


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
            if value not in replaceable and (found := constant(value.initializer)) is not None:
                self.walk.known[value] = found
        for node in graph.nodes:
            self.node(node)
        return [v.type for v in graph.outputs]

    def subgraph(
        self, graph: Graph, types: Sequence[Type | None], known: Sequence[Known | None]
    ) -> list[Type | None]:
        """Walks a subgraph whose inputs have these types."""
        for i, value in enumerate(graph.inputs):
            given = types[i] if i < len(types) else None
            self.put(value, given, "")
            self.know(value, known[i] if i < len(known) else None)
        return self.graph(graph)

    def put(self, value: Value, found: Type | None, where: str) -> None:
        """Types a value: what was found, together with what the model declares."""
        declared = self.walk.declared.setdefault(value, value.type)
        try:
            value.type = merged(declared, found, where)
        except InferenceError as error:
            self.walk.fault(error)
            value.type = found

    def know(self, value: Value, found: Known | None) -> None:
        if found is None:
            self.walk.known.pop(value, None)
        else:
            self.walk.known[value] = found

    def node(self, node: Node) -> None:
        function = self.walk.model.functions.get((node.domain, node.op_type, node.overload))
        try:
            types, known = self.call(node, function) if function else self.operator(node)
        except InferenceError as error:
            self.walk.fault(error if error.location else InferenceError(error.why, location=location(node)))
            types, known = (), ()
        for i, value in enumerate(node.outputs):
            if value.name:
                where = f"{node.name or node.op_type!r} output {value.name!r}"
                self.put(value, types[i] if i < len(types) else None, where)
                self.know(value, known[i] if i < len(known) else None)

    def operator(self, node: Node) -> tuple[Sequence[Type | None], Sequence[Known | None]]:
        """Types and known elements of the outputs of an operator."""
        try:
            schema = schema_of(node, self.imports)
        except UnsupportedOperator:
            return (), ()
        op = find(node.domain, node.op_type)
        facet = op.infers.get(schema.since_version) if op is not None else None
        if op is None or facet is None:
            return (), ()
        inference = Inference(
            op_type=node.op_type,
            version=schema.since_version,
            inputs=[None if v is None else v.type for v in node.inputs],
            given=[v is not None for v in node.inputs],
            attributes=attributes_of(node, schema, self.bindings),
            outputs=len(node.outputs),
            known=[None if v is None else self.walk.known.get(v) for v in node.inputs],
            infer_graph=self.subgraph,
            fresh=self.walk.fresh,
        )
        answer = facet(inference)
        types = answer if isinstance(answer, Sequence) else [answer]
        return types, known_outputs(op, inference, node, types)

    def call(self, node: Node, function: Function) -> tuple[Sequence[Type | None], Sequence[Known | None]]:
        """Types and known elements of the outputs of a call of a model-local function."""
        walk = self.walk
        walk.calls += 1
        if walk.calls > MOST_CALLS:
            return (), ()
        given: dict[str, Attribute | None] = {**function.attributes, **bound_attributes(node, self.bindings)}
        inner = Scope(walk, function.opset_imports, given)
        for i, formal in enumerate(function.body.inputs):
            actual = node.inputs[i] if i < len(node.inputs) else None
            inner.put(formal, actual.type if actual is not None else None, "")
            inner.know(formal, walk.known.get(actual) if actual is not None else None)
        types = inner.graph(function.body)
        for graph in graphs(function.body):
            for value in values(graph):
                seen = value in walk.in_functions
                walk.in_functions[value] = (
                    joined(walk.in_functions[value], value.type) if seen else value.type
                )
        return types, [walk.known.get(v) for v in function.body.outputs]
