"""Replacement of vendors' operators by their bodies in standard operators."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from sardonyx._src.errors import ConversionError, EvaluationError, InferenceError
from sardonyx._src.ir.graph import Graph, Node
from sardonyx._src.ir.model import Model
from sardonyx._src.ir.walk import nodes
from sardonyx._src.ops.bind import schema_of
from sardonyx._src.ops.registry import find
from sardonyx._src.schema import domains, is_vendor_operator, versions

if TYPE_CHECKING:
    from sardonyx._src.convert.converter import Converter

OperatorName = tuple[str, str]  # domain and name
CLASSICAL_DOMAIN = "ai.onnx.ml"


def vendor_operators(model: Model) -> set[OperatorName]:
    """Domain and name of the operators that a model uses and the imported version of ai.onnx does not have.

    They are those of vendors, those of callers that have bodies, and operators of ai.onnx that are newer than the import, which onnxruntime's optimiser writes.
    """
    return {
        (node.domain, node.op_type)
        for graphs, imports in scopes_of(model)
        for graph in graphs
        for node in nodes(graph)
        if is_foreign(node, imports) and (node.domain, node.op_type, node.overload) not in model.functions
    }


def classical_operators(model: Model) -> set[OperatorName]:
    """Domain and name of the operators of ai.onnx.ml that a model uses and that have a body."""
    return {
        (node.domain, node.op_type)
        for graphs, _ in scopes_of(model)
        for graph in graphs
        for node in nodes(graph)
        if node.domain == CLASSICAL_DOMAIN and has_body(node)
    }


def has_body(node: Node) -> bool:
    """Whether an operator has a body in some version."""
    op = find(node.domain, node.op_type)
    return op is not None and bool(op.bodies)


def scopes_of(model: Model) -> Iterator[tuple[Sequence[Graph], Mapping[str, int]]]:
    """The model's own graphs, and the body of each function, with what they import."""
    training = [g for step in model.training for g in (step.initialization, step.algorithm) if g is not None]
    yield [model.graph, *training], model.opset_imports
    for function in model.functions.values():
        yield [function.body], function.opset_imports


def is_foreign(node: Node, imports: Mapping[str, int]) -> bool:
    """Whether a node's operator is a vendor's, a caller's with a body, or newer than the imported version of ai.onnx."""
    if is_vendor_operator(node.domain, node.op_type):
        return True
    if node.domain not in domains():
        return has_body(node)
    if node.domain or (imported := imports.get("")) is None:
        return False
    known = versions("", node.op_type)
    return bool(known) and imported < known[0]


def replace_operators(converter: Converter, selected: Collection[OperatorName], *, target: int) -> None:
    """Replace the selected operators in the converter's scope by their bodies, in a version of ai.onnx.

    An operator that has no body, or none for the types of its inputs, is refused: ConversionError is raised, or appended to
    the converter's errors, and the node stays.
    """
    scope = converter.scope
    calls = [n for root in scope.roots for n in nodes(root) if is_selected(n, selected, converter)]
    for node in calls:
        scope.imports.setdefault("", target)
        replace_node(converter, node, scope.imports[""])
    used = {node.domain for root in scope.roots for node in nodes(root)}
    for domain in {node_domain for node_domain, _ in selected} - used - {""}:
        scope.imports.pop(domain, None)


def is_selected(node: Node, selected: Collection[OperatorName], converter: Converter) -> bool:
    is_call = (node.domain, node.op_type, node.overload) in converter.functions
    is_replaceable = node.domain == CLASSICAL_DOMAIN or is_foreign(node, converter.scope.imports)
    return (node.domain, node.op_type) in selected and is_replaceable and not is_call


def replace_node(converter: Converter, node: Node, target: int) -> None:
    schema = schema_of(node, converter.scope.imports)
    op = find(node.domain, node.op_type)
    adapter = converter.adapter_of(node, schema, target)
    try:
        if rejection := converter.rejections.get(node):  # the body might accept it
            adapter.refuse(f"it is invalid in its own version: {rejection.why}")
        if op is None or schema.since_version not in op.bodies:
            adapter.refuse("no function of standard operators computes it")
        converter.shared = {}
        converter.expand_body(adapter, op)
    except (ConversionError, InferenceError, EvaluationError) as error:
        refused = error if isinstance(error, ConversionError) else adapter.refusal(error.why)
        if converter.errors is None:
            raise refused from None
        converter.errors.append(refused)


def replaced_domains(versions_by_domain: Iterable[tuple[str, int]]) -> set[str]:
    """The domains of vendors and callers whose operators a conversion replaces: those with version 0 as target."""
    return {domain for domain, version in versions_by_domain if domain not in domains() and version == 0}
