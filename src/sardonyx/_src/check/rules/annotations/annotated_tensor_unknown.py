"""SX510 annotated-tensor-unknown: a quantization annotation refers to a value that its graph does not have.

Clause: onnx.proto, TensorAnnotation.tensor_name
Catalogue: QNT-01
Why:    the annotation is useless, or its name is misspelled.
Bad:    g @{quantization_annotation: [{tensor_name: "z"}]} (float[2] x) => (float[2] y) { y = Abs(x) }
Good:   g @{quantization_annotation: [{tensor_name: "x"}]} (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import TensorAnnotation
from sardonyx._src.proto.record import brief


@rule("SX510", "warning", visits=TensorAnnotation, since=5)
def check_annotated_tensor_unknown(annotation: TensorAnnotation, context: RuleContext) -> Iterator[Finding]:
    body = context.body
    if body is not None and body.definition(annotation.tensor_name) is None:
        message = f"nothing here defines {brief(annotation.tensor_name)}{context.near(annotation.tensor_name, body.known_names())}"
        yield Finding("tensor_name", message, "correct the name, or drop the annotation")
