"""SX350 external-file-missing: the file of external data is not there, or is no regular file.

Clause: ExternalData.md, location
Catalogue: EXT-12
Why:    the data are lost.
Bad:    g () => (float[2] y) <float[2] y = ["location": "w.bin"]> {}
Good:   file w.bin 8
        g () => (float[2] y) <float[2] y = ["location": "w.bin"]> {}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.check.external import data_file, location_of
from sardonyx._src.check.tensors import is_external
from sardonyx._src.proto.messages import TensorProto


@rule("SX350", visits=TensorProto, needs="external_data")
def external_file_missing(tensor: TensorProto, context: Context) -> Iterator[Finding]:
    """Once for each file."""
    location = location_of(tensor) if is_external(tensor) else None
    file = data_file(context.document, location) if location else None
    if file is not None and file.why and not file.is_linked:
        help_ = "put the data file beside the model"
        yield Finding("external_data", file.why, help_, once=location or "")
