"""SX353 external-data-unused: a tensor has external_data, but its data_location is not EXTERNAL.

Clause: ExternalData.md; onnx.proto, TensorProto.data_location
Catalogue: EXT-15
Why:    readers ignore the entries, and expect inline data.
Bad:    tensor {dims: [2], data_type: 1, external_data: ["location": "w.bin"]}
Good:   tensor {dims: [2], data_type: 1, float_data: [1.0, 2.0]}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import TensorProto

DEFAULT_LOCATION = 0


@rule("SX353", visits=TensorProto, needs="external_data")
def check_external_data_unused(tensor: TensorProto, context: RuleContext) -> Iterator[Finding]:
    if tensor.external_data and tensor.data_location == DEFAULT_LOCATION:
        yield Finding(
            "external_data", "data_location is not EXTERNAL", "set data_location, or drop the entries"
        )
