"""SX910 external-data-unclaimed: a file of external data has bytes that belong to no tensor of the model.

Clause: none: the specification allows it
Catalogue: -
Why:    the model has been cut, or the file is that of a larger one: more is stored and sent than is needed.  Padding in
        front of an aligned offset does not count.
Bad:    file w.bin 20008
        g () => (float[2] y) <float[2] y = ["location": "w.bin"]> {}
Good:   file w.bin 8
        g () => (float[2] y) <float[2] y = ["location": "w.bin"]> {}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.check.external import data_file, location_of
from sardonyx._src.check.regions import region_of, regions_of, unused
from sardonyx._src.proto.messages import TensorProto
from sardonyx._src.proto.record import brief


@rule("SX910", "info", visits=TensorProto, needs="external_data", unless="SX345 SX346 SX350 SX354")
def external_data_unclaimed(tensor: TensorProto, context: Context) -> Iterator[Finding]:
    """Once for each file."""
    location = location_of(tensor) if region_of(tensor) is not None else None
    regions = regions_of(context.document, location) if location is not None else ()
    if location is None or not regions or region_of(tensor) != regions[0]:
        return
    file = data_file(context.document, location)
    count = unused(regions, file.size) if file is not None and not file.why else 0
    if count:
        says = f"{count} bytes of {brief(location)} belong to no tensor"
        yield Finding("external_data", says, "write the data anew", once=location)
