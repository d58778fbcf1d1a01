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

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.check.external import KEYS
from sardonyx._src.check.tensors import is_external
from sardonyx._src.proto.messages import TensorProto
from sardonyx._src.proto.record import brief


@rule("SX347", "warning", visits=TensorProto, needs="external_data")
def external_key_unknown(tensor: TensorProto, context: Context) -> Iterator[Finding]:
    for i, one in enumerate(tensor.external_data):
        if is_external(tensor) and one.key not in KEYS:
            says = f"{brief(one.key)} is no key of external data{context.near(one.key, KEYS)}"
            yield Finding(
                f"external_data[{i}].key", says, "drop the entry; metadata_props are for private facts"
            )
