"""SX909 external-data-overlap: the external data of two tensors partially overlap.

Clause: none: the specification allows it
Catalogue: -
Why:    an offset is probably wrong.  Tensors with exactly the same bytes are allowed; one inside another is an info, since
        it may be a slice.
Bad:    file w.bin 4108
        g (float[2] x) => (float[2] y) <float[1025] v = ["location": "w.bin"], float[2] w = ["location": "w.bin", "offset": "4096"]> {
          n = Size(v) m = Cast <to = 1> (n) a = Add(x, w) y = Add(a, m)
        }
Good:   file w.bin 4104
        g (float[2] x) => (float[2] y) <float[1024] v = ["location": "w.bin"], float[2] w = ["location": "w.bin", "offset": "4096"]> {
          n = Size(v) m = Cast <to = 1> (n) a = Add(x, w) y = Add(a, m)
        }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.analysis.external_data import (
    byte_range_of,
    location_of,
    overlaps_of,
)
from sardonyx._src.check.engine import Finding, RuleContext, Severity, rule
from sardonyx._src.proto.messages import TensorProto
from sardonyx._src.proto.record import brief


@rule("SX909", "warning", visits=TensorProto, needs="external_data", suppressed_by="SX345 SX346 SX350")
def check_external_data_overlap(tensor: TensorProto, context: RuleContext) -> Iterator[Finding]:
    """Reported at the tensor that begins later."""
    location, region = location_of(tensor), byte_range_of(tensor)
    if location is None or region is None:
        return
    other = overlaps_of(context.document, location).get(region)
    if other is not None:
        severity: Severity = "info" if region.end <= other.end else "warning"
        message = (
            f"bytes {region.start} to {region.end} of {brief(location)} overlap {other.start} to {other.end}"
        )
        yield Finding("external_data", message, "correct the offset, or save the data again", severity)
