"""SX345 external-data-beyond-file: external data extend past the end of the file.

Clause: ExternalData.md; ExternalDataSecurity.md
Catalogue: EXT-07
Why:    the file is truncated, or the offset or length is wrong.
Bad:    file w.bin 4
        g () => (float[2] y) <float[2] y = ["location": "w.bin"]> {}
Good:   file w.bin 8
        g () => (float[2] y) <float[2] y = ["location": "w.bin"]> {}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.analysis.external_data import data_file_state, entry_value, location_of, parse_number
from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.records.tensors import bytes_of, is_external
from sardonyx._src.proto.messages import TensorProto
from sardonyx._src.proto.record import brief


@rule("SX345", visits=TensorProto, suppressed_by="SX300 SX301 SX344 SX346 SX349 SX351", needs="external_data")
def check_external_data_beyond_file(tensor: TensorProto, context: RuleContext) -> Iterator[Finding]:
    location, size = (location_of(tensor), bytes_of(tensor)) if is_external(tensor) else (None, None)
    file = data_file_state(context.document, location) if location else None
    if file is None or file.why or size is None:
        return
    offset = parse_number(entry_value(tensor, "offset")) or 0
    length = parse_number(entry_value(tensor, "length"))
    end = offset + (size if length is None else length)
    if end > file.size:
        message = f"the data extend to byte {end} of {brief(location)}, which has {file.size} bytes"
        yield Finding("external_data", message, "fetch the whole file, or correct offset and length")
