"""A model in other versions of its operator sets, node by node, one version after the other."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field

from sardonyx._src.convert.fitting import check_own
from sardonyx._src.convert.ir_version import follow
from sardonyx._src.convert.known import settle_elements, states_open
from sardonyx._src.convert.leftovers import clear, mentioned
from sardonyx._src.convert.partial import DOMAIN, set_apart
from sardonyx._src.convert.place import BeforeNode, describe, not_hidden, settle, undo
from sardonyx._src.convert.steps import Step, facet_of, has_body_below, previous
from sardonyx._src.errors import ConversionError, EvaluationError, InferenceError, InputError
from sardonyx._src.infer.findings import Findings
from sardonyx._src.infer.walk import model_walk
from sardonyx._src.infer.walk import run as run_walk
from sardonyx._src.io.load import without_collection
from sardonyx._src.io.nesting import nesting_limited
from sardonyx._src.ir.clone import clone
from sardonyx._src.ir.graph import FunctionKey, Graph, Model, Node, Value
from sardonyx._src.ir.inline import inline
from sardonyx._src.ir.names import Names
from sardonyx._src.ir.walk import nodes, roots
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.bind import schema_of
from sardonyx._src.ops.bodies import body_of
from sardonyx._src.ops.change import Attributes, Change
from sardonyx._src.ops.registry import find
from sardonyx._src.schema import OpSchema, domains, latest, versions

# What a facet refuses by, and what it asks about the node.
REFUSALS = (ConversionError, InferenceError, EvaluationError)


def convert(
    model: Model,
    opset: int | None = None,
    *,
    sets: Mapping[str, int] | None = None,
    ir_version: int | str | None = None,
    errors: list[ConversionError] | None = None,
) -> Model:
    """The model under other versions of its operator sets and of the IR; the one that is given stays as it is.

    opset: of ai.onnx.  sets: versions of other operator sets by domain, as {"ai.onnx.ml": 3}.  ir_version: a number,
    "auto" for the lowest that what is used allows, or None to raise it only where what is used needs that.  Main graph,
    training graphs, subgraphs and functions are converted; names, documentation, metadata and weights stay.

    Raises ConversionError, naming node, operator, version and reason, where a version cannot express what the model
    says.  With `errors` it is added to that list, and the node goes on under its own version as the body of a
    function.  Raises InputError for a version that does not exist or a set that is not imported, LimitError for graphs nested too deep.
    """
    wanted = targets(opset, sets or {})
    for domain in wanted:
        if domain and not bodies_of(model, domain):
            held = ", ".join(d or "ai.onnx" for d in model.opset_imports) or "none"
            raise InputError(
                f"the model does not import {domain or 'ai.onnx'}; it imports {held}", name="sets"
            )
    with without_collection(), nesting_limited():
        result = clone(model)
        origins = {
            copy: one
            for pair in zip(roots(model), roots(result), strict=True)
            for one, copy in zip(*map(nodes, pair), strict=True)
        }
        carry_over(result, wanted, errors, origins)
        follow(result, ir_version, errors)
    return result


def carry_over(
    model: Model,
    wanted: Mapping[str, int],
    errors: list[ConversionError] | None,
    origins: dict[Node, Node],
) -> None:
    """Takes all that a model holds to these versions, one domain after the other."""
    faults: list[InferenceError] = []
    findings = Findings(model, faults)
    with states_open(model):
        run_walk(model_walk(model, findings))
    findings.settle()
    settle_elements(findings)
    held = mentioned(model)
    default = wanted.get("", latest(""))
    try:
        for domain, version in wanted.items():
            for body in bodies_of(model, domain):
                Converter(findings, body, domain, default, errors, origins, held).run(version)
    finally:
        findings.restore()


def targets(opset: int | None, sets: Mapping[str, int]) -> dict[str, int]:
    """The version wanted of each domain; raises InputError for one that does not exist."""
    wanted = {"" if domain == "ai.onnx" else domain: v for domain, v in sets.items()}
    if opset is not None and wanted.setdefault("", opset) != opset:
        raise InputError(f"ai.onnx is asked for in versions {opset} and {wanted['']}", name="opset")
    for domain, version in wanted.items():
        shown = domain or "ai.onnx"
        if domain not in domains():
            known = ", ".join(d or "ai.onnx" for d in domains())
            raise InputError(f"{shown} is no operator set of ONNX; those are {known}", name="sets")
        if not 1 <= version <= latest(domain):
            raise InputError(f"{shown} has versions 1 to {latest(domain)}, not {version}", name="opset")
    return wanted


@dataclass(frozen=True, slots=True)
class Scope:
    """Graphs whose nodes go by one table of imports: those of the model, or one function's body."""

    roots: Sequence[Graph]
    imports: dict[str, int]
    filled: Collection[str] = ()  # attributes that every call of the function gives


def bodies_of(model: Model, domain: str) -> list[Scope]:
    """What imports the domain: the model's own graphs, and functions."""
    training = [g for step in model.training for g in (step.initialization, step.algorithm) if g is not None]
    scopes = [Scope([model.graph, *training], model.opset_imports)]
    for function in model.functions.values():
        filled = {name for name, default in function.attributes.items() if default is not None}
        scopes.append(Scope([function.body], function.opset_imports, filled))
    return [scope for scope in scopes if domain in scope.imports]


@dataclass(slots=True)
class Converter:
    """One domain of one scope, taken to a version."""

    findings: Findings
    scope: Scope
    domain: str
    default: int  # the version of ai.onnx where it is not imported and has to be
    errors: list[ConversionError] | None
    origins: dict[Node, Node]  # what nodes have been made of
    mentioned: set[Value]  # by something else than a node's inputs
    names: Names = field(init=False)
    shared: dict[Hashable, Value] = field(default_factory=dict)  # constants of one step
    # Nodes that nobody reads any more, or inside of what has been set apart.
    gone: set[Node] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.names = Names(self.scope.roots)

    def run(self, target: int) -> None:
        """Takes all nodes of the scope to a version."""
        found = [n for root in self.scope.roots for n in nodes(root) if self.goes_by(n)]
        self.carry(found, self.scope.imports[self.domain], target)
        self.scope.imports[self.domain] = target

    @property
    def functions(self) -> Collection[FunctionKey]:
        return self.findings.model.functions

    def goes_by(self, node: Node) -> bool:
        return node.domain == self.domain and not self.findings.function_of(node)

    def carry(self, found: list[Node], now: int, target: int) -> list[Node]:
        """Takes nodes from one version to another; hands out what they have become."""
        while now != target:
            then = now + (1 if target > now else -1)
            self.shared = {}
            turning = max(now, then)  # the operator versions that come or go with this step
            kept: list[Node] = []
            for node in found:
                if node in self.gone:
                    continue
                if turning in versions(node.domain, node.op_type):
                    kept += self.convert(node, now, then)
                else:
                    kept.append(node)
            found, now = kept, then
        return found

    def convert(self, node: Node, now: int, then: int) -> list[Node]:
        """Takes a node over one step."""
        schema = schema_of(node, {node.domain: now})
        if schema.since_version > now:
            return [node]  # older than its operator: it means the first version, to which the way up leads
        step = Step(node.domain, node.op_type, schema.since_version, then if then > now else previous(schema))
        change = self.change(node, schema, then)
        read = node.inputs
        try:
            check_own(change, schema)
            made = self.apply(change, step, schema)
            self.origins.update((n, change.origin) for n in made if n is not node)
            self.gone.update(clear(read, self.mentioned))
            for n in made:
                self.scope.imports.setdefault(n.domain, change.imports[n.domain])
            return [n for n in made if n.domain == self.domain]
        except REFUSALS as error:
            refused = error if isinstance(error, ConversionError) else refusal(change, error)
            undo(change)
            if self.errors is None:
                raise refused from None
            self.errors.append(refused)
            self.set_apart(node, now)
            return []

    def set_apart(self, node: Node, now: int) -> None:
        """Leaves a node, and what is inside it, under the version that it is written in."""
        self.gone.update(n for graph in node.subgraphs for n in nodes(graph))
        set_apart(self.findings.model, node, {**self.scope.imports, node.domain: now}, self.names)
        self.scope.imports.setdefault(DOMAIN, 1)

    def apply(self, change: Change, step: Step, schema: OpSchema) -> list[Node]:
        op = find(step.domain, step.name)
        assert op is not None, f"{step.name} has signatures and no file"
        facet = facet_of(op, step)
        has_body = not step.is_up and has_body_below(op, step.old)
        if facet is not None:
            try:
                return settle(change, facet(change), schema, self.names, self.functions)
            except REFUSALS:
                if not has_body:
                    raise
                undo(change)
        if not has_body:
            change.refuse("it has no counterpart there" if step.new else "it came with a later version")
        return self.expanded(change, op)

    def expanded(self, change: Change, op: Operator) -> list[Node]:
        """Puts the body of the operator where the node stands, and takes it to the version wanted."""
        check_sense(op, change)
        function = body_of(op, change.t)
        assert function is not None, f"{op.name}-{change.t.version} has a body facet that gives nothing"
        for node in nodes(function.body):
            not_hidden(change, node.domain, node.op_type, self.functions)
        made = inline(change.node, function, self.names)
        start = function.opset_imports[""]
        place = BeforeNode(self.names, self.findings.elements, {**change.imports, "": start}, self.functions)
        for node in made:
            place.tell(node)
        inner = [n for node in made for graph in node.subgraphs for n in nodes(graph)]
        self.origins.update((n, change.origin) for n in made + inner)
        describe(made[-1], change.node, made)
        return self.carry([n for n in made + inner if n.domain == self.domain], start, change.target)

    def change(self, node: Node, schema: OpSchema, then: int) -> Change:
        imports = {"": self.default, **self.scope.imports, self.domain: then}
        place = BeforeNode(self.names, self.findings.elements, imports, self.functions, self.shared)
        origin = self.origins.get(node, node)
        t = place.inference(node, schema)
        change = Change(node, origin, t, then, imports, place, self.scope.filled)
        references = {a.name for a in node.attributes.values() if a.ref}
        change.t.attributes = Attributes(change.t.attributes, references, change.refuse)
        return change


def check_sense(op: Operator, change: Change) -> None:
    """Raises InferenceError for a node that contradicts itself, of which a body can make nothing."""
    infer = op.infers.get(change.t.version)
    if infer is not None and not any(a.ref for a in change.node.attributes.values()):
        infer(change.t)


def refusal(change: Change, error: InferenceError | EvaluationError) -> ConversionError:
    """What an operator refuses of a node, as the reason why it cannot be converted."""
    try:
        change.refuse(error.why)
    except ConversionError as found:
        return found
