"""SX342 external-location-leaves: the location of external data has a "..".

Clause: ExternalData.md, location; ExternalDataSecurity.md
Catalogue: EXT-03 EXT-04
Why:    a model could read files outside its own directory.
Bad:    g () => (float[2] y) <float[2] y = ["location": "../w.bin"]> {}
Good:   file w.bin 8
        g () => (float[2] y) <float[2] y = ["location": "w.bin"]> {}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.analysis.external_data import entry_value, leaves_directory
from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.records.tensors import is_external
from sardonyx._src.proto.messages import TensorProto
from sardonyx._src.proto.record import brief


@rule("SX342", visits=TensorProto, needs="external_data")
def check_external_location_leaves(tensor: TensorProto, context: RuleContext) -> Iterator[Finding]:
    location = entry_value(tensor, "location") if is_external(tensor) else None
    if location and leaves_directory(location):
        yield Finding("external_data", f"{brief(location)} has a '..'", "put the file next to the model")
