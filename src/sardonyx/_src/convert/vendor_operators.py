"""Vendors' operators in a model, which their bodies, defined by standard operators, can replace."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from sardonyx._src.ir import Graph, Model, Node
from sardonyx._src.ir.walk import nodes
from sardonyx._src.ops.registry import find
from sardonyx._src.schema import domains, is_vendor_operator, versions

OperatorName = tuple[str, str]  # domain and name
CLASSICAL_DOMAIN = "ai.onnx.ml"  # operators of classical machine learning


def vendor_operators(model: Model) -> set[OperatorName]:
    """Domain and name of the operators that a model uses and the imported version of ai.onnx does not have.

    They are vendors' operators, operators that the caller has defined with a body, and operators of ai.onnx that are newer
    than the import, which onnxruntime's optimizer writes.
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
    """The model's own graphs, and the body of each function, with their operator-set imports."""
    training = [g for step in model.training for g in (step.initialization, step.algorithm) if g is not None]
    yield [model.graph, *training], model.opset_imports
    for function in model.functions.values():
        yield [function.body], function.opset_imports


def is_foreign(node: Node, imports: Mapping[str, int]) -> bool:
    """Whether a node's operator is a vendor's, defined by the caller with a body, or newer than the imported ai.onnx."""
    if is_vendor_operator(node.domain, node.op_type):
        return True
    if node.domain not in domains():
        return has_body(node)
    if node.domain or (imported := imports.get("")) is None:
        return False
    known = versions("", node.op_type)
    return bool(known) and imported < known[0]


def replaced_domains(versions_by_domain: Iterable[tuple[str, int]]) -> set[str]:
    """The domains of vendors and callers for which 0 is requested, so that the conversion replaces their operators."""
    return {domain for domain, version in versions_by_domain if domain not in domains() and version == 0}
