"""Finds the constants that hold an old size, and puts the new one in their place."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sardonyx._src.errors import InferenceError
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.graph import Attribute as NodeAttribute
from sardonyx._src.ir.graph import Graph, Model, Node, Note, Value
from sardonyx._src.ir.tensors import Tensor
from sardonyx._src.ir.walk import location, nodes
from sardonyx._src.rewrite.tools.calls import main_graphs
from sardonyx._src.rewrite.tools.reach import reads
from sardonyx._src.rewrite.tools.set_dims.answers import Attribute, Doubt, Repair, Sizes, Spread
from sardonyx._src.rewrite.tools.set_dims.constants import Constants, entries, tensor_of
from sardonyx._src.rewrite.tools.set_dims.guesses import MOST_TRIALS, guesses
from sardonyx._src.rewrite.tools.set_dims.probe import Probe
from sardonyx._src.rewrite.tools.set_dims.requests import Change
from sardonyx._src.rewrite.tools.set_dims.rules import RULES
from sardonyx._src.rewrite.tools.set_dims.sizes import Computed


def repair(model: Model, changes: Sequence[Change], *, guess: bool) -> list[Note]:
    """Changes axes that have one old size to one new size, and with them the constants that hold it.

    What was changed stands on the model's notes; what could not be decided is handed out.  Raises InferenceError
    where a new variable contradicts the model.  `guess`: whether to try further constants where it contradicts itself.
    """
    repairs = Repairs(model, changes)
    repairs.settle()
    errors = repairs.probe.infer()
    if guess:
        errors = repairs.try_guesses(errors)
    doubts = repairs.undecided()
    new = changes[0].new
    if errors and not isinstance(new, int):
        why = re.sub("[0-9]+", lambda number: repairs.size(int(number[0])), errors[0].why)
        before = f" (before: {doubts[0]})" if doubts else ""
        what = f"with {new} in the place of {repairs.probe.old}: {why}{before}"
        raise InferenceError(what, location=errors[0].location)
    repairs.finish()
    return doubts


class Repairs:
    """The repairs so far, with the prime in the place of the new size."""

    def __init__(self, model: Model, changes: Sequence[Change]) -> None:
        self.model = model
        self.new = changes[0].new
        self.probe = Probe(model, changes)
        self.constants = Constants(model)
        self.made: dict[tuple[Node, int | str], tuple[int, ...]] = {}
        self.said: dict[Node, str] = {}
        self.doubts: dict[Node, str] = {}

    def settle(self) -> None:
        """Repairs what the rules find, until they find nothing more.

        A pass leaves alone what depends on a node that it has repaired: its sizes are not yet known.
        """
        while True:
            self.probe.infer()
            stale: set[Value] = set()
            for root in main_graphs(self.model):
                self.walk(root, stale)
            if not stale:
                return

    def walk(self, graph: Graph, stale: set[Value]) -> bool:
        """Repairs nodes of the graph and of those inside it; `stale` are values of unknown sizes."""
        found = False
        for node in list(graph.nodes):
            is_stale = any(value in stale for value in reads(node))
            if not is_stale:
                is_stale = self.look(node)
                for inner in node.subgraphs:
                    is_stale = self.walk(inner, stale) or is_stale
                found = found or is_stale
            if is_stale:
                stale.update(node.outputs)
        return found

    def look(self, node: Node) -> bool:
        """Repairs what the rule of a node's operator finds; whether there was something."""
        rule = RULES.get(node.op_type) if not node.domain else None
        if rule is None or any(made is node for made, _ in self.made):
            return False
        self.doubts.pop(node, None)
        changed = False
        for answer in list(rule(node, self.probe)):
            if isinstance(answer, Doubt):
                self.doubts[node] = answer.why
            else:
                changed = self.apply(answer) or changed
        return changed

    def apply(self, repair: Repair) -> bool:
        match repair:
            case Sizes(node, slot, numbers, remark):
                self.say(node, entries(node.inputs[slot], self.model), numbers, remark)
                self.constants.replace(node, slot, numbers)
                self.made[node, slot] = numbers
            case Attribute(node, name, numbers, remark):
                self.say(node, node.attributes[name].value, numbers, remark)
                node.set_attribute(NodeAttribute(name, AttributeType.INTS, numbers))
                self.made[node, name] = numbers
            case Spread(node, slot, axis):
                return self.spread(node, slot, axis)
        return True

    def spread(self, node: Node, slot: int, axis: int) -> bool:
        """Puts an Expand behind a constant whose parts along an axis are all alike; whether they are."""
        value = node.inputs[slot]
        tensor = tensor_of(value, self.model)
        assert value is not None and tensor is not None and node.graph is not None, "a rule has looked"
        array = tensor.numpy()
        one = np.take(array, [0], axis) if tensor.shape[axis] else array
        if self.model.opset_imports.get("", 0) < 8 or not (array == one).all():
            self.doubts[node] = (
                f"input {slot} is a constant with parts of its own for each place on axis {axis}"
            )
            return False
        part = self.constants.tensor(Tensor.of(one, tensor.dtype), value.name)
        sizes = tuple(self.probe.prime if i == axis else 1 for i in range(len(tensor.shape)))
        name = self.constants.names.fresh(f"{value.name}_expanded")
        made = Node("Expand", [part, self.constants.vector(sizes, f"{name}_shape")], [Value(name)])
        node.graph.insert_before(node, made)
        node.set_input(slot, made.outputs[0])
        self.constants.drop(value)
        self.made[made, 1] = sizes
        told = f"input {slot}, a constant, is repeated along axis {axis}"
        self.said[node] = f"{self.said[node]}; {told}" if node in self.said else told
        return True

    def say(self, node: Node, old: object, new: Sequence[int], remark: str) -> None:
        before = list(old) if isinstance(old, tuple) else old
        self.said[node] = f"{before} -> {self.told(new)}{remark and f' ({remark})'}"

    def told(self, numbers: Sequence[int]) -> str:
        """Sizes as the caller knows them."""
        return f"[{', '.join(map(self.size, numbers))}]"

    def size(self, number: int) -> str:
        times, rest = divmod(number, self.probe.prime)
        if rest or number <= 0:
            return str(number)
        if isinstance(self.new, int):
            return str(times * self.new)
        return str(self.new) if times == 1 else f"{times}*{self.new}"

    def try_guesses(self, errors: list[InferenceError]) -> list[InferenceError]:
        """Takes up, node after node, the guess with which the model contradicts itself least, if that is less."""
        trials = 0
        for node in [node for root in main_graphs(self.model) for node in nodes(root)]:
            found = [g for g in guesses(node, self.probe) if (node, g.slot) not in self.made]
            trials += len(found)
            if not errors or trials > MOST_TRIALS:
                break
            counts = [self.errors_with(guess) for guess in found]
            least = min(counts, default=len(errors))
            if least < len(errors):
                best = [guess for guess, count in zip(found, counts, strict=True) if count == least]
                others = f"; {len(best) - 1} other entries would do as well" if len(best) > 1 else ""
                self.apply(replace(best[0], remark=f"without, the model contradicts itself{others}"))
                self.doubts.pop(node, None)
                self.settle()
                errors = self.probe.infer()
        return errors

    def errors_with(self, guess: Sizes) -> int:
        """How often the model contradicts itself with a guess."""
        before = guess.node.inputs[guess.slot]
        trial = self.constants.vector(guess.entries, "trial")
        guess.node.set_input(guess.slot, trial)
        count = len(self.probe.infer())
        guess.node.set_input(guess.slot, before)
        self.constants.drop(trial)
        return count

    def finish(self) -> None:
        """Puts the new size in the place of the prime, and notes what was done and what was not."""
        computed = Computed(self.model, self.constants, self.probe)
        for (node, place), numbers in self.made.items():
            if isinstance(place, int):
                computed.put(node, place, numbers)
            elif numbers:
                self.put_attribute(node, place, numbers)
        left = self.outputs_left()
        self.probe.finish()
        self.model.notes += [*(Note(location(node), text) for node, text in self.said.items()), *left]

    def undecided(self) -> list[Note]:
        """What the rules could not tell."""
        what = f"whether a constant holds the old size {self.probe.old} cannot be decided"
        doubts = self.doubts.items()
        return [Note(location(node), f"{what}: {why}") for node, why in doubts if node not in self.said]

    def outputs_left(self) -> list[Note]:
        """Outputs that are computed from what has changed, and no size of which follows."""
        what = f"is computed from what has changed from {self.probe.old}, and no size of it follows"
        found = []
        for value in self.model.graph.outputs:
            shape = self.probe.shape(value)
            is_known = value in self.probe.reached and shape is not None and None not in shape
            if is_known and not any(map(self.probe.follows, shape or ())):
                found.append(Note(f"output {value.name!r}", what))
        return found

    def put_attribute(self, node: Node, name: str, numbers: Sequence[int]) -> None:
        prime, new = self.probe.prime, self.new
        followers = [i for i, n in enumerate(numbers) if self.probe.follows(n)]
        if isinstance(new, int):
            final = [n // prime * new if i in followers else n for i, n in enumerate(numbers)]
        elif len(followers) == 1 and -1 not in numbers:
            final = [-1 if i in followers else n for i, n in enumerate(numbers)]
        else:
            what = f"attribute {name} {self.told(numbers)} cannot hold the variable {new}"
            raise InferenceError(f"{what}; convert the model to opset 5 or later", location=location(node))
        node.set_attribute(NodeAttribute(name, AttributeType.INTS, tuple(final)))
