"""Operators of one session: definitions by callers that other sessions of the process do not see.

The nodes of such an operator are moved to a domain of its own, whose name ends in a number that identifies the definition.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count
from weakref import WeakKeyDictionary

from sardonyx._src.arguments import items_of
from sardonyx._src.build.own_operators import DEFINITIONS, OwnOperator, register_definition
from sardonyx._src.errors import InputError
from sardonyx._src.ir import Graph, Model
from sardonyx._src.ir.model import clone
from sardonyx._src.ir.walk import nodes

Functions = Sequence[Callable[..., object]]
PRIVATE_DOMAINS: WeakKeyDictionary[Callable[..., object], str] = WeakKeyDictionary()
NUMBERS = count(1)


def definitions_of(operators: Functions) -> list[OwnOperator]:
    """The definitions of functions that `sx.operator` has decorated; raises InputError for any other function."""
    result = []
    for function in items_of("operators", operators, object, "functions that sx.operator decorates"):
        definition = DEFINITIONS.get(function) if callable(function) else None
        if definition is None:
            raise InputError(
                f"operators must be functions that sx.operator decorates; got {function!r}", name="operators"
            )
        result.append(definition)
    return result


def with_operators(model: Model, operators: Functions) -> Model:
    """A copy of the model in which nodes of these operators refer to these definitions, whatever else is registered."""
    result = clone(model)
    domains = {(d.schema.domain, d.schema.name): (private_domain(d), d) for d in definitions_of(operators)}
    training = [graph for step in result.training for graph in (step.initialization, step.algorithm)]
    graphs = [result.graph, *(graph for graph in training if graph is not None)]
    scopes: list[tuple[Graph, dict[str, int]]] = [(graph, result.opset_imports) for graph in graphs]
    scopes += [(function.body, function.opset_imports) for function in result.functions.values()]
    for graph, imports in scopes:
        for node in nodes(graph):
            key = (node.domain, node.op_type)
            if key in domains and (*key, node.overload) not in result.functions:
                node.domain, definition = domains[key]
                imports[node.domain] = definition.schema.since_version
    return result


def private_domain(definition: OwnOperator) -> str:
    """The domain of a definition, under which it is registered at its first use."""
    domain = PRIVATE_DOMAINS.get(definition.function)
    if domain is None:
        domain = f"{definition.schema.domain}@{next(NUMBERS)}"
        PRIVATE_DOMAINS[definition.function] = domain
        register_definition(replace(definition, schema=replace(definition.schema, domain=domain)))
    return domain
