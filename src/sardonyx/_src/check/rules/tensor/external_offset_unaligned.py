"""SX352 external-offset-unaligned: external data are not aligned to 4096 bytes.

Clause: ExternalData.md, offset
Catalogue: EXT-14
Why:    operating systems map files in pages; Windows requires multiples of 65536 bytes.
Bad:    file w.bin 16
        g () => (float[2] y) <float[2] y = ["location": "w.bin", "offset": "4"]> {}
Good:   file w.bin 5000
        g () => (float[2] y) <float[2] y = ["location": "w.bin", "offset": "4096"]> {}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.analysis.external_data import entry_value, parse_number
from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.records.tensors import is_external
from sardonyx._src.proto.messages import TensorProto
from sardonyx._src.proto.record import brief


@rule("SX352", "warning", visits=TensorProto, needs="external_data", group="style")
def check_external_offset_unaligned(tensor: TensorProto, context: RuleContext) -> Iterator[Finding]:
    """Reported once per file."""
    offset = parse_number(entry_value(tensor, "offset")) if is_external(tensor) else None
    if offset is not None and offset % 4096:
        file = entry_value(tensor, "location") or "?"
        yield Finding(
            "external_data", f"the offset in {brief(file)} is {offset}", "align the tensors", dedup_key=file
        )
