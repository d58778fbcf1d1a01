"""SX355 data-location-unknown: data_location is neither DEFAULT nor EXTERNAL.

Clause: onnx.proto, TensorProto.data_location
Catalogue: EXT-18 EXT-17
Why:    the location of the data is unknown.
Bad:    tensor {dims: [1], data_type: 1, data_location: 7, float_data: [1.0]}
Good:   tensor {dims: [1], data_type: 1, data_location: DEFAULT, float_data: [1.0]}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import TensorProto


@rule("SX355", visits=TensorProto, needs="data_location", cached_by_fingerprint=True)
def check_data_location_unknown(tensor: TensorProto, context: RuleContext) -> Iterator[Finding]:
    if tensor.data_location not in (0, 1):
        yield Finding(
            "data_location",
            f"data_location must be 0 or 1; got {tensor.data_location}",
            "set DEFAULT or EXTERNAL",
        )
