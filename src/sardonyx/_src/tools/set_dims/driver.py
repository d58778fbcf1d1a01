"""The repair loop: find the constants that hold an old size, and replace it.

While repairs are searched, a prime stands for the new size (`probe.py`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sardonyx._src.errors import InferenceError
from sardonyx._src.ir import Attribute, Graph, Model, Node, Tensor, Value
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.model import Note
from sardonyx._src.ir.walk import location, nodes
from sardonyx._src.tools.calls import main_graphs
from sardonyx._src.tools.reachability import operands_of
from sardonyx._src.tools.set_dims.candidates import MAX_TRIALS, candidate_repairs
from sardonyx._src.tools.set_dims.constants import ConstantEditor, constant_sizes, tensor_of
from sardonyx._src.tools.set_dims.probe import Probe
from sardonyx._src.tools.set_dims.repairs import (
    AttributeRepair,
    ExpandRepair,
    InputRepair,
    Repair,
    Unresolved,
)
from sardonyx._src.tools.set_dims.requests import AxisChange
from sardonyx._src.tools.set_dims.rules import rule_of
from sardonyx._src.tools.set_dims.size_vectors import SizeVectors


def repair(model: Model, changes: Sequence[AxisChange], *, guess: bool) -> list[Note]:
    """Change axes from one old size to one new size, and repair the constants that hold the old size.

    Repairs are listed in the model's notes; unresolved questions are returned.  Raises InferenceError if a new variable
    contradicts the model.  `guess`: whether to try candidate repairs if the model is inconsistent.
    """
    repairs = RepairDriver(model, changes)
    repairs.run_rules()
    errors = repairs.probe.infer()
    if guess:
        errors = repairs.try_candidates(errors)
    unresolved = repairs.unresolved_notes()
    new = changes[0].new
    if errors and not isinstance(new, int):
        why = re.sub("[0-9]+", lambda number: repairs.size_text(int(number[0])), errors[0].why)
        before = f" (before: {unresolved[0]})" if unresolved else ""
        what = f"with {new} instead of {repairs.probe.old}: {why}{before}"
        raise InferenceError(what, location=errors[0].location)
    repairs.replace_prime()
    return unresolved


class RepairDriver:
    """Repairs a model in which a prime stands for the new size."""

    def __init__(self, model: Model, changes: Sequence[AxisChange]) -> None:
        self.model = model
        self.new = changes[0].new
        self.probe = Probe(model, changes)
        self.constants = ConstantEditor(model)
        self.repaired: dict[tuple[Node, int | str], tuple[int, ...]] = {}
        self.messages: dict[Node, str] = {}
        self.unresolved: dict[Node, str] = {}

    def run_rules(self) -> None:
        """Apply the rules to a fixpoint.

        A traversal skips all nodes that depend on a node that it has repaired: their shapes must be inferred again first.
        """
        while True:
            self.probe.infer()
            stale: set[Value] = set()
            for root in main_graphs(self.model):
                self.walk(root, stale)
            if not stale:
                return

    def walk(self, graph: Graph, stale: set[Value]) -> bool:
        """Repair the nodes of a graph and its subgraphs; `stale`: values whose shapes must be inferred again."""
        changed = False
        for node in list(graph.nodes):
            is_stale = any(value in stale for value in operands_of(node))
            if not is_stale:
                is_stale = self.repair_node(node)
                for inner in node.subgraphs:
                    is_stale = self.walk(inner, stale) or is_stale
                changed = changed or is_stale
            if is_stale:
                stale.update(node.outputs)
        return changed

    def repair_node(self, node: Node) -> bool:
        """Apply the rule of a node's operator; returns whether the node changed."""
        rule = rule_of(node)
        if rule is None or any(repaired is node for repaired, _ in self.repaired):
            return False
        self.unresolved.pop(node, None)
        changed = False
        for result in list(rule(node, self.probe)):
            if isinstance(result, Unresolved):
                self.unresolved[node] = result.why
            else:
                changed = self.apply(result) or changed
        return changed

    def apply(self, repair: Repair) -> bool:
        match repair:
            case InputRepair(node, slot, numbers, remark):
                self.add_message(node, constant_sizes(node.inputs[slot], self.model), numbers, remark)
                self.constants.replace(node, slot, numbers)
                self.repaired[node, slot] = numbers
            case AttributeRepair(node, name, numbers, remark):
                self.add_message(node, node.attributes[name].value, numbers, remark)
                node.set_attribute(Attribute(name, AttributeType.INTS, numbers))
                self.repaired[node, name] = numbers
            case ExpandRepair(node, slot, axis):
                return self.insert_expand(node, slot, axis)
        return True

    def insert_expand(self, node: Node, slot: int, axis: int) -> bool:
        """Replace a constant that is uniform along an axis by one slice and an Expand; returns whether it is uniform."""
        value = node.inputs[slot]
        tensor = tensor_of(value, self.model)
        assert value is not None and tensor is not None and node.graph is not None, "checked by the rule"
        array = tensor.numpy()
        first_part = np.take(array, [0], axis) if tensor.shape[axis] else array
        if self.model.opset_imports.get("", 0) < 8 or not (array == first_part).all():
            self.unresolved[node] = f"input {slot} is a constant that varies along axis {axis}"
            return False
        part = self.constants.tensor(Tensor.of(first_part, tensor.dtype), value.name)
        sizes = tuple(self.probe.prime if i == axis else 1 for i in range(len(tensor.shape)))
        name = self.constants.names.fresh(f"{value.name}_expanded")
        expand = Node("Expand", [part, self.constants.vector(sizes, f"{name}_shape")], [Value(name)])
        node.graph.insert_before(node, expand)
        node.set_input(slot, expand.outputs[0])
        self.constants.drop(value)
        self.repaired[expand, 1] = sizes
        message = f"input {slot}, a constant, is expanded along axis {axis}"
        self.messages[node] = f"{self.messages[node]}; {message}" if node in self.messages else message
        return True

    def add_message(self, node: Node, old: object, new: Sequence[int], remark: str) -> None:
        before = list(old) if isinstance(old, tuple) else old
        self.messages[node] = f"{before} -> {self.sizes_text(new)}{remark and f' ({remark})'}"

    def sizes_text(self, numbers: Sequence[int]) -> str:
        """A list of sizes, in terms of the new size."""
        return f"[{', '.join(map(self.size_text, numbers))}]"

    def size_text(self, number: int) -> str:
        """A size, in terms of the new size."""
        times, rest = divmod(number, self.probe.prime)
        if rest or number <= 0:
            return str(number)
        if isinstance(self.new, int):
            return str(times * self.new)
        return str(self.new) if times == 1 else f"{times}*{self.new}"

    def try_candidates(self, errors: Sequence[InferenceError]) -> Sequence[InferenceError]:
        """Apply to each node the candidate that leaves the fewest inference errors, if it reduces their number."""
        trials = 0
        for node in [node for root in main_graphs(self.model) for node in nodes(root)]:
            candidates = [
                g for g in candidate_repairs(node, self.probe) if (node, g.slot) not in self.repaired
            ]
            trials += len(candidates)
            if not errors or trials > MAX_TRIALS:
                break
            counts = [self.errors_with(guess) for guess in candidates]
            fewest = min(counts, default=len(errors))
            if fewest < len(errors):
                best = [guess for guess, count in zip(candidates, counts, strict=True) if count == fewest]
                others = f"; {len(best) - 1} other entries would too" if len(best) > 1 else ""
                self.apply(replace(best[0], remark=f"otherwise the model is inconsistent{others}"))
                self.unresolved.pop(node, None)
                self.run_rules()
                errors = self.probe.infer()
        return errors

    def errors_with(self, guess: InputRepair) -> int:
        """The number of inference errors with a candidate repair."""
        before = guess.node.inputs[guess.slot]
        trial = self.constants.vector(guess.sizes, "trial")
        guess.node.set_input(guess.slot, trial)
        count = len(self.probe.infer())
        guess.node.set_input(guess.slot, before)
        self.constants.drop(trial)
        return count

    def replace_prime(self) -> None:
        """Replace the prime by the new size, and add notes on repairs and unchanged outputs."""
        computed = SizeVectors(self.model, self.constants, self.probe)
        for (node, place), numbers in self.repaired.items():
            if isinstance(place, int):
                computed.replace_sizes(node, place, numbers)
            elif numbers:
                self.replace_attribute(node, place, numbers)
        unchanged = self.unchanged_outputs()
        self.probe.replace_prime()
        self.model.notes += [
            *(Note(location(node), text) for node, text in self.messages.items()),
            *unchanged,
        ]

    def unresolved_notes(self) -> list[Note]:
        """Notes on the unresolved questions."""
        what = f"whether a constant holds the old size {self.probe.old} is unknown"
        unresolved = self.unresolved.items()
        return [
            Note(location(node), f"{what}: {why}") for node, why in unresolved if node not in self.messages
        ]

    def unchanged_outputs(self) -> list[Note]:
        """Notes on outputs that depend on a changed input, but have no dim that follows its size."""
        what = f"depends on an input whose size changed from {self.probe.old}, but none of its dims changes"
        notes = []
        for value in self.model.graph.outputs:
            shape = self.probe.shape(value)
            is_known = value in self.probe.reached and shape is not None and None not in shape
            if is_known and not any(map(self.probe.is_multiple, shape or ())):
                notes.append(Note(f"output {value.name!r}", what))
        return notes

    def replace_attribute(self, node: Node, name: str, numbers: Sequence[int]) -> None:
        prime, new = self.probe.prime, self.new
        followers = [i for i, n in enumerate(numbers) if self.probe.is_multiple(n)]
        if isinstance(new, int):
            final = [n // prime * new if i in followers else n for i, n in enumerate(numbers)]
        elif len(followers) == 1 and -1 not in numbers:
            final = [-1 if i in followers else n for i, n in enumerate(numbers)]
        else:
            what = f"attribute {name} {self.sizes_text(numbers)} cannot hold the variable {new}"
            raise InferenceError(f"{what}; convert the model to opset 5 or later", location=location(node))
        node.set_attribute(Attribute(name, AttributeType.INTS, tuple(final)))
