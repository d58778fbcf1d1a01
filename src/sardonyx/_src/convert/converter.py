"""The conversion of a domain in one scope to another version, node by node and version by version.

A facet is an operator's function for one step between adjacent versions (`Operator.conversions`); its argument is an
adapter, the context in which it replaces one node.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import field

from sardonyx._src.convert.dead_constants import remove_dead_constants
from sardonyx._src.convert.insertion import (
    NodeInsertionPoint,
    copy_description,
    place_result,
    refuse_shadowed,
    undo,
)
from sardonyx._src.convert.kept_nodes import KeptNodes
from sardonyx._src.convert.outline import OUTLINE_DOMAIN, outline_node
from sardonyx._src.convert.signature_check import check_own_version
from sardonyx._src.convert.steps import (
    VersionStep,
    changes_at,
    facet_of,
    has_body_below,
    has_no_signature,
    is_version,
    previous,
    reason_for_no_facet,
)
from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import ConversionError, EvaluationError, InferenceError, InvalidModel
from sardonyx._src.infer.state import InferenceState
from sardonyx._src.ir import Graph, Model, Node, Value
from sardonyx._src.ir.inline import inline
from sardonyx._src.ir.model import FunctionKey
from sardonyx._src.ir.names import FreshNames
from sardonyx._src.ir.parameters import filled_parameters, undecided_defaults
from sardonyx._src.ir.walk import location, nodes
from sardonyx._src.ops.api import OPERAND_ERRORS, ConvertFacet, Operator
from sardonyx._src.ops.bind import schema_of
from sardonyx._src.ops.registry import find
from sardonyx._src.ops.version_adapter import Adapter, Attributes
from sardonyx._src.schema import OpSchema, last_version

# The errors by which facets, inference and bodies reject a node.
CONVERSION_ERRORS = (ConversionError, InferenceError, EvaluationError)


@dataclass(frozen=True, slots=True)
class ImportScope:
    """Graphs that share one import table: the model's own graphs, or the graphs of one function."""

    roots: Sequence[Graph]
    imports: dict[str, int]
    filled: Collection[
        str
    ] = ()  # attribute parameters with a default, so that every call of the function sets them


def bodies_of(model: Model, domain: str | None = None) -> list[ImportScope]:
    """The scopes of a model, its own graphs and each function; with a domain, only those that import it."""
    training = [g for step in model.training for g in (step.initialization, step.algorithm) if g is not None]
    scopes = [ImportScope([model.graph, *training], model.opset_imports)]
    for function in model.functions.values():
        defaults = [default for default in function.attributes.values() if default is not None]
        graphs_of = [function.body, *(graph for default in defaults for graph in default.graphs)]
        scopes.append(ImportScope(graphs_of, function.opset_imports, filled_parameters(function)))
    return [scope for scope in scopes if domain is None or domain in scope.imports]


@dataclass(slots=True)
class Converter:
    """Converts the nodes of one domain in one scope.

    default: the version of ai.onnx to import if it is missing.
    errors: receives the errors of nodes that cannot be converted; None: they are raised.
    origins: for each new node, the node of the original model from which it results.
    referenced_values: the values that are referenced by anything but node inputs.
    rejections: the nodes of the original model that their operators reject, with the reasons.
    shared: the small constants that new nodes of the current step share.
    removed: dead constants, and nodes inside outlined ones.
    kept: the steps that keep nodes as they are.
    facets: the facet of each step so far.
    """

    inference_state: InferenceState
    scope: ImportScope
    domain: str
    default: int
    errors: list[ConversionError] | None
    origins: dict[Node, Node]
    referenced_values: set[Value]
    rejections: Mapping[Node, InferenceError]
    names: FreshNames = field(init=False)
    shared: dict[Hashable, Value] = field(default_factory=dict)
    removed: set[Node] = field(default_factory=set)
    kept: KeptNodes = field(default_factory=KeptNodes)
    facets: dict[VersionStep, ConvertFacet | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.names = FreshNames.of_graphs(self.scope.roots)

    def run(self, target: int) -> None:
        """Convert all nodes of the scope to a version."""
        own_nodes = [n for root in self.scope.roots for n in nodes(root) if self.is_of_domain(n)]
        current = self.scope.imports[self.domain]
        self.kept.add_valid(n for n in own_nodes if n not in self.rejections and is_certainly_inferred(n))
        self.convert_nodes(self.replace_withdrawn(own_nodes, current), current, target)
        self.scope.imports[self.domain] = target

    def replace_withdrawn(self, own_nodes: list[Node], current: int) -> list[Node]:
        """Replace the operators that the imported version no longer has; returns the nodes to convert."""
        result: list[Node] = []
        for node in own_nodes:
            last = last_version(node.domain, node.op_type)
            if last is None or last >= current:
                result.append(node)
            elif node not in self.removed:
                self.shared = {}
                result += self.convert_nodes(self.convert(node, last, last + 1), last + 1, current)
        return result

    @property
    def functions(self) -> Collection[FunctionKey]:
        return self.inference_state.model.functions

    def is_of_domain(self, node: Node) -> bool:
        return node.domain == self.domain and not self.inference_state.function_of(node)

    def convert_nodes(self, pending: list[Node], current: int, target: int) -> list[Node]:
        """Convert nodes from one version to another; returns the nodes that replace them."""
        while current != target:
            following = current + (1 if target > current else -1)
            self.shared = {}
            changing = max(current, following)  # only operators with this version change in the step
            changes: dict[str, bool] = {}  # by operator, since a model has many nodes of few operators
            converted: list[Node] = []
            for node in pending:
                if node in self.removed:
                    continue
                if node.op_type not in changes:
                    changes[node.op_type] = changes_at(node, changing)
                if changes[node.op_type] and not self.kept.is_kept(node, (current, following)):
                    converted += self.convert(node, current, following)
                else:
                    converted.append(node)
            pending, current = converted, following
        return pending

    def convert(self, node: Node, current: int, following: int) -> list[Node]:
        """Convert a node by one opset version."""
        if has_no_signature(node):
            return self.refuse(
                node, "it was withdrawn, and no standard operator replaces it", 1, current, following
            )
        schema = schema_of(node, {node.domain: current})
        if schema.since_version > current:
            return [node]  # the imported opset predates the operator: the node uses its first version already
        step = VersionStep(
            node.domain,
            node.op_type,
            schema.since_version,
            following if following > current and is_version(node, following) else previous(schema),
        )
        try:
            rejection = self.rejections.get(node)
            if rejection is not None and rejection.about != "declaration":
                raise rejection  # another version may accept what this one rejects
            adapter = self.adapter_of(node, schema, following)
        except (InferenceError, InvalidModel) as error:
            return self.refuse(node, error.why, schema.since_version, current, following)
        old_inputs, old_attributes = node.inputs, dict(node.attributes)
        try:
            check_own_version(adapter, schema)
            if not node.subgraphs:
                check_node_types(adapter)
            new_nodes = self.apply(adapter, step, schema)
            self.origins.update((n, adapter.origin) for n in new_nodes if n is not node)
            is_unchanged = node.inputs == old_inputs and node.attributes == old_attributes
            self.kept.record(node, new_nodes, step, (current, following), is_unchanged)
            self.removed.update(remove_dead_constants(old_inputs, self.referenced_values))
            for n in new_nodes:
                self.scope.imports.setdefault(n.domain, adapter.imports[n.domain])
            return [n for n in new_nodes if n.domain == self.domain]
        except CONVERSION_ERRORS as error:
            refused = error if isinstance(error, ConversionError) else adapter.refusal(error.why)
            undo(adapter)
            if self.errors is None:
                raise refused from None
            self.errors.append(refused)
            self.outline_node(node, current)
            return []

    def refuse(self, node: Node, why: str, version: int, current: int, following: int) -> list[Node]:
        """Refuse a node that cannot be converted at all, since its operator was withdrawn or the node is invalid."""
        refused = ConversionError(
            why,
            domain=node.domain,
            op_type=node.op_type,
            version=version,
            target=following,
            location=location(self.origins.get(node, node)),
        )
        if self.errors is None:
            raise refused
        self.errors.append(refused)
        self.outline_node(node, current)
        return []

    def outline_node(self, node: Node, version: int) -> None:
        """Keep a node, subgraphs included, in its version, outlined into a function."""
        self.removed.update(n for graph in node.subgraphs for n in nodes(graph))
        outline_node(
            self.inference_state.model, node, {**self.scope.imports, node.domain: version}, self.names
        )
        self.scope.imports.setdefault(OUTLINE_DOMAIN, 1)

    def apply(self, adapter: Adapter, step: VersionStep, schema: OpSchema) -> list[Node]:
        """Perform a step by its facet or else, downwards, by the operator's body; returns the new nodes."""
        op = find(step.domain, step.name)
        assert op is not None, f"{step.name} has schemas but no definition"
        if step not in self.facets:
            self.facets[step] = facet_of(op, step)
        facet = self.facets[step]
        has_body = not step.is_up and has_body_below(op, step.old)
        if facet is not None:
            try:
                return place_result(adapter, facet(adapter), schema, self.names, self.functions)
            except CONVERSION_ERRORS:
                if not has_body:
                    raise
                undo(adapter)
        if not has_body:
            adapter.refuse(reason_for_no_facet(step))
        return self.expand_body(adapter, op)

    def expand_body(self, adapter: Adapter, op: Operator) -> list[Node]:
        """Replace the node by its operator's body, converted to the target version."""
        # Lazy: few operators are replaced by their bodies, whose texts need a parser.
        from sardonyx._src.ops.function_bodies import body_of

        check_node_types(adapter)
        function = body_of(op, adapter.inference)
        assert function is not None, f"{op.name}-{adapter.inference.version} must have a body"
        for name in undecided_defaults(adapter.node, function, self.scope.filled):
            adapter.refuse_parameter(name)
        for node in nodes(function.body):
            refuse_shadowed(adapter, node.domain, node.op_type, self.functions)
        inlined = inline(adapter.node, function, self.names)
        start = function.opset_imports[""]
        insertion = NodeInsertionPoint(
            self.names, self.inference_state.elements, {**adapter.imports, "": start}, self.functions
        )
        for node in inlined:
            insertion.record_node(node)
        inner = [n for node in inlined for graph in node.subgraphs for n in nodes(graph)]
        self.origins.update((n, adapter.origin) for n in inlined + inner)
        copy_description(inlined[-1], adapter.node, inlined)
        return self.convert_nodes(
            [n for n in inlined + inner if n.domain == self.domain], start, adapter.target
        )

    def adapter_of(self, node: Node, schema: OpSchema, target: int) -> Adapter:
        """The adapter context that a facet receives."""
        imports = {"": self.default, **self.scope.imports, self.domain: target}
        insertion = NodeInsertionPoint(
            self.names, self.inference_state.elements, imports, self.functions, self.shared
        )
        origin = self.origins.get(node, node)
        inference = insertion.inference(node, schema)
        adapter = Adapter(node, inference, origin, target, imports, insertion, self.scope.filled)
        references = {a.name for a in node.attributes.values() if a.ref}
        adapter.inference.attributes = Attributes(adapter.inference.attributes, references, adapter.refuse)
        return adapter


def is_certainly_inferred(node: Node) -> bool:
    """Whether inference has visited a node: those of functions and subgraphs may be unreachable."""
    graph = node.graph
    return graph is not None and graph.parent is None and graph.function is None


def check_node_types(adapter: Adapter) -> None:
    """Raise InferenceError for a node that is invalid in its own version, which another version or a body might accept."""
    op = find(adapter.node.domain, adapter.node.op_type)
    infer = None if op is None else op.infers.get(adapter.inference.version)
    if infer is None or any(a.ref for a in adapter.node.attributes.values()):
        return
    try:
        infer(adapter.inference)
    except OPERAND_ERRORS as error:
        raise InferenceError(str(error)) from error
