"""SX909 external-data-overlap: the external data of a tensor share a part of their bytes with those of another.

Clause: none: the specification allows it
Catalogue: -
Why:    one offset is wrong, most likely.  Tensors that lie on the same bytes altogether are fine; one inside another is
        an info, as it may be a slice.
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

from sardonyx._src.check.api import Finding, Severity, rule
from sardonyx._src.check.context import Context
from sardonyx._src.check.external import location_of
from sardonyx._src.check.regions import overlapped, region_of, regions_of
from sardonyx._src.proto.messages import TensorProto
from sardonyx._src.proto.record import brief


@rule("SX909", "warning", visits=TensorProto, needs="external_data", unless="SX345 SX346 SX350 SX354")
def external_data_overlap(tensor: TensorProto, context: Context) -> Iterator[Finding]:
    """At the tensor that begins later."""
    location, region = location_of(tensor), region_of(tensor)
    if location is None or region is None:
        return
    other = overlapped(regions_of(context.document, location), region)
    if other is not None:
        severity: Severity = "info" if region.end <= other.end else "warning"
        says = (
            f"bytes {region.start} to {region.end} of {brief(location)} overlap {other.start} to {other.end}"
        )
        yield Finding("external_data", says, "correct the offset, or write the data anew", severity)
