"""SX354 external-file-linked: external data are reached through a link, or their file has several hard links.

Clause: ExternalDataSecurity.md
Catalogue: EXT-16
Why:    what looks like a file of the model may be any file of the machine.  Links are allowed in the layout of the Hugging
        Face cache, where the model is a link, too; a link to a file in the directory of the model is a warning, since such
        data are loaded here and refused by other tools; --policy trusted allows all links.
Bad:    file w.bin 8
        hard u.bin w.bin
        g () => (float[2] y) <float[2] y = ["location": "u.bin"]> {}
Good:   file w.bin 8
        g () => (float[2] y) <float[2] y = ["location": "w.bin"]> {}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.analysis.external_data import data_file_state, location_of
from sardonyx._src.check.engine import Finding, RuleContext, Severity, rule
from sardonyx._src.check.records.tensors import is_external
from sardonyx._src.proto.messages import TensorProto
from sardonyx._src.proto.record import brief


@rule("SX354", visits=TensorProto, needs="external_data")
def check_external_file_linked(tensor: TensorProto, context: RuleContext) -> Iterator[Finding]:
    """Reported once per file."""
    location = location_of(tensor) if is_external(tensor) else None
    file = data_file_state(context.document, location) if location else None
    if file is not None and file.is_linked:
        severity: Severity = "error" if file.why else "warning"
        message = file.why or f"{brief(location or '')} is a link to another file of the model's directory"
        yield Finding(
            "external_data", message, "copy the file next to the model", severity, dedup_key=location or ""
        )
