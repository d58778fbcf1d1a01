"""SX511 quantization-parameter-unknown: a quantization annotation names a parameter tensor that does not exist.

Clause: onnx.proto, TensorAnnotation.quant_parameter_tensor_names
Catalogue: QNT-02
Why:    scale and zero point are lost.
Bad:    g @{quantization_annotation: [{tensor_name: "x", quant_parameter_tensor_names: ["SCALE_TENSOR": "s"]}]}
          (float[2] x) => (float[2] y) { y = Abs(x) }
Good:   g @{quantization_annotation: [{tensor_name: "x", quant_parameter_tensor_names: ["SCALE_TENSOR": "s"]}]}
          (float[2] x) => (float[2] y) <float s = {0.5}> { y = Mul(x, s) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import TensorAnnotation
from sardonyx._src.proto.record import brief


@rule("SX511", "warning", visits=TensorAnnotation, since=5)
def quantization_parameter_unknown(one: TensorAnnotation, context: Context) -> Iterator[Finding]:
    body = context.body
    for i, entry_ in enumerate(one.quant_parameter_tensor_names):
        if body is not None and not body.sees(entry_.value, len(body.record.node)):
            says = f"nothing in sight makes {brief(entry_.value)}{context.near(entry_.value, body.names())}"
            yield Finding(
                f"quant_parameter_tensor_names[{i}].value", says, "correct the name, or add the tensor"
            )
