"""SX513 quantization-key-twice: a quantization annotation has a duplicate key.

Clause: onnx.proto, TensorAnnotation.quant_parameter_tensor_names, StringStringEntryProto
Catalogue: QNT-04
Why:    the list represents a map; which of the two tensors applies depends on the reader.
Bad:    g @{quantization_annotation: [{tensor_name: "x", quant_parameter_tensor_names: ["SCALE_TENSOR": "s", "SCALE_TENSOR": "s"]}]}
          (float[2] x) => (float[2] y) <float s = {0.5}> { y = Mul(x, s) }
Good:   g @{quantization_annotation: [{tensor_name: "x", quant_parameter_tensor_names: ["SCALE_TENSOR": "s"]}]}
          (float[2] x) => (float[2] y) <float s = {0.5}> { y = Mul(x, s) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import TensorAnnotation
from sardonyx._src.proto.record import brief


@rule("SX513", visits=TensorAnnotation, since=5)
def check_quantization_key_twice(annotation: TensorAnnotation, context: RuleContext) -> Iterator[Finding]:
    first: dict[str, int] = {}
    for i, entry in enumerate(annotation.quant_parameter_tensor_names):
        if first.setdefault(entry.key, i) != i:
            message = f"the key {brief(entry.key)} duplicates that of entry {first[entry.key]}"
            yield Finding(f"quant_parameter_tensor_names[{i}].key", message, "keep one of the two entries")
