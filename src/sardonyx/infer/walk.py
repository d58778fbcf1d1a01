"""Types and symbolic shapes of every value of a model: one walk in the order of the nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sardonyx.errors import InferenceError, LimitError, UnsupportedOperator
from sardonyx.infer.findings import Findings
from sardonyx.infer.folding import known_outputs
from sardonyx.infer.merge import formal, joined, merged
from sardonyx.infer.question import Answer, Key, Plan, Question
from sardonyx.io.load import without_collection
from sardonyx.ir.graph import Attribute, Function, Graph, Model, Node, Value
from sardonyx.ir.tensors import Tensor
from sardonyx.ir.types import Type
from sardonyx.ir.walk import graphs, location, values
from sardonyx.ops.bind import Bindings, bound_attributes, literal_of, schema_of
from sardonyx.ops.inference import Known
from sardonyx.ops.registry import find


def infer(model: Model, *, errors: list[InferenceError] | None = None) -> Model:
    """Puts a type on every value of the model, subgraphs and function bodies included, and hands it back.

    Sizes are numbers, or expressions over the dimension variables of the inputs.  What the model declares is kept
    where nothing better is known.  Raises InferenceError, naming the node, where declared or inferred types
    contradict each other or an operator; with `errors` it is added to that list, and the walk goes on with what the
    model declares.  Nodes of operators that nobody knows leave their outputs as declared.  Raises LimitError for
    functions or subgraphs nested deeper than Python's recursion limit.  A model that raises is left as it was.
    """
    findings = Findings(model, errors)
    done = False
    try:
        with without_collection():
            walk(model, findings)
        done = True
    except RecursionError:
        what = "functions and subgraphs are nested deeper than Python's own recursion limit allows"
        raise LimitError(what, limit="sys.setrecursionlimit") from None
    finally:
        if not done:
            findings.restore()
    return model


def walk(model: Model, findings: Findings) -> None:
    main = Body(findings, model.opset_imports, {})
    main.graph(model.graph)
    for step in model.training:
        for graph in (step.initialization, step.algorithm):
            if graph is not None:
                main.graph(graph)
    findings.settle()


@dataclass(frozen=True, slots=True)
class Body:
    """What the nodes of a model or function go by: its imports and, in a function, the attributes of the call."""

    findings: Findings
    imports: Mapping[str, int]
    bindings: Bindings

    def graph(self, graph: Graph) -> list[Type | None]:
        """Walks a graph whose inputs are typed; returns the types of its outputs.

        An initializer that is an input can be replaced by a feed; up to IR version 3, where every one is an input,
        that is not what such files mean.
        """
        findings = self.findings
        replaceable = frozenset(graph.inputs) if findings.model.ir_version >= 4 else frozenset()
        for value in graph.initializers.values():
            if value not in replaceable and isinstance(value.initializer, Tensor):
                findings.elements.put(value, value.initializer)
        functions = findings.model.functions
        for node in graph.nodes:
            tensor = literal_of(node)
            if tensor is None or (functions and findings.function_of(node)):
                self.node(node)
            else:
                self.literal(node.outputs[0], tensor, node)
        return [v.type for v in graph.outputs]

    def subgraph(
        self, graph: Graph, types: Sequence[Type | None], known: Sequence[Known | None]
    ) -> list[Type | None]:
        """Walks a subgraph whose inputs have these types; returns the types of its outputs."""
        if not self.findings.may_enter(graph):
            return [None] * len(graph.outputs)
        for i, value in enumerate(graph.inputs):
            self.formal(value, types[i] if i < len(types) else None, known[i] if i < len(known) else None)
        return self.graph(graph)

    def formal(self, value: Value, given: Type | None, known: Known | None) -> None:
        """Types a formal parameter of a subgraph or function."""
        findings = self.findings
        value.type = formal(findings.declared.setdefault(value, value.type), given)
        findings.elements.put(value, known)

    def put(self, value: Value, found: Type | None, producer: Node) -> None:
        """Types an output of a node: what was found, together with what the model declares."""
        findings = self.findings
        declared = findings.declared.setdefault(value, value.type)
        if declared is None:
            value.type = found
            return
        try:
            value.type = merged(declared, found)
        except InferenceError as error:
            where = f"{producer.name or producer.op_type!r} output {value.name!r}"
            findings.fault(InferenceError(error.why, location=where))
            value.type = found

    def literal(self, value: Value, tensor: Tensor, node: Node) -> None:
        """Types the output of a node that hands out a tensor of its own; many models hold hundreds of those."""
        findings = self.findings
        findings.elements.found[value] = tensor
        found = findings.type_of(tensor)
        if findings.declared.setdefault(value, value.type) is None:
            value.type = found
        else:
            self.put(value, found, node)

    def node(self, node: Node) -> None:
        """Types the outputs of a node; what is known of their elements goes where it is found."""
        outputs = node.outputs
        try:
            plan = self.findings.plans.get((node.domain, node.op_type, self.imports.get(node.domain)))
            types = self.types(node, plan or self.plan(node))
        except InferenceError as error:
            located = error if error.location else InferenceError(error.why, location=location(node))
            self.findings.fault(located)
            types = ()
        for i, value in enumerate(outputs):
            if value.name:
                self.put(value, types[i] if i < len(types) else None, node)

    def types(self, node: Node, plan: Plan | None) -> Sequence[Type | None]:
        """The types of a node's outputs, by the plan of its operator or, without one, by the function that it calls."""
        if plan is None:
            function = self.findings.function_of(node)
            return () if function is None else self.call(node, function)
        key = plan.key(node)
        answer = plan.answers.get(key)
        if type(answer) is not Answer:
            answer = self.ask(node, plan, key)
        if answer.may_be_small and plan.finds_elements:
            self.elements_later(node, plan, answer)
        return answer.types

    def ask(self, node: Node, plan: Plan, key: Key | None) -> Answer:
        """The answer of a node's operator, which may be known already if elements of inputs are looked at."""
        answer = plan.recall(key, node, self.findings.elements)
        if answer is None:
            question = self.question(node, plan)
            answer = Answer(plan.infer(question))
            plan.remember(key, question, answer, node)
        return answer

    def elements_later(self, node: Node, plan: Plan, answer: Answer) -> None:
        def compute() -> Sequence[Known | None]:
            return known_outputs(plan, self.question(node, plan), answer, node)

        self.findings.elements.put_later(node.outputs, node.inputs, compute)

    def plan(self, node: Node) -> Plan | None:
        """How the node's operator is asked; None where the node calls a function, or nobody knows its operator."""
        findings = self.findings
        key = (node.domain, node.op_type, self.imports.get(node.domain))
        if key in findings.unknown or findings.function_of(node):
            return None
        try:
            schema = schema_of(node, self.imports)
        except UnsupportedOperator:
            findings.unknown.add(key)
            return None
        op = find(node.domain, node.op_type)
        infer = op.infers.get(schema.since_version) if op is not None else None
        if op is None or infer is None:
            findings.unknown.add(key)
            return None
        plan = Plan(op, schema, infer, findings.answers)
        if all(key[:2] != name[:2] for name in findings.model.functions):
            findings.plans[key] = plan
        return plan

    def question(self, node: Node, plan: Plan) -> Question:
        inputs = node.inputs
        return Question(
            node.op_type,
            plan.version,
            [None if v is None else v.type for v in inputs],
            [v is not None for v in inputs],
            plan.attributes.bind(node, self.bindings),
            len(node.outputs),
            (),
            self.subgraph,
            "",
            self.findings.fresh,
            inputs,
            self.findings.elements,
        )

    def call(self, node: Node, function: Function) -> Sequence[Type | None]:
        """The types of the outputs of a call of a model-local function."""
        findings = self.findings
        if not findings.may_enter(function.body):
            return ()
        given: dict[str, Attribute | None] = {**function.attributes, **bound_attributes(node, self.bindings)}
        inner = Body(findings, function.opset_imports, given)
        for i, value in enumerate(function.body.inputs):
            actual = node.inputs[i] if i < len(node.inputs) else None
            inner.formal(value, None if actual is None else actual.type, findings.elements.get(actual))
        types = inner.graph(function.body)
        inner.note_types(function)
        for value, result in zip(node.outputs, function.body.outputs, strict=False):
            findings.elements.put(value, findings.elements.get(result))
        return types

    def note_types(self, function: Function) -> None:
        """Keeps what this call of the function has in common with those before it."""
        found = self.findings.in_functions
        for graph in graphs(function.body):
            for value in values(graph):
                found[value] = joined(found[value], value.type) if value in found else value.type
