"""SX511 quantization-parameter-unknown: a quantization annotation names a parameter tensor that does not exist.

Clause: onnx.proto, TensorAnnotation.quant_parameter_tensor_names
Catalogue: QNT-02
Why:    scale or zero point is missing.
Bad:    g @{quantization_annotation: [{tensor_name: "x", quant_parameter_tensor_names: ["SCALE_TENSOR": "s"]}]}
          (float[2] x) => (float[2] y) { y = Abs(x) }
Good:   g @{quantization_annotation: [{tensor_name: "x", quant_parameter_tensor_names: ["SCALE_TENSOR": "s"]}]}
          (float[2] x) => (float[2] y) <float s = {0.5}> { y = Mul(x, s) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import TensorAnnotation
from sardonyx._src.proto.record import brief


@rule("SX511", "warning", visits=TensorAnnotation, since=5)
def check_quantization_parameter_unknown(
    annotation: TensorAnnotation, context: RuleContext
) -> Iterator[Finding]:
    body = context.body
    for i, entry in enumerate(annotation.quant_parameter_tensor_names):
        if body is not None and not body.is_visible(entry.value, len(body.record.node)):
            message = f"nothing visible here defines {brief(entry.value)}{context.near(entry.value, body.known_names())}"
            yield Finding(
                f"quant_parameter_tensor_names[{i}].value", message, "correct the name, or add the tensor"
            )
