"""SX348 external-checksum-differs: the checksum of external data is not that of their file.

Clause: ExternalData.md, checksum
Catalogue: EXT-10
Why:    the file is not the one with which the model was saved.
Bad:    file w.bin 8
        g () => (float[2] y) <float[2] y = ["location": "w.bin", "checksum": "00"]> {}
Good:   file w.bin 8
        g () => (float[2] y) <float[2] y = ["location": "w.bin", "checksum": "05fe405753166f125559e7c9ac558654f107c7e9"]> {}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.check.external import checksum, data_file, entry, location_of
from sardonyx._src.check.tensors import is_external
from sardonyx._src.proto.messages import TensorProto
from sardonyx._src.proto.record import brief


@rule("SX348", visits=TensorProto, needs="external_data")
def external_checksum_differs(tensor: TensorProto, context: Context) -> Iterator[Finding]:
    stated = entry(tensor, "checksum") if is_external(tensor) else None
    location = location_of(tensor) if stated else None
    file = data_file(context.document, location) if location else None
    if stated and location and file is not None and not file.why:
        found = checksum(context.document, location)
        if found != stated.lower():
            says = f"the checksum is {brief(stated)}, the SHA1 of {brief(location)} is {found}"
            yield Finding("external_data", says, "fetch the file that belongs to the model")
