"""transpose-before-split: transpose once before a Split instead of several of its outputs.

Spec:    Split-2 -11 -13 -18, Transpose-1 -13 -21 -23 -24 -25
Before:  g (float[4,3] x) => (float[] y, float[] z) {
           a, b = Split<axis = 0, num_outputs = 2>(x)  y = Transpose(a)  z = Transpose(b)
         }
After:   g (float[4,3] x) => (float[] y, float[] z) {
           a = Transpose<perm = [1, 0]>(x)  y, z = Split<axis = 1, num_outputs = 2>(a)
         }
Keeps:   Split outputs with other uses; Transposes that all differ; results exactly.
"""

from __future__ import annotations

from collections import Counter

from sardonyx._src.ir import Node
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.engine.edit import Edit
from sardonyx._src.rewrite.support.splits import only_readers
from sardonyx._src.rewrite.support.transposes import Perm, compose, inverse, perm_of


@rewrite(root="Split", phase="fuse")
def transpose_before_split(node: Node, edit: Edit) -> bool:
    if not edit.is_a(node, "Split"):
        return False
    readers = only_readers(node, "Transpose", edit)
    perms = [] if readers is None else [perm_of(reader, edit) for reader in readers]
    if readers is None or None in perms:
        return False
    known: list[Perm] = [perm for perm in perms if perm is not None]
    ((perm, count),) = Counter(known).most_common(1)
    axis = edit.attributes(node)["axis"]
    if count < 2 or not isinstance(axis, int):
        return False
    transpose = edit.make("Transpose", [node.inputs[0]], {"perm": list(perm)}, before=node)
    attributes = {**dict(node.attributes), "axis": perm.index(axis % len(perm))}
    inputs = [transpose.outputs[0], *node.inputs[1:]]
    split = edit.make("Split", inputs, attributes, before=node, outputs=len(node.outputs), name=node.name)
    for reader, part, reader_perm in zip(readers, split.outputs, known, strict=True):
        if reader_perm == perm:
            replaced = edit.replace_uses(reader.outputs[0], part)
            assert replaced, f"{part!r} is new and internal"
            edit.prune(reader)
        else:
            edit.update(reader, inputs=[part], perm=list(compose(inverse(perm), reader_perm)))
    return True
