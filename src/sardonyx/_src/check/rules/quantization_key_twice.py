"""SX513 quantization-key-twice: a quantization annotation has a key twice.

Clause: onnx.proto, TensorAnnotation.quant_parameter_tensor_names, StringStringEntryProto
Catalogue: QNT-04
Why:    the list stands for a map; which of the two tensors holds is up to the reader.
Bad:    g @{quantization_annotation: [{tensor_name: "x", quant_parameter_tensor_names: ["SCALE_TENSOR": "s", "SCALE_TENSOR": "s"]}]}
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


@rule("SX513", visits=TensorAnnotation, since=5)
def quantization_key_twice(one: TensorAnnotation, context: Context) -> Iterator[Finding]:
    first: dict[str, int] = {}
    for i, entry_ in enumerate(one.quant_parameter_tensor_names):
        if first.setdefault(entry_.key, i) != i:
            says = f"the key {brief(entry_.key)} stands already at entry {first[entry_.key]}"
            yield Finding(f"quant_parameter_tensor_names[{i}].key", says, "keep one of the two entries")
