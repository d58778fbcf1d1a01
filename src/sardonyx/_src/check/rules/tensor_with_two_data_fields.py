"""SX305 tensor-with-two-data-fields: more than one field of a tensor holds data.

Clause: onnx.proto, TensorProto
Catalogue: TEN-05 SPT-11
Why:    readers may take either.
Bad:    tensor {dims: [1], data_type: 1, float_data: [1.0], raw_data: "abcd"}
Good:   tensor {dims: [1], data_type: 1, float_data: [1.0]}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.check.tensors import data_fields
from sardonyx._src.proto.messages import TensorProto


@rule("SX305", visits=TensorProto, by_form=True)
def tensor_with_two_data_fields(tensor: TensorProto, context: Context) -> Iterator[Finding]:
    fields = data_fields(tensor)
    if len(fields) > 1:
        yield Finding("", f"{' and '.join(fields)} hold data", "keep the one that is meant")
