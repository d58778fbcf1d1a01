"""The runner of type rules: builds the model from its records, infers its types and runs the rules during inference."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import TypeAlias, cast

from sardonyx._src.check.engine.api import Finding, Rule, Severity
from sardonyx._src.check.engine.context import RecordPath
from sardonyx._src.check.engine.document import Document
from sardonyx._src.check.engine.findings import LocatedFinding, steps_of
from sardonyx._src.check.engine.registry import rules
from sardonyx._src.check.type_rules.node_paths import NodePaths
from sardonyx._src.check.type_rules.preparation import broken_nodes, erase_operators, normalize_types
from sardonyx._src.check.type_rules.subjects import (
    TYPE_RULE_SUBJECTS,
    OutputDeclaration,
    RefusedCall,
    Subject,
    TypedModel,
    TypedNode,
    function_of,
)
from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import InferenceError, InvalidModel, SardonyxError
from sardonyx._src.infer.context import NodeInferenceContext
from sardonyx._src.infer.observer import ContextFactory
from sardonyx._src.infer.plan import InferencePlan
from sardonyx._src.infer.walk import infer_partially
from sardonyx._src.io.external import ExternalFiles
from sardonyx._src.io.serde import from_proto
from sardonyx._src.ir import Graph, Model, Node, Type, Value
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ir.large_graphs import dismantle
from sardonyx._src.ir.walk import roots
from sardonyx._src.proto import messages as m

RulesBySubject = Mapping[Subject, Sequence[Rule]]
ModelObserver: TypeAlias = Callable[[Model], None]
# Rules about element types.  Their violations are errors even in branches that may not be taken: no sizes or elements of a
# run can avoid them, and other runtimes refuse such models.
ELEMENT_TYPE_RULES = {"SX703", "SX704", "SX705", "SX710"}
AnySubject = TypedNode | RefusedCall | OutputDeclaration | TypedModel


def select_type_rules(selected: Collection[str], ir_version: int) -> RulesBySubject:
    """The selected type rules that apply to an IR version, by subject."""
    result: dict[Subject, list[Rule]] = {
        subject: [] for subject in (TypedNode, RefusedCall, OutputDeclaration, TypedModel)
    }
    for code, rule in rules().items():
        if code in TYPE_RULE_SUBJECTS and code in selected and rule.since <= ir_version <= rule.until:
            result[TYPE_RULE_SUBJECTS[code]].append(rule)
    return result


def find_type_violations(
    document: Document,
    selected: Collection[str],
    findings: Iterable[LocatedFinding],
    observe: ModelObserver | None = None,
) -> list[LocatedFinding]:
    """The findings of type rules, as far as the structure is sound; `findings` are those about the structure.

    Nodes with a structural error, and whatever depends on them, have no findings.  `observe` receives the typed model,
    which it must not keep.
    """
    by_subject = select_type_rules(selected, document.ir_version)
    record = document.model
    broken = broken_nodes(findings)
    if record is None or broken is None or not any(by_subject.values()):
        return []
    try:
        model = from_proto.model(record, ExternalFiles(document.path, document.policy))
        paths = NodePaths(record, model)
        normalize_types(model)
        erase_operators(model, paths, broken)
        runner = TypedRuleRunner(by_subject)
        infer_partially(model, observer=runner)
    except SardonyxError:  # the model cannot be built, or is nested too deeply
        return []
    result = list(runner.locate_findings(record, model, paths))
    if observe is not None:
        observe(model)
    for graph in roots(model):
        dismantle(graph)
    return result


@dataclass(slots=True)
class TypedRuleRunner:
    """An observer of type inference that runs type rules; it skips nodes whose plan and types have passed before.

    rules: the selected rules, by subject.
    clean: the plans and types that have passed, by their ids; the values keep these objects alive.
    findings: the findings about nodes, by node, code and path.
    declarations: declared types that differ from the inferred type without contradicting it.
    equal_sizes: pairs of sizes that a node requires to be equal.
    uncertain: the graphs that a run may not execute, such as branches.
    """

    rules: RulesBySubject
    clean: dict[tuple[int, int], tuple[InferencePlan, Sequence[Type | None]]] = field(default_factory=dict)
    findings: dict[tuple[Node, str, str], tuple[Rule, Finding]] = field(default_factory=dict)
    declarations: list[OutputDeclaration] = field(default_factory=list)
    equal_sizes: list[tuple[Node, Dim, Dim]] = field(default_factory=list)
    uncertain: set[Graph] = field(default_factory=set)

    def on_node(
        self,
        contexts: ContextFactory,
        node: Node,
        plan: InferencePlan | None,
        types: Sequence[Type | None],
        error: InferenceError | None,
    ) -> Sequence[Type | None]:
        """Runs the rules on a node; after a violation its output types become unknown, to avoid findings that only follow."""
        if not contexts.is_certain and node.graph is not None:
            self.uncertain.add(node.graph)
        if not node.op_type:
            return ()
        key = (id(plan), id(types))
        if error is None and (plan is None or (key in self.clean and types)):
            return types
        if self.run_rules(contexts, node, plan, types, error):
            return ()
        if error is None and plan is not None:
            self.clean[key] = (plan, types)
        return types

    def run_rules(
        self,
        contexts: ContextFactory,
        node: Node,
        plan: InferencePlan | None,
        types: Sequence[Type | None],
        error: InferenceError | None,
    ) -> bool:
        """Runs the rules on a node; returns whether there is a finding."""
        inference: NodeInferenceContext | None
        try:
            inference = contexts.new_context(node, plan) if plan is not None else None
        except InvalidModel:  # an attribute of the node is invalid
            inference = None
        if plan is not None and inference is not None:
            typed_node = TypedNode(node, plan.schema, inference, types, error)
            if error is None:
                self.equal_sizes += [(node, *pair) for pair in contexts.equal_dims(node)]
            return self.collect(node, typed_node, is_certain=contexts.is_certain)
        assert error is not None, "a node without inference context was refused"
        return self.collect(node, RefusedCall(node, error), is_certain=contexts.is_certain)

    def on_declared_type(
        self,
        contexts: ContextFactory,
        value: Value,
        producer: Node,
        declared: Type,
        inferred: Type,
        error: InferenceError | None,
    ) -> None:
        if error is None and declared == inferred:
            return
        declaration = OutputDeclaration(value, producer, declared, inferred, error)
        if error is None:
            self.declarations.append(declaration)
        else:
            self.collect(producer, declaration, is_certain=contexts.is_certain)

    def collect(
        self, node: Node, subject: TypedNode | RefusedCall | OutputDeclaration, *, is_certain: bool
    ) -> bool:
        """Collects the findings of the rules about a subject, once for each location; returns whether there are any.

        is_certain: whether every run executes the node.  If not, errors become warnings, except errors about element types.
        """
        has_findings = False
        for rule in self.rules[type(subject)]:
            for finding in type_rule_function(rule)(subject):
                key = (node, rule.code, finding.path)
                if not is_certain and not is_about_element_types(rule, subject.error):
                    finding = replace(finding, severity=finding.severity or mild(rule.severity))
                if key not in self.findings or (is_certain and self.findings[key][1].severity == "warning"):
                    self.findings[key] = (rule, describe_call(node, finding))
                has_findings = True
        return has_findings

    def locate_findings(
        self, record: m.ModelProto, model: Model, paths: NodePaths
    ) -> Iterator[LocatedFinding]:
        """The findings about nodes, and those of the rules about the whole model."""
        pairs = [
            (rule, prefix_path(path, finding))
            for (node, *_), (rule, finding) in self.findings.items()
            if (path := paths.of(node))
        ]
        typed_model = TypedModel(model, self.declarations, self.equal_sizes, paths.of, self.uncertain)
        for rule in self.rules[TypedModel]:
            pairs += [(rule, finding) for finding in type_rule_function(rule)(typed_model)]
        for rule, finding in pairs:
            steps = steps_of(m.ModelProto, finding.path)
            yield LocatedFinding(rule, finding, steps, RecordPath(record))


def is_about_element_types(rule: Rule, error: InferenceError | None) -> bool:
    return rule.code in ELEMENT_TYPE_RULES or (error is not None and error.about == "element type")


def mild(severity: Severity) -> Severity:
    """The severity of a violation that only matters if a branch is taken."""
    return "warning" if severity == "error" else severity


def type_rule_function(rule: Rule) -> Callable[[AnySubject], Iterator[Finding]]:
    return cast("Callable[[AnySubject], Iterator[Finding]]", rule.run)


def prefix_path(path: str, finding: Finding) -> Finding:
    """The finding with a path from the model; path: leads from the model to the record that the finding is about."""
    return replace(finding, path=f"{path}.{finding.path}" if finding.path else path)


def describe_call(node: Node, finding: Finding) -> Finding:
    """The finding; if the node is in a function, the message also has the argument types of the call that was checked."""
    function = function_of(node)
    if function is None:
        return finding
    types = ", ".join(str(value.type or "?") for value in function.body.inputs)
    return replace(finding, message=f"{finding.message}, in a call with ({types})")
