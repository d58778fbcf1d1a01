"""move-transposes: sink Transposes through the nodes between them, if that leaves fewer Transposes.

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
Keeps:   regions in which the number of Transposes would not fall; sums over several axes up to rounding, all else exactly.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Node, Value
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.engine.edit import Edit
from sardonyx._src.rewrite.support.transposes import (
    Perm,
    TransposedNode,
    compose,
    emit_transposed,
    is_identity_permutation,
    perm_of,
    push_transpose,
)

MAX_MOVED_NODES = 64  # nodes of one region


@rewrite(root="Transpose", phase="simplify")
def move_transposes(node: Node, edit: Edit) -> bool:
    perm = perm_of(node, edit) if edit.is_a(node, "Transpose") and node.inputs else None
    if not perm or sorted(perm) != list(range(len(perm))):
        return False
    region = TransposeRegion(edit, node)
    region.grow(node, perm)
    if region.gain() <= 0:
        return False
    region.apply()
    return True


@dataclass(slots=True)
class TransposeRegion:
    """A region: the nodes between Transposes that can compute on untransposed tensors instead.

    first: the Transpose from which the region grows.
    perms: the permutation of each transposed value of the region, in order.
    work: how each node of the region computes from untransposed tensors.
    sources: the Transposes at which the region begins.
    untransposed: the untransposed tensor of each transposed value.
    """

    edit: Edit
    first: Node
    perms: dict[Value, Perm] = field(default_factory=dict)
    work: dict[Node, TransposedNode] = field(default_factory=dict)
    sources: list[Node] = field(default_factory=list)
    untransposed: dict[Value, Value] = field(default_factory=dict)

    def grow(self, first: Node, perm: Perm) -> None:
        """Grow the region from a Transpose, through all nodes whose inputs are transposed alike."""
        self.add_source(first, perm)
        pending = [first.outputs[0]]
        while pending and len(self.work) < MAX_MOVED_NODES:
            value = pending.pop(0)
            for reader in dict.fromkeys(reader for reader, _ in value.uses):
                pending += self.add_node(reader, self.perms[value])

    def add_source(self, node: Node, perm: Perm) -> None:
        self.sources.append(node)
        self.perms[node.outputs[0]] = perm

    def add_node(self, node: Node, perm: Perm) -> Iterable[Value]:
        """Add a node if all its inputs can be transposed alike; returns the values that are transposed with it."""
        if node in self.work or node.graph is not self.first.graph or self.edit.is_a(node, "Transpose"):
            return []
        plan = push_transpose(node, perm, self.edit)
        values = [] if plan is None else [node.inputs[slot] for slot in plan.slots]
        others = [self.other_source(v, perm) for v in values if v is None or self.perms.get(v) != perm]
        if plan is None or None in others:
            return []
        for source in others:
            assert source is not None, "looked at above"
            self.add_source(source, perm)
        self.work[node] = plan
        for output in node.outputs:
            self.perms[output] = plan.perm
        return [*(source.outputs[0] for source in others if source is not None), *node.outputs]

    def other_source(self, value: Value | None, perm: Perm) -> Node | None:
        """The Transpose outside the region that produces a value with the same permutation."""
        node = self.edit.producer(value, "Transpose")
        if value is None or node is None or value in self.perms or node.inputs[0] in self.perms:
            return None
        if node.graph is not self.first.graph:
            return None
        return node if perm_of(node, self.edit) == perm else None

    def transposes_after(self, value: Value) -> list[Node]:
        """The Transposes that read a transposed value, into which its permutation is merged."""
        readers = dict.fromkeys(reader for reader, _ in value.uses)
        return [r for r in readers if self.is_transpose_after(r)]

    def is_transpose_after(self, reader: Node) -> bool:
        is_near = reader.graph is self.first.graph and reader not in self.sources
        return is_near and self.edit.is_a(reader, "Transpose")

    def is_needed(self, value: Value) -> bool:
        """Whether a transposed value is still needed outside the region."""
        if not self.edit.is_internal(value):
            return True
        return any(
            reader not in self.work and not self.is_transpose_after(reader) for reader, _ in value.uses
        )

    def gain(self) -> int:
        """The number of Transposes saved."""
        saved = sum(1 for node in self.sources if not self.is_needed(node.outputs[0]))
        for value, perm in self.perms.items():
            if value.producer in self.work and not is_identity_permutation(perm):
                saved -= self.is_needed(value)
            for transpose in self.transposes_after(value):
                own_perm = perm_of(transpose, self.edit)
                saved += own_perm is not None and is_identity_permutation(compose(perm, own_perm))
        return saved

    def apply(self) -> None:
        """Emit the nodes on untransposed tensors, and Transposes where transposed values are still needed."""
        edit = self.edit
        for node in self.sources:
            assert node.inputs[0] is not None, "a Transpose has an input"
            self.untransposed[node.outputs[0]] = node.inputs[0]
        for node, plan in self.work.items():
            emitted = emit_transposed(node, self.untransposed, plan, edit)
            self.untransposed.update(zip(node.outputs, emitted.outputs, strict=True))
        for value, perm in self.perms.items():
            for transpose in self.transposes_after(value):
                self.merge_into(transpose, value, perm)
        for node, plan in reversed(self.work.items()):
            for value in node.outputs:
                if self.is_needed(value):
                    self.restore_value(node, value, plan.perm)
            edit.prune(node)
        for node in self.sources:
            edit.prune(node)

    def merge_into(self, transpose: Node, value: Value, perm: Perm) -> None:
        """Merge the permutation of a transposed value into a Transpose that reads it; remove it if nothing remains."""
        own_perm = perm_of(transpose, self.edit)
        assert own_perm is not None, "its input has a known rank"
        combined = compose(perm, own_perm)
        if is_identity_permutation(combined) and self.replace_value(
            transpose.outputs[0], self.untransposed[value]
        ):
            self.edit.prune(transpose)
        else:
            self.edit.update(transpose, inputs=[self.untransposed[value]], perm=list(combined))

    def restore_value(self, before: Node, value: Value, perm: Perm) -> None:
        """Restore a transposed value for its readers outside the region."""
        if is_identity_permutation(perm) and self.replace_value(value, self.untransposed[value]):
            return
        transpose = self.edit.make(
            "Transpose", [self.untransposed[value]], {"perm": list(perm)}, before=before
        )
        replaced = self.replace_value(value, transpose.outputs[0])
        assert replaced, f"{transpose!r} is new and internal"

    def replace_value(self, value: Value, other: Value) -> bool:
        """Replace the uses of a value by another one; a public value is kept instead of the other, also in `untransposed`."""
        producer = other.producer
        replaced = self.edit.replace_uses(value, other)
        if replaced and producer is not None and value.producer is producer:
            self.untransposed = {
                transposed: value if v is other else v for transposed, v in self.untransposed.items()
            }
        return replaced
