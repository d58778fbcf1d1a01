"""SX350 external-file-missing: the file of external data does not exist, or is not a regular file.

Clause: ExternalData.md, location
Catalogue: EXT-12
Why:    the data are missing.
Bad:    g () => (float[2] y) <float[2] y = ["location": "w.bin"]> {}
Good:   file w.bin 8
        g () => (float[2] y) <float[2] y = ["location": "w.bin"]> {}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.analysis.external_data import data_file_state, location_of
from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.records.tensors import is_external
from sardonyx._src.proto.messages import TensorProto


@rule("SX350", visits=TensorProto, needs="external_data")
def check_external_file_missing(tensor: TensorProto, context: RuleContext) -> Iterator[Finding]:
    """Reported once per file."""
    location = location_of(tensor) if is_external(tensor) else None
    file = data_file_state(context.document, location) if location else None
    if file is not None and file.why and not file.is_linked:
        help_ = "put the data file next to the model"
        yield Finding("external_data", file.why, help_, dedup_key=location or "")
