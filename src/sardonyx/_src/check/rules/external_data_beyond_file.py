"""SX345 external-data-beyond-file: external data reach past the end of their file.

Clause: ExternalData.md; ExternalDataSecurity.md
Catalogue: EXT-07
Why:    the file is cut short, or the place is wrong.
Bad:    file w.bin 4
        g () => (float[2] y) <float[2] y = ["location": "w.bin"]> {}
Good:   file w.bin 8
        g () => (float[2] y) <float[2] y = ["location": "w.bin"]> {}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.check.external import data_file, entry, location_of, number
from sardonyx._src.check.tensors import bytes_of, is_external
from sardonyx._src.proto.messages import TensorProto
from sardonyx._src.proto.record import brief


@rule("SX345", visits=TensorProto, unless="SX300 SX301 SX344 SX346 SX349 SX351", needs="external_data")
def external_data_beyond_file(tensor: TensorProto, context: Context) -> Iterator[Finding]:
    location, wanted = (location_of(tensor), bytes_of(tensor)) if is_external(tensor) else (None, None)
    file = data_file(context.document, location) if location else None
    if file is None or file.why or wanted is None:
        return
    offset = number(entry(tensor, "offset")) or 0
    length = number(entry(tensor, "length"))
    reach = offset + (wanted if length is None else length)
    if reach > file.size:
        says = f"the data reach to byte {reach} of {brief(location)}, which has {file.size} bytes"
        yield Finding("external_data", says, "fetch the whole file, or correct offset and length")
