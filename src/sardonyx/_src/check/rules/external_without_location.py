"""SX340 external-without-location: a tensor is stored externally, but nowhere.

Clause: ExternalData.md, location; onnx.proto, TensorProto.external_data
Catalogue: EXT-01
Why:    nobody can find the data.
Bad:    g () => (float[2] y) <float[2] y = ["offset": "0"]> {}
Good:   file w.bin 8
        g () => (float[2] y) <float[2] y = ["location": "w.bin"]> {}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.check.external import entry
from sardonyx._src.check.tensors import is_external
from sardonyx._src.proto.messages import TensorProto


@rule("SX340", visits=TensorProto, needs="data_location", unless="SX003")
def external_without_location(tensor: TensorProto, context: Context) -> Iterator[Finding]:
    if is_external(tensor) and not entry(tensor, "location"):
        yield Finding("external_data", "there is no location", "name the file that holds the data")
