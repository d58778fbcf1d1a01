"""SX349 external-key-twice: external data have a key twice.

Clause: onnx.proto, StringStringEntryProto, TensorProto.external_data
Catalogue: EXT-11
Why:    the list stands for a map; which of the two values holds is up to the reader.
Bad:    file w.bin 16
        g () => (float[2] y) <float[2] y = ["location": "w.bin", "length": "8", "length": "8"]> {}
Good:   file w.bin 16
        g () => (float[2] y) <float[2] y = ["location": "w.bin", "length": "8"]> {}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import TensorProto
from sardonyx._src.proto.record import brief


@rule("SX349", visits=TensorProto, needs="external_data")
def external_key_twice(tensor: TensorProto, context: Context) -> Iterator[Finding]:
    first: dict[str, int] = {}
    for i, one in enumerate(tensor.external_data):
        if first.setdefault(one.key, i) != i:
            says = f"the key {brief(one.key)} stands already at external_data[{first[one.key]}]"
            yield Finding(f"external_data[{i}].key", says, "keep one of the two entries")
