"""SX341 external-location-not-relative: the location of external data is not a relative path.

Clause: ExternalData.md, location
Catalogue: EXT-02
Why:    a model could read any file of the machine, and is not portable.
Bad:    g () => (float[2] y) <float[2] y = ["location": "/data/w.bin"]> {}
Good:   file w.bin 8
        g () => (float[2] y) <float[2] y = ["location": "w.bin"]> {}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.analysis.external_data import entry_value, location_problem
from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.records.tensors import is_external
from sardonyx._src.proto.messages import TensorProto
from sardonyx._src.proto.record import brief


@rule("SX341", visits=TensorProto, suppressed_by="SX342", needs="external_data")
def check_external_location_not_relative(tensor: TensorProto, context: RuleContext) -> Iterator[Finding]:
    location = entry_value(tensor, "location") if is_external(tensor) else None
    if location and (why := location_problem(location)):
        help_ = "put the file next to the model, and use a relative path with '/' as the separator"
        yield Finding("external_data", f"{brief(location)} {why}", help_)
