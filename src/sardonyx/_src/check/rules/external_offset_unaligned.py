"""SX352 external-offset-unaligned: external data do not begin at a multiple of 4096 bytes.

Clause: ExternalData.md, offset
Catalogue: EXT-14
Why:    systems map files in pages; Windows wants multiples of 65536 bytes.
Bad:    file w.bin 16
        g () => (float[2] y) <float[2] y = ["location": "w.bin", "offset": "4"]> {}
Good:   file w.bin 5000
        g () => (float[2] y) <float[2] y = ["location": "w.bin", "offset": "4096"]> {}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.check.external import entry, number
from sardonyx._src.check.tensors import is_external
from sardonyx._src.proto.messages import TensorProto
from sardonyx._src.proto.record import brief


@rule("SX352", "warning", visits=TensorProto, needs="external_data")
def external_offset_unaligned(tensor: TensorProto, context: Context) -> Iterator[Finding]:
    """Once for each file."""
    offset = number(entry(tensor, "offset")) if is_external(tensor) else None
    if offset is not None and offset % 4096:
        file = entry(tensor, "location") or "?"
        yield Finding(
            "external_data", f"the offset in {brief(file)} is {offset}", "align the tensors", once=file
        )
