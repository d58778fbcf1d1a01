"""SX348 external-checksum-differs: the checksum of external data differs from that of the file.

Clause: ExternalData.md, checksum
Catalogue: EXT-10
Why:    the file is not the one that was saved with the model.
Bad:    file w.bin 8
        g () => (float[2] y) <float[2] y = ["location": "w.bin", "checksum": "00"]> {}
Good:   file w.bin 8
        g () => (float[2] y) <float[2] y = ["location": "w.bin", "checksum": "05fe405753166f125559e7c9ac558654f107c7e9"]> {}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.analysis.external_data import (
    data_file_state,
    entry_value,
    file_checksum,
    location_of,
)
from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.records.tensors import is_external
from sardonyx._src.proto.messages import TensorProto
from sardonyx._src.proto.record import brief


@rule("SX348", visits=TensorProto, needs="external_data")
def check_external_checksum_differs(tensor: TensorProto, context: RuleContext) -> Iterator[Finding]:
    stated = entry_value(tensor, "checksum") if is_external(tensor) else None
    location = location_of(tensor) if stated else None
    file = data_file_state(context.document, location) if location else None
    if stated and location and file is not None and not file.why:
        actual = file_checksum(context.document, location)
        if actual != stated.lower():
            message = f"the checksum is {brief(stated)}, the SHA1 of {brief(location)} is {actual}"
            yield Finding("external_data", message, "fetch the file that belongs to the model")
