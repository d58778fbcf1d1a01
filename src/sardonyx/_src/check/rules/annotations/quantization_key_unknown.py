"""SX512 quantization-key-unknown: a quantization annotation has a key that ONNX does not define.

Clause: onnx.proto, TensorAnnotation.quant_parameter_tensor_names
Catalogue: QNT-03
Why:    the keys are SCALE_TENSOR and ZERO_POINT_TENSOR; readers do not know others.
Bad:    g @{quantization_annotation: [{tensor_name: "x", quant_parameter_tensor_names: ["SCALE": "s"]}]}
          (float[2] x) => (float[2] y) <float s = {0.5}> { y = Mul(x, s) }
Good:   g @{quantization_annotation: [{tensor_name: "x", quant_parameter_tensor_names: ["SCALE_TENSOR": "s"]}]}
          (float[2] x) => (float[2] y) <float s = {0.5}> { y = Mul(x, s) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import TensorAnnotation
from sardonyx._src.proto.record import brief

KNOWN = ("SCALE_TENSOR", "ZERO_POINT_TENSOR")


@rule("SX512", visits=TensorAnnotation, since=5)
def check_quantization_key_unknown(annotation: TensorAnnotation, context: RuleContext) -> Iterator[Finding]:
    for i, entry in enumerate(annotation.quant_parameter_tensor_names):
        if entry.key not in KNOWN:
            message = f"{brief(entry.key)} is not a key of annotations{context.near(entry.key, KNOWN)}"
            yield Finding(f"quant_parameter_tensor_names[{i}].key", message, f"write {' or '.join(KNOWN)}")
