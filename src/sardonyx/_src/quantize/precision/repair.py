"""Nodes return to their old element type until the error of each output is within a bound.

Two kinds of nodes are reached.  The own error of a node is what its result adds to the errors of its operands: nodes with large
ones return.  A node that amplifies the errors of its operands, as a logarithm of a number near 1, returns with all that its
operands are computed from.  With all nodes in the old type there is no error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Model, Node, Value
from sardonyx._src.ir.walk import captures, nodes
from sardonyx._src.quantize.calibration import CalibrationData
from sardonyx._src.quantize.precision.change import ChangedModel
from sardonyx._src.quantize.precision.value_errors import ValueErrors, value_errors

FIRST_SHARE = 1 / 16  # of the changed nodes, those with the largest errors of their own: they return first
MOST_AMPLIFIERS = 4  # that return with what they depend on
SHARES = (1 / 4, 1 / 2, 1)  # of the changed nodes that return at last
MOST_UNEQUAL = 0.01  # of the elements of an output that is not of floats


@dataclass(frozen=True, slots=True)
class RepairedModel:
    """A model with the errors of its values.

    misses: the outputs that are not within the bound, since not even the old type inside would help.
    """

    changed: ChangedModel
    errors: ValueErrors
    misses: tuple[str, ...]


def repair(
    original: Model,
    data: CalibrationData,
    bound: float,
    change: Callable[[Mapping[int, str]], ChangedModel],
    progress: Callable[[int, int], None],
) -> RepairedModel:
    """The changed model with as many nodes in the new type as the bound permits, but for the size of the steps.

    bound: the least signal-to-noise ratio of an output, in decibels.
    change: makes a changed model, with reasons for nodes that keep their type.
    """
    changed = change({})
    if not changed.changed:
        return RepairedModel(changed, ValueErrors({}, {}), ())
    errors = value_errors(original, changed.model, data)
    first = RepairedModel(changed, errors, tuple(missed_outputs(original, errors, bound)))
    candidates = Candidates(original, changed.changed, errors)
    forced: set[int] = set()
    steps = 1 + MOST_AMPLIFIERS + len(SHARES)
    for step in range(steps):
        progress(step, steps)
        if not missed_outputs(original, errors, bound):
            return RepairedModel(changed, errors, ())
        returning = candidates.of_step(step, errors, bound) - forced
        if returning:
            forced |= returning
            changed = change(dict.fromkeys(sorted(forced), f"the outputs would not be within {bound:g} dB"))
            errors = value_errors(original, changed.model, data)
    return first if missed_outputs(original, errors, bound) else RepairedModel(changed, errors, ())


class Candidates:
    """The nodes that return in each step.

    order: the positions of changed nodes, those with the largest errors of their own first.
    """

    def __init__(self, model: Model, changed: Sequence[int], errors: ValueErrors) -> None:
        self.nodes = list(nodes(model.graph))
        self.positions: dict[Node, list[int]] = {}  # of a node of the main graph and all inside it
        for position in changed:
            self.positions.setdefault(outer_node(self.nodes[position]), []).append(position)
        self.order = sorted(
            changed, key=lambda position: -own_error(outer_node(self.nodes[position]), errors)
        )

    def of_step(self, step: int, errors: ValueErrors, bound: float) -> set[int]:
        if 0 < step <= MOST_AMPLIFIERS:
            return self.amplifier(errors, bound)
        share = FIRST_SHARE if step == 0 else SHARES[step - MOST_AMPLIFIERS - 1]
        return set(self.order[: math.ceil(share * len(self.order))])

    def amplifier(self, errors: ValueErrors, bound: float) -> set[int]:
        """The first node with a result beyond the bound, and the nodes that it depends on."""
        least = 10 ** (-bound / 10)
        for node in self.nodes:
            if node is outer_node(node) and noise_of(node.outputs, errors) > least:
                return {p for other in ancestors(node) for p in self.positions.get(other, ())}
        return set()


def ancestors(node: Node) -> set[Node]:
    """A node of the main graph, and the nodes of the main graph on which it depends."""
    reached, pending = {node}, [node]
    while pending:
        current = pending.pop()
        captured = [value for graph in current.subgraphs for value in captures(graph)]
        for value in (*current.inputs, *captured):
            if value is not None and value.producer is not None and value.producer not in reached:
                reached.add(value.producer)
                pending.append(value.producer)
    return reached


def missed_outputs(model: Model, errors: ValueErrors, bound: float) -> list[str]:
    """The outputs that are not within the bound."""
    return [
        value.name
        for value in model.graph.outputs
        if not errors.values.get(value.name, math.inf) >= bound
        or errors.unequal.get(value.name, 0.0) > MOST_UNEQUAL
    ]


def own_error(node: Node, errors: ValueErrors) -> float:
    """The noise of the results of a node, less that of its operands; infinite if the results are not finite."""
    after = noise_of(node.outputs, errors)
    return math.inf if math.isinf(after) else after - noise_of(node.inputs, errors)


def outer_node(node: Node) -> Node:
    """The node of the main graph that holds a node."""
    while node.graph is not None and node.graph.parent is not None:
        node = node.graph.parent
    return node


def noise_of(values: Sequence[Value | None], errors: ValueErrors) -> float:
    """The largest ratio of noise and signal among values; 0 for values that are not compared."""
    ratios = [
        errors.values[value.name] for value in values if value is not None and value.name in errors.values
    ]
    return max((math.inf if math.isnan(ratio) else 10 ** (-ratio / 10) for ratio in ratios), default=0.0)
