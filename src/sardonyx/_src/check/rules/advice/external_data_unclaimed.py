"""SX910 external-data-unclaimed: a file of external data has bytes that belong to no tensor of the model.

Clause: none: the specification allows it
Catalogue: -
Why:    the model was cut, or the file belongs to a larger one, so more is stored and transferred than needed.  Padding
        before an aligned offset does not count.
Bad:    file w.bin 20008
        g () => (float[2] y) <float[2] y = ["location": "w.bin"]> {}
Good:   file w.bin 8
        g () => (float[2] y) <float[2] y = ["location": "w.bin"]> {}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.analysis.external_data import (
    byte_range_of,
    byte_ranges_of,
    count_unclaimed_bytes,
    data_file_state,
    location_of,
)
from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import TensorProto
from sardonyx._src.proto.record import brief


@rule(
    "SX910",
    "info",
    visits=TensorProto,
    needs="external_data",
    suppressed_by="SX345 SX346 SX350",
    group="style",
)
def check_external_data_unclaimed(tensor: TensorProto, context: RuleContext) -> Iterator[Finding]:
    """Reported once per file."""
    location = location_of(tensor) if byte_range_of(tensor) is not None else None
    regions = byte_ranges_of(context.document, location) if location is not None else ()
    if location is None or not regions or byte_range_of(tensor) != regions[0]:
        return
    file = data_file_state(context.document, location)
    count = count_unclaimed_bytes(regions, file.size) if file is not None and not file.why else 0
    if count:
        message = f"{count} bytes of {brief(location)} belong to no tensor"
        yield Finding("external_data", message, "save the data again", dedup_key=location)
