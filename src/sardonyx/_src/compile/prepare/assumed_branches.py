"""Branches that a program is specialized for: the conditions of Ifs become constants, and additional outputs that a run checks."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from sardonyx._src.compile.prepare.outlining import constant_elements
from sardonyx._src.compile.program.steps.assumptions import THEN_BRANCH, Assumption, BranchTaken
from sardonyx._src.errors import InvalidModel
from sardonyx._src.ir import Graph, Model, Node, Tensor, TensorType, Value
from sardonyx._src.ir.names import FreshNames


def assume_branches(model: Model, assumptions: Iterable[Assumption]) -> dict[str, BranchTaken]:
    """Replaces the conditions of Ifs by constants; returns the outputs that are added for the conditions, by name.

    Raises InvalidModel if the model has no such If.
    """
    names = FreshNames.of_graphs([model.graph])
    taken: dict[str, BranchTaken] = {}
    for assumption in sorted(a for a in assumptions if isinstance(a, BranchTaken)):
        node = find_branching(model.graph, assumption.output)
        condition = node.inputs[0]
        assert condition is not None, f"{node!r} must have a condition"
        name = names.fresh(f"condition of {assumption.output}")
        copy = Node("Identity", [condition], [Value(name)], name=names.fresh(name))
        model.graph.insert_before(node, copy)
        model.graph.outputs.append(copy.outputs[0])
        tensor = Tensor.of(np.array(assumption.is_then))
        constant = Value(names.fresh(f"{name} is"), TensorType(tensor.dtype, ()), tensor)
        node.set_input(0, model.graph.add_initializer(constant))
        taken[name] = assumption
    return taken


def drop_known_conditions(model: Model, taken: dict[str, BranchTaken]) -> None:
    """Removes the additional outputs of conditions that have become constants, as conditions on ranks do.

    taken: the result of `assume_branches`, from which these conditions are removed, too.

    Raises InvalidModel for an assumption that no run satisfies.
    """
    for value in [value for value in model.graph.outputs if value.name in taken]:
        elements = constant_elements(value)
        if elements is not None:
            if bool(elements.all()) is not taken[value.name].is_then:
                raise InvalidModel(f"no run has this condition: {taken[value.name]}")
            del taken[value.name]
            model.graph.outputs.remove(value)
            if value.producer is not None and not value.uses:
                model.graph.remove(value.producer)


def find_branching(graph: Graph, output: str) -> Node:
    """The If whose first output has this name."""
    for node in graph.nodes:
        if THEN_BRANCH in node.attributes and node.outputs and node.outputs[0].name == output:
            return node
    raise InvalidModel(f"the prepared model must have an If with the output {output!r}")
