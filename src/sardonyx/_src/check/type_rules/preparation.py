"""Preparation of a model for type inference: finding the part of it that is sound, and normalization of types."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from sardonyx._src.check.engine.findings import LocatedFinding
from sardonyx._src.check.type_rules.node_paths import NodePaths
from sardonyx._src.ir import Model, OptionalType, SequenceType, SparseTensorType, TensorType, Type, Value
from sardonyx._src.ir.types import with_opaque_domain
from sardonyx._src.ir.walk import nodes, roots

OUTSIDE_GRAPHS = ("SX01", "SX02", "SX5", "SX9")  # code prefixes of rules that do not concern graphs
MOVES_NODES = {
    "SX111",
    "SX112",
    "SX115",
}  # after violations of these, loading sorts or adds nodes, so that paths differ
NODE_PATH = re.compile(r"(?:.*\.)?node\[\d+\]")


def broken_nodes(findings: Iterable[LocatedFinding]) -> frozenset[str] | None:
    """The paths of nodes with an error; None if an error lies outside nodes, so that types cannot be checked at all."""
    paths = set()
    for located in findings:
        severity = located.finding.severity or located.rule.severity
        if severity != "error" or located.rule.code.startswith(OUTSIDE_GRAPHS):
            continue
        node = NODE_PATH.match(path_of(located))
        if node is None or located.rule.code in MOVES_NODES:
            return None
        paths.add(node[0])
    return frozenset(paths)


def path_of(located: LocatedFinding) -> str:
    """The path of a finding from the document."""
    steps = [
        f"{p.field.name}[{p.index}]" if p.field.repeated else p.field.name
        for p in located.record_path.ancestors()
        if p.field is not None
    ]
    return ".".join([*reversed(steps), *([located.finding.path] if located.finding.path else [])])


def erase_operators(model: Model, paths: NodePaths, broken: frozenset[str]) -> None:
    """Removes the operators of broken nodes, so that their output types are unknown."""
    if broken:
        for node in [node for root in roots(model) for node in nodes(root)]:
            if paths.of(node) in broken:
                node.domain, node.op_type = "", ""


def normalize_types(model: Model) -> None:
    """Replaces sparse types by dense ones, and completes opaque types without a domain."""
    stack = list(roots(model))
    while stack:
        graph = stack.pop()
        for value in (*graph.inputs, *graph.initializers.values(), *graph.outputs):
            normalize_value(value, model.domain)
        has_value_info = graph.declarations is not None  # if not, only inputs and outputs have types
        for node in graph.nodes:
            if has_value_info:
                for value in node.outputs:
                    normalize_value(value, model.domain)
            if node.attributes:
                stack += node.subgraphs


def normalize_value(value: Value, domain: str) -> None:
    if value.type is not None and type(value.type) is not TensorType:
        value.type = with_opaque_domain(dense(value.type), domain)


def dense(type_: Type) -> Type:
    match type_:
        case SparseTensorType():
            return TensorType(
                type_.dtype, type_.shape, type_.denotation, type_.dim_denotations, type_.dim_placeholders
            )
        case SequenceType() | OptionalType() if type_.elem is not None:
            return replace(type_, elem=dense(type_.elem))
    return type_
