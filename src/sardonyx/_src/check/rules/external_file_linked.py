"""SX354 external-file-linked: a link leads to external data, or their file has a second name.

Clause: ExternalDataSecurity.md
Catalogue: EXT-16
Why:    what looks like a file of the model may be any file of the machine.  Links are allowed as the Hugging Face
        cache makes them, which links the model, too; --policy trusted allows all.
Bad:    file w.bin 8
        hard u.bin w.bin
        g () => (float[2] y) <float[2] y = ["location": "u.bin"]> {}
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


@rule("SX354", visits=TensorProto, needs="external_data")
def external_file_linked(tensor: TensorProto, context: Context) -> Iterator[Finding]:
    """Once for each file."""
    location = location_of(tensor) if is_external(tensor) else None
    file = data_file(context.document, location) if location else None
    if file is not None and file.is_linked:
        yield Finding("external_data", file.why, "copy the file beside the model", once=location or "")
