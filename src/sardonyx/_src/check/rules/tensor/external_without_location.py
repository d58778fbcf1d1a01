"""SX340 external-without-location: a tensor is stored externally, but has no location.

Clause: ExternalData.md, location; onnx.proto, TensorProto.external_data
Catalogue: EXT-01
Why:    the data cannot be located.
Bad:    g () => (float[2] y) <float[2] y = ["offset": "0"]> {}
Good:   file w.bin 8
        g () => (float[2] y) <float[2] y = ["location": "w.bin"]> {}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.analysis.external_data import entry_value
from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.records.tensors import is_external
from sardonyx._src.proto.messages import TensorProto


@rule("SX340", visits=TensorProto, needs="data_location", suppressed_by="SX003")
def check_external_without_location(tensor: TensorProto, context: RuleContext) -> Iterator[Finding]:
    if is_external(tensor) and not entry_value(tensor, "location"):
        yield Finding("external_data", "the location is missing", "name the file that holds the data")
