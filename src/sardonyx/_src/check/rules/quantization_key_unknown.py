"""SX512 quantization-key-unknown: a quantization annotation has a key that ONNX does not define.

Clause: onnx.proto, TensorAnnotation.quant_parameter_tensor_names
Catalogue: QNT-03
Why:    the keys are SCALE_TENSOR and ZERO_POINT_TENSOR; readers know no others.
Bad:    g @{quantization_annotation: [{tensor_name: "x", quant_parameter_tensor_names: ["SCALE": "s"]}]}
          (float[2] x) => (float[2] y) <float s = {0.5}> { y = Mul(x, s) }
Good:   g @{quantization_annotation: [{tensor_name: "x", quant_parameter_tensor_names: ["SCALE_TENSOR": "s"]}]}
          (float[2] x) => (float[2] y) <float s = {0.5}> { y = Mul(x, s) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import TensorAnnotation
from sardonyx._src.proto.record import brief

KNOWN = ("SCALE_TENSOR", "ZERO_POINT_TENSOR")


@rule("SX512", visits=TensorAnnotation, since=5)
def quantization_key_unknown(one: TensorAnnotation, context: Context) -> Iterator[Finding]:
    for i, entry_ in enumerate(one.quant_parameter_tensor_names):
        if entry_.key not in KNOWN:
            says = f"{brief(entry_.key)} is no key of annotations{context.near(entry_.key, KNOWN)}"
            yield Finding(f"quant_parameter_tensor_names[{i}].key", says, f"write {' or '.join(KNOWN)}")
