"""SX347 external-key-unknown: external data have a key that ONNX does not define.

Clause: ExternalData.md; ExternalDataSecurity.md
Catalogue: EXT-09
Why:    readers ignore it or refuse the model.
Bad:    file w.bin 8
        g () => (float[2] y) <float[2] y = ["location": "w.bin", "codec": "zip"]> {}
Good:   file w.bin 8
        g () => (float[2] y) <float[2] y = ["location": "w.bin"]> {}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.analysis.external_data import EXTERNAL_DATA_KEYS
from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.records.tensors import is_external
from sardonyx._src.proto.messages import TensorProto
from sardonyx._src.proto.record import brief


@rule("SX347", "warning", visits=TensorProto, needs="external_data")
def check_external_key_unknown(tensor: TensorProto, context: RuleContext) -> Iterator[Finding]:
    for i, entry in enumerate(tensor.external_data):
        if is_external(tensor) and entry.key not in EXTERNAL_DATA_KEYS:
            message = f"{brief(entry.key)} is not a key of external data{context.near(entry.key, EXTERNAL_DATA_KEYS)}"
            yield Finding(
                f"external_data[{i}].key",
                message,
                "drop the entry; private metadata belong in metadata_props",
            )
