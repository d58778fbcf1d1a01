"""The nodes of one graph after another: each is asked for the types of its outputs.

A walk is a generator that yields the walks that it waits for: those of subgraphs and of the functions it calls.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from sardonyx._src.errors import InferenceError, InvalidModel, UnsupportedOperator
from sardonyx._src.infer.answers import MEMORY, Answer, Key
from sardonyx._src.infer.findings import Findings
from sardonyx._src.infer.folding import REFUSALS, known_outputs
from sardonyx._src.infer.merge import formal, joined, merged
from sardonyx._src.infer.plan import Plan
from sardonyx._src.infer.question import Question, Story, Wanted
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ir.graph import Attribute, Function, Graph, Node, Value
from sardonyx._src.ir.tensors import Tensor
from sardonyx._src.ir.types import TensorType, Type
from sardonyx._src.ir.walk import graphs, location, values
from sardonyx._src.ops.bind import Bindings, bound_attributes, literal_of, schema_of
from sardonyx._src.ops.inference import Iteration, Known
from sardonyx._src.ops.registry import find

Walk: TypeAlias = "Generator[Walk, None, None]"
# One that ends with the types of a node's outputs.
Asking: TypeAlias = "Generator[Walk, None, Sequence[Type | None]]"


@dataclass(frozen=True, slots=True)
class Body:
    """What the nodes of a model or function go by: its imports and, in a function, the attributes of the call.

    `homes`: for each graph among those attributes, what the place goes by where it is written.
    """

    findings: Findings
    imports: Mapping[str, int]
    bindings: Bindings = field(default_factory=dict)
    homes: Mapping[Graph, Body] = field(default_factory=dict)

    def graph(self, graph: Graph) -> Walk:
        """Types the values of a graph whose inputs are typed.

        A large model has thousands of nodes that ask what others have asked before.  They are dealt with here, in
        one function: a call costs as much as finding the answer.
        """
        findings = self.findings
        self.defaults(graph)
        plans = findings.plans_of("", self.imports)
        recall, typed, witness = MEMORY.found.get, findings.typed, findings.witness
        literals = findings.elements.has_literals
        for node in graph.nodes:
            op_type, outputs = node.op_type, node.outputs
            if op_type == "Constant" and literals and (tensor := literal_of(node)) is not None:
                answer = recall((tensor.dtype, tensor.shape))
                types = answer.types if type(answer) is Answer else type_of(tensor)
            else:
                plan = None if node.domain else plans.get(op_type)
                key = None if plan is None else plan.key(node)
                answer = recall(key)
                if plan is None or type(answer) is not Answer:
                    yield from self.node(node, key)
                    continue
                types = answer.types
                if answer.may_be_small and plan.finds_elements:
                    self.elements_later(node, plan, answer)
                if witness is not None:
                    types = witness.asked(self, node, plan, types, None)
            if len(outputs) == 1 and types:
                value = outputs[0]
                if value.type is None and value.name:
                    value.type = types[0]
                    typed.append(value)
                    continue
            self.put(node, types)

    def defaults(self, graph: Graph) -> None:
        """Notes the elements of initializers.

        One that is an input can be replaced by a feed; up to IR version 3, where every one is an input, that is not
        what such files mean.
        """
        findings = self.findings
        replaceable = frozenset(graph.inputs) if findings.model.ir_version >= 4 else frozenset()
        for value in graph.initializers.values():
            if value not in replaceable and isinstance(value.initializer, Tensor):
                findings.elements.put(value, value.initializer)

    def node(self, node: Node, key: Key | None) -> Walk:
        """Types the outputs of a node; what is known of their elements goes where it is found.

        `key`: that of its question, where it has been made.
        """
        types: Sequence[Type | None] = ()
        plan = fault = None
        try:
            plan = self.plan(node)
            if plan is not None:
                types = yield from self.ask(node, plan, key or plan.key(node))
            elif (function := self.findings.function_of(node)) is not None:
                types = yield from self.call(node, function)
        except (InferenceError, InvalidModel) as error:
            about = error.about if isinstance(error, InferenceError) else ""
            fault = InferenceError(error.why, location=error.location or location(node), about=about)
            self.findings.fault(fault)
        if self.findings.witness is not None:
            types = self.findings.witness.asked(self, node, plan, types, fault)
        self.put(node, types)

    def put(self, node: Node, types: Sequence[Type | None]) -> None:
        """Types the outputs of a node: what was found, together with what the model declares."""
        for i, value in enumerate(node.outputs):
            if value.name:
                found = types[i] if i < len(types) else None
                declared = self.declared(value)
                if declared is None or found is None:
                    value.type = found if declared is None else declared
                else:
                    self.put_declared(value, declared, found, node)

    def declared(self, value: Value) -> Type | None:
        """The type that the model declares of a value, which is put down before it gets a better one."""
        if value.type is None:
            self.findings.typed.append(value)
        else:
            self.findings.declared[value] = value.type
        return value.type

    def put_declared(self, value: Value, declared: Type, found: Type, node: Node) -> None:
        """Types a value of which the model says something as well."""
        findings, fault = self.findings, None
        try:
            value.type = merged(declared, found)
        except InferenceError as error:
            fault = located(error, f"{node.name or node.op_type!r} output {value.name!r}")
            value.type = found
        if findings.witness is not None:
            findings.witness.declared(value, node, declared, found, fault)
        if fault is not None:
            findings.fault(fault)

    # --- operators ----------------------------------------------------------------------------

    def plan(self, node: Node) -> Plan | None:
        """How the node's operator is asked; None where the node calls a function, or nobody knows its operator."""
        findings = self.findings
        plans = findings.plans_of(node.domain, self.imports)
        if node.op_type in plans:
            return plans[node.op_type]
        if findings.function_of(node):
            return None
        plan = self.new_plan(node)
        if all((node.domain, node.op_type) != name[:2] for name in findings.model.functions):
            plans[node.op_type] = plan
        return plan

    def new_plan(self, node: Node) -> Plan | None:
        try:
            schema = schema_of(node, self.imports)
        except UnsupportedOperator:
            return None
        op = find(node.domain, node.op_type)
        infer = op.infers.get(schema.since_version) if op is not None else None
        return None if op is None or infer is None else Plan(op, schema, infer)

    def ask(self, node: Node, plan: Plan, key: Key | None) -> Asking:
        """The answer of a node's operator, which may be known already if elements of inputs are looked at."""
        elements = self.findings.elements
        answer = plan.recall(key, node, elements)
        if answer is None:
            if plan.has_subgraphs:
                question, answer = yield from self.waiting_answer(node, plan)
            else:
                question = self.question(node, plan)
                answer = answer_to(question, plan)
            if not question.is_unique:
                plan.remember(key, question.asked, answer, node, elements)
            if question.told:
                for value, known in zip(node.outputs, question.told, strict=False):
                    elements.put(value, known)
                return answer.types
        if answer.may_be_small and plan.finds_elements:
            self.elements_later(node, plan, answer)
        return answer.types

    def waiting_answer(self, node: Node, plan: Plan) -> Generator[Walk, None, tuple[Question, Answer]]:
        """Asks an operator with subgraphs, once more for each subgraph that it has to see first."""
        story = Story()
        while True:
            question = self.question(node, plan)
            question.story = story
            try:
                return question, answer_to(question, plan)
            except Wanted as wanted:
                walked = yield from self.walked(wanted)
                story.walked.append(walked)

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
            None,
            "",
            self.findings.fresh,
            inputs,
            self.findings.elements,
            self.findings.iterations,
        )

    def elements_later(self, node: Node, plan: Plan, answer: Answer) -> None:
        """Has elements of the outputs worked out when somebody asks."""

        def compute() -> Sequence[Known | None]:
            return known_outputs(plan, self.question(node, plan), answer, node)

        inputs: Sequence[Value | None] = node.inputs
        if plan.has_subgraphs:
            inputs = [*inputs, *(value for graph in node.subgraphs for value in graph.outputs)]
        try:
            self.findings.elements.put_later(node.outputs, inputs, compute, needs_all=plan.value is None)
        except InvalidModel as error:  # of a tensor whose data are none of its element type
            self.findings.fault(InferenceError(error.why, location=error.location))

    # --- subgraphs and functions --------------------------------------------------------------

    def walked(self, wanted: Wanted) -> Generator[Walk, None, list[Type | None] | Iteration | None]:
        """What a subgraph gives whose inputs are of the wanted types.

        A fault is not the model's in a graph that does not run, nor in one iteration: what holds for all of them
        will be looked at as well.
        """
        findings, graph, purpose = self.findings, wanted.graph, wanted.purpose
        if purpose == "iteration":
            findings.begin_iteration(graph)
        elif not findings.may_enter(graph):
            return [None] * len(graph.outputs)
        if purpose == "types":
            yield from self.subgraph(wanted)
            return [v.type for v in graph.outputs]
        with findings.trial() as faults:
            yield from self.subgraph(wanted)
            known = [findings.elements.get(v) for v in graph.outputs]
        return None if faults else Iteration([v.type for v in graph.outputs], known)

    def subgraph(self, wanted: Wanted) -> Walk:
        types, known = wanted.inputs, wanted.known
        for i, value in enumerate(wanted.graph.inputs):
            self.formal(value, types[i] if i < len(types) else None, known[i] if i < len(known) else None)
        yield self.homes.get(wanted.graph, self).graph(wanted.graph)

    def formal(self, value: Value, given: Type | None, known: Known | None) -> None:
        """Types a formal parameter of a subgraph or function."""
        findings = self.findings
        value.type = formal(self.declared(value), given)
        findings.elements.put(value, known)

    def call(self, node: Node, function: Function) -> Asking:
        """The types of the outputs of a call of a model-local function."""
        findings, body = self.findings, function.body
        if not findings.may_enter(body):
            return ()
        given = bound_attributes(node, self.bindings)
        bindings: dict[str, Attribute | None] = {**function.attributes, **given}
        handed = [graph for attribute in given.values() for graph in attribute.graphs]
        homes = {graph: self.homes.get(graph, self) for graph in handed}
        inner = Body(findings, function.opset_imports, bindings, homes)
        for i, value in enumerate(body.inputs):
            actual = node.inputs[i] if i < len(node.inputs) else None
            inner.formal(value, None if actual is None else actual.type, findings.elements.get(actual))
        yield inner.graph(body)
        inner.note_types(function)
        for value, result in zip(node.outputs, body.outputs, strict=False):
            findings.elements.put(value, findings.elements.get(result))
        return [v.type for v in body.outputs]

    def note_types(self, function: Function) -> None:
        """Keeps what this call of the function has in common with those before it; a trial does not count."""
        if self.findings.trials:
            return
        found = self.findings.in_functions
        for graph in graphs(function.body):
            for value in values(graph):
                found[value] = joined(found[value], value.type) if value in found else value.type


def answer_to(question: Question, plan: Plan) -> Answer:
    """What the operator answers; raises InferenceError where it refuses, or makes what is no type."""
    try:
        answer = Answer(plan.infer(question))
    except REFUSALS as error:
        inputs = ", ".join(str(type or "?") for type in question.inputs)
        raise InferenceError(f"{question.op_type}: {error} (inputs: {inputs})") from error
    for found in answer.types:
        if isinstance(found, TensorType) and found.shape and any(is_no_size(dim) for dim in found.shape):
            raise InferenceError(
                f"{question.op_type} would make {found}; no size is negative, nor of 64 bits"
            )
    return answer


def located(error: InferenceError, where: str) -> InferenceError:
    return InferenceError(error.why, location=where, about=error.about)


def is_no_size(dim: Dim) -> bool:
    return isinstance(dim, int) and not 0 <= dim < 1 << 63


def type_of(tensor: Tensor) -> Sequence[Type | None]:
    """The type of a tensor, one object for all that are alike."""
    key = tensor.dtype, tensor.shape
    answer = MEMORY.found.get(key)
    if type(answer) is not Answer:
        answer = Answer(TensorType(*key))
        MEMORY.put(key, answer)
    return answer.types
