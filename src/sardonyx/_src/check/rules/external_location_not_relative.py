"""SX341 external-location-not-relative: the location of external data is not a relative path.

Clause: ExternalData.md, location
Catalogue: EXT-02
Why:    a model could read any file of the machine that opens it, and cannot move to another one.
Bad:    g () => (float[2] y) <float[2] y = ["location": "/data/w.bin"]> {}
Good:   file w.bin 8
        g () => (float[2] y) <float[2] y = ["location": "w.bin"]> {}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.check.external import entry, flaw
from sardonyx._src.check.tensors import is_external
from sardonyx._src.proto.messages import TensorProto
from sardonyx._src.proto.record import brief


@rule("SX341", visits=TensorProto, unless="SX342", needs="external_data")
def external_location_not_relative(tensor: TensorProto, context: Context) -> Iterator[Finding]:
    location = entry(tensor, "location") if is_external(tensor) else None
    if location and (why := flaw(location)):
        help_ = "put the file beside the model, and name it by a path of plain names separated by '/'"
        yield Finding("external_data", f"{brief(location)} {why}", help_)
