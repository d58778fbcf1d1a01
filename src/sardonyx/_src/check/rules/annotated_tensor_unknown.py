"""SX510 annotated-tensor-unknown: a quantization annotation is about a value that its graph does not have.

Clause: onnx.proto, TensorAnnotation.tensor_name
Catalogue: QNT-01
Why:    the annotation says nothing, or its name is misspelt.
Bad:    g @{quantization_annotation: [{tensor_name: "z"}]} (float[2] x) => (float[2] y) { y = Abs(x) }
Good:   g @{quantization_annotation: [{tensor_name: "x"}]} (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import TensorAnnotation
from sardonyx._src.proto.record import brief


@rule("SX510", "warning", visits=TensorAnnotation, since=5)
def annotated_tensor_unknown(one: TensorAnnotation, context: Context) -> Iterator[Finding]:
    body = context.body
    if body is not None and body.own(one.tensor_name) is None:
        says = f"nothing here makes {brief(one.tensor_name)}{context.near(one.tensor_name, body.names())}"
        yield Finding("tensor_name", says, "correct the name, or drop the annotation")
