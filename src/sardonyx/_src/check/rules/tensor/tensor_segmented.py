"""SX311 tensor-segmented: a tensor is a segment of a larger one.

Clause: onnx.proto, TensorProto.segment
Catalogue: TEN-03
Why:    it holds a part of its elements, and nothing says where the others are.
Bad:    tensor {dims: [4], data_type: 1, float_data: [1.0, 2.0, 3.0, 4.0], segment: {begin: 2, end: 4}}
Good:   tensor {dims: [4], data_type: 1, float_data: [1.0, 2.0, 3.0, 4.0], segment: {begin: 0, end: 4}}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.records.tensors import count_of
from sardonyx._src.proto.messages import TensorProto


@rule("SX311", visits=TensorProto, suppressed_by="SX301")
def check_tensor_segmented(tensor: TensorProto, context: RuleContext) -> Iterator[Finding]:
    segment, count = tensor.segment, count_of(tensor)
    if segment is not None and (segment.begin, segment.end) != (0, count):
        message = f"a segment must be the whole tensor, 0 to {count}; got {segment.begin} to {segment.end}"
        yield Finding("segment", message, "store all elements in one tensor, without segment")
