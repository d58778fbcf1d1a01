"""move-encoders-to-labels: encode the constant strings that a Gather selects from, instead of those that it selects.

Spec:    ai.onnx.ml LabelEncoder-1 -2 -4, ai.onnx.ml CategoryMapper-1, Gather-1 -11 -13
Before:  g (int64[N] i) => (int64[] y) <string[2] w = {"a", "b"}> {
           a = Gather(w, i)  y = ai.onnx.ml.CategoryMapper<cats_strings = ["a", "b"], cats_int64s = [7, 8]>(a) }
After:   g (int64[N] i) => (int64[] y) <string[2] w = {"a", "b"}> {
           a = ai.onnx.ml.CategoryMapper<cats_strings = ["a", "b"], cats_int64s = [7, 8]>(w)  y = Gather(a, i) }
Keeps:   encoders of numbers; results exactly.
"""

from __future__ import annotations

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Node
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.engine.edit import Edit

DOMAIN = "ai.onnx.ml"
ENCODERS = ("LabelEncoder", "CategoryMapper")  # whose result for an element depends on that element alone


@rewrite(phase="simplify")
def move_encoders_to_labels(node: Node, edit: Edit) -> bool:
    if node.op_type not in ENCODERS or not edit.is_a(node, node.op_type, DOMAIN) or not node.inputs:
        return False
    gather = edit.producer(node.inputs[0], "Gather")
    labels = None if gather is None or not gather.inputs else gather.inputs[0]
    if gather is None or labels is None or gather.graph is not node.graph:
        return False
    tensor = edit.tensor(labels)
    if tensor is None or tensor.dtype is not DataType.STRING:
        return False
    encoded = edit.make(node.op_type, [labels], dict(node.attributes), before=gather, domain=DOMAIN)
    return edit.replace(node, "Gather", [encoded.outputs[0], gather.inputs[1]], dict(gather.attributes))
