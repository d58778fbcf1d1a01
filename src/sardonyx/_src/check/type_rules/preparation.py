"""Preparation of a model for type inference: which part of it is sound, and normalization of types."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from sardonyx._src.check.engine.findings import LocatedFinding
from sardonyx._src.check.type_rules.node_paths import NodePaths
from sardonyx._src.ir.dims import symbol
from sardonyx._src.ir.model import Model
from sardonyx._src.ir.types import OptionalType, SequenceType, SparseTensorType, TensorType, Type
from sardonyx._src.ir.walk import graphs, nodes, roots, values

OUTSIDE_GRAPHS = ("SX01", "SX02", "SX5", "SX9")  # code prefixes of rules that do not concern graphs
MOVES_NODES = {"SX111", "SX112", "SX115"}  # loading such a model sorts or adds nodes, which breaks paths
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


STAR = symbol("*")  # any number of dimensions, up to IR version 3


def densify(model: Model) -> None:
    """Replaces sparse types by dense ones and, up to IR version 3, shapes with a "*" by unknown ones."""
    has_stars = model.ir_version <= 3
    for root in roots(model):
        for graph in graphs(root):
            for value in values(graph):
                if value.type is not None and (has_stars or type(value.type) is not TensorType):
                    value.type = dense(value.type, has_stars=has_stars)


def dense(type_: Type, *, has_stars: bool) -> Type:
    match type_:
        case TensorType() | SparseTensorType():
            if has_stars and type_.shape is not None and STAR in type_.shape:
                return TensorType(type_.dtype, None, type_.denotation)
            if isinstance(type_, SparseTensorType):
                return TensorType(type_.dtype, type_.shape, type_.denotation, type_.dim_denotations)
        case SequenceType() | OptionalType() if type_.elem is not None:
            return replace(type_, elem=dense(type_.elem, has_stars=has_stars))
    return type_
