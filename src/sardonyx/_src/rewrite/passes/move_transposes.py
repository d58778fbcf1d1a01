"""move-transposes: axes are moved behind the work between Transposes, where that leaves fewer of them.

Spec:    Transpose-1 -13 -21 -23 -24 -25, Concat-4 -11 -13, Split-2 -11 -13 -18, Squeeze-1 -11 -13 -21 -23 -24 -25,
         Gather-1 -11 -13, MatMul-1 -9 -13, Slice-1 -10 -11 -13, Pad-2 -11 -13 -18 -19 -21 -23 -24 -25,
         Softmax-13, LogSoftmax-13, Hardmax-13, QuantizeLinear-10 -13 -19 -21 -23 -24 -25 -28,
         DequantizeLinear-10 -13 -19 -21 -23 -24 -25 -28, ReduceSum-1 -11 -13, ReduceMean-1 -11 -13 -18,
         ReduceMax-1 -11 -12 -13 -18 -20, ReduceMin-1 -11 -12 -13 -18 -20, ReduceProd-1 -11 -13 -18, ReduceL1-1 -11 -13 -18,
         ReduceL2-1 -11 -13 -18, ReduceLogSum-1 -11 -13 -18 -28, ReduceLogSumExp-1 -11 -13 -18 -28,
         ReduceSumSquare-1 -11 -13 -18
Before:  g (float[2,3] x) => (float[] y) <int64[1] k = {1}> {
           a = Transpose(x)  b = ReduceMax(a, k)  y = Transpose(b)
         }
After:   g (float[2,3] x) => (float[] y) <int64[1] k = {0}> { y = ReduceMax(x, k) }
Keeps:   Transposes behind which as many would be needed; sums over several axes up to rounding, all else bit by bit.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from sardonyx._src.ir.graph import Node, Value
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.edit import Edit
from sardonyx._src.rewrite.turns import Perm, Turned, composed, is_straight, perm_of, rewritten, turned

MOST = 64  # nodes that one move goes through


@rewrite(root="Transpose", phase="simplify")
def move_transposes(node: Node, edit: Edit) -> bool:
    perm = perm_of(node, edit) if edit.is_a(node, "Transpose") and node.inputs else None
    if perm is None or sorted(perm) != list(range(len(perm))):
        return False
    region = Region(edit, node)
    region.grow(node, perm)
    if region.gain() <= 0:
        return False
    region.apply()
    return True


@dataclass(slots=True)
class Region:
    """The work that can be done before axes are moved: from some Transposes on to others."""

    edit: Edit
    first: Node
    perms: dict[Value, Perm] = field(default_factory=dict)  # of values that are turned, in order
    work: dict[Node, Turned] = field(default_factory=dict)
    sources: list[Node] = field(default_factory=list)
    at_hand: dict[Value, Value] = field(default_factory=dict)  # what turned values are before they are turned

    def grow(self, first: Node, perm: Perm) -> None:
        """Takes in a Transpose, and then all work whose inputs are turned, until nothing more can be."""
        self.take_source(first, perm)
        pending = [first.outputs[0]]
        while pending and len(self.work) < MOST:
            value = pending.pop(0)
            for reader in dict.fromkeys(reader for reader, _ in value.uses):
                pending += self.take(reader, self.perms[value])

    def take_source(self, node: Node, perm: Perm) -> None:
        self.sources.append(node)
        self.perms[node.outputs[0]] = perm

    def take(self, node: Node, perm: Perm) -> Iterable[Value]:
        """Takes in a node if all that has to be turned alike is; the values that are turned with that."""
        if node in self.work or node.graph is not self.first.graph or self.edit.is_a(node, "Transpose"):
            return []
        how = turned(node, perm, self.edit)
        values = [] if how is None else [node.inputs[slot] for slot in how.slots]
        others = [self.other_source(v, perm) for v in values if v is None or self.perms.get(v) != perm]
        if how is None or None in others:
            return []
        for one in others:
            assert one is not None, "looked at above"
            self.take_source(one, perm)
        self.work[node] = how
        for output in node.outputs:
            self.perms[output] = how.perm
        return [*(one.outputs[0] for one in others if one is not None), *node.outputs]

    def other_source(self, value: Value | None, perm: Perm) -> Node | None:
        """The Transpose that turns a value in the same way."""
        node = self.edit.producer(value, "Transpose")
        if value is None or node is None or value in self.perms or node.inputs[0] in self.perms:
            return None
        if node.graph is not self.first.graph:
            return None
        return node if perm_of(node, self.edit) == perm else None

    def behind(self, value: Value) -> list[Node]:
        """The Transposes that read a turned value, and take its order over."""
        readers = dict.fromkeys(reader for reader, _ in value.uses)
        return [r for r in readers if self.is_behind(r)]

    def is_behind(self, reader: Node) -> bool:
        is_near = reader.graph is self.first.graph and reader not in self.sources
        return is_near and self.edit.is_a(reader, "Transpose")

    def is_needed(self, value: Value) -> bool:
        """Whether something reads a value as it is."""
        if not self.edit.is_free(value):
            return True
        return any(reader not in self.work and not self.is_behind(reader) for reader, _ in value.uses)

    def gain(self) -> int:
        """By how many the Transposes would become fewer."""
        found = sum(1 for node in self.sources if not self.is_needed(node.outputs[0]))
        for value, perm in self.perms.items():
            if value.producer in self.work and not is_straight(perm):
                found -= self.is_needed(value)
            for after in self.behind(value):
                order = perm_of(after, self.edit)
                found += order is not None and is_straight(composed(perm, order))
        return found

    def apply(self) -> None:
        """Puts the work before the Transposes, and Transposes where they are needed still."""
        edit = self.edit
        for node in self.sources:
            assert node.inputs[0] is not None, "a Transpose has an input"
            self.at_hand[node.outputs[0]] = node.inputs[0]
        for node, how in self.work.items():
            made = rewritten(node, self.at_hand, how, edit)
            self.at_hand.update(zip(node.outputs, made.outputs, strict=True))
        for value, perm in self.perms.items():
            for after in self.behind(value):
                self.take_over(after, value, perm)
        for node, how in reversed(self.work.items()):
            for value in node.outputs:
                if self.is_needed(value):
                    self.turn(node, value, how.perm)
            edit.prune(node)
        for node in self.sources:
            edit.prune(node)

    def take_over(self, after: Node, value: Value, perm: Perm) -> None:
        """Makes a Transpose of a turned value one of the tensor at hand, or none at all."""
        order = perm_of(after, self.edit)
        assert order is not None, "its input has a known rank"
        both = composed(perm, order)
        if is_straight(both) and self.hand_on(after.outputs[0], self.at_hand[value]):
            self.edit.prune(after)
        else:
            self.edit.update(after, inputs=[self.at_hand[value]], perm=list(both))

    def turn(self, before: Node, value: Value, perm: Perm) -> None:
        """Gives those who read a value as it was what they read."""
        if is_straight(perm) and self.hand_on(value, self.at_hand[value]):
            return
        made = self.edit.make("Transpose", [self.at_hand[value]], {"perm": list(perm)}, before=before)
        done = self.hand_on(value, made.outputs[0])
        assert done, f"{made!r} is new and free"

    def hand_on(self, value: Value, other: Value) -> bool:
        """Puts one value in the place of another, whose name, if it is public, the first one takes over."""
        maker = other.producer
        done = self.edit.forward(value, other)
        if done and maker is not None and value.producer is maker:
            self.at_hand = {turned: value if v is other else v for turned, v in self.at_hand.items()}
        return done
