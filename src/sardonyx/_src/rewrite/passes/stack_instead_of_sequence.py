"""stack-instead-of-sequence: collect the results of a Loop as a scan output where it appends them to a sequence.

Spec:    ConcatFromSequence-11, Loop-13 -16 -19 -21 -23 -24 -25, SequenceEmpty-11, SequenceInsert-11, Gather-11 -13,
         Slice-11 -13, Concat-11 -13, Transpose-1 -13 -21 -23 -24 -25, Reshape-5 -13 -14 -19 -21 -23 -24 -25
Before:  g (float[2] x, int64 n) => (float[] y) {
           e = SequenceEmpty()
           s = Loop<body = b (int64 i, bool c, seq(float[2]) p) => (bool d, seq(float[2]) q) {
             d = Identity(c)  r = Neg(x)  q = SequenceInsert(p, r)
           }>(n, , e)
           y = ConcatFromSequence<axis = 0, new_axis = 1>(s)
         }
After:   g (float[2] x, int64 n) => (float[] y) <int64[1] o = {0}, int64[1] f = {1}, int64[1] l = {9223372036854775807}, int64[1] a = {0}> {
           s = Loop<body = b (int64 i, bool c) => (bool d, float[2] r) { d = Identity(c)  r = Neg(x) }>(n, )
           h = Gather<axis = 0>(s, o)  t = Slice(s, f, l, a)  y = Concat<axis = 0>(h, t)
         }
Keeps:   results of unknown or empty shape; sequences with other readers; results exactly.  A Loop without iterations still
         fails, as there is nothing to concatenate: that is why the first row is read by a Gather of its own.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Graph, Node, Value
from sardonyx._src.ir.build import attribute
from sardonyx._src.ir.copier import Copier
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.engine.edit import Edit, trim_inputs

INSERTED = ("Gather", "Slice", "Concat", "Transpose", "Reshape")


@dataclass(frozen=True, slots=True)
class Collection:
    """A Loop that appends a tensor to a sequence in each iteration.

    number: the position of the sequence among the carried values.
    shape: the shape of the tensor, which is the same in all iterations.
    """

    loop: Node
    body: Graph
    number: int
    shape: tuple[int, ...]


@rewrite(root="ConcatFromSequence", phase="simplify")
def stack_instead_of_sequence(node: Node, edit: Edit) -> bool:
    collection, graph = find_collection(node, edit), node.graph
    if collection is None or graph is None or not all(edit.can_insert(name, graph) for name in INSERTED):
        return False
    attributes, rank = edit.attributes(node), len(collection.shape)
    axis, stacks = attributes["axis"], bool(attributes["new_axis"])
    assert isinstance(axis, int), "axis is an integer"
    if not -(rank + stacks) <= axis < rank + stacks:
        return False
    axis %= rank + stacks
    loop = collection.loop
    scanned = emit_loop(collection, edit)
    rows = read_rows(scanned.outputs[-1], node, edit)
    order = (*range(1, axis + 1), 0, *range(axis + 1, rank + 1))
    if axis:
        rows = edit.make("Transpose", [rows], {"perm": order}, before=node).outputs[0]
    if not stacks:
        sizes = np.array([*collection.shape[:axis], -1, *collection.shape[axis + 1 :]], np.int64)
        rows = edit.make("Reshape", [rows, constant(sizes, node, edit)], before=node).outputs[0]
    edit.transfer_outputs(node, [rows])
    kept = [value for i, value in enumerate(loop.outputs) if i != collection.number]
    for old, new in zip(kept, scanned.outputs, strict=False):
        if old.name:
            edit.replace_uses(old, new)
    edit.prune(loop)
    return True


def find_collection(node: Node, edit: Edit) -> Collection | None:
    """The Loop that collects what a ConcatFromSequence reads, if nothing else reads the sequence."""
    sequence = node.inputs[0] if node.inputs else None
    loop = edit.producer(sequence, "Loop")
    if sequence is None or loop is None or loop.graph is not node.graph or not edit.has_one_use(sequence):
        return None
    given = loop.attributes.get("body")
    body, number = None if given is None else given.value, sequence.index
    if not isinstance(body, Graph) or body.quantization_annotations:
        return None
    if len(body.inputs) != len(loop.inputs) or len(body.outputs) != len(loop.outputs) + 1:
        return None
    if number + 2 >= len(loop.inputs) or edit.producer(loop.inputs[number + 2], "SequenceEmpty") is None:
        return None
    shape = appended_shape(body, number, edit)
    return None if shape is None else Collection(loop, body, number, shape)


def appended_shape(body: Graph, number: int, edit: Edit) -> tuple[int, ...] | None:
    """The shape of the tensor that a body appends to the carried sequence at this position.

    None if the body does anything else with the sequence, and for shapes with a dim of 0: the number of rows is the -1 of a
    Reshape, which has no unique value then.
    """
    formal, result = body.inputs[number + 2], body.outputs[number + 1]
    insert = edit.producer(result, "SequenceInsert")
    if (
        insert is None
        or insert.graph is not body
        or len(insert.inputs) != 2
        or insert.inputs[0] is not formal
    ):
        return None
    is_apart = len(formal.uses) == 1 and not result.uses and body.outputs.count(result) == 1
    shape = edit.shape(insert.inputs[1])
    if shape is None or not is_apart or formal in body.outputs:
        return None
    sizes = tuple(dim for dim in shape if isinstance(dim, int) and dim > 0)
    return sizes if len(sizes) == len(shape) else None


def emit_loop(collection: Collection, edit: Edit) -> Node:
    """Emits the Loop with a scan output, the last one, instead of the sequence."""
    loop, number = collection.loop, collection.number
    body = Copier().graph(collection.body)
    insert = body.outputs[number + 1].producer
    assert insert is not None and insert.inputs[1] is not None, "the body inserts a tensor"
    row = insert.inputs[1]
    body.outputs = [*body.outputs[: number + 1], *body.outputs[number + 2 :], row]
    body.remove(insert)
    body.remove_input(body.inputs[number + 2])
    inputs = trim_inputs([*loop.inputs[: number + 2], *loop.inputs[number + 3 :]])
    names, collected = edit.names(outer(loop)), loop.outputs[number]
    kept = [value for value in loop.outputs if value is not collected]
    outputs = [Value(names.fresh(value.name) if value.name else "") for value in (*kept, collected)]
    name = names.fresh(loop.name) if loop.name else ""
    node = Node("Loop", inputs, outputs, {"body": attribute("body", body)}, name=name)
    outer(loop).insert_before(loop, node)
    edit.register_nodes([node])
    return node


def outer(loop: Node) -> Graph:
    assert loop.graph is not None, "the loop is in a graph"
    return loop.graph


def read_rows(scanned: Value, node: Node, edit: Edit) -> Value:
    """Emits a copy of a scan output that fails if there is no first row."""
    first = edit.make("Gather", [scanned, constant(np.array([0]), node, edit)], {"axis": 0}, before=node)
    ends = [constant(np.array([n], np.int64), node, edit) for n in (1, np.iinfo(np.int64).max, 0)]
    others = edit.make("Slice", [scanned, *ends], before=node)
    parts = [first.outputs[0], others.outputs[0]]
    return edit.make("Concat", parts, {"axis": 0}, before=node).outputs[0]


def constant(data: np.ndarray[tuple[int, ...], np.dtype[np.int64]], node: Node, edit: Edit) -> Value:
    return edit.make_constant(data, f"{node.name or 'rows'}/parameter", before=node)
